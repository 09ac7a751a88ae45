// SPDX-License-Identifier: Apache-2.0
// A module, or a part of one, that functions are put into.
#pragma once

#include <pybind11/pybind11.h>

#include <utility>

namespace plat::acl_python {

// Texts are given on as what they are to C: by the type of a literal, which has its length in it, each
// function would be compiled as one of a kind.
class Group : public pybind11::module_ {
 public:
  explicit Group(const pybind11::module_& module) : pybind11::module_(module) {}

  template <class Function, class... Extra>
  Group& def(const char* name, Function&& function, const Extra&... extra) {
    pybind11::module_::def(name, std::forward<Function>(function), plain(extra)...);
    return *this;
  }

 private:
  template <size_t Size>
  static const char* plain(const char (&text)[Size]) {
    return text;
  }
  template <class Extra>
  static const Extra& plain(const Extra& extra) {
    return extra;
  }
};

}  // namespace plat::acl_python
