// SPDX-License-Identifier: Apache-2.0
// A fault at every step of streams, events and notifies.
#include <array>

#include "process/every_step.h"
#include "stream/timers.h"

namespace plat::test {
namespace {

aclrtStreamConfigHandle* config = nullptr;
aclrtCntNotify counting = nullptr;
std::array<aclrtStream, 70> waiting{};

void make_config() {
  config = aclrtCreateStreamConfigHandle();
  EXPECT_DONE(is_made(config));
}
void end_config() { EXPECT_DONE(aclrtDestroyStreamConfigHandle(config)); }
void make_ex_event() { EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_SYNC)); }
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
  make_notify();
  EXPECT_DONE(aclrtRecordNotify(notify, nullptr));
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

std::vector<Scenario> scenarios() {
  return {
      {"aclrtCreateStream", nothing, [] { return aclrtCreateStream(&stream); }, end_stream},
      {"aclrtCreateStreamWithConfig", nothing, [] { return aclrtCreateStreamWithConfig(&stream, 0, 0); },
       end_stream},
      {"aclrtCreateStreamV2", make_config, [] { return aclrtCreateStreamV2(&stream, config); },
       [] {
         end_stream();
         end_config();
       }},
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
      {"aclrtDestroyStream", make_stream, [] { return aclrtDestroyStream(stream); }, nothing},
      {"aclrtDestroyStreamForce", make_stream, [] { return aclrtDestroyStreamForce(stream); }, nothing},
      {"aclrtSynchronizeStream", make_work,
       [] {
         (void)aclrtMemsetAsync(block, 4096, 1, 4096, stream);
         return aclrtSynchronizeStream(stream);
       },
       end_work},
      {"aclrtStreamAbort", make_stream, [] { return aclrtStreamAbort(stream); }, end_stream},
      {"aclrtStreamStop", make_stream, [] { return aclrtStreamStop(stream); },
       [] { EXPECT_DONE(aclrtDestroyStreamForce(stream)); }},
      {"aclrtDeviceTaskAbort", make_stream, [] { return aclrtDeviceTaskAbort(0, 1000); }, end_stream},

      // Events.
      {"aclrtCreateEvent", nothing, [] { return aclrtCreateEvent(&event); },
       [] { EXPECT_DONE(aclrtDestroyEvent(event)); }},
      {"aclrtCreateEventWithFlag", nothing,
       [] { return aclrtCreateEventWithFlag(&event, ACL_EVENT_TIME_LINE); }, end_event},
      {"aclrtCreateEventExWithFlag", nothing,
       [] { return aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC); }, end_event},
      {"aclrtDestroyEvent", make_ex_event, [] { return aclrtDestroyEvent(event); }, nothing},
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
      {"aclrtRecordEventWithFlag", stream_and_event,
       [] { return aclrtRecordEventWithFlag(event, stream, 0); }, end_both},
      {"aclrtResetEvent", stream_and_event, [] { return aclrtResetEvent(event, stream); }, end_both},
      {"aclrtStreamWaitEvent",
       [] {
         make_stream();
         make_ex_event();
       },
       [] { return aclrtStreamWaitEvent(stream, event); },
       [] {
         end_stream();
         end_event();
       }},
      {"aclrtStreamWaitEventWithTimeout", stream_and_event,
       [] { return aclrtStreamWaitEventWithTimeout(stream, event, 10000); }, end_both},
      {"aclrtStreamWaitEventWithFlag", stream_and_event,
       [] { return aclrtStreamWaitEventWithFlag(stream, event, 0, 0); }, end_both},

      // Notifies.
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
      {"aclrtWaitAndResetNotify", stream_and_notify,
       [] { return aclrtWaitAndResetNotify(notify, stream, 0); },
       [] {
         end_stream();
         end_notify();
       }},
      {"aclrtCntNotifyCreate", nothing, [] { return aclrtCntNotifyCreate(&counting, 0); },
       [] { EXPECT_DONE(aclrtCntNotifyDestroy(counting)); }, as("950")},
      {"aclrtCntNotifyDestroy", [] { EXPECT_DONE(aclrtCntNotifyCreate(&counting, 0)); },
       [] { return aclrtCntNotifyDestroy(counting); }, nothing, as("950")},
      {"aclrtCntNotifyRecord", make_counting, record_counting, end_counting, as("950")},
      {"aclrtCntNotifyWaitWithTimeout",
       [] {
         make_counting();
         EXPECT_DONE(record_counting());
       },
       wait_counting, end_counting, as("950")},
      {"aclrtCntNotifyReset", make_counting, [] { return aclrtCntNotifyReset(counting, stream); },
       end_counting, as("950")},
      {"aclrtCntNotifyGetId", make_counting,
       [] {
         uint32_t id = 0;
         return aclrtCntNotifyGetId(counting, &id);
       },
       end_counting, as("950")},
  };
}

INSTANTIATE_TEST_SUITE_P(Stream, EveryStepTest, in_every_way(scenarios()), name_of_case);

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

}  // namespace
}  // namespace plat::test
