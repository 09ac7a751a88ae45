// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <new>

#include "base/errno_kept.h"
#include "base/unsignalled.h"
#include "inspect/record/ticks.h"
#include "inspect/record/warn.h"
#include "os/page.h"

namespace plat::inspect {

namespace {

// In a directory, for who finds it among our open files. Without a name nothing is left of it, whoever is
// killed, and whenever.
int create_nameless_file(const char* directory, char (&path)[PATH_MAX + 32]) {
  std::snprintf(path, sizeof path, "%s", directory);
  int fd = open(directory, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);
  if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR)) return fd;
  // Not every filesystem has such files.
  std::snprintf(path, sizeof path, "%splat-top-%d.trace", directory, static_cast<int>(getpid()));
  fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0) unlink(path);
  return fd;
}

// As given, or with the pid when a process before us has it.
int create_file(const char* wanted, char (&path)[PATH_MAX + 32]) {
  const int pid = static_cast<int>(getpid());
  if (const size_t length = std::strlen(wanted); length != 0 && wanted[length - 1] == '/')
    return create_nameless_file(wanted, path);
  if (*wanted == '\0') {
    std::snprintf(path, sizeof path, "plat-%d.trace", pid);
  } else {
    std::snprintf(path, sizeof path, "%s", wanted);
  }
  const int flags = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC;
  int fd = open(path, flags, 0644);
  for (int attempt = 0; fd < 0 && errno == EEXIST && attempt < 100; ++attempt) {
    if (attempt == 0) {
      std::snprintf(path, sizeof path, "%s.%d", wanted, pid);
    } else {  // an earlier process had our pid, or this one executed another program
      std::snprintf(path, sizeof path, "%s.%d.%d", wanted, pid, attempt);
    }
    fd = open(path, flags, 0644);
  }
  return fd;
}

// So that a full disk is noticed here, and not by a signal in the middle of an event; nor is `ulimit -f` a
// signal.
bool allocate(int fd, uint64_t offset, size_t size) {
  const Unsignalled quiet;
  do  // a file in memory is left half done when a signal comes
    errno = posix_fallocate(fd, static_cast<off_t>(offset), static_cast<off_t>(size));
  while (errno == EINTR);
  return errno == 0;
}

// A range of the file begins at a multiple of 4096, which on some machines is in the middle of a page: then
// what is before it in that page is mapped as well.
void* map_range(int fd, uint64_t offset, size_t size) {
  const uint64_t lead = offset % os::page_bytes();
  void* const memory = mmap(nullptr, lead + size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
                            static_cast<off_t>(offset - lead));
  if (memory == MAP_FAILED) return nullptr;
  madvise(memory, lead + size, MADV_DONTFORK);  // a child has a trace of its own
  return static_cast<char*>(memory) + lead;
}

void unmap_range(void* start, uint64_t offset, size_t size) {
  const uint64_t lead = offset % os::page_bytes();
  munmap(static_cast<char*>(start) - lead, lead + size);
}

void read_command_line(char (&text)[kProgramBytes]) {
  const int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  const ssize_t got = read(fd, text, sizeof text - 1);
  ::close(fd);
  for (ssize_t i = 0; i + 1 < got; ++i)
    if (text[i] == '\0') text[i] = ' ';
}

}  // namespace

bool File::create(const Settings& settings) {
  char path[PATH_MAX + 32];
  const int fd = create_file(settings.path, path);
  if (fd >= 0 && allocate(fd, 0, kHeaderBytes))
    header_ = static_cast<FileHeader*>(map_range(fd, 0, kHeaderBytes));
  if (header_ == nullptr) {
    warn("cannot write the trace %s: %s; nothing is recorded", path, std::strerror(errno));
    if (fd >= 0) {
      ::close(fd);
      unlink(path);
    }
    return false;
  }
  file_.keep(fd, path);
  chunks_max_ = (settings.max_bytes - kHeaderBytes) / kChunkBytes;
  new (header_) FileHeader{};
  header_->version = kVersion;
  header_->chunk_bytes = kChunkBytes;
  header_->pid = static_cast<uint32_t>(getpid());
  header_->parent = static_cast<uint32_t>(getppid());
  header_->start_ticks = ticks();
  header_->start_ns = monotonic_ns();
  timespec wall{};
  clock_gettime(CLOCK_REALTIME, &wall);
  header_->start_realtime_ns =
      static_cast<uint64_t>(wall.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(wall.tv_nsec);
  read_command_line(header_->program);
  std::memcpy(header_->magic, kMagic, sizeof kMagic);
  return true;
}

void File::say_cut() {
  if (!cut_.exchange(true))
    warn_in_handler(
        {"the trace ", file_.path(), " was made shorter by somebody while it was written; events are lost"});
}

// Whether the file is shorter than what was written of it.
bool File::was_cut(int fd, uint64_t chunks) {
  struct stat status {};
  if (fstat(fd, &status) == 0 && static_cast<uint64_t>(status.st_size) < kHeaderBytes + chunks * kChunkBytes)
    say_cut();
  return cut_.load();
}

bool File::survive_cut(const void* address, const ChunkHeader* chunk) {
  const auto at = reinterpret_cast<uintptr_t>(address);
  const auto is_in = [at](const void* start, size_t size) {
    return start != nullptr && at - reinterpret_cast<uintptr_t>(start) < size;
  };
  if (!is_in(chunk, kChunkBytes) && !is_in(fresh_, kChunkBytes) && !is_in(header_, kHeaderBytes))
    return false;
  const uint64_t page_bytes = os::kernel_page_bytes();
  void* const page = reinterpret_cast<void*>(at / page_bytes * page_bytes);
  if (mmap(page, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != page)
    return false;
  madvise(page, page_bytes, MADV_DONTFORK);
  say_cut();
  return true;
}

ChunkHeader* File::map_chunk(uint64_t index) {
  const uint64_t offset = kHeaderBytes + index * kChunkBytes;
  void* memory = nullptr;
  // Again if another thread closes all files at this very moment.
  for (int attempt = 0; memory == nullptr && attempt < 8; ++attempt) {
    const int fd = file_.borrow();
    if (fd < 0) return nullptr;
    if (was_cut(fd, index)) {
      file_.give_back(fd);
      return nullptr;
    }
    if (allocate(fd, offset, kChunkBytes)) memory = map_range(fd, offset, kChunkBytes);
    const int error = errno;
    file_.give_back(fd);
    errno = error;
    if (memory == nullptr && error != EBADF) return nullptr;
  }
  if (memory == nullptr) return nullptr;
  fresh_ = memory;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  auto* const chunk = new (memory) ChunkHeader{0, {0}, ticks(), monotonic_ns()};
  chunk->magic = kChunkMagic;
  std::atomic_signal_fence(std::memory_order_seq_cst);
  fresh_ = nullptr;
  return chunk;
}

ChunkHeader* File::claim() {
  const ErrnoKept kept;
  const std::lock_guard lock(mutex_);
  if (header_ == nullptr || chunks_ == chunks_max_) return nullptr;
  ChunkHeader* const chunk = map_chunk(chunks_);
  if (chunk == nullptr) {
    chunks_max_ = chunks_;  // say so once, and do not try for every event
    if (cut_.load()) return nullptr;
    warn("no more room for the trace %s: %s; events are lost from here on", file_.path(),
         std::strerror(errno));
    return nullptr;
  }
  if (++chunks_ == chunks_max_) warn("the trace has reached its limit; events are lost from here on");
  return chunk;
}

ChunkHeader* File::claim_left() {
  const std::lock_guard lock(mutex_);
  return left_count_ != 0 ? left_[--left_count_] : nullptr;
}

void File::leave(ChunkHeader* chunk) {
  {
    const std::lock_guard lock(mutex_);
    if (left_count_ < kLeftMax) {
      left_[left_count_++] = chunk;
      return;
    }
  }
  close(chunk);
}

void File::end() {
  const std::lock_guard lock(mutex_);
  while (left_count_ != 0) close(left_[--left_count_]);
  if (header_ != nullptr) unmap_range(header_, 0, kHeaderBytes);
  header_ = nullptr;
  file_.drop();
}

// Where a chunk begins within a page is the same for all.
static_assert(kChunkBytes % os::kLargestPageBytes == 0);
void File::close(ChunkHeader* chunk) { unmap_range(chunk, kHeaderBytes, kChunkBytes); }

}  // namespace plat::inspect
