// SPDX-License-Identifier: Apache-2.0
// The groups of functions that make up the module, one file each.
#pragma once

#include <pybind11/pybind11.h>

namespace plat::acl_python {

void add_process(pybind11::module_& acl);
void add_constants(pybind11::module_& acl);
void add_util(pybind11::module_& util);
void add_threads(pybind11::module_& util);
void add_media(pybind11::module_& media, pybind11::module_& himpi);
void add_prof(pybind11::module_& prof, pybind11::module_& mdl);

// All of acl.rt.
void add_device(pybind11::module_& rt);
void add_context(pybind11::module_& rt);
void add_stream(pybind11::module_& rt);
void add_stream_config(pybind11::module_& rt);
void add_event(pybind11::module_& rt);
void add_callback(pybind11::module_& rt);
void add_allocator(pybind11::module_& rt);
void add_memory(pybind11::module_& rt);
void add_host(pybind11::module_& rt);
void add_copy(pybind11::module_& rt);
void add_copy_batch(pybind11::module_& rt);
void add_cache(pybind11::module_& rt);
void add_vmm(pybind11::module_& rt);
void add_share(pybind11::module_& rt);
void add_ipc(pybind11::module_& rt);
void add_pools(pybind11::module_& rt);

}  // namespace plat::acl_python
