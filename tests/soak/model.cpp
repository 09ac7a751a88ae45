// SPDX-License-Identifier: Apache-2.0
// Scripts of random calls against the reference model (support/vmm_play.h), each in a process of its own, on
// machines of both driver generations and of different sizes.
#include <sys/wait.h>

#include <array>
#include <vector>

#include "base/units.h"
#include "soak/campaign.h"
#include "support/vmm_play.h"

namespace plat::soak {
namespace {

constexpr size_t kSteps = 5000;

struct Machine {
  const char* product;
  uint64_t capacity_mib;
};
constexpr std::array kMachines = {Machine{"a2", 64}, Machine{"a2", 2112}, Machine{"950", 64}};

int play(const Machine& machine, const std::vector<uint8_t>& script) {
  setenv("PLAT_NODE", "private", 1);
  setenv("PLAT_CAPACITY", fmt::format("{}MiB", machine.capacity_mib).c_str(), 1);
  setenv("PLAT_PRODUCT", machine.product, 1);
  setenv("PLAT_HOST_CAPACITY", "16MiB", 1);
  const bool is_950 = std::strcmp(machine.product, "950") == 0;
  test::VmmModel::Settings settings;
  settings.generation = is_950 ? rules::Generation::V3 : rules::Generation::V2;
  settings.devices = 3;
  settings.open_devices = 3;
  settings.capacity_bytes = machine.capacity_mib * 1_MiB;
  settings.host_capacity_bytes = 16_MiB;
  settings.giant_pages = !is_950;
  settings.expected_address = !is_950;
#ifdef __SANITIZE_THREAD__
  settings.fixed_addresses = false;
#endif
  test::Player player(settings);
  if (player.play(script)) return 0;
  fprintf(stderr, "%s\nthe last calls:\n%s", player.difference().c_str(), player.history().c_str());
  return 1;
}

int run(Campaign& campaign) {
  campaign.use_machine("64MiB", "3");
  for (uint64_t number = 0; campaign.time_left() && campaign.is_clean(); ++number) {
    std::mt19937_64 random(campaign.seed() * 1000003 + number);
    std::vector<uint8_t> script(kSteps * test::kRecordBytes);
    for (uint8_t& byte : script) byte = static_cast<uint8_t>(random());
    fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(play(kMachines[number % kMachines.size()], script));
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) campaign.violation(fmt::format("script {} ended with status {:#x}", number, status));
    campaign.calls += kSteps;
    ++campaign.rounds;
  }
  return campaign.finish();
}

}  // namespace
}  // namespace plat::soak

int main(int argc, char** argv) {
  plat::soak::Campaign campaign("model", argc, argv);
  return plat::soak::run(campaign);
}
