// SPDX-License-Identifier: Apache-2.0
#include "cli/live_server.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "os/child.h"

namespace plat::cli {

std::unique_ptr<LiveServer> LiveServer::start(Content content, int port, std::string& problem) {
  const auto prefix = std::filesystem::path(os::own_path()).parent_path().parent_path();
  const std::string path = (prefix / "lib64/plat/libplat_live.so").string();
  if (!os::file_exists(path)) {
    problem = "this plat was built without cpp-httplib; install libcpp-httplib-dev and build it again";
    return nullptr;
  }
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);  // and kept: its server has threads
  using Start = LiveServer*(Content*, int, std::string*);
  auto* const start =
      library != nullptr ? reinterpret_cast<Start*>(dlsym(library, "plat_live_server")) : nullptr;
  if (start == nullptr) {
    problem = fmt::format("the server of --live needs cpp-httplib: {}", dlerror());
    return nullptr;
  }
  return std::unique_ptr<LiveServer>(start(&content, port, &problem));
}

}  // namespace plat::cli
