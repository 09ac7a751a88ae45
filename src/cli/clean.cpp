// SPDX-License-Identifier: Apache-2.0
// plat clean: control files outlive the processes that used them, so that the next one finds them; this
// removes those that nobody uses.
#include <fmt/format.h>

#include "cli/cli.h"
#include "cli/settings.h"
#include "device/machines.h"
#include "fabric/daemon_files.h"

namespace plat::cli {

const char* const kCleanExamples = R"(
A machine on which a process lives is never touched, and a left-over file does no harm: the next process
that joins starts afresh. Clean when the names get in the way, or before you uninstall.

Examples:
  plat clean                 remove what all unused machines have left
  plat clean --dry-run       only say what would be removed
  plat clean --node ci-7     this machine only)";

namespace {

struct CleanOptions {
  std::string node;
  bool only_look = false;
};

int clean(const CleanOptions& options) {
  const device::Config config = settings_with({});
  if (!settings_make_sense(config)) return kAskedWrongly;
  unsigned removed = 0;
  unsigned in_use = 0;
  bool failed = false;
  const auto is_meant = [&](const std::string& node) { return options.node.empty() || node == options.node; };
  const auto tell = [&](const std::vector<device::Removal>& removals) {
    for (const device::Removal& removal : removals) {
      if (removal.in_use) {
        ++in_use;
        fmt::print("in use, kept: {}\n", removal.path);
      } else if (!removal.problem.empty()) {
        failed = true;
        fmt::print(stderr, "plat: {}: {}\n", removal.path, removal.problem);
      } else {
        ++removed;
        fmt::print("{}: {}\n", options.only_look ? "would remove" : "removed", removal.path);
      }
    }
  };
  for (const device::Machine& machine : device::find_machines(config.directory))
    if (is_meant(machine.node)) tell(device::remove_machine(config.directory, machine, options.only_look));
  for (const std::string& node : fabric::nodes_with_daemon_files(config.directory))
    if (is_meant(node)) tell(fabric::remove_daemon_files(config.directory, node, options.only_look));
  if (removed + in_use == 0 && !failed) fmt::print("Nothing to clean in {}.\n", config.directory);
  return failed ? kBadNews : kDone;
}

}  // namespace

Action add_clean(Parser& app, const Program&) {
  auto options = std::make_shared<CleanOptions>();
  app.add_option("--node", options->node, "Only the machine of this name").type_name("NAME");
  app.add_flag("-n,--dry-run", options->only_look, "Remove nothing, only say what would be removed");
  return [options] { return clean(*options); };
}

}  // namespace plat::cli
