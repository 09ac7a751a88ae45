// SPDX-License-Identifier: Apache-2.0
// Where tools come from: by calls, and before that, when a program makes its first call, by its environment
// and from among its libraries. docs/howto/mstx.md says which win.

#include <dlfcn.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>

#include "mstx/broker.h"
#include "mstx/log.h"

namespace plat::mstx {
namespace {

constexpr char kInit[] = "InitInjectionMstx";

// What a library starts a tool with. This library exports the symbol too, for images that look for a tool: it
// must not attach itself.
mstxInitInjectionFunc find_in(void* library) {
  const auto init = reinterpret_cast<mstxInitInjectionFunc>(dlsym(library, kInit));
  return init == InitInjectionMstx ? nullptr : init;
}

template <class Visit>
void for_each_entry(std::string list, const char* separators, Visit&& visit) {
  char* rest = list.data();
  while (const char* const entry = strtok_r(nullptr, separators, &rest)) visit(entry);
}

void attach_loaded(void* library) {
  const mstxInitInjectionFunc init = find_in(library);
  Dl_info info{};
  if (init == nullptr || dladdr(reinterpret_cast<void*>(init), &info) == 0) return;
  if (Broker::get().tools.attach(init, info.dli_fname, nullptr, nullptr) == PLAT_MSTX_TOOL_REFUSED)
    warn("the tool {} refused to start", info.dli_fname);
}

void attach_preloaded() {
  if (const char* preloaded = secure_getenv("LD_PRELOAD")) {
    for_each_entry(preloaded, " :", [&](const char* entry) {
      if (void* const library = dlopen(entry, RTLD_LAZY | RTLD_NOLOAD)) attach_loaded(library);
    });
  }
  // And the one that the process finds first; where that is ours, the one that it hides.
  attach_loaded(find_in(RTLD_DEFAULT) != nullptr ? RTLD_DEFAULT : RTLD_NEXT);
}

// Whether the named library was there, whatever became of it.
bool attach_named(const char* path) {
  void* const library = load_tool(path);
  if (library == nullptr) return false;
  // The variable may name this very library, so that programs which do not link it find it.
  if (dlsym(library, kInit) != nullptr && find_in(library) == nullptr) return false;
  attach_library(library, path, nullptr);
  return true;
}

// The path, or the list of paths, of a variable. Whether it names one library that was there.
bool attach_all(const char* path) {
  if (path == nullptr || *path == '\0') return false;
  // A file may have a colon in its name.
  const bool list = std::strchr(path, ':') != nullptr && access(path, F_OK) != 0;
  if (!list) return attach_named(path);
  for_each_entry(path, ":", attach_named);
  return false;
}

// Tools come in the order of the environment, so that is looked at before anything is attached by hand.
template <class Ask>
int ask_tools(Ask&& ask) {
  nobody_listens();
  return guarded([&] { return ask(Broker::get().tools); });
}

}  // namespace

void* load_tool(const char* path) {
  void* const library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) warn("cannot load the tool {}: {}", path, dlerror());
  return library;
}

int attach_library(void* library, const char* path, platMstxToolId_t* out_id) {
  const mstxInitInjectionFunc init = find_in(library);
  const int result =
      init == nullptr ? PLAT_MSTX_NO_SYMBOL : Broker::get().tools.attach(init, path, library, out_id);
  if (result == PLAT_MSTX_NO_SYMBOL) warn("{} has no {}", path, kInit);
  if (result == PLAT_MSTX_TOOL_REFUSED) warn("the tool {} refused to start", path);
  // One that refused stays loaded: what it may have set going is not known.
  if (result != PLAT_MSTX_OK && result != PLAT_MSTX_TOOL_REFUSED) dlclose(library);
  return result;
}

void attach_found_tools() {
  // What the user had chosen before plat check put this library there, so that its recorder hears too.
  attach_all(secure_getenv("PLAT_MSTX_INJECTION_PATH"));
  if (!attach_all(secure_getenv("MSTX_INJECTION_PATH"))) attach_preloaded();
}

}  // namespace plat::mstx

using namespace plat::mstx;

int platMstxAttach(const char* path, platMstxToolId_t* out_id) {
  return ask_tools([&](Tools&) -> int {
    if (path == nullptr || *path == '\0') return PLAT_MSTX_INVALID;
    if (this_thread().inside()) return PLAT_MSTX_BUSY;
    void* const library = load_tool(path);
    return library == nullptr ? PLAT_MSTX_CANNOT_LOAD : attach_library(library, path, out_id);
  });
}

int platMstxAttachFunction(mstxInitInjectionFunc init, const char* name, platMstxToolId_t* out_id) {
  return ask_tools([&](Tools& tools) { return tools.attach(init, name, nullptr, out_id); });
}

int platMstxDetach(platMstxToolId_t id) {
  return ask_tools([&](Tools& tools) { return tools.detach(id); });
}

int platMstxListTools(platMstxToolInfo_t* tools, uint32_t capacity, uint32_t* out_count) {
  return ask_tools([&](Tools&) -> int {
    if (out_count == nullptr || (tools == nullptr && capacity != 0)) return PLAT_MSTX_INVALID;
    const ReadSection section;
    *out_count = section.tools.count();
    for (const Tool& tool : section.tools) {
      if (capacity-- == 0) break;
      platMstxToolInfo_t& info = *tools++;
      if (info.structSize < sizeof(info)) return PLAT_MSTX_INVALID;
      info.id = tool.id;
      info.toolId = MSTX_TOOL_INVALID_ID;
      tell<GetToolId>(tool, &info.toolId);
      std::memcpy(info.name, tool.name, sizeof(info.name));
    }
    return PLAT_MSTX_OK;
  });
}

int platMstxRemember(int on) {
  return ask_tools([&](Tools& tools) { return tools.remember(on != 0); });
}
