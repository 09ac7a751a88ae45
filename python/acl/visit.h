// SPDX-License-Identifier: Apache-2.0
// Calls that come to Python when and from where the library likes. Once the interpreter goes, nobody may come
// back to it: calls that are on their way are waited for, later ones are dropped.
#pragma once

#include <cstdint>

#include "call.h"

namespace plat::acl_python {

// On its way to Python, or in it.
class Visit {
 public:
  Visit();
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit();
  // Whether there still is an interpreter.
  bool is_welcome() const { return welcome_; }
  // To be called once: the end of the interpreter waits for visits.
  static void expect();

 private:
  bool welcome_;
};

// A function of Python as C calls it. What goes wrong in it is told as Python tells of errors that nobody can
// catch.
template <class Call>
void guarded(const py::object& function, Call&& call) {
  try {
    call();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable(function);
  } catch (const std::exception& error) {
    PySys_WriteStderr("acl: a callback failed: %s\n", error.what());
  }
}

// The code that a function of Python returns: None is success. One that raises has failed, and so has one
// that returns something else than an int.
template <class... Arguments>
int code_of(const py::object& function, Arguments&&... arguments) {
  int code = ACL_ERROR_FAILURE;
  guarded(function, [&] {
    const py::object result = function(std::forward<Arguments>(arguments)...);
    code = result.is_none() ? static_cast<int>(ACL_SUCCESS) : result.cast<int>();
  });
  return code;
}

}  // namespace plat::acl_python
