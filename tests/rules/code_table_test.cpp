// SPDX-License-Identifier: Apache-2.0
// Which code a mistake has, by driver generation: the tables of the documentation, row by row. That the right
// rule is cited is tested elsewhere; here the numbers are, which clients compare.
#include <gtest/gtest.h>

#include <span>
#include <thread>

#include "acl/acl_rt_memory_soma.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {
namespace {

constexpr int kAny = -1;  // the documents do not say
constexpr auto kH2D = ACL_MEMCPY_HOST_TO_DEVICE;
constexpr auto kFirst = ACL_MEM_MALLOC_HUGE_FIRST;

// Devices 0 and 1 open; a range with a hole and a mapping; a block, pinned memory, and streams of two
// contexts.
struct Scene : Memory {
  void* mapped = nullptr;
  void* block = nullptr;
  void* freed = nullptr;
  void* pinned = nullptr;
  aclrtStream stream = nullptr;
  aclrtStream foreign = nullptr;
  aclrtMemPool pool = nullptr;
  alignas(64) char host[256] = {};
  void* out = nullptr;
  size_t size = 0;

  Scene() {
    mapped = offset(va, 4_MiB);
    EXPECT_OK(aclrtMapMem(mapped, 2_MiB, 0, handle, 0));
    EXPECT_OK(aclrtMalloc(&block, 4096, kFirst));
    EXPECT_OK(aclrtMalloc(&freed, 4096, kFirst));
    EXPECT_OK(aclrtFree(freed));
    EXPECT_OK(aclrtMallocHost(&pinned, 4096));
    EXPECT_OK(aclrtCreateStream(&stream));
    aclrtContext here = nullptr, there = nullptr;
    EXPECT_OK(aclrtGetCurrentContext(&here));
    EXPECT_OK(aclrtCreateContext(&there, 0));
    EXPECT_OK(aclrtCreateStream(&foreign));
    EXPECT_OK(aclrtSetCurrentContext(here));
    aclrtMemPoolProps props{};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    props.maxSize = 4_MiB;
    EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
  }
  aclError physical_with(aclrtPhysicalMemProp prop, size_t bytes = 2_MiB, uint64_t flags = 0) {
    aclrtDrvMemHandle made = nullptr;
    return aclrtMallocPhysical(&made, bytes, &prop, flags);
  }
  aclError access(aclrtMemAccessFlags flags, void* at, size_t bytes) {
    aclrtMemAccessDesc desc{};
    desc.flags = flags;
    desc.location = {0, ACL_MEM_LOCATION_TYPE_DEVICE};
    return aclrtMemSetAccess(at, bytes, &desc, 1);
  }
  aclError pool_attribute(int attribute, uint64_t value) {
    return aclrtMemPoolSetAttr(pool, static_cast<aclrtMemPoolAttr>(attribute), &value);
  }
  template <class Call>
  aclError without_context(const Call& call) {
    aclError code = ACL_SUCCESS;
    std::thread([&] { code = call(); }).join();
    return code;
  }
};

struct Row {
  const char* mistake;
  int older, newer;
  aclError (*call)(Scene&);
};

#define ROW(mistake, older, newer, expression)        \
  Row {                                               \
    mistake, older, newer, [](Scene& s) -> aclError { \
      (void)s;                                        \
      return expression;                              \
    }                                                 \
  }

const Row kAllocation[] = {
    ROW("malloc to null", 100000, 100000, aclrtMalloc(nullptr, 64, kFirst)),
    ROW("malloc of nothing", 100000, 100000, aclrtMalloc(&s.out, 0, kFirst)),
    ROW("malloc that wraps", 100000, 100000, aclrtMalloc(&s.out, SIZE_MAX - 8, kFirst)),
    ROW("malloc beyond the device", 207001, 207001, aclrtMalloc(&s.out, 1_GiB, kFirst)),
    ROW("malloc beyond all", 207001, 207001, aclrtMalloc(&s.out, 200_GiB, kFirst)),
    ROW("malloc of normal pages beyond the device", 207001, 207001,
        aclrtMalloc(&s.out, 1_GiB, ACL_MEM_MALLOC_NORMAL_ONLY)),
    ROW("malloc without a context", 107002, 107002,
        s.without_context([&s] { return aclrtMalloc(&s.out, 64, kFirst); })),
    ROW("malloc host without a context", 107002, 107002,
        s.without_context([&s] { return aclrtMallocHost(&s.out, 64); })),
    ROW("align32 to null", 100000, 100000, aclrtMallocAlign32(nullptr, 64, kFirst)),
    ROW("align32 of nothing", 100000, 100000, aclrtMallocAlign32(&s.out, 0, kFirst)),
    ROW("cached to null", 100000, 100000, aclrtMallocCached(nullptr, 64, kFirst)),
    ROW("task scheduler of nothing", 100000, 100000, aclrtMallocForTaskScheduler(&s.out, 0, kFirst, nullptr)),
    ROW("free of null", 100000, 100000, aclrtFree(nullptr)),
    ROW("free of a wild address", 107000, 107000, aclrtFree(s.host)),
    ROW("free twice", 107000, 107000, aclrtFree(s.freed)),
    ROW("free inside", 107000, 107000, aclrtFree(offset(s.block, 64))),
    ROW("free of a reservation", 107000, 107000, aclrtFree(s.va)),
    ROW("free of a mapping", 107000, 107000, aclrtFree(s.mapped)),
    ROW("free with sync of null", 100000, 100000, aclrtFreeWithDevSync(nullptr)),
    ROW("free with sync twice", 107000, 107000, aclrtFreeWithDevSync(s.freed)),
    ROW("flush of null", 100000, 100000, aclrtMemFlush(nullptr, 64)),
    ROW("flush of nothing", 100000, 100000, aclrtMemFlush(s.block, 0)),
    ROW("flush", 0, 0, aclrtMemFlush(s.block, 64)),
    ROW("invalidate of null", 100000, 100000, aclrtMemInvalidate(nullptr, 64)),
    ROW("invalidate of nothing", 100000, 100000, aclrtMemInvalidate(s.block, 0)),
    ROW("invalidate", 0, 0, aclrtMemInvalidate(s.block, 64)),
    ROW("information to null", 100000, 100000, aclrtGetMemInfo(ACL_HBM_MEM, nullptr, &s.size)),
    ROW("information of attribute 18", 107016, 107016,
        aclrtGetMemInfo(static_cast<aclrtMemAttr>(18), &s.size, &s.size)),
    ROW("information without a device", 107002, 107002,
        s.without_context([&s] { return aclrtGetMemInfo(ACL_HBM_MEM, &s.size, &s.size); })),
    ROW("types of no addresses", 100000, 100000, aclrtCheckMemType(nullptr, 1, 2, nullptr, 0)),
    ROW("media to null", 100000, 100000, acldvppMalloc(nullptr, 64)),
    ROW("media of nothing", 100000, 100000, acldvppMalloc(&s.out, 0)),
    ROW("media free of null", 100000, 100000, acldvppFree(nullptr)),
    ROW("an unknown policy is huge first", 0, 0,
        aclrtMalloc(&s.out, 64, static_cast<aclrtMemMallocPolicy>(77))),
};

const Row kHost[] = {
    ROW("host to null", 100000, 100000, aclrtMallocHost(nullptr, 64)),
    ROW("host of nothing", 100000, 100000, aclrtMallocHost(&s.out, 0)),
    ROW("host with a configuration of nothing", 100000, 100000, aclrtMallocHostWithCfg(&s.out, 0, nullptr)),
    ROW("free host of null", 100000, 100000, aclrtFreeHost(nullptr)),
    ROW("free host of a wild address", 107000, 107000, aclrtFreeHost(s.host)),
    ROW("free host with sync of null", 100000, 100000, aclrtFreeHostWithDevSync(nullptr)),
    ROW("free host with sync of a wild address", 107000, 107000, aclrtFreeHostWithDevSync(s.host)),
    ROW("register of null", 100000, 100000,
        aclrtHostRegister(nullptr, 4096, ACL_HOST_REGISTER_MAPPED, &s.out)),
    ROW("register of an unknown type", 207000, 207000,
        aclrtHostRegister(s.pinned, 4096, static_cast<aclrtHostRegisterType>(3), &s.out)),
    ROW("register again", 507910, 507910, aclrtHostRegisterV2(s.pinned, 4096, ACL_HOST_REG_PINNED)),
    ROW("register without a flag", 107000, 107000, aclrtHostRegisterV2(s.host, 64, 0)),
    ROW("register with an unknown flag", 107000, 107000, aclrtHostRegisterV2(s.host, 64, 0x100)),
    ROW("device pointer with a flag", 100000, 100000, aclrtHostGetDevicePointer(s.pinned, &s.out, 1)),
    ROW("device pointer of other memory", 107000, 107000, aclrtHostGetDevicePointer(s.host, &s.out, 0)),
    ROW("unregister of null", 100000, 100000, aclrtHostUnregister(nullptr)),
    ROW("unregister of other memory", 507911, 507911, aclrtHostUnregister(s.host)),
    ROW("attributes to null", 100000, 100000, aclrtPointerGetAttributes(s.host, nullptr)),
    ROW("attributes of null", 100000, 100000,
        [] {
          aclrtPtrAttributes a;
          return aclrtPointerGetAttributes(nullptr, &a);
        }()),
};

const Row kVirtualMemory[] = {
    ROW("reserve with an alignment", 107000, 107000, aclrtReserveMemAddress(&s.out, 2_MiB, 4096, nullptr, 0)),
    ROW("reserve with flags 2", 100000, 100000, aclrtReserveMemAddress(&s.out, 2_MiB, 0, nullptr, 2)),
    ROW("reserve of nothing", 100000, 100000, aclrtReserveMemAddress(&s.out, 0, 0, nullptr, 0)),
    ROW("reserve of what only the newer driver takes", 207001, 0,
        aclrtReserveMemAddress(&s.out, 200_GiB, 0, nullptr, 0)),
    ROW("reserve of too much", 207001, 207001, aclrtReserveMemAddress(&s.out, 137_TiB, 0, nullptr, 0)),
    ROW("release of no reservation", 107000, 107000, aclrtReleaseMemAddress(s.host)),
    ROW("release inside", 107000, kAny, aclrtReleaseMemAddress(offset(s.va, 2_MiB))),
    ROW("release while mapped", 507899, 507899, aclrtReleaseMemAddress(s.va)),
    ROW("physical of an odd size", 507899, 107000, s.physical_with(device_prop(), 2_MiB + 1)),
    ROW("physical with flags", 100000, 100000, s.physical_with(device_prop(), 2_MiB, 1)),
    ROW("physical of device 9", 107001, 107001, s.physical_with(device_prop(9))),
    ROW("map with flags", 100000, 100000, aclrtMapMem(s.va, 2_MiB, 0, s.handle, 1)),
    ROW("map at an offset", 107000, 107000, aclrtMapMem(s.va, 2_MiB, 2_MiB, s.handle, 0)),
    ROW("map outside of all", 507899, 107000,
        aclrtMapMem(pointer_of(Va{uint64_t{1} << 46}), 2_MiB, 0, s.handle, 0)),
    ROW("map over a mapping", 507899, 507899, aclrtMapMem(s.mapped, 2_MiB, 0, s.handle, 0)),
    ROW("map at an odd address", 507899, 507899, aclrtMapMem(offset(s.va, 4096), 2_MiB, 0, s.handle, 0)),
    ROW("map past the end", 507899, 507899, aclrtMapMem(offset(s.va, 16_MiB - 2_MiB), 4_MiB, 0, s.handle, 0)),
    ROW("map more than there is", 207001, 107000, aclrtMapMem(s.va, 4_MiB, 0, s.handle, 0)),
    ROW("unmap inside a hole", 507899, 507899, aclrtUnmapMem(s.va)),
    ROW("access for nobody", 107000, 107000, aclrtMemSetAccess(s.mapped, 2_MiB, nullptr, 0)),
    ROW("access of no kind", 207000, 207000, s.access(ACL_RT_MEM_ACCESS_FLAGS_NONE, s.mapped, 2_MiB)),
    ROW("access to read", 207000, 207000, s.access(ACL_RT_MEM_ACCESS_FLAGS_READ, s.mapped, 2_MiB)),
    ROW("access to a part", 507899, 507899, s.access(ACL_RT_MEM_ACCESS_FLAGS_READWRITE, s.mapped, 4096)),
};

const Row kCopies[] = {
    ROW("copy over a hole", 507899, 507899, aclrtMemcpy(s.va, 64, s.host, 64, kH2D)),
    ROW("copy of freed memory", 507899, 507899, aclrtMemcpy(s.freed, 64, s.host, 64, kH2D)),
    ROW("copy past the block", 507899, 507899, aclrtMemcpy(offset(s.block, 4096), 256, s.host, 256, kH2D)),
    ROW("copy of too much", 107000, 107000, aclrtMemcpy(s.block, 63, s.host, 64, kH2D)),
    ROW("copy on the stream of another context", 107003, 107003,
        aclrtMemcpyAsync(s.block, 64, s.pinned, 64, kH2D, s.foreign)),
    ROW("async copy on the host", 207000, 207000,
        aclrtMemcpyAsync(s.pinned, 64, s.host, 64, ACL_MEMCPY_HOST_TO_HOST, s.stream)),
    ROW("rows of no width", 0, 0, aclrtMemcpy2d(nullptr, 0, nullptr, 0, 0, 9, kH2D)),
    ROW("no rows", 0, 0, aclrtMemcpy2d(nullptr, 0, nullptr, 0, 9, 0, kH2D)),
    ROW("rows to null", 100000, 100000, aclrtMemcpy2d(nullptr, 8, s.host, 8, 8, 2, kH2D)),
    ROW("rows wider than their pitch", 100000, 100000, aclrtMemcpy2d(s.block, 8, s.host, 4, 8, 2, kH2D)),
    ROW("rows of kind 0", 100000, 100000,
        aclrtMemcpy2d(s.block, 8, s.host, 8, 8, 2, ACL_MEMCPY_HOST_TO_HOST)),
    ROW("rows of kind 5", 100000, 100000,
        aclrtMemcpy2d(s.block, 8, s.host, 8, 8, 2, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE)),
    ROW("rows too wide", 107000, 107000, aclrtMemcpy2d(s.block, 5000001, s.host, 5000001, 5000001, 1, kH2D)),
    ROW("too many rows", 107000, 107000, aclrtMemcpy2d(s.block, 1, s.host, 1, 1, 5242881, kH2D)),
    ROW("rows within the device", 207000, 207000,
        aclrtMemcpy2d(s.block, 8, s.mapped, 8, 8, 2, ACL_MEMCPY_DEVICE_TO_DEVICE)),
    ROW("descriptor of kind 1", 100000, 100000, aclrtGetMemcpyDescSize(kH2D, &s.size)),
    ROW("descriptor of nothing", 100000, 100000,
        aclrtSetMemcpyDesc(s.block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, s.block, s.mapped, 0, nullptr)),
    ROW("descriptor with a configuration", 100000, 100000,
        aclrtSetMemcpyDesc(s.block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, s.block, s.mapped, 8, s.host)),
    ROW("descriptor on no stream", 100000, 100000,
        aclrtMemcpyAsyncWithDesc(s.block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, nullptr)),
    ROW("fill of nothing", 0, 0, aclrtMemset(nullptr, 0, 0, 0)),
    ROW("fill of null", 100000, 100000, aclrtMemset(nullptr, 8, 0, 8)),
    ROW("fill of too much", 107000, 107000, aclrtMemset(s.block, 7, 0, 8)),
    ROW("async fill of nothing", 0, 0, aclrtMemsetAsync(nullptr, 0, 0, 0, s.stream)),
    ROW("async fill of null", 100000, 100000, aclrtMemsetAsync(nullptr, 8, 0, 8, s.stream)),
    ROW("async fill of too much", 107000, 107000, aclrtMemsetAsync(s.block, 7, 0, 8, s.stream)),
    ROW("fill with no words", 0, 0, aclrtMemsetD32(nullptr, 0, 0, 0)),
    ROW("fill with words of null", 100000, 100000, aclrtMemsetD32(nullptr, 8, 0, 2)),
    ROW("fill with words at an odd address", 100000, 100000, aclrtMemsetD32(offset(s.block, 2), 8, 0, 2)),
    ROW("fill with too many words", 100000, 100000, aclrtMemsetD32(s.block, 7, 0, 2)),
    ROW("fill of strange memory with words", 100000, 100000, aclrtMemsetD32(s.host, 8, 0, 2)),
};

const Row kOthers[] = {
    ROW("export of null", 100000, 100000, aclrtIpcMemGetExportKey(nullptr, 64, s.host, 65, 0)),
    ROW("export of nothing", 107000, 107000, aclrtIpcMemGetExportKey(s.block, 0, s.host, 65, 0)),
    ROW("export to no room", 107000, 107000, aclrtIpcMemGetExportKey(s.block, 4096, s.host, 0, 0)),
    ROW("export with flags 2", 107000, 107000, aclrtIpcMemGetExportKey(s.block, 4096, s.host, 65, 2)),
    ROW("whitelist of null", 100000, 100000, aclrtIpcMemSetImportPid(nullptr, nullptr, 1)),
    ROW("import to null", 100000, 100000, aclrtIpcMemImportByKey(nullptr, "key", 0)),
    ROW("import with flags 2", 107000, 107000, aclrtIpcMemImportByKey(&s.out, "key", 2)),
    ROW("close of null", 100000, 100000, aclrtIpcMemClose(nullptr)),
    ROW("value at null", 100000, 100000, aclrtValueWrite(nullptr, 1, 0, s.stream)),
    ROW("wait at null", 100000, 100000, aclrtValueWait(nullptr, 1, 0, s.stream)),
    ROW("unregister of no allocator", 0, 0, aclrtAllocatorUnregister(s.stream)),
    ROW("pool to null", 100000, 100000, aclrtMemPoolCreate(nullptr, nullptr)),
    ROW("destroy of null", 100000, 100000, aclrtMemPoolDestroy(nullptr)),
    ROW("destroy of no pool", 507000, 507000, aclrtMemPoolDestroy(s.host)),
    ROW("attribute of no pool", 107000, 107000,
        aclrtMemPoolGetAttr(s.host, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, &s.size)),
    ROW("attribute to null", 107000, 107000,
        aclrtMemPoolGetAttr(s.pool, ACL_RT_MEM_POOL_ATTR_RELEASE_THRESHOLD, nullptr)),
    ROW("threshold beyond the pool", 507000, 507000, s.pool_attribute(4, 4_MiB + 1)),
    ROW("set what is reserved", 107000, 107000, s.pool_attribute(5, 0)),
    ROW("set the peak of what is reserved", 507000, 507000, s.pool_attribute(6, 1)),
    ROW("reset the peak of what is reserved", 0, 0, s.pool_attribute(6, 0)),
    ROW("set what is used", 107000, 107000, s.pool_attribute(7, 0)),
    ROW("set the peak of what is used", 507000, 507000, s.pool_attribute(8, 1)),
    ROW("attribute 9", 507000, 507000, s.pool_attribute(9, 0)),
    ROW("pool memory on no stream", 100000, 100000, aclrtMemPoolMallocAsync(&s.out, 8, s.pool, nullptr)),
    ROW("no pool memory", 0, 0, aclrtMemPoolMallocAsync(&s.out, 0, s.pool, s.stream)),
    ROW("pool memory on the stream of another context", 107003, 107003,
        aclrtMemPoolMallocAsync(&s.out, 8, s.pool, s.foreign)),
    ROW("more than the pool", 507000, 507000, aclrtMemPoolMallocAsync(&s.out, 5_MiB, s.pool, s.stream)),
    ROW("pool free of null", 100000, 100000, aclrtMemPoolFreeAsync(nullptr, s.stream)),
    ROW("pool free twice", 107000, 107000, aclrtMemPoolFreeAsync(s.freed, s.stream)),
    ROW("trim beyond the pool", 507000, 507000, aclrtMemPoolTrimTo(s.pool, 5_MiB)),
    ROW("peer of itself", 100000, 100000,
        [] {
          int32_t can = 0;
          return aclrtDeviceCanAccessPeer(&can, 0, 0);
        }()),
    ROW("peer with flags", 200006, 200006, aclrtDeviceEnablePeerAccess(1, 1)),
    ROW("device 9", 107001, 107001, aclrtSetDevice(9)),
    ROW("stream of another context", 107003, 107003, aclrtSynchronizeStream(s.foreign)),
    ROW("synchronise without a context", 107002, 107002,
        s.without_context([] { return aclrtSynchronizeDevice(); })),
};

void walk(std::initializer_list<std::span<const Row>> tables) {
  for (const bool newer : {false, true}) {
    SCOPED_TRACE(newer ? "950" : "a2");
    run({{"PLAT_PRODUCT", newer ? "950" : "a2"}}, [&] {
      Scene scene;
      for (const auto& table : tables)
        for (const Row& row : table) {
          const int wanted = newer ? row.newer : row.older;
          const aclError code = row.call(scene);
          if (wanted == kAny)
            EXPECT_NE(code, ACL_SUCCESS) << row.mistake;
          else
            EXPECT_EQ(code, wanted) << row.mistake << ": " << aclGetRecentErrMsg();
        }
    });
  }
}

TEST(CodeTable, Allocation) { walk({kAllocation}); }
TEST(CodeTable, HostMemory) { walk({kHost}); }
TEST(CodeTable, VirtualMemory) { walk({kVirtualMemory}); }
TEST(CodeTable, Copies) { walk({kCopies}); }
TEST(CodeTable, Others) { walk({kOthers}); }

}  // namespace
}  // namespace plat::rule_test
