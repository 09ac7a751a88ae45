// SPDX-License-Identifier: Apache-2.0
// What the stream tests share: a runtime in one of the three modes, with device 0 set in the test's thread.
#pragma once

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <string>
#include <system_error>
#include <thread>

#include "rules/rules.h"
#include "stream/streams.h"

namespace plat::stream {

inline Options options_for(Mode mode) {
  Options options;
  options.mode = mode;
  options.seed = 20240607;
  options.workers = 2;
  options.device_count = 8;
  return options;
}

inline std::string mode_name(Mode mode) {
  return mode == Mode::Pool ? "Pool" : mode == Mode::Eager ? "Eager" : "Seeded";
}

// Holds a stream until it is opened: a task that polls.
class Latch {
 public:
  Poll poll() {
    return [open = open_]() -> Result<bool> { return open->load(); };
  }
  void open() { open_->store(true); }

 private:
  std::shared_ptr<std::atomic<bool>> open_ = std::make_shared<std::atomic<bool>>(false);
};

// While it lives, the system gives no thread, as at RLIMIT_NPROC and pids.max: there is no room for its
// stack.
class NoThreads {
 public:
  NoThreads() {
    pthread_attr_t too_large;
    EXPECT_EQ(pthread_getattr_default_np(&usual_), 0);
    EXPECT_EQ(pthread_attr_init(&too_large), 0);
    EXPECT_EQ(pthread_attr_setstacksize(&too_large, size_t{1} << 60), 0);  // more than any processor has
    EXPECT_EQ(pthread_setattr_default_np(&too_large), 0);
    EXPECT_THROW(std::thread([] {}).join(), std::system_error);
  }
  ~NoThreads() { EXPECT_EQ(pthread_setattr_default_np(&usual_), 0); }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t usual_;
};

class StreamTest : public ::testing::TestWithParam<Mode> {
 protected:
  StreamTest() : runtime(options_for(GetParam())) { EXPECT_TRUE(runtime.set_device(0)); }

  StreamId make_stream() { return runtime.create_stream(0, 0).value(); }
  EventId make_event(EventKind kind = EventKind::Plain, uint32_t flags = 0) {
    return runtime.events().create(kind, flags).value();
  }

  Streams runtime;
};

#define INSTANTIATE_MODES(Suite)                                                                   \
  INSTANTIATE_TEST_SUITE_P(Modes, Suite, ::testing::Values(Mode::Pool, Mode::Eager, Mode::Seeded), \
                           [](const auto& mode) { return mode_name(mode.param); })

template <class R>
void expect_breaks(RuleId rule, const R& result, const char* expression) {
  if (result) {
    ADD_FAILURE() << expression << " succeeded";
  } else {
    EXPECT_STREQ(rules::get(result.error().rule).name, rules::get(rule).name) << result.error().detail;
  }
}

template <class R>
void expect_ok(const R& result, const char* expression) {
  if (!result)
    ADD_FAILURE() << expression << ": " << rules::get(result.error().rule).name << ' '
                  << result.error().detail;
}

// That a result breaks a rule, by the rule's id; and that it breaks none.
#define EXPECT_BREAKS(rule_id, ...) expect_breaks(RuleId::rule_id, (__VA_ARGS__), #__VA_ARGS__)
#define EXPECT_OK(...) expect_ok((__VA_ARGS__), #__VA_ARGS__)

}  // namespace plat::stream
