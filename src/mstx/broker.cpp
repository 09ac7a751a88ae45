// SPDX-License-Identifier: Apache-2.0
#include "mstx/broker.h"

#include <pthread.h>

#include <memory>

namespace plat::mstx {

Broker& Broker::get() {
  static Broker* const broker = new Broker;
  return *broker;
}

Broker::Broker() { pthread_atfork(fork_prepare, fork_parent, fork_child); }

bool Broker::forget_everything() {
  std::lock_guard lock(registry_lock_);
  const bool was_empty = registry_.empty();
  // Made anew in its place: its tables cannot be moved, and an empty one takes no memory that could lack.
  std::destroy_at(&registry_);
  std::construct_at(&registry_);
  return !was_empty;
}

// The registry must not be torn in the child, so forking waits for it.
void Broker::fork_prepare() {
  get().registry_lock_.lock();
  get().tools.before_fork();
}
void Broker::fork_parent() {
  get().tools.after_fork(false);
  get().registry_lock_.unlock();
}
void Broker::fork_child() {
  reopen_board();
  get().tools.after_fork(true);
  get().ranges_.only_this_thread();
  get().registry_lock_.unlock();
}

}  // namespace plat::mstx
