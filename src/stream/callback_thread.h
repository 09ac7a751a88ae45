// SPDX-License-Identifier: Apache-2.0
// CallbackThread: the callbacks that are due for one thread of the client's, which runs them in
// aclrtProcessReport.
#pragma once

#include <atomic>
#include <list>
#include <memory>
#include <mutex>

#include "stream/stream.h"
#include "stream/waiting_room.h"

namespace plat::stream {

struct DueCallback {
  HostCall call;
  std::shared_ptr<std::atomic<CallbackState>> state;
  std::shared_ptr<Stream> waiting;  // nullptr if the stream went on
};

class CallbackThread {
 public:
  CallbackThread(uint64_t thread, int device) : thread_(thread), device_(device) {}

  uint64_t thread() const { return thread_; }
  int device() const { return device_; }
  WaitingRoom& waiting_room() { return waiting_room_; }

  void post(DueCallback callback);
  bool has_due() const { return due_count_.load() > 0; }
  bool closed() const { return closed_.load(); }
  // Runs what is due now, in the calling thread. The first error of the client's code, once all have run.
  Result<> run_due();
  // The thread serves no stream any more: what is due is lost, and so is what comes.
  void close();

  int stream_count = 0;  // guarded by the owner

 private:
  static void finish(const DueCallback& callback, CallbackState state);

  const uint64_t thread_;
  const int device_;
  std::mutex mutex_;            // guards due_
  std::list<DueCallback> due_;  // an empty one needs no memory, which an end may not find
  std::atomic<size_t> due_count_{0};
  std::atomic<bool> closed_{false};
  WaitingRoom waiting_room_;
};

}  // namespace plat::stream
