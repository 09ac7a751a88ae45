// SPDX-License-Identifier: Apache-2.0
// A fault at every step of the other forms of calls: newer versions, callbacks, descriptions, snapshots, and
// what only some products have.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "acl/acl_mdl.h"
#include "acl/acl_prof.h"
#include "acl/acl_rt_fault.h"
#include "acl/dvpp/hi_dvpp.h"
#include "acl/ops/acl_dvpp.h"
#include "base/units.h"
#include "os/page.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

// What the scenarios work with.
void* block = nullptr;
void* address = nullptr;
aclrtDrvMemHandle handle = nullptr;
aclrtStream stream = nullptr;
aclrtEvent event = nullptr;
aclrtNotify notify = nullptr;
aclrtCntNotify counting = nullptr;
aclrtMbuf buf = nullptr;
aclrtMbuf second_buf = nullptr;
aclrtAllocatorDesc description = nullptr;
aclrtStreamConfigHandle* config = nullptr;
aclDataBuffer* data = nullptr;
aclprofConfig* profile = nullptr;
aclprofStepInfo* step = nullptr;
uint64_t number = 0;
std::string key;
std::array<char, 65> own_key{};
std::array<char, 4096> host{};
alignas(os::kLargestPageBytes) std::array<char, 8192> registered;
aclrtErrorInfo broken{};

constexpr aclError kNothing = 500000;  // said for a call that has no code
aclError is_made(const void* made) { return made != nullptr ? ACL_SUCCESS : kNothing; }
aclError done() { return ACL_SUCCESS; }

void nothing() {}
void malloc_block() { EXPECT_DONE(aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST)); }
void free_block() { EXPECT_DONE(aclrtFree(block)); }
void make_stream() { EXPECT_DONE(aclrtCreateStream(&stream)); }
void end_stream() {
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  EXPECT_DONE(aclrtDestroyStream(stream));
}
void work() {
  make_stream();
  malloc_block();
}
void end_work() {
  end_stream();
  free_block();
}
void make_event() { EXPECT_DONE(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC)); }
void end_event() { EXPECT_DONE(aclrtDestroyEvent(event)); }
void stream_and_event() {
  make_stream();
  make_event();
  EXPECT_DONE(aclrtRecordEvent(event, stream));
}
void end_both() {
  end_stream();
  end_event();
}
void stream_and_notify() {
  make_stream();
  EXPECT_DONE(aclrtCreateNotify(&notify, 0));
  EXPECT_DONE(aclrtRecordNotify(notify, nullptr));
}
void end_notify() { EXPECT_DONE(aclrtDestroyNotify(notify)); }
void allocate_handle() { handle = allocate(2_MiB); }
void free_handle() { EXPECT_DONE(aclrtFreePhysical(handle)); }
void handle_and_address() {
  allocate_handle();
  EXPECT_DONE(aclrtReserveMemAddress(&address, 4_MiB, 0, nullptr, 0));
}
void end_addresses() {
  free_handle();
  EXPECT_DONE(aclrtReleaseMemAddress(address));
}

// Where the addresses of a copy stand, in memory of the device.
void** addresses() { return reinterpret_cast<void**>(static_cast<char*>(block) + 1_MiB); }
void write_addresses() {
  work();
  const void* both[] = {block, static_cast<char*>(block) + 2_MiB};
  EXPECT_DONE(aclrtMemcpy(addresses(), sizeof both, both, sizeof both, ACL_MEMCPY_HOST_TO_DEVICE));
}
aclError copy_with_offset() {
  return aclrtMemcpyAsyncWithOffset(addresses(), 4096, 0, const_cast<const void**>(addresses() + 1), 64, 64,
                                    ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
}
aclError batch(aclrtStream* on) {
  void* targets[] = {block, static_cast<char*>(block) + 4096};
  void* sources[] = {host.data(), host.data() + 64};
  size_t sizes[] = {64, 64};
  aclrtMemcpyBatchAttr attribute{};
  attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  size_t index = 0;
  return on == nullptr
             ? aclrtMemcpyBatchV2(targets, sizes, sources, sizes, 2, &attribute, &index, 1)
             : aclrtMemcpyBatchAsyncV2(targets, sizes, sources, sizes, 2, &attribute, &index, 1, *on);
}
aclError prefetch_batch() {
  const void* ranges[] = {block};
  size_t sizes[] = {2_MiB};
  aclrtMemManagedLocation places[] = {{ACL_MEM_LOCATIONTYPE_DEVICE, 0}};
  size_t indexes[] = {0};
  return aclrtMemManagedPrefetchBatchAsync(ranges, sizes, 1, places, indexes, 1, 0, stream);
}
void managed_and_stream() {
  make_stream();
  EXPECT_DONE(aclrtMemAllocManaged(&block, 2_MiB, 1));
}

// A process that opens the device, says something of `share`, and stays until it is killed.
std::unique_ptr<Peer> sharing(const std::function<void(Channel&)>& share) {
  return std::make_unique<Peer>([=](Channel& channel) {
    EXPECT_DONE(aclInit(nullptr));
    EXPECT_DONE(aclrtSetDevice(0));
    share(channel);
    channel.receive();
  });
}
std::unique_ptr<Peer> sharing_a_notify() {
  auto peer = sharing([](Channel& channel) {
    EXPECT_DONE(aclrtCreateNotify(&notify, 0));
    EXPECT_DONE(aclrtNotifyGetExportKey(notify, own_key.data(), own_key.size(),
                                        ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    channel.send_text(own_key.data());
  });
  key = peer->channel().receive_text();
  return peer;
}
std::unique_ptr<Peer> sharing_an_event() {
  auto peer = sharing([](Channel& channel) {
    aclrtIpcEventHandle shown{};
    EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    EXPECT_DONE(aclrtIpcGetEventHandle(event, &shown));
    uint64_t bits = 0;
    std::memcpy(&bits, shown.reserved, sizeof bits);
    channel.send(bits);
  });
  number = peer->channel().receive();
  return peer;
}
std::unique_ptr<Peer> sharing_a_handle() {
  auto peer = sharing([](Channel& channel) {
    allocate_handle();
    EXPECT_DONE(aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                                  ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number));
    channel.send(number);
  });
  number = peer->channel().receive();
  return peer;
}
aclError open_event() {
  aclrtIpcEventHandle shown{};
  std::memcpy(shown.reserved, &number, sizeof number);
  return aclrtIpcOpenEventHandle(shown, &event);
}
aclError export_v2() {
  return aclrtMemExportToShareableHandleV2(handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number);
}

// Some calls are of one product only.
constexpr char kAscend950[] = "950";
constexpr char kA3[] = "a3";
constexpr char kBuffers[] = "200i-a2-rc";
template <const char* kProduct>
std::unique_ptr<Peer> as() {
  setenv("PLAT_PRODUCT", kProduct, 1);
  return nullptr;
}
uint32_t own_server() {
  int64_t id = 0;
  EXPECT_DONE(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, &id));
  return static_cast<uint32_t>(id);
}

void make_buffer() { EXPECT_DONE(aclrtAllocBuf(&buf, 4096)); }
void end_buffer() { EXPECT_DONE(aclrtFreeBuf(buf)); }
void make_chain() {
  make_buffer();
  EXPECT_DONE(aclrtAllocBuf(&second_buf, 4096));
  EXPECT_DONE(aclrtAppendBufChain(buf, second_buf));
}

void make_counting() {
  make_stream();
  EXPECT_DONE(aclrtCntNotifyCreate(&counting, 0));
}
void end_counting() {
  end_stream();
  EXPECT_DONE(aclrtCntNotifyDestroy(counting));
}
aclError record_counting() {
  aclrtCntNotifyRecordInfo info{ACL_RT_CNT_NOTIFY_RECORD_SET_VALUE_MODE, 5};
  return aclrtCntNotifyRecord(counting, stream, &info);
}
aclError wait_counting() {
  aclrtCntNotifyWaitInfo info{};
  info.mode = ACL_RT_CNT_NOTIFY_WAIT_EQUAL_MODE;
  info.value = 5;
  return aclrtCntNotifyWaitWithTimeout(counting, stream, &info);
}

void* give(aclrtAllocator, size_t) { return nullptr; }
void take(aclrtAllocator, aclrtAllocatorBlock) {}
void* give_near(aclrtAllocator, size_t, aclrtAllocatorAddr) { return nullptr; }
void* where(aclrtAllocatorBlock) { return nullptr; }
void make_description() {
  description = aclrtAllocatorCreateDesc();
  EXPECT_DONE(is_made(description));
  EXPECT_DONE(aclrtAllocatorSetObjToDesc(description, &host));
  EXPECT_DONE(aclrtAllocatorSetAllocFuncToDesc(description, give));
  EXPECT_DONE(aclrtAllocatorSetFreeFuncToDesc(description, take));
  EXPECT_DONE(aclrtAllocatorSetAllocAdviseFuncToDesc(description, give_near));
  EXPECT_DONE(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, where));
}
void end_description() { EXPECT_DONE(aclrtAllocatorDestroyDesc(description)); }
void register_allocator() {
  make_stream();
  make_description();
  EXPECT_DONE(aclrtAllocatorRegister(stream, description));
}
void end_allocator() {
  end_description();
  end_stream();
}
aclError look_up_allocator() {
  aclrtAllocatorDesc found = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate_function = nullptr;
  aclrtAllocatorFreeFunc free_function = nullptr;
  aclrtAllocatorAllocAdviseFunc advise_function = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address_function = nullptr;
  return aclrtAllocatorGetByStream(stream, &found, &object, &allocate_function, &free_function,
                                   &advise_function, &address_function);
}

void make_config() {
  config = aclrtCreateStreamConfigHandle();
  EXPECT_DONE(is_made(config));
}
void end_config() { EXPECT_DONE(aclrtDestroyStreamConfigHandle(config)); }
void make_data() {
  data = aclCreateDataBuffer(host.data(), host.size());
  EXPECT_DONE(is_made(data));
}
void end_data() { EXPECT_DONE(aclDestroyDataBuffer(data)); }

uint32_t stage(int32_t, void*) { return 0; }
aclError begin(const char*, size_t, void*) { return ACL_SUCCESS; }
aclError end(void*) { return ACL_SUCCESS; }
void exception(aclrtExceptionInfo*) {}
int32_t aborted(int32_t, aclrtDeviceTaskAbortStage, uint32_t, void*) { return 0; }

void lock() {
  malloc_block();
  EXPECT_DONE(aclrtMemset(block, 2_MiB, 1, 2_MiB));
  EXPECT_DONE(aclrtSnapShotProcessLock(getpid(), nullptr));
}
void back_up() {
  lock();
  EXPECT_DONE(aclrtSnapShotProcessBackup(getpid(), nullptr));
}
void unlock() {
  EXPECT_DONE(aclrtSnapShotProcessUnlock(getpid(), nullptr));
  free_block();
}

constexpr char kProfiles[] = "/tmp";
aclprofConfig* create_profile() {
  uint32_t device = 0;
  return aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_ACL_API);
}
void begin_profile() {
  EXPECT_DONE(aclprofInit(kProfiles, std::strlen(kProfiles)));
  profile = create_profile();
  EXPECT_DONE(is_made(profile));
}
void end_profile() {
  EXPECT_DONE(aclprofDestroyConfig(profile));
  EXPECT_DONE(aclprofFinalize());
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      // Memory.
      {"aclrtMallocForTaskScheduler", nothing,
       [] { return aclrtMallocForTaskScheduler(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST, nullptr); },
       free_block},
      {"aclrtFreeWithDevSync", malloc_block, [] { return aclrtFreeWithDevSync(block); }, nothing},
      {"aclrtMallocHostWithCfg", nothing, [] { return aclrtMallocHostWithCfg(&block, 3_MiB, nullptr); },
       [] { EXPECT_DONE(aclrtFreeHost(block)); }},
      {"aclrtFreeHostWithDevSync", [] { EXPECT_DONE(aclrtMallocHost(&block, 3_MiB)); },
       [] { return aclrtFreeHostWithDevSync(block); }, nothing},
      {"aclrtHostRegisterV2", nothing,
       [] { return aclrtHostRegisterV2(registered.data(), registered.size(), ACL_HOST_REG_MAPPED); },
       [] { EXPECT_DONE(aclrtHostUnregister(registered.data())); }},
      {"acldvppMalloc", nothing, [] { return acldvppMalloc(&block, 4096); },
       [] { EXPECT_DONE(acldvppFree(block)); }},
      {"acldvppMallocWithCfg", nothing, [] { return acldvppMallocWithCfg(&block, 4096, nullptr); },
       [] { EXPECT_DONE(acldvppFree(block)); }},
      {"acldvppFree", [] { EXPECT_DONE(acldvppMalloc(&block, 4096)); }, [] { return acldvppFree(block); },
       nothing},
      {"hi_mpi_dvpp_malloc", nothing, [] { return hi_mpi_dvpp_malloc(0, &block, 4096); },
       [] { EXPECT_DONE(hi_mpi_dvpp_free(block)); }},
      {"hi_mpi_dvpp_free", [] { EXPECT_DONE(hi_mpi_dvpp_malloc(0, &block, 4096)); },
       [] { return hi_mpi_dvpp_free(block); }, nothing},
      {"aclrtMemManagedPrefetchAsync", managed_and_stream,
       [] {
         return aclrtMemManagedPrefetchAsync(block, 2_MiB, {ACL_MEM_LOCATIONTYPE_DEVICE, 0}, 0, stream);
       },
       end_work},
      {"aclrtMemManagedPrefetchBatchAsync", managed_and_stream, prefetch_batch, end_work},
      {"aclrtMemMapNoAccess", handle_and_address,
       [] { return aclrtMemMapNoAccess(address, 2_MiB, 0, handle, 0); },
       [] {
         EXPECT_DONE(aclrtUnmapMem(address));
         end_addresses();
       }},
      {"aclrtMemMapSetLink", allocate_handle,
       [] { return aclrtMemMapSetLink(handle, ACL_RT_MEM_ACCESS_LINK_HCCS); }, free_handle, as<kA3>},
      {"aclrtMemMapSelectedLink",
       [] {
         handle_and_address();
         EXPECT_DONE(aclrtMapMem(address, 2_MiB, 0, handle, 0));
       },
       [] { return aclrtMemMapSelectedLink(static_cast<char*>(address) + 2_MiB, 2_MiB, address, 1); },
       [] {
         EXPECT_DONE(aclrtUnmapMem(static_cast<char*>(address) + 2_MiB));
         EXPECT_DONE(aclrtUnmapMem(address));
         end_addresses();
       },
       as<kA3>},
      {"aclrtReserveMemAddressNoUCMemory", nothing,
       [] {
         return aclrtReserveMemAddressNoUCMemory(&address, 1_GiB, 0, reinterpret_cast<void*>(40_TiB), 1);
       },
       [] { EXPECT_DONE(aclrtReleaseMemAddress(address)); }, as<kA3>},
      {"aclrtMemUceRepair",
       [] {
         malloc_block();
         EXPECT_NE(aclrtMemset(block, 64, 1, 64), ACL_SUCCESS);
         size_t count = 0;
         EXPECT_DONE(aclrtGetMemUceInfo(0, broken.detail.uceInfo.memUceInfoArray, 2, &count));
         EXPECT_EQ(count, 1u);
       },
       [] { return aclrtMemUceRepair(0, broken.detail.uceInfo.memUceInfoArray, 1); }, free_block,
       [] {
         setenv("PLAT_FAULT", "malloc, every=1, uce", 1);
         return std::unique_ptr<Peer>();
       }},
      {"aclrtRepairError",
       [] {
         malloc_block();
         EXPECT_NE(aclrtMemset(block, 64, 1, 64), ACL_SUCCESS);
         EXPECT_DONE(aclrtGetErrorVerbose(0, &broken));
       },
       [] { return aclrtRepairError(0, &broken); }, free_block,
       [] {
         setenv("PLAT_FAULT", "malloc, every=1, uce", 1);
         return std::unique_ptr<Peer>();
       }},

      // Sharing.
      {"aclrtMemExportToShareableHandleV2", allocate_handle, export_v2, free_handle},
      {"aclrtMemSetPidToShareableHandleV2",
       [] {
         allocate_handle();
         EXPECT_DONE(export_v2());
       },
       [] {
         std::array<int32_t, 40> pids{};
         for (int32_t& pid : pids) pid = 1 + static_cast<int32_t>(&pid - pids.data());
         return aclrtMemSetPidToShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, pids.data(),
                                                  pids.size());
       },
       free_handle},
      {"aclrtMemImportFromShareableHandleV2", nothing,
       [] {
         return aclrtMemImportFromShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &handle);
       },
       free_handle, sharing_a_handle},
      {"aclrtIpcMemImportPidInterServer",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0));
       },
       [] {
         int32_t pid = 1;
         aclrtServerPid server{own_server(), &pid, 1};
         return aclrtIpcMemImportPidInterServer(own_key.data(), &server, 1);
       },
       free_block, as<kA3>},
      {"aclrtIpcMemSetAttr",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0));
       },
       [] { return aclrtIpcMemSetAttr(own_key.data(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0); }, free_block,
       as<kA3>},
      {"aclrtIpcOpenEventHandle", nothing, open_event, end_event, sharing_an_event},
      {"aclrtNotifyImportByKey", nothing, [] { return aclrtNotifyImportByKey(&notify, key.c_str(), 0); },
       end_notify, sharing_a_notify},
      {"aclrtNotifySetImportPidInterServer",
       [] {
         EXPECT_DONE(aclrtCreateNotify(&notify, 0));
         EXPECT_DONE(aclrtNotifyGetExportKey(notify, own_key.data(), own_key.size(), 0));
       },
       [] {
         int32_t pid = 1;
         aclrtServerPid server{own_server(), &pid, 1};
         return aclrtNotifySetImportPidInterServer(notify, &server, 1);
       },
       end_notify, as<kA3>},

      // Copies, fills and caches.
      {"aclrtMemcpyAsyncWithCondition", work,
       [] {
         return aclrtMemcpyAsyncWithCondition(block, 64, host.data(), 64, ACL_MEMCPY_HOST_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyAsyncWithOffset", write_addresses, copy_with_offset, end_work},
      {"aclrtMemcpyAsyncWithDesc",
       [] {
         work();
         EXPECT_DONE(aclrtSetMemcpyDesc(block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE,
                                        static_cast<char*>(block) + 4096, static_cast<char*>(block) + 1024,
                                        16, nullptr));
       },
       [] { return aclrtMemcpyAsyncWithDesc(block, ACL_MEMCPY_INNER_DEVICE_TO_DEVICE, stream); }, end_work},
      {"aclrtMemcpyBatchV2", malloc_block, [] { return batch(nullptr); }, free_block},
      {"aclrtMemcpyBatchAsyncV2", work, [] { return batch(&stream); }, end_work},
      {"aclrtMemsetD32", malloc_block, [] { return aclrtMemsetD32(block, 4096, 7, 1024); }, free_block},
      {"aclrtMemsetD32Async", work, [] { return aclrtMemsetD32Async(block, 4096, 7, 1024, stream); },
       end_work},
      {"aclrtValueWait", work, [] { return aclrtValueWait(block, 0, ACL_STREAM_WAIT_VALUE_EQ, stream); },
       end_work},
      {"aclrtCmoAsync", work, [] { return aclrtCmoAsync(block, 64, ACL_RT_CMO_TYPE_PREFETCH, stream); },
       end_work},
      {"aclrtCmoAsyncWithBarrier", work,
       [] { return aclrtCmoAsyncWithBarrier(block, 64, ACL_RT_CMO_TYPE_INVALID, 3, stream); }, end_work},
      {"aclrtCmoWaitBarrier",
       [] {
         work();
         EXPECT_DONE(aclrtCmoAsyncWithBarrier(block, 64, ACL_RT_CMO_TYPE_INVALID, 3, stream));
       },
       [] {
         aclrtBarrierTaskInfo info{};
         info.barrierNum = 1;
         info.cmoInfo[0] = {ACL_RT_CMO_TYPE_INVALID, 3};
         return aclrtCmoWaitBarrier(&info, stream, 0);
       },
       end_work},
      {"aclrtCmoAsyncWithDesc",
       [] {
         work();
         EXPECT_DONE(aclrtCmoSetDesc(block, static_cast<char*>(block) + 4096, 16));
       },
       [] { return aclrtCmoAsyncWithDesc(block, ACL_RT_CMO_TYPE_FLUSH, stream, nullptr); }, end_work},

      // Streams, events, notifies.
      {"aclrtCreateStreamConfigHandle", nothing,
       [] { return is_made(config = aclrtCreateStreamConfigHandle()); }, end_config},
      {"aclrtSetStreamConfigOpt", make_config,
       [] {
         const uint32_t priority = 0;
         return aclrtSetStreamConfigOpt(config, ACL_RT_STREAM_PRIORITY, &priority, sizeof priority);
       },
       end_config},
      {"aclrtDestroyStreamConfigHandle", make_config, [] { return aclrtDestroyStreamConfigHandle(config); },
       nothing},
      {"aclrtCreateStreamV2", make_config, [] { return aclrtCreateStreamV2(&stream, config); },
       [] {
         end_stream();
         end_config();
       }},
      {"aclrtDestroyStreamForce", make_stream, [] { return aclrtDestroyStreamForce(stream); }, nothing},
      {"aclrtStreamAbort", make_stream, [] { return aclrtStreamAbort(stream); }, end_stream},
      {"aclrtStreamStop", make_stream, [] { return aclrtStreamStop(stream); },
       [] { EXPECT_DONE(aclrtDestroyStreamForce(stream)); }},
      {"aclrtDeviceTaskAbort", make_stream, [] { return aclrtDeviceTaskAbort(0, 1000); }, end_stream},
      {"aclrtCreateEventWithFlag", nothing,
       [] { return aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE); }, end_event},
      {"aclrtCreateEventExWithFlag", nothing,
       [] { return aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC); }, end_event},
      {"aclrtRecordEventWithFlag", stream_and_event,
       [] { return aclrtRecordEventWithFlag(event, stream, 0); }, end_both},
      {"aclrtResetEvent", stream_and_event, [] { return aclrtResetEvent(event, stream); }, end_both},
      {"aclrtStreamWaitEventWithTimeout", stream_and_event,
       [] { return aclrtStreamWaitEventWithTimeout(stream, event, 10000); }, end_both},
      {"aclrtStreamWaitEventWithFlag", stream_and_event,
       [] { return aclrtStreamWaitEventWithFlag(stream, event, 0, 0); }, end_both},
      {"aclrtWaitAndResetNotify", stream_and_notify,
       [] { return aclrtWaitAndResetNotify(notify, stream, 0); },
       [] {
         end_stream();
         end_notify();
       }},
      {"aclrtCntNotifyRecord", make_counting, record_counting, end_counting, as<kAscend950>},
      {"aclrtCntNotifyWaitWithTimeout",
       [] {
         make_counting();
         EXPECT_DONE(record_counting());
       },
       wait_counting, end_counting, as<kAscend950>},
      {"aclrtCntNotifyReset", make_counting, [] { return aclrtCntNotifyReset(counting, stream); },
       end_counting, as<kAscend950>},
      {"aclrtCntNotifyGetId", make_counting,
       [] {
         uint32_t id = 0;
         return aclrtCntNotifyGetId(counting, &id);
       },
       end_counting, as<kAscend950>},
      {"aclrtCntNotifyDestroy", [] { EXPECT_DONE(aclrtCntNotifyCreate(&counting, 0)); },
       [] { return aclrtCntNotifyDestroy(counting); }, nothing, as<kAscend950>},
      {"aclrtDeviceEnablePeerAccess", nothing, [] { return aclrtDeviceEnablePeerAccess(1, 0); },
       [] { EXPECT_DONE(aclrtDeviceDisablePeerAccess(1)); }},
      {"aclrtDeviceDisablePeerAccess", [] { EXPECT_DONE(aclrtDeviceEnablePeerAccess(1, 0)); },
       [] { return aclrtDeviceDisablePeerAccess(1); }, nothing},
      {"aclrtMemP2PMap",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtSetDevice(1));
         EXPECT_DONE(aclrtDeviceEnablePeerAccess(0, 0));
       },
       [] { return aclrtMemP2PMap(block, 2_MiB, 1, 0); },
       [] {
         EXPECT_DONE(aclrtDeviceDisablePeerAccess(0));
         EXPECT_DONE(aclrtResetDevice(1));
         EXPECT_DONE(aclrtSetDevice(0));
         free_block();
       }},
      {"aclrtResetDevice", [] { EXPECT_DONE(aclrtSetDevice(1)); }, [] { return aclrtResetDevice(1); },
       [] { EXPECT_DONE(aclrtSetDevice(0)); }},
      {"aclrtResetDeviceForce", [] { EXPECT_DONE(aclrtSetDevice(1)); },
       [] { return aclrtResetDeviceForce(1); }, [] { EXPECT_DONE(aclrtSetDevice(0)); }},

      {"aclFinalize", work, [] { return aclFinalize(); },
       [] {
         EXPECT_DONE(aclInit(nullptr));
         EXPECT_DONE(aclrtSetDevice(0));
       }},
      {"aclFinalizeReference", work, [] { return aclFinalizeReference(&number); },
       [] {
         EXPECT_DONE(aclInit(nullptr));
         EXPECT_DONE(aclrtSetDevice(0));
       }},

      // Functions of the client's.
      {"aclrtProcessReport",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(static_cast<uint64_t>(pthread_self()), stream));
         EXPECT_DONE(aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_NO_BLOCK, stream));
         EXPECT_DONE(aclrtSynchronizeStream(stream));  // it is due
       },
       [] { return aclrtProcessReport(10000); },
       [] {
         EXPECT_DONE(aclrtUnSubscribeReport(static_cast<uint64_t>(pthread_self()), stream));
         end_stream();
       }},
      {"aclrtSetExceptionInfoCallback", nothing, [] { return aclrtSetExceptionInfoCallback(exception); },
       [] { EXPECT_DONE(aclrtSetExceptionInfoCallback(nullptr)); }},
      {"aclrtExceptionInfoCallbackRegister", nothing,
       [] { return aclrtExceptionInfoCallbackRegister(exception); },
       [] { EXPECT_DONE(aclrtExceptionInfoCallbackUnregister(exception)); }},
      {"aclrtExceptionInfoCallbackUnregister",
       [] { EXPECT_DONE(aclrtExceptionInfoCallbackRegister(exception)); },
       [] { return aclrtExceptionInfoCallbackUnregister(exception); }, nothing},
      {"aclrtRegDeviceStateCallback", nothing,
       [] {
         return aclrtRegDeviceStateCallback(
             "a", [](int32_t, aclrtDeviceState, void*) {}, nullptr);
       },
       [] { EXPECT_DONE(aclrtRegDeviceStateCallback("a", nullptr, nullptr)); }},
      {"aclrtRegStreamStateCallback", nothing,
       [] {
         return aclrtRegStreamStateCallback(
             "a", [](aclrtStream, aclrtStreamState, void*) {}, nullptr);
       },
       [] { EXPECT_DONE(aclrtRegStreamStateCallback("a", nullptr, nullptr)); }},
      {"aclrtSetDeviceTaskAbortCallback", nothing,
       [] { return aclrtSetDeviceTaskAbortCallback("a", aborted, nullptr); },
       [] { EXPECT_DONE(aclrtSetDeviceTaskAbortCallback("a", nullptr, nullptr)); }},
      {"aclInitCallbackRegister", nothing,
       [] { return aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begin, nullptr); },
       [] { EXPECT_DONE(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begin)); }},
      {"aclInitCallbackUnRegister",
       [] { EXPECT_DONE(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begin, nullptr)); },
       [] { return aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begin); }, nothing},
      {"aclFinalizeCallbackRegister", nothing,
       [] { return aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end, nullptr); },
       [] { EXPECT_DONE(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, end)); }},
      {"aclFinalizeCallbackUnRegister",
       [] { EXPECT_DONE(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, end, nullptr)); },
       [] { return aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, end); }, nothing},

      // Snapshots.
      {"aclrtSnapShotProcessLock", malloc_block, [] { return aclrtSnapShotProcessLock(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessBackup", lock, [] { return aclrtSnapShotProcessBackup(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessRestore", back_up, [] { return aclrtSnapShotProcessRestore(getpid(), nullptr); },
       unlock},
      {"aclrtSnapShotProcessUnlock", lock, [] { return aclrtSnapShotProcessUnlock(getpid(), nullptr); },
       free_block},
      {"aclrtSnapShotCallbackRegister", nothing,
       [] { return aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, stage, nullptr); },
       [] { EXPECT_DONE(aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, stage)); }},
      {"aclrtSnapShotCallbackUnregister",
       [] { EXPECT_DONE(aclrtSnapShotCallbackRegister(ACL_RT_SNAPSHOT_LOCK_PRE, stage, nullptr)); },
       [] { return aclrtSnapShotCallbackUnregister(ACL_RT_SNAPSHOT_LOCK_PRE, stage); }, nothing},

      // Descriptions.
      {"aclrtAllocatorCreateDesc", nothing, [] { return is_made(description = aclrtAllocatorCreateDesc()); },
       end_description},
      {"aclrtAllocatorDestroyDesc", make_description, [] { return aclrtAllocatorDestroyDesc(description); },
       nothing},
      {"aclrtAllocatorSetObjToDesc", make_description,
       [] { return aclrtAllocatorSetObjToDesc(description, &host); }, end_description},
      {"aclrtAllocatorSetAllocFuncToDesc", make_description,
       [] { return aclrtAllocatorSetAllocFuncToDesc(description, give); }, end_description},
      {"aclrtAllocatorSetFreeFuncToDesc", make_description,
       [] { return aclrtAllocatorSetFreeFuncToDesc(description, take); }, end_description},
      {"aclrtAllocatorSetAllocAdviseFuncToDesc", make_description,
       [] { return aclrtAllocatorSetAllocAdviseFuncToDesc(description, give_near); }, end_description},
      {"aclrtAllocatorSetGetAddrFromBlockFuncToDesc", make_description,
       [] { return aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, where); }, end_description},
      {"aclrtAllocatorRegister",
       [] {
         make_stream();
         make_description();
       },
       [] { return aclrtAllocatorRegister(stream, description); },
       [] {
         EXPECT_DONE(aclrtAllocatorUnregister(stream));
         end_allocator();
       }},
      {"aclrtAllocatorGetByStream", register_allocator, look_up_allocator, end_allocator},
      {"aclrtAllocatorUnregister", register_allocator, [] { return aclrtAllocatorUnregister(stream); },
       end_allocator},
      {"aclCreateDataBuffer", nothing,
       [] { return is_made(data = aclCreateDataBuffer(host.data(), host.size())); }, end_data},
      {"aclDestroyDataBuffer", make_data, [] { return aclDestroyDataBuffer(data); }, nothing},
      {"aclUpdateDataBuffer", make_data, [] { return aclUpdateDataBuffer(data, host.data(), 8); }, end_data},
      {"aclGetDataBufferAddr", make_data, [] { return is_made(aclGetDataBufferAddr(data)); }, end_data},
      {"aclGetDataBufferSize", make_data,
       [] { return aclGetDataBufferSize(data) == host.size() ? done() : kNothing; }, end_data},
      {"aclGetDataBufferSizeV2", make_data,
       [] { return aclGetDataBufferSizeV2(data) == host.size() ? done() : kNothing; }, end_data},
      {"aclmdlInitDump", nothing, [] { return aclmdlInitDump(); }, [] { EXPECT_DONE(aclmdlFinalizeDump()); }},
      {"aclmdlFinalizeDump", [] { EXPECT_DONE(aclmdlInitDump()); }, [] { return aclmdlFinalizeDump(); },
       nothing},
      {"aclmdlSetDump", [] { EXPECT_DONE(aclmdlInitDump()); },
       [] { return aclmdlSetDump("/proc/self/status"); }, [] { EXPECT_DONE(aclmdlFinalizeDump()); }},
      {"aclprofInit", nothing, [] { return aclprofInit(kProfiles, std::strlen(kProfiles)); },
       [] { EXPECT_DONE(aclprofFinalize()); }},
      {"aclprofFinalize", [] { EXPECT_DONE(aclprofInit(kProfiles, std::strlen(kProfiles))); },
       [] { return aclprofFinalize(); }, nothing},
      {"aclprofCreateConfig", nothing, [] { return is_made(profile = create_profile()); },
       [] { EXPECT_DONE(aclprofDestroyConfig(profile)); }},
      {"aclprofDestroyConfig", [] { profile = create_profile(); },
       [] { return aclprofDestroyConfig(profile); }, nothing},
      {"aclprofStart", begin_profile, [] { return aclprofStart(profile); },
       [] {
         EXPECT_DONE(aclprofStop(profile));
         end_profile();
       }},
      {"aclprofStop",
       [] {
         begin_profile();
         EXPECT_DONE(aclprofStart(profile));
       },
       [] { return aclprofStop(profile); }, end_profile},
      {"aclprofCreateStepInfo", nothing, [] { return is_made(step = aclprofCreateStepInfo()); },
       [] { aclprofDestroyStepInfo(step); }},
      {"aclprofDestroyStepInfo", [] { step = aclprofCreateStepInfo(); },
       [] { return aclprofDestroyStepInfo(step), done(); }, nothing},
      {"aclprofGetStepTimestamp",
       [] {
         make_stream();
         step = aclprofCreateStepInfo();
       },
       [] { return aclprofGetStepTimestamp(step, ACL_STEP_START, stream); },
       [] {
         aclprofDestroyStepInfo(step);
         end_stream();
       }},

      // Buffers of queues.
      {"aclrtAllocBuf", nothing, [] { return aclrtAllocBuf(&buf, 4096); }, end_buffer, as<kBuffers>},
      {"aclrtFreeBuf", make_buffer, [] { return aclrtFreeBuf(buf); }, nothing, as<kBuffers>},
      {"aclrtFreeBuf of a chain", make_chain, [] { return aclrtFreeBuf(buf); }, nothing, as<kBuffers>},
      {"aclrtSetBufDataLen", make_buffer, [] { return aclrtSetBufDataLen(buf, 100); }, end_buffer,
       as<kBuffers>},
      {"aclrtGetBufDataLen", make_buffer,
       [] {
         size_t length = 0;
         return aclrtGetBufDataLen(buf, &length);
       },
       end_buffer, as<kBuffers>},
      {"aclrtGetBufData", make_buffer,
       [] {
         size_t length = 0;
         return aclrtGetBufData(buf, &address, &length);
       },
       end_buffer, as<kBuffers>},
      {"aclrtGetBufUserData", make_buffer, [] { return aclrtGetBufUserData(buf, host.data(), 8, 0); },
       end_buffer, as<kBuffers>},
      {"aclrtSetBufUserData", make_buffer, [] { return aclrtSetBufUserData(buf, host.data(), 8, 0); },
       end_buffer, as<kBuffers>},
      {"aclrtCopyBufRef", make_buffer, [] { return aclrtCopyBufRef(buf, &second_buf); },
       [] {
         EXPECT_DONE(aclrtFreeBuf(second_buf));
         end_buffer();
       },
       as<kBuffers>},
      {"aclrtAppendBufChain",
       [] {
         make_buffer();
         EXPECT_DONE(aclrtAllocBuf(&second_buf, 4096));
       },
       [] { return aclrtAppendBufChain(buf, second_buf); }, end_buffer, as<kBuffers>},
      {"aclrtGetBufChainNum", make_chain,
       [] {
         uint32_t count = 0;
         return aclrtGetBufChainNum(buf, &count);
       },
       end_buffer, as<kBuffers>},
      {"aclrtGetBufFromChain", make_chain,
       [] {
         aclrtMbuf found = nullptr;
         return aclrtGetBufFromChain(buf, 1, &found);
       },
       end_buffer, as<kBuffers>},
  };
  return all;
}

class EveryStepOfFormsTest : public ::testing::TestWithParam<std::tuple<size_t, Work>> {};

TEST_P(EveryStepOfFormsTest, ChangesNothingOrEverything) {
  const auto [scenario, work] = GetParam();
  fail_each_step_alone(scenarios()[scenario], work);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryStepOfFormsTest,
                         ::testing::Combine(::testing::Range(size_t{0}, scenarios().size()),
                                            ::testing::Values(Work::Elsewhere, Work::Inside, Work::ByChance)),
                         [](const auto& made) {
                           return name_of(scenarios()[std::get<0>(made.param)], std::get<1>(made.param));
                         });

}  // namespace
}  // namespace plat::test
