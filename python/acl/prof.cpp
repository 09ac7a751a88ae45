// SPDX-License-Identifier: Apache-2.0
// acl.prof and acl.mdl: what programs call at their start. Nothing is measured and nothing dumped.

#include "acl/acl_prof.h"

#include "acl/acl_mdl.h"
#include "groups.h"
#include "values.h"

namespace plat::acl_python {

namespace {

int init_prof(const std::string& path) {
  return unlocked([&] { return aclprofInit(path.data(), path.size()); });
}

uint64_t create_config(std::vector<uint32_t> devices, int32_t metrics, uint64_t events, uint64_t types) {
  return to_python(aclprofCreateConfig(devices.data(), static_cast<uint32_t>(devices.size()),
                                       static_cast<aclprofAicoreMetrics>(metrics),
                                       to_c<const aclprofAicoreEvents*>(events), types));
}

int set_dump(const std::string& path) {
  const std::string text = text_of(path, "dump_cfg_path");
  return unlocked([&] { return aclmdlSetDump(text.c_str()); });
}

}  // namespace

void add_prof(Group& prof, Group& mdl) {
  const auto config = "config"_a, step_info = "step_info"_a;
  prof.def("init", init_prof, "path"_a, "Begins profiling into a directory.");
  prof.def("finalize", Ret<aclprofFinalize>::call, Release(), "Ends profiling.");
  prof.def("create_config", create_config, "device_ids"_a, "aicore_metrics"_a, "aicore_events"_a,
           "data_type_config"_a, ReleaseIfWanted(),
           "config: for the listed devices, or 0. aicore_events is 0, data_type_config of ACL_PROF_* flags.");
  prof.def("destroy_config", Ret<aclprofDestroyConfig>::call, config, Release(), "Frees a configuration.");
  prof.def("start", Ret<aclprofStart>::call, config, Release(), "Starts what a configuration says.");
  prof.def("stop", Ret<aclprofStop>::call, config, Release(), "Stops it.");
  prof.def(
      "create_step_info", [] { return to_python(aclprofCreateStepInfo()); }, ReleaseIfWanted(),
      "step_info: a record of training steps, or 0.");
  prof.def("get_step_timestamp", Ret<aclprofGetStepTimestamp>::call, step_info, "tag"_a, "stream"_a,
           Release(), "The start (tag 0) or the end (1) of a step on a stream.");
  prof.def(
      "destroy_step_info", [](uint64_t info) { aclprofDestroyStepInfo(to_c<aclprofStepInfo*>(info)); },
      step_info, ReleaseIfWanted(), "Frees a record of training steps.");
  mdl.def("init_dump", Ret<aclmdlInitDump>::call, Release(), "Begins dump configuration.");
  mdl.def("set_dump", set_dump, "dump_cfg_path"_a, "Names the dump configuration file.");
  mdl.def("finalize_dump", Ret<aclmdlFinalizeDump>::call, Release(), "Ends dump configuration.");
}

}  // namespace plat::acl_python
