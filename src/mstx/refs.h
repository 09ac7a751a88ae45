// References to regions, as a client's batch has them, and the same for each tool.
//
// A reference that stands for a region goes to the tools that were told of it, in the tool's own words. A
// pointer at which no region starts goes out as it is, and so does, to those who knew it, the handle of a
// region that is gone: tools find mistakes by them. A value that was never a handle goes nowhere.
#pragma once

#include <optional>
#include <span>

#include "mstx/scratch.h"
#include "mstx/sections.h"

namespace plat::mstx {

class Refs {
 public:
  Refs(Broker& broker, ChangeSection& section, Broker::Place place, const char* call, size_t count)
      : broker_(broker),
        section_(section),
        place_(place),
        call_(call),
        meanings_(count),
        translated_(count * section.tools().count) {}

  // All under the registry lock. First resolve each reference; the result is the region if it lives.
  Handle resolve(size_t index, const mstxMemRegionRef_t& ref);
  // Then put all of them into the words of every tool.
  void translate();

  struct Translated {
    size_t index;  // in the client's batch
    mstxMemRegionRef_t ref;
  };
  // Then, without the lock, what each tool is to hear; it may be nothing.
  std::span<Translated> for_tool(uint32_t tool_index) {
    return {&translated_[tool_index * meanings_.size()], counts_[tool_index]};
  }

  Handle region(size_t index) { return meanings_[index].region; }

  // Calls one tool's function with a list of what `make` makes of each that it is to hear of, if there are
  // any: send(function, domain in the tool's words, list).
  template <auto Array, int Id, class Function, class Item, class Make, class Send>
  void tell_tool(uint32_t tool_index, Make&& make, Send&& send) {
    const auto translated = for_tool(tool_index);
    if (translated.empty()) return;
    tell<Array, Id, Function>(section_.thread(), *section_.tools().tools[tool_index],
                              [&](Tool& tool, auto call) {
                                Scratch<Item, 16> list(translated.size());
                                for (size_t r = 0; r < translated.size(); ++r) list[r] = make(translated[r]);
                                send(call, Broker::domain_for(tool, place_.domain), list);
                              });
  }
  template <auto Array, int Id, class Function, class Item, class Make, class Send>
  void tell_tools(Make&& make, Send&& send) {
    for (uint32_t i = 0; i < section_.tools().count; ++i) tell_tool<Array, Id, Function, Item>(i, make, send);
  }

 private:
  enum class Kind : uint8_t { Nothing, Region, Pointer };
  struct Meaning {
    Kind kind;
    mstxMemRegionRef_t ref;
    Handle region;
    const void* start;  // of the region, if it is known
  };
  std::optional<mstxMemRegionRef_t> translate_one(const Tool& tool, const Meaning& meaning) const;

  Broker& broker_;
  ChangeSection& section_;
  Broker::Place place_;
  const char* call_;
  Scratch<Meaning, 8> meanings_;
  Scratch<Translated, 16> translated_;
  uint32_t counts_[PLAT_MSTX_TOOLS_MAX] = {};
};

}  // namespace plat::mstx
