// SPDX-License-Identifier: Apache-2.0
// Heaps and regions from Python.

#include <tuple>
#include <vector>

#include "values.h"

namespace plat::mstx_python {
namespace {

using Span = std::tuple<uint64_t, uint64_t>;  // pointer and size
using Numbers = std::vector<uint64_t>;

mstxMemVirtualRangeDesc_t range_of(const Span& span, uint32_t device) {
  return {device, pointer<const void*>(std::get<0>(span)), std::get<1>(span)};
}

// References by handle, then by pointer.
std::vector<mstxMemRegionRef_t> refs_of(const Numbers& handles, const Numbers& pointers) {
  std::vector<mstxMemRegionRef_t> refs;
  for (const uint64_t handle : handles) {
    mstxMemRegionRef_t ref{};
    ref.refType = MSTX_MEM_REGION_REF_TYPE_HANDLE;
    ref.handle = pointer<mstxMemRegionHandle_t>(handle);
    refs.push_back(ref);
  }
  for (const uint64_t start : pointers) {
    mstxMemRegionRef_t ref{};
    ref.refType = MSTX_MEM_REGION_REF_TYPE_POINTER;
    ref.pointer = pointer<const void*>(start);
    refs.push_back(ref);
  }
  return refs;
}

uint64_t heap_register(uint64_t start, uint64_t size, uint32_t device, const Domain* domain) {
  const mstxMemVirtualRangeDesc_t range{device, pointer<const void*>(start), size};
  const mstxMemHeapDesc_t desc{MSTX_MEM_HEAP_USAGE_TYPE_SUB_ALLOCATOR, MSTX_MEM_TYPE_VIRTUAL_ADDRESS, &range};
  return number(mstxMemHeapRegister(handle_of(domain), &desc));
}

Numbers regions_register(uint64_t heap, const std::vector<Span>& spans, uint32_t device,
                         const Domain* domain) {
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  for (const Span& span : spans) ranges.push_back(range_of(span, device));
  std::vector<mstxMemRegionHandle_t> handles(spans.size(), nullptr);
  const mstxMemRegionsRegisterBatch_t batch{pointer<mstxMemHeapHandle_t>(heap), MSTX_MEM_TYPE_VIRTUAL_ADDRESS,
                                            ranges.size(), ranges.data(), handles.data()};
  mstxMemRegionsRegister(handle_of(domain), &batch);
  Numbers numbers;
  for (const auto handle : handles) numbers.push_back(number(handle));
  return numbers;
}

void regions_unregister(const Numbers& handles, const Numbers& pointers, const Domain* domain) {
  const auto refs = refs_of(handles, pointers);
  const mstxMemRegionsUnregisterBatch_t batch{refs.size(), refs.data()};
  mstxMemRegionsUnregister(handle_of(domain), &batch);
}

void permissions_assign(uint32_t flags, const Numbers& handles, const Numbers& pointers,
                        const Domain* domain) {
  std::vector<mstxMemPermissionsAssignRegionsDesc_t> list;
  for (const auto& ref : refs_of(handles, pointers)) list.push_back({flags, ref});
  const mstxMemPermissionsAssignBatch_t batch{list.size(), list.data()};
  mstxMemPermissionsAssign(handle_of(domain), &batch);
}

int region_name(uint64_t handle, const Text& name, const Domain* domain) {
  const platMstxMemRegionName_t entry{refs_of({handle}, {}).front(), text_of(name)};
  const platMstxMemRegionsNameBatch_t batch{sizeof(batch), 1, &entry};
  return platMstxMemRegionsName(handle_of(domain), &batch);
}

int region_resize(uint64_t handle, uint64_t size, const Domain* domain) {
  const platMstxMemRegionSize_t entry{refs_of({handle}, {}).front(), size};
  const platMstxMemRegionsResizeBatch_t batch{sizeof(batch), 1, &entry};
  return platMstxMemRegionsResize(handle_of(domain), &batch);
}

int mark_initialized(const std::vector<Span>& spans, uint32_t device, const Domain* domain) {
  std::vector<mstxMemVirtualRangeDesc_t> ranges;
  for (const Span& span : spans) ranges.push_back(range_of(span, device));
  const platMstxMemInitializedBatch_t batch{sizeof(batch), ranges.size(), ranges.data()};
  return platMstxMemMarkInitialized(handle_of(domain), &batch);
}

// Runs without the interpreter's lock, and raises with it.
template <class Call>
void checked(Call&& call) {
  int result = PLAT_MSTX_OK;
  {
    py::gil_scoped_release release;
    result = call();
  }
  check(result);
}

}  // namespace

void add_memory(py::module_& module) {
  const auto domain = py::arg("domain") = py::none();
  const auto device = py::arg("device") = 0;
  const auto handles = py::arg("handles") = Numbers();
  const auto pointers = py::arg("pointers") = Numbers();
  module.attr("PERMISSION_NONE") = MSTX_MEM_PERMISSIONS_REGION_FLAGS_NONE;
  module.attr("PERMISSION_READ") = MSTX_MEM_PERMISSIONS_REGION_FLAGS_READ;
  module.attr("PERMISSION_WRITE") = MSTX_MEM_PERMISSIONS_REGION_FLAGS_WRITE;
  module.attr("PERMISSION_SHARED") = MSTX_MEM_PERMISSIONS_REGION_FLAGS_SHARED;

  module.def("heap_register", heap_register, py::arg("ptr"), py::arg("size"), device, domain, Release(),
             "Registers a pool; returns its handle, 0 if nobody took it.");
  module.def(
      "heap_unregister",
      [](uint64_t heap, const Domain* in) {
        mstxMemHeapUnregister(handle_of(in), pointer<mstxMemHeapHandle_t>(heap));
      },
      py::arg("heap"), domain, Release(), "Takes a pool back, with its regions.");
  module.def("regions_register", regions_register, py::arg("heap"), py::arg("ranges"), device, domain,
             Release(),
             "Registers blocks (ptr, size) of a pool, or of none with heap 0; returns their handles.");
  module.def("regions_unregister", regions_unregister, handles, pointers, domain, Release(),
             "Takes blocks back.");
  module.def("permissions_assign", permissions_assign, py::arg("flags"), handles, pointers, domain, Release(),
             "Says how blocks may be used: PERMISSION_READ and so on, or'ed.");

  module.def(
      "heap_name",
      [](uint64_t heap, const Text& name, const Domain* in) {
        checked([&] {
          return platMstxMemHeapName(handle_of(in), pointer<mstxMemHeapHandle_t>(heap), text_of(name));
        });
      },
      py::arg("heap"), py::arg("name"), domain, "Names a pool.");
  module.def(
      "heap_reset",
      [](uint64_t heap, const Domain* in) {
        checked([&] { return platMstxMemHeapReset(handle_of(in), pointer<mstxMemHeapHandle_t>(heap)); });
      },
      py::arg("heap"), domain, "Takes back every block of a pool at once.");
  module.def(
      "region_name",
      [](uint64_t handle, const Text& name, const Domain* in) {
        checked([&] { return region_name(handle, name, in); });
      },
      py::arg("handle"), py::arg("name"), domain, "Names a block.");
  module.def(
      "region_resize",
      [](uint64_t handle, uint64_t size, const Domain* in) {
        checked([&] { return region_resize(handle, size, in); });
      },
      py::arg("handle"), py::arg("size"), domain, "A block that grew or shrank in place.");
  module.def(
      "mark_initialized",
      [](const std::vector<Span>& spans, uint32_t on, const Domain* in) {
        checked([&] { return mark_initialized(spans, on, in); });
      },
      py::arg("ranges"), device, domain, "Bytes that were written where no tool can see it.");
}

}  // namespace plat::mstx_python
