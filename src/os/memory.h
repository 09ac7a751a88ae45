// SPDX-License-Identifier: Apache-2.0
// Address space and pages of this process, and how much memory the machine still has.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace plat::os {

// Reserves address space that faults on every access. At `address` exactly, or anywhere when it is 0.
// Returns 0 and leaves errno (EEXIST: something is there already) on failure.
uint64_t reserve_address(uint64_t address, uint64_t size_bytes);
void release_address(uint64_t address, uint64_t size_bytes);

// Whether something is mapped in all of the range.
bool is_mapped(uint64_t address, uint64_t size_bytes);

// Whether fixed addresses may be asked for: ThreadSanitizer ends a process that does.
bool fixed_addresses_allowed();

// Maps `fd` shared, readable and writable, anywhere; not inherited by fork, not in core dumps. nullptr and
// errno on failure.
std::byte* map_shared(int fd, uint64_t offset, uint64_t size_bytes);
// Zeroed memory of this process that every forked child finds zeroed again. nullptr where there is none.
std::byte* map_wiped_in_child(uint64_t size_bytes);
void unmap(std::byte* start, uint64_t size_bytes);

// Maps part of `fd` at a reserved address, or takes it away again and leaves the address reserved. Each
// returns errno.
int map_at(uint64_t address, uint64_t size_bytes, int fd, uint64_t offset);
int unmap_at(uint64_t address, uint64_t size_bytes);

// Reserved addresses become memory of this process that reads as zero; and lose what was written to them, but
// stay open. False when the system refuses.
bool open_at(uint64_t address, uint64_t size_bytes);
void forget_contents(uint64_t address, uint64_t size_bytes);

// Gives the pages behind a shared mapping back to the system: they read as zero afterwards. Returns errno.
int discard(std::byte* start, uint64_t size_bytes);
// Maps the memory of a mapping that map_shared made at a reserved address too. Needs no file. Returns errno.
int map_copy_at(uint64_t address, uint64_t size_bytes, std::byte* memory);

// Maps `fd` over a mapping that map_shared made; nobody who uses it notices. Returns errno.
int map_over(std::byte* start, uint64_t size_bytes, int fd);
// Gives pages of a file back to the system: they read as zero afterwards. Returns errno.
int punch_hole(int fd, uint64_t offset, uint64_t size_bytes);
// Takes pages from the system now, so that a later write cannot fail. Returns errno.
int commit(int fd, uint64_t offset, uint64_t size_bytes);

// Memory that can still be taken before the machine or a control group of this process runs out.
struct Headroom {
  uint64_t available_bytes = UINT64_MAX;
  std::string limited_by;  // "the machine" or the control group's path
};
Headroom headroom();

uint64_t machine_memory_bytes();
// How much address space the process may have, for people: "4 GiB", or "unlimited".
std::string address_limit();
// vm.max_map_count.
uint64_t mapping_limit();

}  // namespace plat::os
