// SPDX-License-Identifier: Apache-2.0
// The switch of a stream that makes its work watch for overflows. Nothing computes here, so it is only kept.
#include <mutex>
#include <set>
#include <string_view>
#include <utility>

#include "acl/acl_rt_stream.h"
#include "acl/entry.h"

using namespace plat;
using plat::acl::entry;
using plat::acl::Runtime;
using plat::acl::want;
using plat::stream::StreamId;

namespace {

// The streams whose switch is on. An id is never given out twice by one runtime, and a forked child has a
// runtime of its own.
class Switches {
 public:
  void set(const Runtime& runtime, StreamId stream, bool on) {
    const std::lock_guard lock(mutex_);
    std::erase_if(on_, [&](const Key& key) {
      return key.first != &runtime || !runtime.streams.info(StreamId{key.second});
    });
    const Key key{&runtime, stream.value};
    if (on)
      on_.insert(key);
    else
      on_.erase(key);
  }
  bool is_on(const Runtime& runtime, StreamId stream) {
    const std::lock_guard lock(mutex_);
    return on_.contains({&runtime, stream.value});
  }

 private:
  using Key = std::pair<const Runtime*, uint64_t>;
  std::mutex mutex_;  // guards on_
  std::set<Key> on_;
};

// Never destroyed: programs call in from destructors that run after main.
Switches& switches() {
  static Switches* const all = new Switches;
  return *all;
}

bool has_switch(Runtime& runtime) {
  const std::string_view product = runtime.node.product().key;
  return product == "a2" || product == "a3" || product == "950";
}

// The handle is looked at before the context.
Result<StreamId> stream_of(const Runtime& runtime, aclrtStream stream) {
  const auto id = stream::id_of<StreamId>(stream);
  PLAT_TRY(runtime.streams.info(id));
  return runtime.streams.resolve(id);
}

}  // namespace

extern "C" {

aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
  return entry("aclrtSetStreamOverflowSwitch", [&](Runtime& runtime) -> Result<> {
    if (flag > 1)
      return fail(RuleId::ArgReserved, "flag", "flag is {}, only 0 (off) and 1 (on) are known", flag);
    if (!has_switch(runtime)) return {};
    PLAT_ASSIGN(id, stream_of(runtime, stream));
    switches().set(runtime, id, flag == 1);
    return {};
  });
}

aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t* flag) {
  return entry("aclrtGetStreamOverflowSwitch", [&](Runtime& runtime) -> Result<> {
    PLAT_TRY(want(flag, "flag"));
    PLAT_ASSIGN(id, stream_of(runtime, stream));
    *flag = !has_switch(runtime) || switches().is_on(runtime, id) ? 1 : 0;
    return {};
  });
}

}  // extern "C"
