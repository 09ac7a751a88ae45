// SPDX-License-Identifier: Apache-2.0
// The calls that let tools in and out.

#include <cstring>

#include "mstx/broker.h"

using namespace plat::mstx;

namespace {

// Tools come in the order of the environment, so that is looked at before anything is attached by hand.
template <class Ask>
int ask_tools(Ask&& ask) {
  nobody_listens();
  return guarded([&] { return ask(Broker::get().tools); });
}

}  // namespace

int platMstxAttach(const char* path, platMstxToolId_t* out_id) {
  return ask_tools([&](Tools& tools) -> int {
    if (path == nullptr || *path == '\0') return PLAT_MSTX_INVALID;
    if (this_thread().inside()) return PLAT_MSTX_BUSY;
    void* const library = load_tool(path);
    return library == nullptr ? PLAT_MSTX_CANNOT_LOAD : attach_library(tools, library, path, out_id);
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
