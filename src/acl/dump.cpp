// SPDX-License-Identifier: Apache-2.0
// Model dump: the calls that clients make at start-up.
#include <atomic>

#include "acl/acl_mdl.h"
#include "acl/entry.h"
#include "acl/no_effect.h"
#include "os/file.h"

using namespace plat;
using plat::acl::accept_without_effect;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;

namespace {

constexpr const char* kNothingDumped = "there are no models here, and nothing is dumped";

std::atomic<bool> dump_begun{false};

Result<> want_dump_begun() {
  if (dump_begun) return {};
  return fail(RuleId::DumpBegun, "", "dump configuration has not begun");
}

}  // namespace

extern "C" {

aclError aclmdlInitDump() {
  return entry("aclmdlInitDump", [&](Runtime&) -> Result<> {
    if (dump_begun.exchange(true)) return fail(RuleId::DumpOnce, "", "aclmdlInitDump was called before");
    return accept_without_effect(kNothingDumped);
  });
}

aclError aclmdlSetDump(const char* dumpCfgPath) {
  return entry("aclmdlSetDump", [&](Runtime&) -> Result<> {
    PLAT_TRY(want_dump_begun());
    PLAT_TRY(want(dumpCfgPath, "dumpCfgPath"));
    if (!os::read_small_file(dumpCfgPath))
      return fail(RuleId::DumpFile, "dumpCfgPath", "{} cannot be read", dumpCfgPath);
    return accept_without_effect(kNothingDumped);
  });
}

aclError aclmdlFinalizeDump() {
  return entry("aclmdlFinalizeDump", [&](Runtime&) -> Result<> {
    PLAT_TRY(want_dump_begun());
    dump_begun = false;
    return accept_without_effect(kNothingDumped);
  });
}

}  // extern "C"
