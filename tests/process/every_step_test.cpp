// SPDX-License-Identifier: Apache-2.0
// A fault at every step of memory, copies and streams; see every_step.h. The rest is in
// every_step_objects_test.cpp.
#include "process/every_step.h"

#include <array>

#include "base/units.h"
#include "os/page.h"
#include "stream/timers.h"

namespace plat::test {
namespace {

// What the scenarios work with.
void* address = nullptr;
void* block = nullptr;
aclrtDrvMemHandle handle = nullptr;
aclrtStream stream = nullptr;
std::array<aclrtStream, 70> waiting{};
aclrtEvent event = nullptr;
aclrtContext context = nullptr;
uint64_t number = 0;
std::array<char, 65> key{};
std::vector<char> host(2_MiB);
alignas(os::kLargestPageBytes) std::array<char, 8192> registered;

void nothing() {}
void allocate_handle() { handle = allocate(2_MiB); }
void reserve() { EXPECT_DONE(aclrtReserveMemAddress(&address, 2_MiB, 0, nullptr, 0)); }
void release() { EXPECT_DONE(aclrtReleaseMemAddress(address)); }
void free_handle() { EXPECT_DONE(aclrtFreePhysical(handle)); }
void map() {
  allocate_handle();
  reserve();
  EXPECT_DONE(aclrtMapMem(address, 2_MiB, 0, handle, 0));
}
void take_map_down() {
  EXPECT_DONE(aclrtUnmapMem(address));
  free_handle();
  release();
}
void malloc_block(size_t size) { EXPECT_DONE(aclrtMalloc(&block, size, ACL_MEM_MALLOC_HUGE_FIRST)); }
void free_block() { EXPECT_DONE(aclrtFree(block)); }
void make_stream() { EXPECT_DONE(aclrtCreateStream(&stream)); }
void end_stream() { EXPECT_DONE(aclrtDestroyStream(stream)); }
void work_on_stream() {
  make_stream();
  malloc_block(4096);
}
void end_work() {
  EXPECT_DONE(aclrtSynchronizeStream(stream));
  end_stream();
  free_block();
}
aclError make_handle() {
  aclrtPhysicalMemProp prop{};
  prop.memAttr = ACL_HBM_MEM_HUGE;
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  return aclrtMallocPhysical(&handle, 6_MiB, &prop, 0);
}

const std::vector<Scenario>& scenarios() {
  static const std::vector<Scenario> all = {
      {"aclrtReserveMemAddress", nothing,
       [] { return aclrtReserveMemAddress(&address, 4_MiB, 0, nullptr, 0); }, release},
      {"aclrtReleaseMemAddress", reserve, [] { return aclrtReleaseMemAddress(address); }, nothing},
      {"aclrtMallocPhysical", nothing, make_handle, free_handle},
      {"aclrtFreePhysical", allocate_handle, [] { return aclrtFreePhysical(handle); }, nothing},
      {"aclrtMapMem", [] { allocate_handle(), reserve(); },
       [] { return aclrtMapMem(address, 2_MiB, 0, handle, 0); }, take_map_down},
      {"aclrtUnmapMem", map, [] { return aclrtUnmapMem(address); }, [] { free_handle(), release(); }},
      {"aclrtMemSetAccess", map,
       [] {
         aclrtMemAccessDesc access{};
         access.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
         access.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
         return aclrtMemSetAccess(address, 2_MiB, &access, 1);
       },
       take_map_down},
      {"aclrtMemRetainAllocationHandle", map, [] { return aclrtMemRetainAllocationHandle(address, &handle); },
       [] { free_handle(), take_map_down(); }},
      {"aclrtMemExportToShareableHandle", allocate_handle,
       [] { return aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number); },
       free_handle},
      {"aclrtMemSetPidToShareableHandle",
       [] {
         allocate_handle();
         EXPECT_DONE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
       },
       [] {
         std::array<int32_t, 40> pids{};
         for (int32_t& pid : pids) pid = 1 + static_cast<int32_t>(&pid - pids.data());
         return aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size());
       },
       free_handle},
      {"aclrtMalloc of a small block", nothing,
       [] { return aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtMalloc of a large block", nothing,
       [] { return aclrtMalloc(&block, 5_MiB, ACL_MEM_MALLOC_HUGE_FIRST); }, free_block},
      {"aclrtFree of a small block", [] { malloc_block(4096); }, [] { return aclrtFree(block); }, nothing},
      {"aclrtFree of a large block", [] { malloc_block(5_MiB); }, [] { return aclrtFree(block); }, nothing},
      {"aclrtFree of a large block that was written",
       [] {
         malloc_block(5_MiB);
         EXPECT_DONE(aclrtMemset(block, 5_MiB, 1, 5_MiB));
       },
       [] { return aclrtFree(block); }, nothing},
      {"aclrtUnmapMem of memory that was written",
       [] {
         map();
         EXPECT_DONE(aclrtMemset(address, 2_MiB, 1, 2_MiB));
         free_handle();
       },
       [] { return aclrtUnmapMem(address); }, release},
      {"aclrtMallocHost", nothing, [] { return aclrtMallocHost(&block, 3_MiB); },
       [] { EXPECT_DONE(aclrtFreeHost(block)); }},
      {"aclrtFreeHost", [] { EXPECT_DONE(aclrtMallocHost(&block, 3_MiB)); },
       [] { return aclrtFreeHost(block); }, nothing},
      {"aclrtIpcMemGetExportKey", [] { malloc_block(2_MiB); },
       [] { return aclrtIpcMemGetExportKey(block, 2_MiB, key.data(), key.size(), 0); }, free_block},
      {"aclrtIpcMemClose",
       [] {
         malloc_block(2_MiB);
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, key.data(), key.size(), 0));
       },
       [] { return aclrtIpcMemClose(key.data()); }, free_block},
      {"aclrtMemcpy to new memory", [] { malloc_block(2_MiB); },
       [] { return aclrtMemcpy(block, 1_MiB, host.data(), 1_MiB, ACL_MEMCPY_HOST_TO_DEVICE); }, free_block},
      {"aclrtMemset of new memory", [] { malloc_block(2_MiB); },
       [] { return aclrtMemset(block, 1_MiB, 1, 1_MiB); }, free_block},
      {"aclrtCreateStream", nothing, [] { return aclrtCreateStream(&stream); }, end_stream},
      {"aclrtDestroyStream", make_stream, [] { return aclrtDestroyStream(stream); }, nothing},
      {"aclrtMemsetAsync", work_on_stream, [] { return aclrtMemsetAsync(block, 4096, 1, 4096, stream); },
       end_work},
      {"aclrtMemcpyAsync", work_on_stream,
       [] {
         return aclrtMemcpyAsync(block, 2048, static_cast<char*>(block) + 2048, 2048,
                                 ACL_MEMCPY_DEVICE_TO_DEVICE, stream);
       },
       end_work},
      {"aclrtCreateEvent", nothing, [] { return aclrtCreateEvent(&event); },
       [] { EXPECT_DONE(aclrtDestroyEvent(event)); }},
      {"aclrtRecordEvent",
       [] {
         make_stream();
         EXPECT_DONE(aclrtCreateEvent(&event));
       },
       [] { return aclrtRecordEvent(event, stream); },
       [] {
         EXPECT_DONE(aclrtSynchronizeStream(stream));
         EXPECT_DONE(aclrtDestroyEvent(event));
         end_stream();
       }},
      // All of them are runnable at once.
      {"aclrtRecordEvent that many streams wait for",
       [] {
         make_stream();
         EXPECT_DONE(aclrtCreateEventWithFlag(&event, ACL_EVENT_SYNC));
         for (aclrtStream& one : waiting) {
           EXPECT_DONE(aclrtCreateStream(&one));
           EXPECT_DONE(aclrtStreamWaitEvent(one, event));
         }
       },
       [] { return aclrtRecordEvent(event, stream); },
       [] {
         for (aclrtStream one : waiting) {
           EXPECT_DONE(aclrtSynchronizeStream(one));
           EXPECT_DONE(aclrtDestroyStream(one));
         }
         EXPECT_DONE(aclrtDestroyEvent(event));
         end_stream();
       }},
      {"aclrtCreateContext", nothing, [] { return aclrtCreateContext(&context, 0); },
       [] {
         EXPECT_DONE(aclrtDestroyContext(context));
         EXPECT_DONE(aclrtSetDevice(0));
       }},
      // With its last context a device is closed, unless one is left that nobody knows of.
      {"aclrtCreateContext of another device", nothing, [] { return aclrtCreateContext(&context, 1); },
       [] {
         EXPECT_DONE(aclrtDestroyContext(context));
         EXPECT_DONE(aclrtSetDevice(0));
         aclrtPhysicalMemProp prop{};
         prop.memAttr = ACL_HBM_MEM_HUGE;
         prop.location = {1, ACL_MEM_LOCATION_TYPE_DEVICE};
         EXPECT_NE(aclrtMallocPhysical(&handle, 2_MiB, &prop, 0), ACL_SUCCESS) << "the device is open";
       }},
      {"aclrtHostRegister", nothing,
       [] {
         return aclrtHostRegister(registered.data(), registered.size(), ACL_HOST_REGISTER_MAPPED, &address);
       },
       [] { EXPECT_DONE(aclrtHostUnregister(registered.data())); }},
  };
  return all;
}

class EveryStepTest : public ::testing::TestWithParam<std::tuple<size_t, Work>> {};

TEST_P(EveryStepTest, ChangesNothingOrEverything) {
  const auto [scenario, work] = GetParam();
  fail_each_step_alone(scenarios()[scenario], work);
}

INSTANTIATE_TEST_SUITE_P(Calls, EveryStepTest,
                         ::testing::Combine(::testing::Range(size_t{0}, scenarios().size()),
                                            ::testing::Values(Work::Elsewhere, Work::Inside, Work::ByChance)),
                         [](const auto& made) {
                           return name_of(scenarios()[std::get<0>(made.param)], std::get<1>(made.param));
                         });

// A stream whose time has come is woken, whatever else there is no memory for.
TEST(EveryStep, OfTakingTimersNeedsNoMemory) {
  stream::Timers timers;
  const auto now = stream::Clock::now();
  const auto owner = std::make_shared<int>();
  auto* const some = reinterpret_cast<stream::Stream*>(owner.get());  // never looked at
  for (int i = 0; i < 40; ++i) timers.add(std::shared_ptr<stream::Stream>(owner, some), now);
  arm_step(1);
  size_t taken = 0;
  try {
    taken = timers.take(now).size();
  } catch (const std::bad_alloc&) {
  }
  disarm_steps();
  EXPECT_EQ(taken, 40u);
  EXPECT_FALSE(timers.next().has_value());
  EXPECT_EQ(owner.use_count(), 1);
}

// Opening a device happens once in a process, so each fault has one of its own. Whatever fails, the next
// process finds the device as it was, and can open it.
TEST(EveryStep, OfOpeningADevice) {
  const Machine machine;
  uint64_t fails_at = 1;
  for (bool was_met = true; was_met && !HasFailure(); ++fails_at) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    in_child([&] {
      alarm(200);
      arm_step(fails_at);
      const aclError initialised = aclInit(nullptr);
      const aclError opened = initialised == ACL_SUCCESS ? aclrtSetDevice(0) : initialised;
      const uint64_t steps = disarm_steps();
      SCOPED_TRACE("step " + std::to_string(fails_at) + " (" + failed_step() + ")");
      if (initialised != ACL_SUCCESS) {
        EXPECT_DONE(aclInit(nullptr));
      }
      if (opened != ACL_SUCCESS) {
        EXPECT_DONE(aclrtSetDevice(0));
      }
      EXPECT_EQ(used_bytes(), 0u);
      void* memory = map_new(2_MiB);
      EXPECT_NE(memory, nullptr) << aclGetRecentErrMsg();
      EXPECT_DONE(aclrtMemset(memory, 4096, 1, 4096));
      const char met = steps >= fails_at ? 1 : 0;
      EXPECT_EQ(write(ends[1], &met, 1), 1);
    });
    char met = 0;
    close(ends[1]);
    if (::read(ends[0], &met, 1) != 1) ADD_FAILURE() << "the process of step " << fails_at << " said nothing";
    close(ends[0]);
    was_met = met != 0;
  }
  EXPECT_GT(fails_at, 20u) << "too few steps to be true";
}

}  // namespace
}  // namespace plat::test
