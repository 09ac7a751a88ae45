// SPDX-License-Identifier: Apache-2.0
// Callbacks: which thread of the client's serves which stream. `thread` is the number by which the client
// names it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "base/result.h"
#include "stream/callback_thread.h"
#include "stream/ids.h"

namespace plat::stream {

class Streams;

class Callbacks {
 public:
  explicit Callbacks(Streams& streams) : streams_(streams) {}

  Result<> subscribe(uint64_t thread, StreamId stream);
  Result<> unsubscribe(uint64_t thread, StreamId stream);
  Result<> launch(StreamId stream, void (*function)(void*), void* argument, bool blocks);
  // Runs what is due for the calling thread, after waiting for it.
  Result<> process(uint64_t thread, int32_t timeout_ms);

  // The stream is gone.
  void drop(StreamId stream);
  void drop_all();

 private:
  std::shared_ptr<CallbackThread> thread_of(StreamId stream) const;

  Streams& streams_;
  mutable std::mutex mutex_;  // guards both
  std::unordered_map<uint64_t, std::shared_ptr<CallbackThread>> threads_;
  std::unordered_map<uint64_t, std::shared_ptr<CallbackThread>> subscriptions_;  // by stream
};

}  // namespace plat::stream
