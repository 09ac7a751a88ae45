// SPDX-License-Identifier: Apache-2.0
#include "inspect/trace/reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include <fmt/format.h>

#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

// Plain copies of what the file holds; the recorder's own have atomics in them.
struct ChunkStart {
  uint32_t magic, used;
  uint64_t ticks, ns;
};
static_assert(sizeof(ChunkStart) == sizeof(ChunkHeader));

}  // namespace

Source source_of_bytes(const uint8_t* data, size_t size) {
  return {size,
          [data, size](void* target, uint64_t offset, size_t wanted) -> size_t {
            if (offset >= size) return 0;
            const size_t got = std::min<uint64_t>(wanted, size - offset);
            std::memcpy(target, data + offset, got);
            return got;
          },
          {}};
}

std::optional<Source> source_of_file(const std::string& path, std::string& problem) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd < 0 || fstat(fd, &status) != 0) {
    problem = fmt::format("it cannot be read: {}", std::strerror(errno));
    if (fd >= 0) close(fd);
    return std::nullopt;
  }
  if (!S_ISREG(status.st_mode) || status.st_size == 0) {
    problem = S_ISDIR(status.st_mode) ? "it is a directory"
              : status.st_size == 0   ? "it is empty"
                                      : "it is no file";
    close(fd);
    return std::nullopt;
  }
  const std::shared_ptr<const int> owner(new int(fd), [](const int* held) {
    close(*held);
    delete held;
  });
  const auto size_now = [owner] {
    struct stat now {};
    return fstat(*owner, &now) == 0 ? static_cast<uint64_t>(now.st_size) : 0;
  };
  const auto read = [owner](void* target, uint64_t offset, size_t wanted) {
    const ssize_t got = pread(*owner, target, wanted, static_cast<off_t>(offset));
    return got > 0 ? static_cast<size_t>(got) : size_t{0};
  };
  return Source{static_cast<uint64_t>(status.st_size), read, size_now};
}

std::optional<Reader> Reader::open(Source source, std::string& problem) {
  Reader reader;
  reader.source_ = std::move(source);
  if (!reader.read_header(problem)) return std::nullopt;
  const uint64_t size = reader.source_.size;
  reader.info_.cut_off = size < kHeaderBytes || (size - kHeaderBytes) % kChunkBytes != 0;
  reader.index_chunks();
  return reader;
}

bool Reader::read_header(std::string& problem) {
  alignas(8) std::array<char, sizeof(FileHeader)> bytes{};
  if (source_.read(bytes.data(), 0, bytes.size()) != bytes.size() ||
      std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    problem = "it is not a trace of plat record";
    return false;
  }
  FileHeader header;
  static_assert(std::is_trivially_destructible_v<FileHeader>);
  std::memcpy(static_cast<void*>(&header), bytes.data(), sizeof header);
  if (header.version != kVersion || header.chunk_bytes != kChunkBytes) {
    problem =
        fmt::format("it is a trace of version {}, and this plat reads version {}", header.version, kVersion);
    return false;
  }
  info_.pid = header.pid;
  info_.parent = header.parent;
  info_.start_realtime_ns = header.start_realtime_ns;
  info_.lost = header.lost.load(std::memory_order_relaxed);
  info_.program.assign(header.program, strnlen(header.program, kProgramBytes));
  start_ticks_ = late_ticks_ = header.start_ticks;
  start_ns_ = late_ns_ = header.start_ns;
  return true;
}

void Reader::add_clock(uint64_t ticks, uint64_t ns) {
  if (ticks <= late_ticks_ || ns <= late_ns_) return;
  late_ticks_ = ticks;
  late_ns_ = ns;
}

uint64_t Reader::to_ns(uint64_t ticks) const {
  if (ticks <= start_ticks_) return 0;
  const uint64_t since = ticks - start_ticks_;
  if (late_ticks_ == start_ticks_) return since;
  const long double pace =
      static_cast<long double>(late_ns_ - start_ns_) / static_cast<long double>(late_ticks_ - start_ticks_);
  const long double ns = static_cast<long double>(since) * pace;
  return ns < 9e18L ? static_cast<uint64_t>(ns) : uint64_t{9'000'000'000'000'000'000u};
}

void Reader::index_chunks() {
  size_t index = 0;
  for (uint64_t offset = kHeaderBytes; offset + sizeof(ChunkStart) <= source_.size; offset += kChunkBytes) {
    if (index == seen_.size()) seen_.emplace_back();
    Seen& seen = seen_[index++];
    ChunkStart start{};
    if (source_.read(&start, offset, sizeof start) != sizeof start) break;
    if (start.magic != kChunkMagic) continue;  // claimed by a process that was killed before it wrote
    add_clock(start.ticks, start.ns);
    const uint32_t used = std::min(start.used, kChunkRoom);
    if (used > seen.used) index_chunk(seen, offset + sizeof start, used);
  }
  std::stable_sort(chunks_.begin() + static_cast<ptrdiff_t>(next_chunk_), chunks_.end(),
                   [](const Chunk& a, const Chunk& b) { return a.first_ticks < b.first_ticks; });
}

bool Reader::load(const Chunk& chunk, std::vector<uint8_t>& bytes) const {
  bytes.resize(chunk.used);
  bytes.resize(source_.read(bytes.data(), chunk.offset, bytes.size()));
  return !bytes.empty();
}

void Reader::refresh() {
  if (source_.size_now) source_.size = source_.size_now();
  source_.read(&info_.lost, offsetof(FileHeader, lost), sizeof info_.lost);
  index_chunks();
}

void Reader::index_chunk(Seen& seen, uint64_t offset, uint32_t used) {
  Chunk chunk{offset, used, 0, seen.events};
  std::vector<uint8_t> bytes;
  if (!load(chunk, bytes)) return;
  ChunkDecoder decoder(bytes.data(), bytes.size());
  RawEvent event;
  bool found = false;
  uint64_t count = 0;
  while (decoder.next(event)) {
    if (++count <= seen.events) continue;
    note(event);
    if (is_about_trace(event.op)) continue;
    ++info_.events;
    if (!found) chunk.first_ticks = event.ticks;
    found = true;
  }
  info_.bytes += bytes.size() - std::min<uint64_t>(bytes.size(), seen.bytes);
  if (decoder.damaged() && !seen.damaged) ++info_.damaged;
  seen = {used, bytes.size(), count, decoder.damaged()};
  if (found) chunks_.push_back(chunk);
}

void Reader::note(const RawEvent& event) {
  switch (event.op) {
    case Op::Thread:
      info_.threads[static_cast<uint32_t>(event.thread_id())] = std::string(event.text);
      break;
    case Op::Module:
      info_.modules.push_back({event.load(), event.first(), event.last(), std::string(event.text)});
      break;
    case Op::Stack:
      info_.stacks[static_cast<uint32_t>(event.stack_number())] = event.frames;
      break;
    case Op::FrameName: {
      const size_t end = std::min(event.text.find('\n'), event.text.size());
      info_.frame_names[event.frame_address()] = {
          std::string(event.text.substr(0, end)),
          std::string(event.text.substr(std::min(end + 1, event.text.size()))),
          static_cast<uint32_t>(event.line())};
      break;
    }
    case Op::Clock:
      add_clock(event.clock_ticks(), event.clock_ns());
      break;
    case Op::Exit:
      info_.ended = true;
      break;
    case Op::MstxOnly:
      info_.mstx_only = true;
      break;
    case Op::Imported:
      info_.imported = true;
      break;
    case Op::ForeignDevice:
      info_.foreign_device = std::string(event.text);
      break;
    default:
      break;
  }
}

bool Reader::advance(Open& open) {
  while (open.decoder.next(open.event))
    if (!is_about_trace(open.event.op)) return true;
  return false;
}

void Reader::open_due(uint64_t ticks) {
  while (next_chunk_ < chunks_.size() && chunks_[next_chunk_].first_ticks <= ticks) {
    auto open = std::make_unique<Open>();
    open->order = next_chunk_;
    const Chunk& chunk = chunks_[next_chunk_++];
    if (load(chunk, open->bytes)) {
      open->decoder = ChunkDecoder(open->bytes.data(), open->bytes.size());
      for (uint64_t i = 0; i < chunk.skip; ++i) open->decoder.next(open->event);
      if (advance(*open)) open_.push(std::move(open));
    }
  }
}

bool Reader::next(Event& event) {
  while (open_.empty() && next_chunk_ < chunks_.size()) open_due(chunks_[next_chunk_].first_ticks);
  if (!open_.empty()) open_due(open_.top()->event.ticks);
  if (open_.empty()) return false;
  auto open = std::move(const_cast<std::unique_ptr<Open>&>(open_.top()));
  open_.pop();
  const RawEvent& raw = open->event;
  event.op = raw.op;
  event.begins = (raw.flags & kBegins) != 0;
  event.result = raw.result;
  event.thread = raw.thread;
  event.stack = raw.stack;
  event.words = raw.words;
  event.text.assign(raw.text);
  last_ns_ = event.time_ns = std::max(last_ns_, to_ns(raw.ticks));
  event.number = ++number_;
  if (advance(*open)) open_.push(std::move(open));
  return true;
}

}  // namespace plat::inspect
