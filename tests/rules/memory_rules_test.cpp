// The rules of the allocation families, of host memory, of pools and of allocators.
#include <atomic>
#include <cstdlib>
#include <thread>

#include "acl/acl_rt_memory_soma.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

using Device = Memory;  // both devices open, device 0 current

void* malloc_device(size_t size = 4096) {
  void* block = nullptr;
  EXPECT_OK(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST));
  return block;
}

aclError malloc_with(aclrtMallocAttrType type, uint32_t value) {
  aclrtMallocAttribute attribute{};
  attribute.attr = type;
  attribute.value.deviceId = value;
  aclrtMallocConfig config{&attribute, 1};
  void* block = nullptr;
  return aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config);
}

void* page() { return std::aligned_alloc(4096, 8192); }

aclrtMemPoolProps pool_props(size_t max_size = 0) {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  props.maxSize = max_size;
  return props;
}

struct PoolFixture : Device {
  aclrtMemPool pool = nullptr;
  aclrtStream stream = nullptr;
  explicit PoolFixture(size_t max_size = 8_MiB) {
    const aclrtMemPoolProps props = pool_props(max_size);
    EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
    EXPECT_OK(aclrtCreateStream(&stream));
  }
  void* malloc(size_t size) {
    void* block = nullptr;
    EXPECT_OK(aclrtMemPoolMallocAsync(&block, size, pool, stream));
    return block;
  }
};

RULE_BROKEN(MallocOverflow) {
  Device d;
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&block, SIZE_MAX - 32, ACL_MEM_MALLOC_HUGE_FIRST));
}
RULE_KEPT(MallocOverflow) {
  Device d;
  malloc_device(1_MiB);
}

RULE_BROKEN(MallocLargest) {
  Device d;
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMalloc(&block, 129_GiB, ACL_MEM_MALLOC_HUGE_FIRST));
}
RULE_KEPT(MallocLargest) {
  Device d;
  malloc_device(32_MiB);
}

RULE_BROKEN(MallocConfig) {
  Device d;
  aclrtMallocConfig config{nullptr, 0};
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, &config));
  EXPECT_BREAKS(malloc_with(ACL_RT_MEM_ATTR_VA_FLAG, 1));
  EXPECT_BREAKS(aclrtMallocHostWithCfg(&block, 64, &config));
}
RULE_KEPT(MallocConfig) {
  Device d;
  EXPECT_OK(malloc_with(ACL_RT_MEM_ATTR_MODULE_ID, 7));
  void* block = nullptr;
  EXPECT_OK(aclrtMallocWithCfg(&block, 64, ACL_MEM_MALLOC_HUGE_FIRST, nullptr));
}

RULE_BROKEN(MallocConfigDevice) {
  Device d;
  EXPECT_BREAKS(malloc_with(ACL_RT_MEM_ATTR_DEVICE_ID, 1));
}
RULE_KEPT(MallocConfigDevice) {
  Device d;
  EXPECT_OK(malloc_with(ACL_RT_MEM_ATTR_DEVICE_ID, 0));
}

RULE_BROKEN(FreeUnknown) {
  Device d;
  EXPECT_BREAKS(aclrtFree(offset(malloc_device(), 64)));
  EXPECT_BREAKS(aclrtFree(offset(malloc_device(4_MiB), 2_MiB)));
  int local = 0;
  EXPECT_BREAKS(aclrtFree(&local));
}
RULE_KEPT(FreeUnknown) {
  Device d;
  EXPECT_OK(aclrtFree(malloc_device()));
  EXPECT_OK(aclrtFree(malloc_device(4_MiB)));
}

RULE_BROKEN(FreeTwice) {
  Device d;
  for (const size_t size : {size_t{64}, size_t{4_MiB}}) {
    void* block = malloc_device(size);
    EXPECT_OK(aclrtFree(block));
    EXPECT_BREAKS(aclrtFree(block));
  }
}
RULE_KEPT(FreeTwice) {
  Device d;
  void* block = malloc_device();
  EXPECT_OK(aclrtFree(block));
  void* again = malloc_device();  // the same address, and a block of its own
  EXPECT_EQ(again, block);
  EXPECT_OK(aclrtFree(again));
}

RULE_BROKEN(FreeOtherKind) {
  Memory m;
  EXPECT_BREAKS(aclrtFree(m.va));
  m.map();
  EXPECT_BREAKS(aclrtFree(m.va));
}
RULE_KEPT(FreeOtherKind) {
  Memory m;
  EXPECT_OK(aclrtFree(malloc_device()));
  EXPECT_OK(aclrtReleaseMemAddress(m.va));
}

RULE_BROKEN(FreeMixed) {
  Device d;
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 100));
  EXPECT_BREAKS(aclrtFree(media));
  EXPECT_BREAKS(hi_mpi_dvpp_free(media));
  EXPECT_BREAKS(acldvppFree(malloc_device()));
}
RULE_KEPT(FreeMixed) {
  Device d;
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 100));
  EXPECT_OK(acldvppFree(media));
  EXPECT_OK(hi_mpi_dvpp_malloc(0, &media, 100));
  EXPECT_OK(hi_mpi_dvpp_free(media));
}

// A copy that takes some time, and a free in the middle of it; tried until they meet.
RULE_BROKEN(FreeBusy, {"PLAT_CAPACITY", "256MiB"}) {
  Device d;
  const size_t size = 64_MiB;
  std::vector<char> host(size, 1);
  for (int attempt = 0; attempt < 200; ++attempt) {
    void* block = malloc_device(size);
    std::atomic<bool> running{false};
    std::thread copier([&] {
      (void)aclrtSetDevice(0);
      running = true;
      (void)aclrtMemcpy(block, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
    });
    while (!running) {
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1 + attempt % 5));
    const aclError code = aclrtFree(block);
    if (code != ACL_SUCCESS) {
      EXPECT_BREAKS(code);
      copier.join();
      EXPECT_OK(aclrtFree(block));
      return;
    }
    copier.join();
  }
  ADD_FAILURE() << "free and copy never met";
}
RULE_KEPT(FreeBusy) {
  Device d;
  void* block = malloc_device(4_MiB);
  std::vector<char> host(4_MiB);
  EXPECT_OK(aclrtMemcpy(block, host.size(), host.data(), host.size(), ACL_MEMCPY_HOST_TO_DEVICE));
  EXPECT_OK(aclrtFreeWithDevSync(block));
}

RULE_BROKEN(MemTypeMask) {
  Device d;
  void* block = malloc_device();
  uint32_t result = 0;
  EXPECT_BREAKS(aclrtCheckMemType(&block, 1, ACL_RT_MEM_TYPE_RSVD, &result, 0));
}
RULE_KEPT(MemTypeMask) {
  Device d;
  void* blocks[2] = {malloc_device(), nullptr};
  EXPECT_OK(acldvppMalloc(&blocks[1], 64));
  uint32_t result = 0;
  EXPECT_OK(aclrtCheckMemType(blocks, 2, ACL_RT_MEM_TYPE_DEV | ACL_RT_MEM_TYPE_DVPP, &result, 0));
  EXPECT_EQ(result, 1u);
  EXPECT_OK(aclrtCheckMemType(blocks, 2, ACL_RT_MEM_TYPE_DEV, &result, 0));
  EXPECT_EQ(result, 0u);
}

RULE_BROKEN(UsageRoom) {
  Device d;
  aclrtMemUsageInfo info{};
  size_t filled = 0;
  EXPECT_BREAKS(aclrtGetMemUsageInfo(0, &info, 0, &filled));
}
RULE_KEPT(UsageRoom) {
  Device d;
  malloc_device();
  aclrtMemUsageInfo info{};
  size_t filled = 0;
  EXPECT_OK(aclrtGetMemUsageInfo(0, &info, 1, &filled));
  EXPECT_EQ(filled, 1u);
  EXPECT_STREQ(info.name, "APP");
  EXPECT_EQ(info.curMemSize, 8_KiB);
}

RULE_BROKEN(PointerUnmapped) {
  Memory m;
  aclrtPtrAttributes attributes{};
  EXPECT_BREAKS(aclrtPointerGetAttributes(m.va, &attributes));
}
RULE_KEPT(PointerUnmapped) {
  Memory m;
  m.map();
  aclrtPtrAttributes attributes{};
  EXPECT_OK(aclrtPointerGetAttributes(m.va, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_DEVICE);
  EXPECT_EQ(attributes.pageSize, 2_MiB);
  int local = 0;
  EXPECT_OK(aclrtPointerGetAttributes(&local, &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_UNREGISTERED);
  void* pinned = nullptr;
  EXPECT_OK(aclrtMallocHost(&pinned, 100));
  EXPECT_OK(aclrtPointerGetAttributes(offset(pinned, 50), &attributes));
  EXPECT_EQ(attributes.location.type, ACL_MEM_LOCATION_TYPE_HOST);
}

RULE_BROKEN(AddressRangeArguments) {
  Device d;
  EXPECT_BREAKS(aclrtMemGetAddressRange(malloc_device(), nullptr, nullptr));
}
RULE_KEPT(AddressRangeArguments) {
  Device d;
  size_t size = 0;
  EXPECT_OK(aclrtMemGetAddressRange(malloc_device(100), nullptr, &size));
  EXPECT_EQ(size, 4096u);
}

RULE_BROKEN(AddressRangeUnknown) {
  Device d;
  int local = 0;
  void* base = nullptr;
  EXPECT_BREAKS(aclrtMemGetAddressRange(&local, &base, nullptr));
}
RULE_KEPT(AddressRangeUnknown) {
  Memory m;
  m.map();
  void* base = nullptr;
  size_t size = 0;
  EXPECT_OK(aclrtMemGetAddressRange(offset(m.va, 77), &base, &size));
  EXPECT_EQ(base, m.va);
  EXPECT_EQ(size, 2_MiB);
}

RULE_BROKEN(HostFreeUnknown) {
  Device d;
  int local = 0;
  EXPECT_BREAKS(aclrtFreeHost(&local));
  EXPECT_BREAKS(aclrtFreeHost(malloc_device()));
}
RULE_KEPT(HostFreeUnknown) {
  Device d;
  void* host = nullptr;
  EXPECT_OK(aclrtMallocHost(&host, 1000));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(host) % 64, 0u);
  EXPECT_OK(aclrtFreeHost(host));
}

RULE_BROKEN(HostRegisterType) {
  Device d;
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostRegister(page(), 4096, static_cast<aclrtHostRegisterType>(2), &view));
}
RULE_KEPT(HostRegisterType) {
  Device d;
  void* view = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 4096, ACL_HOST_REGISTER_MAPPED, &view));
}

RULE_BROKEN(HostRegisterFlags) {
  Device d;
  EXPECT_BREAKS(aclrtHostRegisterV2(page(), 4096, 0));
  EXPECT_BREAKS(aclrtHostRegisterV2(page(), 4096, 1));
}
RULE_KEPT(HostRegisterFlags) {
  Device d;
  EXPECT_OK(aclrtHostRegisterV2(page(), 4096, ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
}

RULE_BROKEN(HostRegisterAligned) {
  Device d;
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostRegister(offset(page(), 64), 4096, ACL_HOST_REGISTER_MAPPED, &view));
}
RULE_KEPT(HostRegisterAligned) {
  Device d;
  void* view = nullptr;
  EXPECT_OK(aclrtHostRegister(page(), 100, ACL_HOST_REGISTER_MAPPED, &view));
}

RULE_BROKEN(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostRegisterV2(offset(host, 4096), 4096, ACL_HOST_REG_MAPPED));
}
RULE_KEPT(HostRegisterOverlap) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostRegisterV2(offset(host, 4096), 4096, ACL_HOST_REG_MAPPED));
}

RULE_BROKEN(HostRegisterDevice) {
  Device d;
  EXPECT_BREAKS(aclrtHostRegisterV2(malloc_device(), 4096, ACL_HOST_REG_MAPPED));
}
RULE_KEPT(HostRegisterDevice) {
  Device d;
  EXPECT_OK(aclrtHostRegisterV2(page(), 4096, ACL_HOST_REG_MAPPED));
}

RULE_BROKEN(HostPointerUnknown) {
  Device d;
  void* host = page();
  void* view = nullptr;
  EXPECT_BREAKS(aclrtHostGetDevicePointer(host, &view, 0));
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_PINNED));
  EXPECT_BREAKS(aclrtHostGetDevicePointer(host, &view, 0));
}
RULE_KEPT(HostPointerUnknown) {
  Device d;
  void* host = page();
  void* start = nullptr;
  void* inside = nullptr;
  EXPECT_OK(aclrtHostRegisterV2(host, 4096, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostGetDevicePointer(host, &start, 0));
  EXPECT_OK(aclrtHostGetDevicePointer(offset(host, 100), &inside, 0));
  EXPECT_EQ(offset(start, 100), inside);
}

RULE_BROKEN(HostUnregisterUnknown) {
  Device d;
  void* host = page();
  EXPECT_BREAKS(aclrtHostUnregister(host));
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_BREAKS(aclrtHostUnregister(offset(host, 4096)));
}
RULE_KEPT(HostUnregisterUnknown) {
  Device d;
  void* host = page();
  EXPECT_OK(aclrtHostRegisterV2(host, 8192, ACL_HOST_REG_MAPPED));
  EXPECT_OK(aclrtHostUnregister(host));
}

RULE_BROKEN(PoolHandle) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolDestroy(p.pool));
  EXPECT_BREAKS(aclrtMemPoolDestroy(p.pool));
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMemPoolMallocAsync(&block, 64, p.pool, p.stream));
}
RULE_KEPT(PoolHandle) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(64), p.stream));
  EXPECT_OK(aclrtMemPoolDestroy(p.pool));
}

RULE_BROKEN(PoolAttributeArguments) {
  PoolFixture p;
  uint64_t value = 0;
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, nullptr));
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &value));
  EXPECT_BREAKS(aclrtMemPoolGetAttr(&value, ACL_RT_MEM_POOL_ATTR_USED_MEM_CURRENT, &value));
}
RULE_KEPT(PoolAttributeArguments) {
  PoolFixture p;
  uint32_t on = 1;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &on));
  on = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_REUSE_ALLOW_OPPORTUNISTIC, &on));
  EXPECT_EQ(on, 1u);
}

RULE_BROKEN(PoolAttribute) {
  PoolFixture p;
  uint64_t value = 16_MiB;
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &value));
  EXPECT_BREAKS(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_BREAKS(aclrtMemPoolGetAttr(p.pool, static_cast<aclrtMemPoolAttr>(99), &value));
}
RULE_KEPT(PoolAttribute) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(3_MiB), p.stream));
  uint64_t value = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
  EXPECT_EQ(value, 4_MiB);
  value = 0;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_USED_MEM_HIGH, &value));
}

RULE_BROKEN(PoolSize) {
  Device d;
  const aclrtMemPoolProps props = pool_props(65_MiB);
  aclrtMemPool pool = nullptr;
  EXPECT_BREAKS(aclrtMemPoolCreate(&pool, &props));
}
RULE_KEPT(PoolSize) {
  Device d;
  const aclrtMemPoolProps props = pool_props(64_MiB);
  aclrtMemPool pool = nullptr;
  EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
}

RULE_BROKEN(PoolLocation) {
  Device d;
  aclrtMemPoolProps props = pool_props();
  props.reserved[31] = 1;
  aclrtMemPool pool = nullptr;
  EXPECT_BREAKS(aclrtMemPoolCreate(&pool, &props));
}
RULE_KEPT(PoolLocation) {
  Device d;
  const aclrtMemPoolProps props = pool_props();
  aclrtMemPool pool = nullptr;
  EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
}

RULE_BROKEN(PoolExhausted) {
  PoolFixture p(4_MiB);
  p.malloc(3_MiB);
  void* block = nullptr;
  EXPECT_BREAKS(aclrtMemPoolMallocAsync(&block, 1, p.pool, p.stream));
}
RULE_KEPT(PoolExhausted) {
  PoolFixture p(4_MiB);
  void* block = p.malloc(3_MiB);
  EXPECT_OK(aclrtMemPoolFreeAsync(block, p.stream));
  EXPECT_EQ(p.malloc(4_MiB), block);
}

RULE_BROKEN(PoolTrim) {
  PoolFixture p;
  p.malloc(4_MiB);
  EXPECT_BREAKS(aclrtMemPoolTrimTo(p.pool, 2_MiB));
  EXPECT_BREAKS(aclrtMemPoolTrimTo(p.pool, 10_MiB));
}
RULE_KEPT(PoolTrim) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(4_MiB), p.stream));
  uint64_t threshold = 8_MiB;
  EXPECT_OK(aclrtMemPoolSetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &threshold));
  EXPECT_OK(aclrtSynchronizeStream(p.stream));
  uint64_t held = 0;
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &held));
  EXPECT_EQ(held, 4_MiB);
  EXPECT_OK(aclrtMemPoolTrimTo(p.pool, 0));
  EXPECT_OK(aclrtMemPoolGetAttr(p.pool, ACL_RT_MEM_POOL_ATTR_RESERVED_MEM_CURRENT, &held));
  EXPECT_EQ(held, 0u);
}

RULE_BROKEN(PoolFree) {
  PoolFixture p;
  void* block = p.malloc(2_MiB);
  EXPECT_OK(aclrtMemPoolFreeAsync(block, p.stream));
  EXPECT_BREAKS(aclrtMemPoolFreeAsync(block, p.stream));
}
RULE_KEPT(PoolFree) {
  PoolFixture p;
  EXPECT_OK(aclrtMemPoolFreeAsync(p.malloc(2_MiB), p.stream));
  EXPECT_OK(aclrtMemPoolFreeAsync(malloc_device(), p.stream));
  EXPECT_OK(aclrtFree(p.malloc(2_MiB)));
  EXPECT_OK(aclrtSynchronizeStream(p.stream));
}

void* pretend_alloc(aclrtAllocator, size_t) { return nullptr; }
void pretend_free(aclrtAllocator, aclrtAllocatorBlock) {}
void* pretend_address(aclrtAllocatorBlock block) { return block; }

aclrtAllocatorDesc description(bool complete) {
  static int object = 0;
  aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
  EXPECT_OK(aclrtAllocatorSetObjToDesc(desc, &object));
  EXPECT_OK(aclrtAllocatorSetAllocFuncToDesc(desc, pretend_alloc));
  EXPECT_OK(aclrtAllocatorSetFreeFuncToDesc(desc, pretend_free));
  if (complete) EXPECT_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, pretend_address));
  return desc;
}

RULE_BROKEN(AllocatorDescription) {
  PoolFixture p;
  EXPECT_BREAKS(aclrtAllocatorRegister(p.stream, description(false)));
  int local = 0;
  EXPECT_BREAKS(aclrtAllocatorDestroyDesc(&local));
}
RULE_KEPT(AllocatorDescription) {
  PoolFixture p;
  aclrtAllocatorDesc desc = description(true);
  EXPECT_OK(aclrtAllocatorRegister(p.stream, desc));
  EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
}

aclError look_up(aclrtStream stream, aclrtAllocatorGetAddrFromBlockFunc* address) {
  aclrtAllocatorDesc desc = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate = nullptr;
  aclrtAllocatorFreeFunc release = nullptr;
  aclrtAllocatorAllocAdviseFunc advise = nullptr;
  return aclrtAllocatorGetByStream(stream, &desc, &object, &allocate, &release, &advise, address);
}

RULE_BROKEN(AllocatorMissing) {
  PoolFixture p;
  EXPECT_OK(aclrtAllocatorUnregister(p.stream));
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  EXPECT_BREAKS(look_up(p.stream, &address));
}
RULE_KEPT(AllocatorMissing) {
  PoolFixture p;
  aclrtAllocatorDesc desc = description(true);
  EXPECT_OK(aclrtAllocatorRegister(p.stream, desc));
  EXPECT_OK(aclrtAllocatorDestroyDesc(desc));
  aclrtAllocatorGetAddrFromBlockFunc address = nullptr;
  EXPECT_OK(look_up(p.stream, &address));
  EXPECT_EQ(address, &pretend_address);
}

aclError copy_to(void* device, size_t size) {
  std::vector<char> host(size);
  return aclrtMemcpy(device, size, host.data(), size, ACL_MEMCPY_HOST_TO_DEVICE);
}

RULE_BROKEN(SegmentStart, {"PLAT_RULES", "MEM-Segment-start=error"}) {
  Device d;
  EXPECT_BREAKS(copy_to(offset(malloc_device(4096), 32), 64));
  void* media = nullptr;
  EXPECT_OK(acldvppMalloc(&media, 4096));
  EXPECT_BREAKS(copy_to(offset(media, 64), 64));
}
RULE_KEPT(SegmentStart, {"PLAT_RULES", "MEM-Segment-start=error"}) {
  Device d;
  EXPECT_OK(copy_to(offset(malloc_device(4096), 64), 64));
}

RULE_BROKEN(SegmentRoom, {"PLAT_RULES", "MEM-Segment-room=error"}) {
  Device d;
  EXPECT_BREAKS(copy_to(offset(malloc_device(128), 64), 65));
}
RULE_KEPT(SegmentRoom, {"PLAT_RULES", "MEM-Segment-room=error"}) {
  Device d;
  EXPECT_OK(copy_to(offset(malloc_device(128), 64), 64));
}

}  // namespace
}  // namespace plat::rule_test
