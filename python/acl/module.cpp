// SPDX-License-Identifier: Apache-2.0
// The module acl, as pyACL users know it: every function returns its outputs and then the code of the C call.

#include "groups.h"

PYBIND11_MODULE(acl, acl) {
  using namespace plat::acl_python;
  Group module(acl);
  const auto part = [&](const char* name, const char* text) {
    return Group(module.def_submodule(name, text));
  };
  module.doc() =
      R"(pyACL over libascendcl.so. Addresses, handles and streams are ints; functions return their outputs and,
last, ret: 0 or an error code that acl.get_recent_err_msg() explains.)";
  add_process(module);
  add_toolkit(module);
  add_data(module);
  add_start_callbacks(module);
  add_constants(module);
  auto rt = part("rt", "The runtime: devices, contexts, streams, events and memory.");
  for (auto* add : {add_device,     add_device_info, add_context,  add_stream,       add_stream_config,
                    add_event,      add_notify,      add_callback, add_exception,    add_state_callbacks,
                    add_allocator,  add_memory,      add_managed,  add_host,         add_copy,
                    add_copy_batch, add_cache,       add_vmm,      add_share,        add_ipc,
                    add_pools,      add_mbuf,        add_snapshot, add_broken_memory})
    add(rt);
  auto media = part("media", "Media memory (acldvpp).");
  auto himpi = part("himpi", "Media memory by its other name (hi_mpi).");
  add_media(media, himpi);
  auto util = part("util", "Host memory: bytes, NumPy arrays and addresses.");
  add_util(util);
  add_threads(util);
  auto prof = part("prof", "Profiling: accepted, without effect.");
  auto mdl = part("mdl", "Model dump: accepted, without effect.");
  add_prof(prof, mdl);
}
