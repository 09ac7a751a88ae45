// SPDX-License-Identifier: Apache-2.0
#include "mstx/discover.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "mstx/log.h"
#include "mstx/tools.h"

namespace plat::mstx {
namespace {

constexpr char kInit[] = "InitInjectionMstx";

// This library exports the symbol too, for images that look for a tool: it must not attach itself.
mstxInitInjectionFunc unless_ours(void* symbol) {
  static const int anything_of_ours = 0;
  Dl_info theirs{}, ours{};
  if (symbol == nullptr || dladdr(symbol, &theirs) == 0) return nullptr;
  if (dladdr(&anything_of_ours, &ours) != 0 && ours.dli_fbase == theirs.dli_fbase) return nullptr;
  return reinterpret_cast<mstxInitInjectionFunc>(symbol);
}

template <class Visit>
void for_each_entry(std::string_view list, std::string_view separators, Visit&& visit) {
  while (!list.empty()) {
    const size_t end = list.find_first_of(separators);
    if (const std::string entry(list.substr(0, end)); !entry.empty()) visit(entry);
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
}

// The tool as a name for people: the file it stands in.
std::string file_of(mstxInitInjectionFunc init) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(init), &info) == 0 || info.dli_fname == nullptr)
    return "a tool in the process";
  return info.dli_fname;
}

void attach_one(Tools& tools, mstxInitInjectionFunc init) {
  if (init == nullptr) return;
  const std::string name = file_of(init);
  if (tools.attach(init, name.c_str(), nullptr, nullptr) == PLAT_MSTX_TOOL_REFUSED)
    warn("the tool {} refused to start", name);
}

void attach_preloaded(Tools& tools) {
  if (const char* preloaded = secure_getenv("LD_PRELOAD")) {
    for_each_entry(preloaded, " :", [&](const std::string& entry) {
      if (void* const library = dlopen(entry.c_str(), RTLD_LAZY | RTLD_NOLOAD))
        attach_one(tools, find_init(library));
    });
  }
  void* const first = dlsym(RTLD_DEFAULT, kInit);
  mstxInitInjectionFunc init = unless_ours(first);
  // Ours comes first in the process: what does it hide?
  if (first != nullptr && init == nullptr) init = unless_ours(dlsym(RTLD_NEXT, kInit));
  attach_one(tools, init);
}

// Whether the named library was there, whatever became of it.
bool attach_named(Tools& tools, const char* path) {
  void* const library = load_tool(path);
  if (library == nullptr) return false;
  // The variable may name this very library, so that programs which do not link it find it.
  if (dlsym(library, kInit) != nullptr && find_init(library) == nullptr) return false;
  tools.attach_library(library, path, nullptr);
  return true;
}

}  // namespace

void* load_tool(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) warn("cannot load the tool {}: {}", path, dlerror());
  return library;
}

mstxInitInjectionFunc find_init(void* library) { return unless_ours(dlsym(library, kInit)); }

namespace {

// The path, or the list of paths, of a variable. Whether it names one library that was there.
bool attach_all(Tools& tools, const char* path) {
  if (path == nullptr || *path == '\0') return false;
  const std::string_view value(path);
  // A file may have a colon in its name.
  const bool list = value.find(':') != std::string_view::npos && access(path, F_OK) != 0;
  if (!list) return attach_named(tools, path);
  for_each_entry(value, ":", [&](const std::string& entry) { attach_named(tools, entry.c_str()); });
  return false;
}

}  // namespace

void attach_found_tools(Tools& tools) {
  // What the user had chosen before plat check put this library there, so that its recorder hears too.
  attach_all(tools, secure_getenv("PLAT_MSTX_INJECTION_PATH"));
  if (attach_all(tools, secure_getenv("MSTX_INJECTION_PATH"))) return;
  attach_preloaded(tools);
}

}  // namespace plat::mstx
