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

}  // namespace

os::Ending run_recorded(const RecordOptions& options, int& error) {
  const auto prefix = std::filesystem::path(os::own_path()).parent_path().parent_path();
  const std::string libraries = (prefix / "lib64").string();
  os::Variables variables;
  std::string preloaded = libraries + "/libplat_inspect.so";
  // Without this name torch_npu keeps to itself what its pool hands out.
  if (const std::string gate = libraries + "/plat/libascend_kernel_hook.so"; os::file_exists(gate))
    preloaded += ":" + gate;
  if (const std::string others = variable("LD_PRELOAD"); !others.empty()) preloaded += ":" + others;
  variables["LD_PRELOAD"] = preloaded;
  // The vendor's library, if there is one, is the one to watch; ours serves where there is none.
  const std::string paths = variable("LD_LIBRARY_PATH");
  variables["LD_LIBRARY_PATH"] = paths.empty() ? libraries : paths + ":" + libraries;
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
