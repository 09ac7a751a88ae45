// SPDX-License-Identifier: Apache-2.0
// The module acl, as pyACL users know it: every function returns its outputs and then the code of the C call.

#include "groups.h"

PYBIND11_MODULE(acl, module) {
  using namespace plat::acl_python;
  module.doc() =
      "pyACL over libascendcl.so. Addresses, handles and streams are ints; functions return their outputs "
      "and, "
      "last, ret: 0 or an error code that acl.get_recent_err_msg() explains.";
  add_process(module);
  add_constants(module);
  auto rt = module.def_submodule("rt", "The runtime: devices, contexts, streams, events and memory.");
  for (auto* add :
       {add_device, add_context, add_stream, add_stream_config, add_event, add_callback, add_allocator,
        add_memory, add_host, add_copy, add_copy_batch, add_cache, add_vmm, add_share, add_ipc, add_pools})
    add(rt);
  auto media = module.def_submodule("media", "Media memory (acldvpp).");
  auto himpi = module.def_submodule("himpi", "Media memory by its other name (hi_mpi).");
  add_media(media, himpi);
  auto util = module.def_submodule("util", "Host memory: bytes, NumPy arrays and addresses.");
  add_util(util);
  add_threads(util);
  auto prof = module.def_submodule("prof", "Profiling: accepted, without effect.");
  auto mdl = module.def_submodule("mdl", "Model dump: accepted, without effect.");
  add_prof(prof, mdl);
}
