// SPDX-License-Identifier: Apache-2.0
// Snapshot: where the process stands between running, locked and backed up.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <mutex>
#include <optional>
#include <vector>

#include "acl/acl_rt_snapshot.h"
#include "base/result.h"
#include "vmm/contents.h"

namespace plat::acl {

struct Runtime;

class Snapshot {
 public:
  Result<> lock(Runtime& runtime);
  Result<> unlock(Runtime& runtime);
  Result<> back_up(Runtime& runtime);
  Result<> restore(Runtime& runtime);

  Result<> add_callback(aclrtSnapShotStage stage, aclrtSnapShotCallBack function, void* argument);
  Result<> remove_callback(aclrtSnapShotStage stage, aclrtSnapShotCallBack function);

 private:
  enum class State : uint8_t { Running, Locked, BackedUp };
  struct Callback {
    aclrtSnapShotStage stage;
    aclrtSnapShotCallBack function;
    void* argument;
  };
  // One call at a time: while it is under way, others find the process in no state that suits them.
  class Turn {
   public:
    Turn(Snapshot& snapshot, std::initializer_list<State> from) : snapshot_(snapshot) {
      const std::lock_guard guard(snapshot.mutex_);
      granted_ = !snapshot.under_way_ && std::find(from.begin(), from.end(), snapshot.state_) != from.end();
      if (granted_) snapshot.under_way_ = true;
    }
    ~Turn() {
      if (!granted_) return;
      const std::lock_guard guard(snapshot_.mutex_);
      snapshot_.under_way_ = false;
    }
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    explicit operator bool() const { return granted_; }
    void enter(State state) {
      const std::lock_guard guard(snapshot_.mutex_);
      snapshot_.state_ = state;
    }

   private:
    Snapshot& snapshot_;
    bool granted_ = false;
  };

  const char* state_text() const;
  // Calls what is registered for the stage, for each open device; with no lock held.
  Result<> tell(Runtime& runtime, aclrtSnapShotStage stage);

  mutable std::mutex mutex_;  // guards what follows, but for contents_, which is whoever's turn it is
  State state_ = State::Running;
  bool under_way_ = false;
  std::vector<Callback> callbacks_;
  std::optional<vmm::Contents> contents_;
};

}  // namespace plat::acl
