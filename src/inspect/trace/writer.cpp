// SPDX-License-Identifier: Apache-2.0
#include "inspect/trace/writer.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "inspect/trace/coding.h"
#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

template <class T>
void store(std::string& bytes, size_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

constexpr size_t kEventMost = 2 + kVarintMax * (4 + kFieldsMax + kFramesMax) + kTextMax;

}  // namespace

TraceWriter::TraceWriter(uint32_t pid, const std::string& program) : bytes_(kHeaderBytes, '\0') {
  std::memcpy(bytes_.data(), kMagic, sizeof kMagic);
  store(bytes_, offsetof(FileHeader, version), kVersion);
  store(bytes_, offsetof(FileHeader, chunk_bytes), kChunkBytes);
  store(bytes_, offsetof(FileHeader, pid), pid);
  std::memcpy(bytes_.data() + offsetof(FileHeader, program), program.data(),
              std::min<size_t>(program.size(), kProgramBytes - 1));
}

void TraceWriter::put_byte(uint8_t byte) { bytes_.push_back(static_cast<char>(byte)); }

void TraceWriter::put(uint64_t number) {
  uint8_t space[kVarintMax];
  const uint8_t* const end = put_varint(space, number);
  bytes_.append(reinterpret_cast<const char*>(space), static_cast<size_t>(end - space));
}

void TraceWriter::store_used() {
  const size_t used = bytes_.size() - chunk_ - sizeof(ChunkHeader);
  store(bytes_, chunk_ + offsetof(ChunkHeader, used), static_cast<uint32_t>(used));
}

void TraceWriter::begin_thread(uint32_t thread) {
  thread_ = thread;
  last_ticks_ = 0;
  std::fill(std::begin(last_), std::end(last_), 0);
  put_byte(static_cast<uint8_t>(Op::Thread));
  put_byte(0);
  put(0);
  put(thread);
  put(0);
}

// Chunks are whole, the last one too.
void TraceWriter::end_chunk() {
  bytes_.resize(kHeaderBytes + (bytes_.size() - kHeaderBytes + kChunkBytes - 1) / kChunkBytes * kChunkBytes);
}

std::string TraceWriter::finish() {
  end_chunk();
  return std::move(bytes_);
}

void TraceWriter::make_room(size_t size) {
  if (chunk_ != 0 && bytes_.size() + size <= chunk_ + kChunkBytes) return;
  end_chunk();
  chunk_ = bytes_.size();
  bytes_.resize(chunk_ + sizeof(ChunkHeader));
  store(bytes_, chunk_ + offsetof(ChunkHeader, magic), kChunkMagic);
  begin_thread(thread_);
}

void TraceWriter::event(Op op, const When& when, std::initializer_list<uint64_t> words,
                        std::string_view text) {
  make_room(2 * kEventMost);
  if (when.thread != thread_) begin_thread(when.thread);
  put_byte(static_cast<uint8_t>(op));
  put_byte(static_cast<uint8_t>((when.stack != 0 ? kHasStack : 0) | (when.begins ? kBegins : 0)));
  const uint64_t now = std::max(when.time_ns, last_ticks_);
  put(now - last_ticks_);
  last_ticks_ = now;
  if (when.stack != 0) put(when.stack);
  const uint64_t* word = words.begin();
  for (const Field field : info_of(op).fields) {
    if (!is_number(field)) break;
    const uint64_t value = word != words.end() ? *word++ : 0;
    const FieldKind kind = kind_of(field);
    if (kind == FieldKind::Number) {
      put(value);
    } else {
      put(zigzag(value - last_[base_of(kind)]));
      last_[base_of(kind)] = value;
    }
  }
  if (has_text(op)) {
    text = text.substr(0, kTextMax);
    put(text.size());
    bytes_.append(text);
  }
  store_used();
}

void TraceWriter::stack(uint32_t number, const std::vector<uint64_t>& frames) {
  make_room(kEventMost);
  put_byte(static_cast<uint8_t>(Op::Stack));
  put_byte(0);
  put(0);
  put(number);
  const size_t count = std::min<size_t>(frames.size(), kFramesMax);
  put(count);
  uint64_t last = 0;
  for (size_t i = 0; i < count; ++i) {
    put(zigzag(frames[i] - last));
    last = frames[i];
  }
  store_used();
}

}  // namespace plat::inspect
