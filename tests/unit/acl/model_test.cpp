// SPDX-License-Identifier: Apache-2.0
// Random calls, legal and illegal, against the library and against the reference model: the same verdict
// after each, the same accounts, and at the end the same answers to every question.
//
// PLAT_TEST_SEED=n plays other calls than usual, SEEDS=n more or fewer of them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <random>

#include "base/units.h"
#include "support/vmm_play.h"

namespace plat::test {
namespace {

#if defined(__SANITIZE_THREAD__)
constexpr bool kFixedAddresses = false;
constexpr int kScripts = 4;
#elif defined(__SANITIZE_ADDRESS__)
constexpr bool kFixedAddresses = true;
constexpr int kScripts = 4;
#else
constexpr bool kFixedAddresses = true;
constexpr int kScripts = 20;
#endif
constexpr size_t kSteps = 5000;

struct Machine {
  const char* product;
  const char* capacity;
  VmmModel::Settings settings;
};

Machine machine(const char* product, const char* capacity, uint64_t capacity_bytes) {
  VmmModel::Settings settings;
  const bool is_950 = std::string(product) == "950";
  settings.generation = is_950 ? rules::Generation::V3 : rules::Generation::V2;
  settings.devices = 3;
  settings.open_devices = 3;  // the third is there, but never opened
  settings.capacity_bytes = capacity_bytes;
  settings.host_capacity_bytes = 16_MiB;
  settings.giant_pages = !is_950;
  settings.expected_address = !is_950;
  settings.fixed_addresses = kFixedAddresses;
  return {product, capacity, settings};
}

// Plays in a process and on a machine of its own. What went wrong is said only if `explain`.
bool passes(const Machine& machine, const std::vector<uint8_t>& script, bool explain) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    setenv("PLAT_NODE", "private", 1);
    setenv("PLAT_PRODUCT", machine.product, 1);
    setenv("PLAT_DEVICES", "3", 1);
    setenv("PLAT_CAPACITY", machine.capacity, 1);
    setenv("PLAT_HOST_CAPACITY", "16MiB", 1);
    setenv("PLAT_LOG", "off", 1);
    Player player(machine.settings);
    const bool agreed = player.play(script);
    if (!agreed && explain)
      fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
    fflush(nullptr);
    _exit(agreed ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  if (explain && !WIFEXITED(status)) fprintf(stderr, "the process ended with signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

// Leaves out what is not needed to fail: halves of the script first, single calls last.
std::vector<uint8_t> shortened(const Machine& machine, std::vector<uint8_t> script) {
  int attempts = 400;
  for (size_t piece = script.size() / kRecordBytes / 2; piece > 0 && attempts > 0; piece /= 2) {
    const size_t bytes = piece * kRecordBytes;
    for (size_t at = 0; at + bytes <= script.size() && attempts-- > 0;) {
      std::vector<uint8_t> shorter = script;
      shorter.erase(shorter.begin() + static_cast<long>(at), shorter.begin() + static_cast<long>(at + bytes));
      if (passes(machine, shorter, false))
        at += bytes;
      else
        script = std::move(shorter);
    }
  }
  return script;
}

void play(const Machine& machine) {
  const char* chosen = getenv("PLAT_TEST_SEED");
  const uint64_t first_seed = chosen ? strtoull(chosen, nullptr, 0) : 20250101;
  const char* count = getenv("SEEDS");
  const uint64_t scripts = count ? strtoull(count, nullptr, 0) : kScripts;
  ASSERT_GT(scripts, 0u) << "SEEDS=" << count;
  printf("seeds from %llu\n", static_cast<unsigned long long>(first_seed));
  for (uint64_t seed = first_seed; seed < first_seed + scripts; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<uint8_t> script(kSteps * kRecordBytes);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    if (passes(machine, script, false)) continue;
    const std::vector<uint8_t> shorter = shortened(machine, script);
    ADD_FAILURE() << "PLAT_TEST_SEED=" << seed << " on " << machine.product << " with " << machine.capacity
                  << ": the library and the model part; shortened to " << shorter.size() / kRecordBytes
                  << " calls";
    passes(machine, shorter, true);
    return;
  }
}

TEST(Model, OlderDriverShortOfMemory) { play(machine("a2", "64MiB", 64_MiB)); }
TEST(Model, OlderDriverWithGiantPages) { play(machine("a2", "2112MiB", 2112_MiB)); }
TEST(Model, NewerDriver) { play(machine("950", "64MiB", 64_MiB)); }

}  // namespace
}  // namespace plat::test
