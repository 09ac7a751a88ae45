// SPDX-License-Identifier: Apache-2.0
#include "os/memory.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <vector>

#include "base/text.h"
#include "os/control_groups.h"
#include "os/file.h"
#include "os/page.h"

namespace plat::os {

bool fixed_addresses_allowed() {
  // Looked up by name: the program may be instrumented although this library is not.
  static const bool allowed = dlsym(RTLD_DEFAULT, "__tsan_init") == nullptr;
  return allowed;
}

uint64_t reserve_address(uint64_t address, uint64_t size_bytes) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (address != 0) flags |= MAP_FIXED_NOREPLACE;
  void* start = mmap(reinterpret_cast<void*>(address), size_bytes, PROT_NONE, flags, -1, 0);
  if (start == MAP_FAILED) return 0;
  const auto got = reinterpret_cast<uint64_t>(start);
  if (address != 0 && got != address) {  // A kernel before 4.17 treats the address as a hint.
    munmap(start, size_bytes);
    errno = EEXIST;
    return 0;
  }
  return got;
}

void release_address(uint64_t address, uint64_t size_bytes) {
  munmap(reinterpret_cast<void*>(address), size_bytes);
}

bool is_mapped(uint64_t address, uint64_t size_bytes) {
  if (size_bytes > UINT64_MAX - address) return false;
  const uint64_t lead = address % kernel_page_bytes();
  return msync(reinterpret_cast<void*>(address - lead), size_bytes + lead, MS_ASYNC) == 0;
}

std::byte* map_shared(int fd, uint64_t offset, uint64_t size_bytes) {
  void* start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
                     static_cast<off_t>(offset));
  if (start == MAP_FAILED) return nullptr;
  madvise(start, size_bytes, MADV_DONTFORK);
  madvise(start, size_bytes, MADV_DONTDUMP);
  return static_cast<std::byte*>(start);
}

int map_over(std::byte* start, uint64_t size_bytes, int fd) {
  if (mmap(start, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0) ==
      MAP_FAILED)
    return errno;
  madvise(start, size_bytes, MADV_DONTFORK);
  madvise(start, size_bytes, MADV_DONTDUMP);
  return 0;
}

std::byte* map_wiped_in_child(uint64_t size_bytes) {
  void* start = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  if (madvise(start, size_bytes, MADV_WIPEONFORK) == 0) return static_cast<std::byte*>(start);
  munmap(start, size_bytes);
  return nullptr;
}

void unmap(std::byte* start, uint64_t size_bytes) { munmap(start, size_bytes); }

int map_at(uint64_t address, uint64_t size_bytes, int fd, uint64_t offset) {
  void* start = mmap(reinterpret_cast<void*>(address), size_bytes, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset));
  return start == MAP_FAILED ? errno : 0;
}

int map_copy_at(uint64_t address, uint64_t size_bytes, std::byte* memory) {
  void* start =
      mremap(memory, 0, size_bytes, MREMAP_MAYMOVE | MREMAP_FIXED, reinterpret_cast<void*>(address));
  return start == MAP_FAILED ? errno : 0;
}

int unmap_at(uint64_t address, uint64_t size_bytes) {
  void* start = mmap(reinterpret_cast<void*>(address), size_bytes, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  if (start != MAP_FAILED) return 0;
  // At the limit of mappings a new one is refused, but taking the access of an old one away still works.
  if (mprotect(reinterpret_cast<void*>(address), size_bytes, PROT_NONE) != 0) return errno;
  madvise(reinterpret_cast<void*>(address), size_bytes, MADV_DONTNEED);  // as with a new one, nothing is left
  return 0;
}

bool open_at(uint64_t address, uint64_t size_bytes) {
  return mprotect(reinterpret_cast<void*>(address), size_bytes, PROT_READ | PROT_WRITE) == 0;
}

void forget_contents(uint64_t address, uint64_t size_bytes) {
  // Memory that the program has locked is kept, and cleared instead.
  if (madvise(reinterpret_cast<void*>(address), size_bytes, MADV_DONTNEED) != 0)
    std::memset(reinterpret_cast<void*>(address), 0, size_bytes);
}

namespace {

// Emulators of other processors say yes to every advice, and follow few.
bool removing_works() {
  const uint64_t page = kernel_page_bytes();
  const Fd file = create_memory_file("plat-try", page);
  std::byte* const memory = file ? map_shared(file.get(), 0, page) : nullptr;
  if (memory == nullptr) return true;  // what follows will say so itself
  memory[0] = std::byte{1};
  const bool works = madvise(memory, page, MADV_REMOVE) != 0 || memory[0] == std::byte{0};
  unmap(memory, page);
  return works;
}

}  // namespace

int discard(std::byte* start, uint64_t size_bytes) {
  static const bool works = removing_works();
  if (!works) return ENOSYS;
  return madvise(start, size_bytes, MADV_REMOVE) == 0 ? 0 : errno;
}

int punch_hole(int fd, uint64_t offset, uint64_t size_bytes) {
  return fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                   static_cast<off_t>(size_bytes)) == 0
             ? 0
             : errno;
}

int commit(int fd, uint64_t offset, uint64_t size_bytes) {
  while (fallocate(fd, 0, static_cast<off_t>(offset), static_cast<off_t>(size_bytes)) != 0)
    if (errno != EINTR) return errno;
  return 0;
}

namespace {

// The number after `key` in a file of "key value" lines, 0 if it is not there.
uint64_t field(const std::string& text, std::string_view key) {
  const size_t at = text.find(key);
  if (at == std::string::npos) return 0;
  const size_t digits = text.find_first_of("0123456789", at + key.size());
  uint64_t value = 0;
  if (digits != std::string::npos) std::from_chars(text.data() + digits, text.data() + text.size(), value);
  return value;
}

uint64_t meminfo_bytes(std::string_view key) {
  const auto text = read_small_file("/proc/meminfo");
  return text ? field(*text, key) * 1024 : 0;
}

}  // namespace

Headroom headroom() {
  Headroom least{meminfo_bytes("MemAvailable:"), "the machine"};
  if (least.available_bytes == 0) least.available_bytes = UINT64_MAX;  // No such line: do not invent a limit.
  static const std::vector<MemoryLimit> limits = memory_limits();
  for (const MemoryLimit& limit : limits) {
    const uint64_t left = limit.left_bytes();
    if (left < least.available_bytes) least = Headroom{left, "control group " + limit.group};
  }
  return least;
}

std::string address_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "unlimited";
  return format_bytes(limit.rlim_cur);
}

uint64_t machine_memory_bytes() { return meminfo_bytes("MemTotal:"); }

uint64_t mapping_limit() {
  const auto text = read_small_file("/proc/sys/vm/max_map_count");
  const uint64_t limit = text ? field(*text, "") : 0;
  return limit != 0 ? limit : 65530;
}

}  // namespace plat::os
