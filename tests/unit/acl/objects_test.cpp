// SPDX-License-Identifier: Apache-2.0
// Random calls on managed memory, notifies, streams, reductions, snapshots and buffers of queues, legal and
// illegal, against the library and against a plain model: the same answer to each, and the same bytes.
//
// PLAT_TEST_SEED=n plays other calls than usual.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <random>

#include "support/object_play.h"

namespace plat::test {
namespace {

constexpr size_t kSteps = 1000;
constexpr int kScripts = 4;

// In a process and on a machine of its own.
void play(const char* product, ObjectPlayer::Machine machine) {
  const char* chosen = getenv("PLAT_TEST_SEED");
  const uint64_t first_seed = chosen != nullptr ? strtoull(chosen, nullptr, 0) : 20260101;
  for (uint64_t seed = first_seed; seed < first_seed + kScripts; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> script(kSteps * kRecordBytes);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) {
      setenv("PLAT_NODE", "private", 1);
      setenv("PLAT_PRODUCT", product, 1);
      setenv("PLAT_DEVICES", "2", 1);
      setenv("PLAT_CAPACITY", "64MiB", 1);
      setenv("PLAT_HOST_CAPACITY", "256MiB", 1);
      setenv("PLAT_LOG", "off", 1);
      ObjectPlayer player(machine);
      const bool agreed = player.play(script);
      if (!agreed)
        fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
      fflush(nullptr);
      _exit(agreed ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_EQ(status, 0) << "PLAT_TEST_SEED=" << seed << " on " << product
                         << ": the library and the model part";
  }
}

TEST(Objects, OfAnA2) { play("a2", ObjectPlayer::Machine::A2); }
TEST(Objects, OfA950) { play("950", ObjectPlayer::Machine::A950); }
TEST(Objects, OfAProgramOnTheDevice) { play("200i-a2-rc", ObjectPlayer::Machine::Rc); }

}  // namespace
}  // namespace plat::test
