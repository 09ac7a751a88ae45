// SPDX-License-Identifier: Apache-2.0
// How a C call of ACL becomes a Python function: addresses, handles and streams are ints, outputs come first
// and the code last. One row of a table is then one `def`:
//
//   rt.def("unmap_mem", Ret<aclrtUnmapMem>::call, "vir_ptr"_a, Release(), "...");        -> ret
//   rt.def("create_stream", First<aclrtCreateStream>::call, Release(), "...");           -> (stream, ret)
//   rt.def("stream_query", Last<aclrtStreamQuery>::call, "stream"_a, Release(), "...");  -> (status, ret)
#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include "acl/acl.h"

namespace py = pybind11;

namespace plat::acl_python {

using namespace py::literals;

// Runs without the interpreter's lock: other threads go on while a call blocks or copies.
class WithoutGil {
 public:
  WithoutGil() : thread_(PyEval_SaveThread()) {}
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;
  // May unwind: an interpreter that is shutting down ends the threads that come back to it.
  ~WithoutGil() noexcept(false) { PyEval_RestoreThread(thread_); }

 private:
  PyThreadState* thread_;
};
using Release = py::call_guard<WithoutGil>;

// The same for calls that wait for nobody and are over soon, unless there is much to copy: as long as the
// program has one thread, nobody could use the lock, and letting go of it would cost more than the call.
class WithoutGilIfWanted {
 public:
  WithoutGilIfWanted() {
    PyInterpreterState* const interpreter = PyInterpreterState_Get();
    if (PyThreadState_Next(PyInterpreterState_ThreadHead(interpreter)) != nullptr) guard_.emplace();
  }

 private:
  std::optional<WithoutGil> guard_;
};
using ReleaseIfWanted = py::call_guard<WithoutGilIfWanted>;

// For functions that read or build Python objects around the call.
template <class Work>
auto unlocked(Work&& work) {
  const WithoutGil guard;
  return work();
}

// The Python side of a C type.
template <class T>
struct Crossing {
  using Python = T;
};
template <class T>
requires std::is_pointer_v<T>
struct Crossing<T> {
  using Python = uint64_t;
};
template <class T>
requires std::is_enum_v<T>
struct Crossing<T> {
  using Python = int32_t;
};
template <class T>
using PythonOf = typename Crossing<T>::Python;

template <class T>
T to_c(PythonOf<T> value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<T>(value);
  else
    return static_cast<T>(value);
}

template <class T>
PythonOf<T> to_python(T value) {
  if constexpr (std::is_pointer_v<T>)
    return reinterpret_cast<uint64_t>(value);
  else
    return static_cast<PythonOf<T>>(value);
}

template <class T>
using Valued = std::tuple<PythonOf<T>, int>;

// ret = call(inputs...)
template <auto Call>
struct Ret;
template <class... In, aclError (*Call)(In...)>
struct Ret<Call> {
  static int call(PythonOf<In>... in) { return Call(to_c<In>(in)...); }
};

// value, ret = call(inputs...), where C has the output first.
template <auto Call>
struct First;
template <class Out, class... In, aclError (*Call)(Out*, In...)>
struct First<Call> {
  static Valued<Out> call(PythonOf<In>... in) {
    Out out{};
    const int ret = Call(&out, to_c<In>(in)...);
    return {to_python(out), ret};
  }
};

// The same, where C has the output last.
template <class Signature>
struct Inputs;
template <class... All>
struct Inputs<aclError (*)(All...)> {
  using Tuple = std::tuple<All...>;
  static constexpr size_t kCount = sizeof...(All) - 1;
  using Out = std::remove_pointer_t<std::tuple_element_t<kCount, Tuple>>;
};
template <auto Call, class Order = std::make_index_sequence<Inputs<decltype(Call)>::kCount>>
struct Last;
template <auto Call, size_t... I>
struct Last<Call, std::index_sequence<I...>> {
  using All = Inputs<decltype(Call)>;
  using Out = typename All::Out;
  template <size_t N>
  using In = std::tuple_element_t<N, typename All::Tuple>;
  static Valued<Out> call(PythonOf<In<I>>... in) {
    Out out{};
    const int ret = Call(to_c<In<I>>(in)..., &out);
    return {to_python(out), ret};
  }
};

}  // namespace plat::acl_python
