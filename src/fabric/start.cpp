// SPDX-License-Identifier: Apache-2.0
#include "fabric/start.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/text.h"
#include "fabric/daemon_files.h"
#include "os/detached.h"
#include "os/packets.h"
#include "os/process.h"
#include "os/uncancelled.h"
#include "rules/rules.h"

namespace plat::fabric {

namespace {

constexpr const char* kProgram = "plat-fabricd";

constexpr uint32_t kThereMs = 1000;

// One that is stopped, with a full queue, is there too: a second one must not be started beside it.
bool is_there(const std::string& socket) { return os::connect_to(socket, kThereMs) || errno == EAGAIN; }

template <class... Args>
auto refused(fmt::format_string<Args...> format, Args&&... args) {
  return fail(RuleId::FabricDaemon, "", format, std::forward<Args>(args)...);
}

// One starter at a time: the others find what it started.
Result<os::Fd> take_turn(const std::string& socket, uint64_t end_ns) {
  os::Fd turn;
  while (!(turn = lock_file(socket + ".start"))) {
    if (errno != EAGAIN) return refused("{}.start: {}", socket, std::strerror(errno));
    if (os::monotonic_nanoseconds() > end_ns) return refused("another process is starting the daemon");
    os::sleep_microseconds(2000);
  }
  return turn;
}

// What the daemon said before it ended. If it was a rule, that is the rule, and the rest of what it said is
// in it.
Result<> did_not_start(std::string_view said) {
  constexpr std::string_view kName = "plat-fabricd: ";
  if (said.starts_with(kName)) said.remove_prefix(kName.size());
  const size_t end = said.find(": ");
  const rules::Rule* const rule = end == std::string_view::npos ? nullptr : rules::find(said.substr(0, end));
  if (rule == nullptr) return refused("the daemon did not start: {}", said);
  return fail(rule->id, "", "the daemon of this server did not start: {}",
              said.substr(end + 2, said.find('\n') - end - 2));
}

}  // namespace

std::string daemon_beside_library() {
  // PREFIX/lib64/libascendcl.so
  const std::filesystem::path library = os::own_library_path();
  return (library.parent_path().parent_path() / "bin" / kProgram).string();
}

std::string daemon_beside(const std::string& program) {
  return (std::filesystem::path(program).parent_path() / kProgram).string();
}

Result<> start_daemon(const std::string& program, const std::string& socket, uint32_t deadline_ms) {
  const os::Uncancelled wait;
  if (is_there(socket)) return {};
  if (!os::file_exists(program))
    return refused(
        "there is no {}: the package plat-fabric has it (a build has it after scripts/setup.sh fabric)",
        program);
  const std::string directory = std::filesystem::path(socket).parent_path().string();
  if (const int error = os::make_private_directory(directory); error != 0)
    return refused("directory {}: {}", directory, std::strerror(error));
  const uint64_t end_ns = os::monotonic_nanoseconds() + uint64_t{deadline_ms} * 1000000;
  PLAT_ASSIGN(turn, take_turn(socket, end_ns));
  if (is_there(socket)) return {};
  const std::string log = socket + ".log";
  // One of libfabric's libraries would take over signal handlers, and half a second for it. What is loaded
  // into the program, such as a recorder, is none of the daemon's.
  const os::Fd daemon = os::start_detached(
      {program, "serve"}, {{"IPATH_NO_BACKTRACE", "1"}, {"LD_PRELOAD", ""}, {"PLAT_FAULT", ""}}, log);
  if (!daemon) return refused("{}: {}", program, std::strerror(errno));
  while (os::monotonic_nanoseconds() < end_ns) {
    if (is_there(socket)) return {};
    if (os::has_ended(daemon, 5))
      return did_not_start(trim(visible_lines(os::read_small_file(log).value_or(""))));
  }
  return refused("the daemon did not start in {} ms; {} may say why", deadline_ms, log);
}

}  // namespace plat::fabric
