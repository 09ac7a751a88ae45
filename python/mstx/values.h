// SPDX-License-Identifier: Apache-2.0
// How Python's values become those of mstx: text, streams, domains, handles. Everything that is an address or
// an id is an int of 64 bits, and None or 0 is NULL.
#pragma once

#define MSTX_NO_IMPL
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

#include "plat/mstx_ext.h"

namespace py = pybind11;

namespace plat::mstx_python {

using Release = py::call_guard<py::gil_scoped_release>;

template <class Pointer>
Pointer pointer(uint64_t value) {
  return reinterpret_cast<Pointer>(value);
}
template <class Pointer>
uint64_t number(Pointer value) {
  return reinterpret_cast<uint64_t>(value);
}

inline aclrtStream stream_of(std::optional<uint64_t> stream) {
  return pointer<aclrtStream>(stream.value_or(0));
}

// A str and nothing else: bytes are no text.
struct Text {
  std::string value;
};

// mstx ends a text at its first NUL; a longer one was not meant.
inline const char* text_of(const Text& text) {
  if (text.value.find('\0') != std::string::npos) throw py::value_error("the text has a NUL in it");
  return text.value.c_str();
}

// A domain, or the one that everybody shares. Kept until destroy(): libraries create theirs once and mark for
// ever.
struct Domain {
  std::string name;
  mstxDomainHandle_t handle = nullptr;
};
inline mstxDomainHandle_t handle_of(const Domain* domain) {
  return domain != nullptr ? domain->handle : nullptr;
}

// Raises what a code of platMstxResult says.
void check(int result);

void add_memory(py::module_& module);

}  // namespace plat::mstx_python

namespace pybind11::detail {

template <>
struct type_caster<plat::mstx_python::Text> {
  PYBIND11_TYPE_CASTER(plat::mstx_python::Text, const_name("str"));
  bool load(handle source, bool) {
    if (!PyUnicode_Check(source.ptr())) return false;
    Py_ssize_t size = 0;
    const char* const text = PyUnicode_AsUTF8AndSize(source.ptr(), &size);
    if (text == nullptr) {
      PyErr_Clear();
      return false;
    }
    value.value.assign(text, static_cast<size_t>(size));
    return true;
  }
};

}  // namespace pybind11::detail
