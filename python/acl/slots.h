// SPDX-License-Identifier: Apache-2.0
// Slots: functions of Python behind functions of C that are known by their address alone. Each that is
// registered has a function of C of its own, so that the library tells them apart as it does those of C.
#pragma once

#include <array>
#include <functional>

#include "visit.h"

namespace plat::acl_python {

inline constexpr size_t kSlots = 32;

struct Registered {
  int type = 0;  // a number that the function was registered with
  py::object function;
  py::object data;
};

// Kind has `using Function = ...`, the type in C, and `static Result call(const Registered&, arguments...)`,
// which runs with the interpreter's lock. `kSlots` is the number of nobody's function.
template <class Kind, class Function = typename Kind::Function>
class Slots;

template <class Kind, class Result, class... Arguments>
class Slots<Kind, Result (*)(Arguments...)> {
 public:
  using Function = Result (*)(Arguments...);

  // The slot of a function, or kSlots. To be asked, like the rest, with the interpreter's lock.
  static size_t find(int type, const py::object& function) {
    return first([&](const Registered& entry) {
      return entry.function && entry.type == type && entry.function.equal(function);
    });
  }

  static size_t put(Registered entry) {
    const size_t slot = first([](const Registered& each) { return !each.function; });
    if (slot == kSlots)
      throw py::value_error(std::to_string(kSlots) +
                            " functions are registered, and there is no room for more");
    table()[slot] = std::move(entry);
    return slot;
  }

  static void take(size_t slot) {
    if (slot < kSlots) const Registered gone = std::exchange(table()[slot], {});
  }

  static Function function_of(size_t slot) { return functions(std::make_index_sequence<kSlots + 1>{})[slot]; }

 private:
  // Never destroyed: the library may call when the interpreter has gone.
  static std::array<Registered, kSlots>& table() {
    static auto& made = *new std::array<Registered, kSlots>();
    return made;
  }

  template <class Test>
  static size_t first(Test&& test) {
    size_t slot = 0;
    while (slot < kSlots && !test(table()[slot])) ++slot;
    return slot;
  }

  template <size_t Slot>
  static Result enter(Arguments... arguments) {
    const Visit visit;
    if constexpr (Slot < kSlots) {
      if (visit.is_welcome()) {
        const py::gil_scoped_acquire lock;
        const Registered entry = table()[Slot];  // it may be taken away while it runs
        if (entry.function) return Kind::call(entry, arguments...);
      }
    }
    return Result();
  }

  template <size_t... Slot>
  static std::array<Function, kSlots + 1> functions(std::index_sequence<Slot...>) {
    return {enter<Slot>...};
  }
};

}  // namespace plat::acl_python
