// SPDX-License-Identifier: Apache-2.0
// aclInit, aclFinalize and the text of errors.
#include <atomic>
#include <mutex>
#include <new>

#include "acl/acl.h"
#include "acl/entry.h"
#include "acl/teardown.h"
#include "os/file.h"
#include "os/thread_sanitizer.h"

namespace plat::acl {
namespace {

std::atomic<uint64_t> init_count{0};
std::atomic<bool> was_finalized{false};

// The call then returns the callback's own code.
Result<> callback_failed(int type, aclError code) {
  return fail(RuleId::StartCallbackFailed, "cbFunc", "the callback of type {} returned {}", type, code);
}

Result<> tell_of_end(Runtime& runtime, aclError& code) {
  for (const auto& callback : runtime.finalize_callbacks.all()) {
    const os::tsan::Watched watched;
    code = callback.function(callback.argument);
    if (code != ACL_SUCCESS) return callback_failed(callback.type, code);
  }
  runtime.set_start_config(std::nullopt);
  return {};
}

// Calls `note` once no callback refuses any more, and `undo` where one does, or there is no memory to end
// with: the same call can be made again, and ends what is left.
template <class Note, class Undo>
Result<> end_all(Runtime& runtime, const char* how, aclError& code, Note note, Undo undo) {
  try {
    auto told = tell_of_end(runtime, code);
    if (told) {
      note();
      release_everything(runtime, how);
    } else {
      undo();
    }
    return told;
  } catch (const std::bad_alloc&) {
    undo();
    throw;
  }
}

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
  aclError code = ACL_SUCCESS;  // of a callback
  const aclError failed = entry("aclInit", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(runtime.node.check_settings());
    std::optional<std::string> config = "";
    if (configPath != nullptr && *configPath != 0) config = os::read_small_file(configPath);
    if (!config) return fail(RuleId::InitConfigFile, "configPath", "{} cannot be read", configPath);
    const auto callbacks = runtime.init_callbacks.all();  // while there is memory for it
    acl::was_finalized = false;
    if (acl::init_count.fetch_add(1) > 0)
      return fail(RuleId::InitRepeated, "configPath", "aclInit was called {} time(s) before",
                  acl::init_count.load() - 1);
    for (const auto& callback : callbacks) {
      const os::tsan::Watched watched;
      code = callback.function(config->c_str(), config->size(), callback.argument);
      if (code == ACL_SUCCESS) continue;
      acl::init_count = 0;
      return acl::callback_failed(callback.type, code);
    }
    runtime.set_start_config(std::move(config));
    return {};
  });
  return failed == ACL_SUCCESS || code == ACL_SUCCESS ? failed : code;
}

aclError aclFinalize() {
  aclError code = ACL_SUCCESS;
  const aclError failed = entry("aclFinalize", [&](Runtime& runtime) -> Result<> {
    if (acl::was_finalized.exchange(true))
      return fail(RuleId::FinalizeRepeated, "", "aclFinalize was called before");
    return acl::end_all(
        runtime, "aclFinalize", code, [] { acl::init_count = 0; }, [] { acl::was_finalized = false; });
  });
  return failed == ACL_SUCCESS || code == ACL_SUCCESS ? failed : code;
}

aclError aclFinalizeReference(uint64_t* refCount) {
  aclError code = ACL_SUCCESS;
  const aclError failed = entry("aclFinalizeReference", [&](Runtime& runtime) -> Result<> {
    uint64_t count = acl::init_count.load();
    do {
      if (count == 0) return fail(RuleId::FinalizeRepeated, "", "there is no aclInit left to undo");
    } while (!acl::init_count.compare_exchange_weak(count, count - 1));
    if (count == 1) {
      PLAT_TRY(acl::end_all(
          runtime, "aclFinalizeReference", code, [] { acl::was_finalized = true; },
          [] {
            acl::was_finalized = false;
            acl::init_count.fetch_add(1);
          }));
    }
    if (refCount != nullptr) *refCount = count - 1;
    return {};
  });
  return failed == ACL_SUCCESS || code == ACL_SUCCESS ? failed : code;
}

const char* aclGetRecentErrMsg() { return report::recent(); }

}  // extern "C"
