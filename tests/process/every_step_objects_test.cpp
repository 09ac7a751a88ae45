// SPDX-License-Identifier: Apache-2.0
// A fault at every step of the calls that every_step_test.cpp leaves: other allocators, pools, all forms of
// copies, events and notifies between processes, host functions, imports.
#include <pthread.h>

#include <algorithm>
#include <array>

#include "acl/acl_rt_memory_soma.h"
#include "base/units.h"
#include "os/page.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

// What the scenarios work with.
void* block = nullptr;
aclrtContext context_before = nullptr;
aclrtContext context = nullptr;
aclrtStream stream = nullptr;
aclrtStream second_stream = nullptr;
aclrtEvent event = nullptr;
aclrtIpcEventHandle event_handle{};
aclrtNotify notify = nullptr;
aclrtCntNotify counting = nullptr;
aclrtMemPool pool = nullptr;
aclrtDrvMemHandle handle = nullptr;
std::string key;
uint64_t number = 0;
std::array<char, 4096> host{};
alignas(os::kLargestPageBytes) std::array<char, 8192> registered;

void nothing() {}
void malloc_block() { EXPECT_DONE(aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_FIRST)); }
void free_block() { EXPECT_DONE(aclrtFree(block)); }
void make_stream() { EXPECT_DONE(aclrtCreateStream(&stream)); }
void work() {
  make_stream();
  malloc_block();
}
void synchronize() { EXPECT_DONE(aclrtSynchronizeStream(stream)); }
void end_stream() {
  synchronize();
  EXPECT_DONE(aclrtDestroyStream(stream));
}
void end_work() {
  end_stream();
  free_block();
}
void make_event() { EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC)); }
void end_event() { EXPECT_DONE(aclrtDestroyEvent(event)); }
void make_notify() { EXPECT_DONE(aclrtCreateNotify(&notify, 0)); }
void end_notify() { EXPECT_DONE(aclrtDestroyNotify(notify)); }
aclError create_pool() {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return aclrtMemPoolCreate(&pool, &props);
}
void make_pool() {
  make_stream();
  EXPECT_DONE(create_pool());
}
void end_pool() {
  synchronize();
  EXPECT_DONE(aclrtMemPoolDestroy(pool));
  end_stream();
}
aclError take_from_pool() { return aclrtMemPoolMallocAsync(&block, 2_MiB, pool, stream); }
const uint64_t kThread = static_cast<uint64_t>(pthread_self());
// A thread that serves one waits for what is due; another is told at once.
bool serves_a_stream() {
  EXPECT_NE(aclrtProcessReport(1), ACL_SUCCESS);
  return std::string(aclGetRecentErrMsg()).find("serves no stream") == std::string::npos;
}
int streams_made = 0;
void count_streams(aclrtStream, aclrtStreamState state, void*) {
  streams_made += state == ACL_RT_STREAM_STATE_CREATE_POST ? 1 : -1;
}
// A block that was freed on the first stream behind work that has not run, for the second to wait for.
void make_two_streams() {
  make_pool();
  EXPECT_DONE(aclrtCreateStream(&second_stream));
  uint32_t yes = 1;
  EXPECT_DONE(aclrtMemPoolSetAttr(pool, ACL_RT_MEM_POOL_REUSE_ALLOW_INTERNAL_DEPENDENCIES, &yes));
  make_notify();
  EXPECT_DONE(take_from_pool());
  EXPECT_DONE(aclrtWaitAndResetNotify(notify, stream, 0));
  EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
}
void end_two_streams() {
  EXPECT_DONE(aclrtRecordNotify(notify, nullptr));
  EXPECT_DONE(aclrtSynchronizeStream(second_stream));
  synchronize();
  EXPECT_DONE(aclrtDestroyStream(second_stream));
  end_notify();
  end_pool();
}
aclError batch(aclrtStream* on) {
  void* targets[] = {block, static_cast<char*>(block) + 4096};
  void* sources[] = {host.data(), host.data() + 64};
  size_t sizes[] = {64, 64};
  aclrtMemcpyBatchAttr attribute{};
  attribute.dstLoc.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  attribute.srcLoc.type = ACL_MEM_LOCATION_TYPE_HOST;
  size_t index = 0, failed = 0;
  return on == nullptr
             ? aclrtMemcpyBatch(targets, sizes, sources, sizes, 2, &attribute, &index, 1, &failed)
             : aclrtMemcpyBatchAsync(targets, sizes, sources, sizes, 2, &attribute, &index, 1, &failed, *on);
}

// A process that opens the device, says something of `share`, and stays until it is killed.
std::unique_ptr<Peer> sharing(const std::function<void(Channel&)>& share) {
  auto peer = std::make_unique<Peer>([=](Channel& channel) {
    EXPECT_DONE(aclInit(nullptr));
    EXPECT_DONE(aclrtSetDevice(0));
    share(channel);
    channel.receive();
  });
  return peer;
}
std::unique_ptr<Peer> sharing_by_key() {
  auto peer = sharing([](Channel& channel) {
    std::array<char, 65> text{};
    malloc_block();
    EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, text.data(), text.size(), 1));
    channel.send_text(text.data());
  });
  key = peer->channel().receive_text();
  return peer;
}
std::unique_ptr<Peer> sharing_by_number() {
  auto peer = sharing([](Channel& channel) {
    handle = allocate(2_MiB);
    EXPECT_DONE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE,
                                                ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, &number));
    channel.send(number);
  });
  number = peer->channel().receive();
  return peer;
}

// Some calls are of one product only.
constexpr char kAscend950[] = "950";
template <const char* kProduct>
std::unique_ptr<Peer> as() {
  setenv("PLAT_PRODUCT", kProduct, 1);
  return nullptr;
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"aclrtMallocAlign32", nothing,
       [] { return aclrtMallocAlign32(&block, 100, ACL_MEM_MALLOC_NORMAL_ONLY); }, free_block},
      {"aclrtMallocCached", nothing,
       [] { return aclrtMallocCached(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtMallocWithCfg", nothing,
       [] { return aclrtMallocWithCfg(&block, 3_MiB, ACL_MEM_MALLOC_HUGE_ONLY, nullptr); }, free_block},
      {"aclrtMemAllocManaged", nothing, [] { return aclrtMemAllocManaged(&block, 3_MiB, 1); }, free_block},
      {"aclrtFree of managed memory", [] { EXPECT_DONE(aclrtMemAllocManaged(&block, 3_MiB, 1)); },
       [] { return aclrtFree(block); }, nothing},
      {"aclrtHostUnregister",
       [] {
         EXPECT_DONE(
             aclrtHostRegister(registered.data(), registered.size(), ACL_HOST_REGISTER_MAPPED, &block));
       },
       [] { return aclrtHostUnregister(registered.data()); }, nothing},
      {"aclrtIpcMemImportByKey", nothing, [] { return aclrtIpcMemImportByKey(&block, key.c_str(), 0); },
       [] { EXPECT_DONE(aclrtIpcMemClose(key.c_str())); }, sharing_by_key},
      {"aclrtIpcMemClose of an import", [] { EXPECT_DONE(aclrtIpcMemImportByKey(&block, key.c_str(), 0)); },
       [] { return aclrtIpcMemClose(key.c_str()); }, nothing, sharing_by_key},
      {"aclrtMemImportFromShareableHandle", nothing,
       [] { return aclrtMemImportFromShareableHandle(number, 0, &handle); },
       [] { EXPECT_DONE(aclrtFreePhysical(handle)); }, sharing_by_number},
      {"aclrtFreePhysical of an import",
       [] { EXPECT_DONE(aclrtMemImportFromShareableHandle(number, 0, &handle)); },
       [] { return aclrtFreePhysical(handle); }, nothing, sharing_by_number},

      {"aclrtMemcpy2d", malloc_block,
       [] { return aclrtMemcpy2d(block, 4096, host.data(), 64, 64, 8, ACL_MEMCPY_HOST_TO_DEVICE); },
       free_block},
      {"aclrtMemcpy2dAsync", work,
       [] {
         return aclrtMemcpy2dAsync(block, 4096, host.data(), 64, 64, 8, ACL_MEMCPY_HOST_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtMemcpyBatch", malloc_block, [] { return batch(nullptr); }, free_block},
      {"aclrtMemcpyBatchAsync", work, [] { return batch(&stream); }, end_work},
      {"aclrtMemcpyAsync by a buffer", work,
       [] {
         return aclrtMemcpyAsync(block, 4096, host.data(), 4096, ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtReduceAsync", work,
       [] {
         return aclrtReduceAsync(block, static_cast<char*>(block) + 1_MiB, 64,
                                 ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM, ACL_FLOAT, stream, nullptr);
       },
       end_work},
      {"aclrtValueWrite", work, [] { return aclrtValueWrite(block, 7, 0, stream); }, end_work},

      {"aclrtMemPoolCreate", nothing, create_pool, [] { EXPECT_DONE(aclrtMemPoolDestroy(pool)); }},
      {"aclrtMemPoolDestroy", [] { EXPECT_DONE(create_pool()); }, [] { return aclrtMemPoolDestroy(pool); },
       nothing},
      {"aclrtMemPoolMallocAsync", make_pool, take_from_pool,
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
         end_pool();
       }},
      {"aclrtMemPoolFreeAsync",
       [] {
         make_pool();
         EXPECT_DONE(take_from_pool());
       },
       [] { return aclrtMemPoolFreeAsync(block, stream); }, end_pool},
      {"aclrtMemPoolFreeAsync of a block of the heap",
       [] {
         make_stream();
         malloc_block();
       },
       [] { return aclrtMemPoolFreeAsync(block, stream); }, end_stream},
      {"aclrtMemPoolMallocAsync behind another stream", make_two_streams,
       [] { return aclrtMemPoolMallocAsync(&block, 2_MiB, pool, second_stream); },
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, second_stream));
         end_two_streams();
       }},
      {"aclrtMemPoolTrimTo",
       [] {
         make_pool();
         EXPECT_DONE(take_from_pool());
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, stream));
         synchronize();
       },
       [] { return aclrtMemPoolTrimTo(pool, 0); }, end_pool},

      {"aclrtDestroyContext",
       [] {
         EXPECT_DONE(aclrtRegStreamStateCallback("counts", count_streams, nullptr));
         EXPECT_DONE(aclrtGetCurrentContext(&context_before));
         EXPECT_DONE(aclrtCreateContext(&context, 0));
         work();
         for (int i = 0; i < 40; ++i) EXPECT_DONE(aclrtMemsetAsync(block, 2_MiB, i, 2_MiB, stream));
         EXPECT_DONE(aclrtMemsetAsync(block, 2_MiB, 1, 2_MiB, nullptr));
       },
       [] { return aclrtDestroyContext(context); },
       [] {
         EXPECT_EQ(streams_made, 0) << "the end of each was told";
         EXPECT_DONE(aclrtRegStreamStateCallback("counts", nullptr, nullptr));
         EXPECT_NE(aclrtDestroyContext(context), ACL_SUCCESS);
         EXPECT_DONE(aclrtSetCurrentContext(context_before));
         EXPECT_NE(aclrtDestroyStream(stream), ACL_SUCCESS);  // it went with its context
         free_block();
       }},
      {"aclrtStreamWaitEvent",
       [] {
         make_stream();
         make_event();
       },
       [] { return aclrtStreamWaitEvent(stream, event); },
       [] {
         end_stream();
         end_event();
       }},
      {"aclrtDestroyEvent", make_event, [] { return aclrtDestroyEvent(event); }, nothing},
      {"aclrtIpcGetEventHandle", [] { EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC)); },
       [] { return aclrtIpcGetEventHandle(event, &event_handle); }, end_event},
      {"aclrtCreateNotify", nothing, [] { return aclrtCreateNotify(&notify, 0); }, end_notify},
      {"aclrtDestroyNotify", make_notify, [] { return aclrtDestroyNotify(notify); }, nothing},
      {"aclrtRecordNotify",
       [] {
         make_stream();
         make_notify();
       },
       [] { return aclrtRecordNotify(notify, stream); },
       [] {
         end_stream();
         end_notify();
       }},
      {"aclrtNotifyGetExportKey", make_notify,
       [] {
         std::array<char, 65> text{};
         return aclrtNotifyGetExportKey(notify, text.data(), text.size(), 0);
       },
       end_notify},
      {"aclrtCntNotifyCreate", nothing, [] { return aclrtCntNotifyCreate(&counting, 0); },
       [] { EXPECT_DONE(aclrtCntNotifyDestroy(counting)); }, as<kAscend950>},
      {"aclrtLaunchHostFunc", make_stream,
       [] {
         return aclrtLaunchHostFunc(
             stream, [](void*) {}, nullptr);
       },
       end_stream},
      {"aclrtSubscribeReport", make_stream, [] { return aclrtSubscribeReport(kThread, stream); },
       [] {
         EXPECT_DONE(aclrtUnSubscribeReport(kThread, stream));
         EXPECT_FALSE(serves_a_stream()) << "the thread had one stream";
         end_stream();
       }},
      {"aclrtUnSubscribeReport",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(kThread, stream));
       },
       [] { return aclrtUnSubscribeReport(kThread, stream); },
       [] {
         EXPECT_FALSE(serves_a_stream());
         end_stream();
       }},
      {"aclrtLaunchCallback",
       [] {
         make_stream();
         EXPECT_DONE(aclrtSubscribeReport(kThread, stream));
       },
       [] { return aclrtLaunchCallback([](void*) {}, nullptr, ACL_CALLBACK_NO_BLOCK, stream); },
       [] {
         synchronize();
         EXPECT_DONE(aclrtUnSubscribeReport(kThread, stream));
         end_stream();
       }},
      {"aclrtSynchronizeStream", work,
       [] {
         (void)aclrtMemsetAsync(block, 4096, 1, 4096, stream);
         return aclrtSynchronizeStream(stream);
       },
       end_work},
      {"aclrtSynchronizeStream of work that looks again",
       [] {
         make_two_streams();
         EXPECT_DONE(aclrtMemPoolMallocAsync(&block, 2_MiB, pool, second_stream));
       },
       [] {
         const aclError recorded = aclrtRecordNotify(notify, nullptr);
         return recorded == ACL_SUCCESS ? aclrtSynchronizeStream(second_stream) : recorded;
       },
       [] {
         EXPECT_DONE(aclrtMemPoolFreeAsync(block, second_stream));
         end_two_streams();
       }},
      {"aclrtCreateStreamWithConfig", nothing, [] { return aclrtCreateStreamWithConfig(&stream, 0, 0); },
       end_stream},
      {"aclrtSetDevice of a second device", nothing, [] { return aclrtSetDevice(1); },
       [] {
         EXPECT_DONE(aclrtResetDevice(1));
         EXPECT_DONE(aclrtSetDevice(0));
       }},
  };
  return all;
}

class EveryStepOfObjectsTest : public ::testing::TestWithParam<std::tuple<size_t, Work>> {};

TEST_P(EveryStepOfObjectsTest, ChangesNothingOrEverything) {
  const auto [scenario, work] = GetParam();
  fail_each_step_alone(scenarios()[scenario], work);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryStepOfObjectsTest,
                         ::testing::Combine(::testing::Range(size_t{0}, scenarios().size()),
                                            ::testing::Values(Work::Elsewhere, Work::Inside, Work::ByChance)),
                         [](const auto& made) {
                           return name_of(scenarios()[std::get<0>(made.param)], std::get<1>(made.param));
                         });

// No call tells how many notifies there is room for: a process makes as many as it can, and one in which
// making them failed at every step makes as many.
uint64_t count_notifies() {
  std::vector<aclrtNotify> made;
  for (aclrtNotify one = nullptr; aclrtCreateNotify(&one, 0) == ACL_SUCCESS;) made.push_back(one);
  for (aclrtNotify one : made) EXPECT_DONE(aclrtDestroyNotify(one));
  return made.size();
}

TEST(EveryStep, LosesNoNotify) {
  const Machine machine;
  const auto begin = [] {
    EXPECT_DONE(aclInit(nullptr));
    EXPECT_DONE(aclrtSetDevice(0));
  };
  Peer undisturbed([&](Channel& channel) {
    begin();
    channel.send(count_notifies());
  });
  Peer disturbed([&](Channel& channel) {
    begin();
    uint64_t fails_at = 1;
    for (bool was_met = true; was_met; ++fails_at) {
      arm_step(fails_at);
      const aclError code = aclrtCreateNotify(&notify, 0);
      was_met = disarm_steps() >= fails_at;
      if (code == ACL_SUCCESS) end_notify();
    }
    EXPECT_GT(fails_at, 2u) << "too few steps to be true";
    channel.send(count_notifies());
  });
  const uint64_t room = undisturbed.channel().receive();
  EXPECT_GT(room, 100u);
  EXPECT_EQ(disturbed.channel().receive(), room);
}

// A call for page-locked memory that fails leaves no hole: the next gets the same place as it would have.
TEST(EveryStep, LosesNoAddressesOfPageLockedMemory) {
  in_child([] {
    const Machine machine;
    ASSERT_EQ(aclInit(nullptr), ACL_SUCCESS);
    ASSERT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* first = nullptr;
    EXPECT_DONE(aclrtMallocHost(&first, 8192));
    EXPECT_DONE(aclrtFreeHost(first));
    uint64_t fails_at = 1;
    for (bool was_met = true; was_met; ++fails_at) {
      arm_step(fails_at);
      const aclError code = aclrtMallocHost(&block, 8192);
      was_met = disarm_steps() >= fails_at;
      SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
      if (code != ACL_SUCCESS) {
        EXPECT_DONE(aclrtMallocHost(&block, 8192));
      }
      EXPECT_EQ(block, first);
      EXPECT_DONE(aclrtFreeHost(block));
    }
    EXPECT_GT(fails_at, 2u) << "too few steps to be true";
  });
}

}  // namespace
}  // namespace plat::test
