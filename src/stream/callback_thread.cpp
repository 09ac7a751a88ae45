// SPDX-License-Identifier: Apache-2.0
#include "stream/callback_thread.h"

#include <utility>

#include "stream/client_code.h"

namespace plat::stream {

void CallbackThread::post(DueCallback callback) {
  {
    std::unique_lock lock(mutex_);
    if (closed_.load()) {
      lock.unlock();
      return finish(callback, CallbackState::Lost);
    }
    due_.push_back(std::move(callback));
    due_count_.store(due_.size());
  }
  waiting_room_.notify();
}

Result<> CallbackThread::run_due() {
  Result<> all;
  for (;;) {
    DueCallback callback;
    {
      std::lock_guard lock(mutex_);
      if (due_.empty()) return all;
      callback = std::move(due_.front());
      due_.pop_front();
      due_count_.store(due_.size());
    }
    // Whatever the client's code does: a stream may wait for the end of it.
    const struct Finish {
      ~Finish() { finish(callback, CallbackState::Ran); }
      const DueCallback& callback;
    } over{callback};
    if (auto returned = call_client(callback.call, "callback", [](const Error&) {}); !returned && all)
      all = std::move(returned);
  }
}

void CallbackThread::close() {
  std::list<DueCallback> lost;
  {
    std::lock_guard lock(mutex_);
    closed_.store(true);
    lost.swap(due_);
    due_count_.store(0);
  }
  for (const DueCallback& callback : lost) finish(callback, CallbackState::Lost);
  waiting_room_.notify();
}

void CallbackThread::finish(const DueCallback& callback, CallbackState state) {
  callback.state->store(state);
  if (callback.waiting) callback.waiting->wake();
}

}  // namespace plat::stream
