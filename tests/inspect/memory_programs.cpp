// SPDX-License-Identifier: Apache-2.0
// Accesses to blocks and mappings, and giving them back.
#include <memory>

#include "acl/ops/acl_dvpp.h"
#include "inspect/program.h"

namespace programs {

namespace {

void run_out_of_memory(bool again) {
  Device device;
  size_t free = 0, total = 0;
  MUST(aclrtGetMemInfo(ACL_HBM_MEM, &free, &total));
  const size_t most = free / 3 * 2;
  char* cache = block(most, false);
  for (int i = 0; i < 3; ++i) {
    void* wanted = nullptr;
    if (aclrtMalloc(&wanted, most, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS) std::exit(97);
    if (!again) continue;
    MUST(aclrtFree(cache));
    cache = block(most, false);
  }
  MUST(aclrtFree(cache));
}

}  // namespace

void add_memory_programs(Programs& all) {
  all["s0_inside"] = [] {
    Device device;
    char* const memory = block(4096);
    read(memory, 4096);
    MUST(aclrtFree(memory));
  };
  all["past_end"] = [] {
    Device device;
    char* const memory = block(4096);
    PLANTED(write(memory + 4000, 4096));
    MUST(aclrtFree(memory));
  };
  all["up_to_the_end"] = [] {
    Device device;
    char* const memory = block(4096);
    MUST(write(memory + 4000, 96));
    MUST(aclrtFree(memory));
  };
  all["neighbour"] = [] {
    Device device;
    char* const memory = block(4096);
    char* const next = block(4096);
    if (next < memory) std::exit(97);  // the program needs them in this order
    PLANTED(write(memory, static_cast<size_t>(next - memory) + 64));
    MUST(aclrtFree(memory));
    MUST(aclrtFree(next));
  };
  all["neighbours_apart"] = [] {
    Device device;
    char* const memory = block(4096);
    char* const next = block(4096);
    MUST(write(memory, 4096));
    MUST(write(next, 4096));
    MUST(aclrtFree(memory));
    MUST(aclrtFree(next));
  };
  all["padding"] = [] {
    Device device;
    char* const memory = block(100);
    PLANTED(write(memory, 128));
    MUST(aclrtFree(memory));
  };
  all["rounded_up_from_the_start"] = [] {
    Device device;
    char* const memory = block(128);
    MUST(write(memory, 128));
    MUST(aclrtFree(memory));
  };
  all["freed"] = [] {
    Device device;
    char* const memory = block(4096);
    MUST(aclrtFree(memory));
    PLANTED(write(memory + 64, 64));
  };
  all["freed_after_use"] = [] {
    Device device;
    char* const memory = block(4096);
    MUST(write(memory + 64, 64));
    MUST(aclrtFree(memory));
  };
  all["unmapped"] = [] {
    Device device;
    Mapped mapped(1);
    PLANTED(write(mapped.at(Mapped::kPage - 64), 128));
    mapped.release();
  };
  all["unmapped_all"] = [] {
    Device device;
    Mapped mapped(1);
    PLANTED(write(mapped.at(Mapped::kPage + 64), 128));
    mapped.release();
  };
  all["mappings_touch"] = [] {
    Device device;
    Mapped mapped(3);
    MUST(write(mapped.at(100), 5 * kMiB));
    MUST(read(mapped.at(4096), 4 * kMiB));
    mapped.release();
  };
  all["unknown_address"] = [] {
    Device device;
    static char on_host[256];
    PLANTED(aclrtMemcpy(reinterpret_cast<void*>(0x7000), 256, on_host, 256, ACL_MEMCPY_HOST_TO_DEVICE));
  };
  all["known_address"] = [] {
    Device device;
    static char on_host[256];
    char* const memory = block(256);
    MUST(aclrtMemcpy(memory, 256, on_host, 256, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtFree(memory));
  };
  all["s12_unwritten"] = [] {
    Device device;
    char* const memory = block(4096, false);
    write(memory, 1024);
    PLANTED(read(memory, 2048));
    MUST(aclrtFree(memory));
  };
  all["s12_written"] = [] {
    Device device;
    char* const memory = block(4096, false);
    MUST(write(memory, 2048));
    MUST(read(memory, 2048));
    MUST(aclrtFree(memory));
  };
  // Out of memory: one makes room and asks again, as clients with a cache do; the other lives without.
  all["fails_and_asks_again"] = [] { run_out_of_memory(true); };
  all["fails_for_good"] = [] { run_out_of_memory(false); };
  // A tensor of 4000 bytes in a block that was rounded up, all of which is saved.
  all["saves_whole_block"] = [] {
    Device device;
    char* const memory = block(4096, false);
    write(memory, 4000);
    read(memory, 4096);
    MUST(aclrtFree(memory));
  };
  all["saves_too_much"] = [] {
    Device device;
    char* const memory = block(8192, false);
    write(memory, 4000);
    PLANTED(read(memory, 8192));
    MUST(aclrtFree(memory));
  };
  all["saves_a_hole"] = [] {
    Device device;
    char* const memory = block(4096, false);
    write(memory, 1000);
    write(memory + 1024, 3072);
    PLANTED(read(memory, 4096));
    MUST(aclrtFree(memory));
  };
  all["written_by_parts"] = [] {
    Device device;
    char* const memory = block(4096, false);
    char* const other = block(4096, false);
    write(memory, 1024);
    MUST(aclrtMemset(memory + 1024, 3072, 0, 3072));
    MUST(aclrtMemcpy(other, 4096, memory, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE));
    MUST(read(other, 4096));
    MUST(aclrtFree(memory));
    MUST(aclrtFree(other));
  };
  all["unwritten_copied"] = [] {
    Device device;
    char* const memory = block(4096, false);
    char* const other = block(4096);
    MUST(aclrtMemcpy(other, 4096, memory, 4096, ACL_MEMCPY_DEVICE_TO_DEVICE));  // nobody looks yet
    PLANTED(read(other, 64));
    MUST(aclrtFree(memory));
    MUST(aclrtFree(other));
  };
  all["alias_written"] = [] {
    Device device;
    Mapped mapped(1);
    void* second = nullptr;
    MUST(aclrtReserveMemAddress(&second, Mapped::kPage, 0, nullptr, 0));
    MUST(aclrtMapMem(second, Mapped::kPage, 0, mapped.handles[0], 0));
    MUST(write(second, 4096));
    MUST(read(mapped.at(0), 4096));  // the same memory under its other address
    MUST(aclrtUnmapMem(second));
    MUST(aclrtReleaseMemAddress(second));
    mapped.release();
  };
  all["s14_free_unknown"] = [] {
    Device device;
    char* const memory = block(4096);
    PLANTED(aclrtFree(memory + 64));
    MUST(aclrtFree(memory));
  };
  all["freed_at_its_start"] = [] {
    Device device;
    char* const memory = block(4096);
    const char* const part = memory + 64;
    MUST(read(part, 64));
    MUST(aclrtFree(memory));
  };
  all["s14_free_twice"] = [] {
    Device device;
    char* const memory = block(4096);
    MUST(aclrtFree(memory));
    PLANTED(aclrtFree(memory));
  };
  all["freed_by_one_owner"] = [] {
    Device device;
    const auto free_block = [](char* memory) { MUST(aclrtFree(memory)); };
    const std::unique_ptr<char, void (*)(char*)> owner(block(4096), free_block);
    char* const guest = owner.get();
    MUST(write(guest, 4096));
  };
  all["unmap_twice"] = [] {
    Device device;
    Mapped mapped(1);
    MUST(aclrtUnmapMem(mapped.at(0)));
    PLANTED(aclrtUnmapMem(mapped.at(0)));
    MUST(aclrtFreePhysical(mapped.handles[0]));
    MUST(aclrtReleaseMemAddress(mapped.address));
  };
  all["free_family"] = [] {
    Device device;
    void* media = nullptr;
    MUST(acldvppMalloc(&media, 4096));
    if (PLANTED(aclrtFree(media)) != 0) MUST(acldvppFree(media));
  };
  all["rule_teardown"] = [] {
    Device device;
    Mapped mapped(1);
    MUST(PLANTED(aclrtFreePhysical(mapped.handles[0])));
    MUST(aclrtUnmapMem(mapped.at(0)));
    MUST(aclrtReleaseMemAddress(mapped.address));
  };
  all["teardown_in_order"] = [] {
    Device device;
    Mapped mapped(1);
    MUST(aclrtUnmapMem(mapped.at(0)));
    MUST(aclrtFreePhysical(mapped.handles[0]));
    MUST(aclrtReleaseMemAddress(mapped.address));
  };
  all["rule_map_whole"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle handle = nullptr;
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    MUST(aclrtReserveMemAddress(&address, Mapped::kPage, 0, nullptr, 0));
    MUST(aclrtMallocPhysical(&handle, 2 * Mapped::kPage, &prop, 0));
    MUST(PLANTED(aclrtMapMem(address, Mapped::kPage, 0, handle, 0)));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtFreePhysical(handle));
    MUST(aclrtReleaseMemAddress(address));
  };
  all["maps_whole"] = [] {
    Device device;
    void* address = nullptr;
    aclrtDrvMemHandle handle = nullptr;
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    MUST(aclrtReserveMemAddress(&address, 2 * Mapped::kPage, 0, nullptr, 0));
    MUST(aclrtMallocPhysical(&handle, 2 * Mapped::kPage, &prop, 0));
    MUST(aclrtMapMem(address, 2 * Mapped::kPage, 0, handle, 0));
    MUST(aclrtUnmapMem(address));
    MUST(aclrtFreePhysical(handle));
    MUST(aclrtReleaseMemAddress(address));
  };
  all["rule_async_aligned"] = [] {
    Device device;
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    char* const memory = block(4096);
    MUST(PLANTED(aclrtMemcpyAsync(memory + 4, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr)));
    MUST(aclrtSynchronizeStream(nullptr));
    MUST(aclrtFree(memory));
    MUST(aclrtFreeHost(host));
  };
  all["async_aligned"] = [] {
    Device device;
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    char* const memory = block(4096);
    MUST(aclrtMemcpyAsync(memory + 128, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE, nullptr));
    MUST(aclrtSynchronizeStream(nullptr));
    MUST(aclrtFree(memory));
    MUST(aclrtFreeHost(host));
  };
  all["media"] = [] {
    Device device;
    void* media = nullptr;
    MUST(acldvppMalloc(&media, 4096));
    MUST(acldvppFree(media));
  };
  all["host_past_end"] = [] {
    Device device;
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    char* const memory = block(8192);
    // Reading: a write would destroy what the C library keeps behind the block.
    PLANTED(aclrtMemcpy(memory, 8192, host, 8192, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtFree(memory));
    MUST(aclrtFreeHost(host));
  };
  all["rule_copy_kind"] = [] {
    Device device;
    char* const memory = block(4096);
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    PLANTED(aclrtMemcpy(memory, 4096, host, 4096, ACL_MEMCPY_DEVICE_TO_HOST));  // the wrong way round
    MUST(aclrtMemcpy(host, 4096, memory, 4096, ACL_MEMCPY_DEVICE_TO_HOST));
    MUST(aclrtFreeHost(host));
    MUST(aclrtFree(memory));
  };
  all["copy_kinds"] = [] {
    Device device;
    char* const memory = block(4096);
    void* host = nullptr;
    MUST(aclrtMallocHost(&host, 4096));
    MUST(aclrtMemcpy(memory, 4096, host, 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    MUST(aclrtMemcpy(memory + 2048, 2048, memory, 2048, ACL_MEMCPY_DEVICE_TO_DEVICE));
    MUST(aclrtMemcpy(host, 4096, memory, 4096, ACL_MEMCPY_DEVICE_TO_HOST));
    MUST(aclrtMemcpy(host, 2048, static_cast<char*>(host) + 2048, 2048, ACL_MEMCPY_HOST_TO_HOST));
    MUST(aclrtFreeHost(host));
    MUST(aclrtFree(memory));
  };
  all["rule_copy_overlap"] = [] {
    Device device;
    char* const memory = block(4096);
    PLANTED(aclrtMemcpy(memory + 1024, 2048, memory, 2048, ACL_MEMCPY_DEVICE_TO_DEVICE));
    MUST(aclrtFree(memory));
  };
  all["copies_beside"] = [] {
    Device device;
    char* const memory = block(4096);
    MUST(aclrtMemcpy(memory + 2048, 2048, memory, 2048, ACL_MEMCPY_DEVICE_TO_DEVICE));
    MUST(aclrtFree(memory));
  };
  all["host_to_host"] = [] {
    Device device;
    std::vector<char> source(4096, 1), target(4096);
    MUST(aclrtMemcpy(target.data(), 4096, source.data(), 4096, ACL_MEMCPY_DEFAULT));
    MUST(aclrtMemcpy(source.data(), 4096, target.data(), 4096, ACL_MEMCPY_HOST_TO_HOST));
  };
  all["peak"] = [] {
    Device device;
    char* const first = block(3 * kMiB);
    char* const second = block(3 * kMiB);
    MUST(aclrtFree(first));
    MUST(aclrtFree(second));
  };
}

}  // namespace programs
