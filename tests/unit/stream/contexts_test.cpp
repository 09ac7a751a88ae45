// SPDX-License-Identifier: Apache-2.0
// Contexts by themselves, without the streams in them.
#include "stream/contexts.h"

#include "fixture.h"

namespace plat::stream {
namespace {

class ContextsTest : public ::testing::Test {
 protected:
  Result<> set(int device) {
    return contexts.set_device(device, [&]() -> Result<std::shared_ptr<Context>> {
      ++made;
      return contexts.add(device, true);
    });
  }

  Contexts contexts{Setting{options_for(Mode::Eager), std::nullopt}};
  int made = 0;
};

TEST_F(ContextsTest, TheDefaultContextIsMadeOnce) {
  EXPECT_FALSE(contexts.is_set(2));
  EXPECT_OK(set(2));
  EXPECT_OK(set(2));
  EXPECT_EQ(made, 1);
  EXPECT_TRUE(contexts.is_set(2));
  EXPECT_EQ(contexts.current_device(), 2);
}

TEST_F(ContextsTest, TheLastResetHandsOutTheContextToClose) {
  EXPECT_OK(set(1));
  EXPECT_OK(set(1));
  EXPECT_EQ(contexts.unset_device(1, false).value(), nullptr);
  EXPECT_NE(contexts.unset_device(1, false).value(), nullptr);
  EXPECT_BREAKS(DeviceNotSet, contexts.unset_device(1, false));

  EXPECT_OK(set(1));
  EXPECT_OK(set(1));
  EXPECT_NE(contexts.unset_device(1, true).value(), nullptr);
}

TEST_F(ContextsTest, AFailureToMakeTheContextSetsNothing) {
  EXPECT_BREAKS(StreamLimit, contexts.set_device(0, []() -> Result<std::shared_ptr<Context>> {
    return fail(RuleId::StreamLimit, "context", "none");
  }));
  EXPECT_FALSE(contexts.is_set(0));
  EXPECT_BREAKS(NoContext, contexts.current_device());
}

// A thread remembers the device of its context; that must not outlive the context.
TEST_F(ContextsTest, ARemovedContextIsNotRemembered) {
  const auto context = contexts.add(3, false);
  contexts.use(*context);
  EXPECT_EQ(contexts.current_device(), 3);
  EXPECT_EQ(contexts.known_device(), 3);
  EXPECT_TRUE(contexts.remove(*context));
  EXPECT_EQ(contexts.known_device(), -1);
  EXPECT_BREAKS(NoContext, contexts.current_device());
  EXPECT_FALSE(contexts.remove(*context));
}

TEST_F(ContextsTest, AContextMeansNothingInAnotherSet) {
  EXPECT_OK(set(0));
  const Contexts other{Setting{options_for(Mode::Eager), std::nullopt}};
  EXPECT_BREAKS(NoContext, other.current());
  EXPECT_EQ(other.known_device(), -1);
}

TEST_F(ContextsTest, OptionsAreOfOneContext) {
  EXPECT_OK(set(0));
  EXPECT_EQ(contexts.option(1).value(), std::nullopt);
  EXPECT_OK(contexts.set_option(1, 42));
  EXPECT_EQ(contexts.option(1).value(), 42);
  contexts.use(*contexts.add(0, false));
  EXPECT_EQ(contexts.option(1).value(), std::nullopt);
}

}  // namespace
}  // namespace plat::stream
