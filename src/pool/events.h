// Events: how a pool learns how far streams have got. The device's own are the public calls; a replay has a
// device of numbers, whose streams have always passed.
#pragma once

#include <cstdint>
#include <memory>

#include "plat/pool.h"

namespace plat::pool {

class Events {
 public:
  virtual ~Events() = default;
  virtual void* create() = 0;  // null when the device has none
  virtual void destroy(void* event) = 0;
  virtual bool record(void* event, plat_stream stream) = 0;
  virtual bool has_passed(void* event) = 0;
  // Whether nothing is queued on the stream; false when that is not known.
  virtual bool is_idle(plat_stream stream) = 0;
  // False when the device refuses to wait, and nothing is known.
  virtual bool wait(void* event) = 0;
  virtual bool wait_for_stream(plat_stream stream) = 0;
  virtual bool make_wait(plat_stream waiter, void* event) = 0;

  // Of the device with this number; -1: of the one that the calling thread has.
  static std::unique_ptr<Events> of_device(int32_t device);
};

}  // namespace plat::pool
