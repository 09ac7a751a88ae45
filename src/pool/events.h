// SPDX-License-Identifier: Apache-2.0
// Events: how a pool learns how far streams have got. The device's own are the public calls; a replay has a
// device of numbers, whose streams have always passed.
#pragma once

#include <cstdint>
#include <memory>

#include "plat/pool.h"

namespace plat::pool {

enum class StreamState {
  kIdle,    // nothing is queued on it
  kBusy,    // something is, as far as the device tells
  kGone,    // it was destroyed, and has finished; or it never was
  kUnknown  // the device did not answer
};

class Events {
 public:
  virtual ~Events() = default;
  virtual void* create() = 0;  // null when the device has none
  virtual void destroy(void* event) = 0;
  virtual bool record(void* event, plat_stream stream) = 0;
  virtual bool has_passed(void* event) = 0;
  virtual StreamState state(plat_stream stream) = 0;
  // False when the device refuses to wait, and nothing is known. A stream that is gone needs no wait.
  virtual bool wait(void* event) = 0;
  virtual bool wait_for_stream(plat_stream stream) = 0;
  virtual bool make_wait(plat_stream waiter, void* event) = 0;
  // Nothing is asked of the stream any more.
  virtual void forget(plat_stream) {}

  // Of the device with this number; -1: of the one that the calling thread has.
  static std::unique_ptr<Events> of_device(int32_t device);
};

}  // namespace plat::pool
