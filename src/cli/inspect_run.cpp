// SPDX-License-Identifier: Apache-2.0
#include "cli/inspect_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "os/environment.h"
#include "os/file.h"

namespace plat::cli {

namespace {

std::string variable(const char* name) { return os::variable(name).value_or(""); }

// An option of a sanitizer, unless the user has one of that name.
void add_option(os::Variables& variables, const char* options, const std::string& name, const char* value) {
  const std::string given = variable(options);
  if (given.find(name) == std::string::npos)
    variables[options] = fmt::format("{}{}{}={}", given, given.empty() ? "" : ":", name, value);
}

}  // namespace

os::Ending run_recorded(const RecordOptions& options, int& error) {
  const auto prefix = std::filesystem::path(os::own_path()).parent_path().parent_path();
  const std::string libraries = (prefix / "lib64").string();
  os::Variables variables;
  // Behind what the user preloads: an allocator that answers calls of the program is a client of the device
  // like the program itself, and what it passes on is what happens.
  std::string preloaded = variable("LD_PRELOAD");
  if (!preloaded.empty()) preloaded += ":";
  preloaded += libraries + "/libplat_inspect.so";
  // Without this name torch_npu keeps to itself what its pool hands out. Who preloads a real one has the
  // name.
  if (const std::string gate = libraries + "/plat/libascend_kernel_hook.so";
      os::file_exists(gate) && preloaded.find("/libascend_kernel_hook.so") == std::string::npos)
    preloaded += ":" + gate;
  variables["LD_PRELOAD"] = preloaded;
  // The vendor's library, if there is one, is the one to watch; ours serves where there is none.
  const std::string paths = variable("LD_LIBRARY_PATH");
  variables["LD_LIBRARY_PATH"] = paths.empty() ? libraries : paths + ":" + libraries;
  // A tool of the user's is served too: by the broker, which stands in its place and knows both.
  const std::string broker = libraries + "/libms_tools_ext.so";
  if (const std::string tool = variable("MSTX_INJECTION_PATH");
      !tool.empty() && tool != broker && os::file_exists(broker)) {
    variables["PLAT_MSTX_INJECTION_PATH"] = tool;
    variables["MSTX_INJECTION_PATH"] = broker;
  }
  // A program with AddressSanitizer in it wants to be asked first by the loader; the recorder does not mind.
  add_option(variables, "ASAN_OPTIONS", "verify_asan_link_order", "0");
  // One with ThreadSanitizer shall judge its own code, not that of libraries into which it does not see.
  add_option(variables, "TSAN_OPTIONS", "ignore_noninstrumented_modules", "1");
  // The program may change its directory before its first call.
  variables["PLAT_INSPECT_TRACE"] = std::filesystem::absolute(options.trace).string();
  variables["PLAT_INSPECT_STACKS"] = options.stacks;
  variables["PLAT_INSPECT_DEPTH"] = std::to_string(options.depth);
  if (options.max_bytes != 0) variables["PLAT_INSPECT_MAX_BYTES"] = std::to_string(options.max_bytes);
  return os::run_child(options.command, variables, error);
}

std::vector<std::string> traces_of(const std::string& trace) {
  const std::filesystem::path path(trace);
  const std::string directory = path.has_parent_path() ? path.parent_path().string() : ".";
  const std::string name = path.filename().string();
  std::vector<std::string> found;
  for (const std::string& entry : os::list_directory(directory)) {
    const bool child = entry.size() > name.size() + 1 && entry.starts_with(name + ".") &&
                       entry.find_first_not_of("0123456789.", name.size()) == std::string::npos;
    if (entry == name || child) found.push_back((std::filesystem::path(directory) / entry).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

int complain_about_program(const std::string& program, int error) {
  fmt::print(stderr, "plat: {}: {}\n", program,
             error == ENOENT ? "there is no such program" : std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

}  // namespace plat::cli
