// SPDX-License-Identifier: Apache-2.0
// aclInit, aclFinalize and the text of errors.
#include <atomic>
#include <mutex>

#include "acl/acl.h"
#include "acl/entry.h"
#include "acl/use.h"
#include "os/file.h"

namespace plat::acl {
namespace {

std::atomic<uint64_t> init_count{0};
std::atomic<bool> was_finalized{false};

}  // namespace
}  // namespace plat::acl

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;

extern "C" {

aclError aclInit(const char* configPath) {
  if (acl::is_stale_child()) {
    acl::restart_in_child();
    acl::init_count = 0;
  }
  return entry("aclInit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(runtime.node.check_settings());
    if (configPath != nullptr && *configPath != 0 && !os::read_small_file(configPath))
      return fail(RuleId::InitConfigFile, "configPath", "{} cannot be read", configPath);
    acl::was_finalized = false;
    if (acl::init_count.fetch_add(1) > 0)
      return fail(RuleId::InitRepeated, "configPath", "aclInit was called {} time(s) before",
                  acl::init_count.load() - 1);
    return {};
  });
}

aclError aclFinalize() {
  return entry("aclFinalize", [&](Runtime& runtime) -> Result<> {
    if (acl::was_finalized.exchange(true))
      return fail(RuleId::FinalizeRepeated, "", "aclFinalize was called before");
    acl::init_count = 0;
    acl::release_everything(runtime, "aclFinalize");
    return {};
  });
}

aclError aclFinalizeReference(uint64_t* refCount) {
  return entry("aclFinalizeReference", [&](Runtime& runtime) -> Result<> {
    uint64_t count = acl::init_count.load();
    do {
      if (count == 0) return fail(RuleId::FinalizeRepeated, "", "there is no aclInit left to undo");
    } while (!acl::init_count.compare_exchange_weak(count, count - 1));
    if (count == 1) {
      acl::was_finalized = true;
      acl::release_everything(runtime, "aclFinalizeReference");
    }
    if (refCount != nullptr) *refCount = count - 1;
    return {};
  });
}

const char* aclGetRecentErrMsg() { return report::recent(); }

}  // extern "C"
