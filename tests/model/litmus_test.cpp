// SPDX-License-Identifier: Apache-2.0
// The explorer itself, against the classic small programs whose outcomes are known.
#include <gtest/gtest.h>

#include <memory>

#include "model/explorer.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;
constexpr Order kAcquire = Order::acquire;
constexpr Order kRelease = Order::release;
constexpr Order kSequential = Order::seq_cst;

struct Words {
  Atomic x, y;
  Plain data;
  uint64_t first = 1, second = 1, third = 1;
  uint32_t ended = 0;
};

bool holds(const std::function<std::vector<Program>(std::shared_ptr<Words>)>& make) {
  return explore([&] { return make(std::make_shared<Words>()); }).violation.empty();
}

// Both threads write one word and read the other's: one of them must see the other only when all is seq_cst.
bool one_sees_the_other(Order store, Order load, bool barrier = false) {
  return holds([=](std::shared_ptr<Words> w) {
    const auto end = [w] { expect(++w->ended < 2 || w->first + w->second > 0, "neither saw the other"); };
    return std::vector<Program>{[=] {
                                  w->x.store(1, store);
                                  w->first = w->y.load(load);
                                  end();
                                },
                                [=] {
                                  w->y.store(1, store);
                                  if (barrier) process_barrier();
                                  w->second = w->x.load(load);
                                  end();
                                }};
  });
}

TEST(Litmus, StoreBuffering) {
  EXPECT_FALSE(one_sees_the_other(kRelaxed, kRelaxed));
  EXPECT_FALSE(one_sees_the_other(kRelease, kAcquire));
  EXPECT_FALSE(one_sees_the_other(kSequential, kAcquire));
  EXPECT_FALSE(one_sees_the_other(kRelease, kSequential));
  EXPECT_TRUE(one_sees_the_other(kSequential, kSequential));
}

TEST(Litmus, FencesOfBothThreads) {
  const auto one_sees = [](Order first, Order second) {
    return holds([=](std::shared_ptr<Words> w) {
      const auto end = [w] { expect(++w->ended < 2 || w->first + w->second > 0, "neither saw the other"); };
      return std::vector<Program>{[=] {
                                    w->x.store(1, kRelaxed);
                                    fence(first);
                                    w->first = w->y.load(kRelaxed);
                                    end();
                                  },
                                  [=] {
                                    w->y.store(1, kRelaxed);
                                    fence(second);
                                    w->second = w->x.load(kRelaxed);
                                    end();
                                  }};
    });
  };
  EXPECT_TRUE(one_sees(kSequential, kSequential));
  EXPECT_FALSE(one_sees(kSequential, kAcquire));
  EXPECT_FALSE(one_sees(kRelease, kSequential));
}

// They order what is atomic, and nothing else.
TEST(Litmus, FencesAloneOrderNoPlainMemory) {
  EXPECT_FALSE(holds([](std::shared_ptr<Words> w) {
    return std::vector<Program>{[w] {
                                  w->data.write();
                                  fence(kSequential);
                                },
                                [w] {
                                  fence(kSequential);
                                  w->data.read();
                                }};
  }));
}

TEST(Litmus, AProcessBarrierOfOneThreadIsEnoughForBoth) {
  EXPECT_TRUE(one_sees_the_other(kRelaxed, kRelaxed, true));
}

bool message_passes(Order store, Order load) {
  return holds([=](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] {
                                  w->data.write();
                                  w->x.store(1, store);
                                },
                                [=] {
                                  if (w->x.load(load) == 1) w->data.read();
                                }};
  });
}

TEST(Litmus, MessagePassing) {
  EXPECT_TRUE(message_passes(kRelease, kAcquire));
  EXPECT_FALSE(message_passes(kRelaxed, kAcquire));
  EXPECT_FALSE(message_passes(kRelease, kRelaxed));
}

// The same by fences; one that is not there lets the message overtake what it is about.
bool message_passes_by_fences(bool release, bool acquire) {
  return holds([=](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] {
                                  w->data.write();
                                  if (release) fence(kRelease);
                                  w->x.store(1, kRelaxed);
                                },
                                [=] {
                                  if (w->x.load(kRelaxed) != 1) return;
                                  if (acquire) fence(kAcquire);
                                  w->data.read();
                                }};
  });
}

TEST(Litmus, Fences) {
  EXPECT_TRUE(message_passes_by_fences(true, true));
  EXPECT_FALSE(message_passes_by_fences(false, true));
  EXPECT_FALSE(message_passes_by_fences(true, false));
}

// A release says nothing of the stores behind it: they may be seen first.
TEST(Litmus, AReleaseDoesNotKeepLaterStoresBack) {
  EXPECT_FALSE(holds([](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] {
                                  w->x.store(1, kSequential);
                                  w->y.store(1, kRelaxed);
                                },
                                [=] {
                                  if (w->y.load(kAcquire) == 1)
                                    expect(w->x.load(kAcquire) == 1, "the later one first");
                                }};
  }));
}

// A relaxed exchange in between goes on with the release; a relaxed store does not.
bool release_goes_on(bool exchange) {
  return holds([=](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] {
                                  w->data.write();
                                  w->x.store(1, kRelease);
                                },
                                [=] {
                                  uint64_t one = 1;
                                  if (exchange)
                                    (void)w->x.compare_exchange(one, 2, kRelaxed);
                                  else if (w->x.load(kRelaxed) == 1)
                                    w->x.store(2, kRelaxed);
                                },
                                [=] {
                                  if (w->x.load(kAcquire) == 2) w->data.read();
                                }};
  });
}

TEST(Litmus, ReleaseSequences) {
  EXPECT_TRUE(release_goes_on(true));
  EXPECT_FALSE(release_goes_on(false));
}

TEST(Litmus, OneLocationIsReadInOrder) {
  EXPECT_TRUE(holds([](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] {
                                  w->x.store(1, kRelaxed);
                                  w->x.store(2, kRelaxed);
                                },
                                [=] {
                                  const uint64_t first = w->x.load(kRelaxed);
                                  expect(w->x.load(kRelaxed) >= first, "an older value after a newer one");
                                }};
  }));
}

// Two readers may see two writers in different orders, unless all is seq_cst.
bool readers_agree(Order store, Order load) {
  return holds([=](std::shared_ptr<Words> w) {
    return std::vector<Program>{[=] { w->x.store(1, store); }, [=] { w->y.store(1, store); },
                                [=] {
                                  if (w->x.load(load) == 1) w->first = w->y.load(load);
                                  expect(++w->ended < 2 || w->first + w->second > 0, "two orders");
                                },
                                [=] {
                                  if (w->y.load(load) == 1) w->second = w->x.load(load);
                                  expect(++w->ended < 2 || w->first + w->second > 0, "two orders");
                                }};
  });
}

TEST(Litmus, IndependentReadsOfIndependentWrites) {
  EXPECT_FALSE(readers_agree(kRelease, kAcquire));
  EXPECT_TRUE(readers_agree(kSequential, kSequential));
}

TEST(Litmus, CountingLosesNothing) {
  EXPECT_TRUE(holds([](std::shared_ptr<Words> w) {
    const auto add = [=] {
      w->x.fetch_add(1, kRelaxed);
      if (++w->ended == 3) expect(w->x.fetch_add(0, kRelaxed) == 3, "a lost count");
    };
    return std::vector<Program>{add, add, add};
  }));
}

}  // namespace
}  // namespace plat::model
