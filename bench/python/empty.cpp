// SPDX-License-Identifier: Apache-2.0
// Functions that do nothing, with the signatures of calls of acl: what pybind11 alone costs.

#include <pybind11/pybind11.h>

#include <cstdint>
#include <tuple>

namespace {

int five(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t) { return 0; }
int one(uint64_t) { return 0; }
std::tuple<int, int> pair() { return {0, 0}; }
std::tuple<int, int> pair_of_one(uint64_t) { return {0, 0}; }

}  // namespace

PYBIND11_MODULE(python_empty, module) {
  using pybind11::arg;
  module.def("five", five, arg("a"), arg("b"), arg("c"), arg("d"), arg("e"));
  module.def("one", one, arg("a"));
  module.def("pair", pair);
  module.def("pair_of_one", pair_of_one, arg("a"));
}
