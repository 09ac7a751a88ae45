// SPDX-License-Identifier: Apache-2.0
// Source: the device calls of a pool, behind one interface. Implementations translate a failure into "no
// memory" or "device error" and keep the device's words for the message. What the device refuses to take back
// (false) is still held.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "plat/pool.h"
#include "pool/events.h"

namespace plat::pool {

enum class Outcome { kDone, kNoMemory, kFailed };

class Source {
 public:
  virtual ~Source() = default;

  // Page sources: address space, pages, and mappings between them.
  virtual bool has_pages() const { return false; }
  virtual Outcome reserve(uint64_t, void**) { return Outcome::kFailed; }
  virtual bool unreserve(void*) { return false; }
  virtual Outcome create_page(void**) { return Outcome::kFailed; }
  virtual bool destroy_page(void*) { return false; }
  virtual Outcome map_page(void*, void*) { return Outcome::kFailed; }
  virtual Outcome unmap_page(void*) { return Outcome::kFailed; }

  // Block sources: whole blocks that are given back whole.
  virtual Outcome create_block(uint64_t, void**) { return Outcome::kFailed; }
  virtual bool destroy_block(void*) { return false; }
  // How much of a block is asked for by name; the device adds the rest.
  virtual uint64_t asked_bytes(uint64_t bytes) const { return bytes; }

  // Bytes of the device, for sizing the address space; 0 when unknown.
  virtual uint64_t total_bytes() const { return 0; }
  virtual Events& events() { return *events_; }
  // Whether it is memory of a device that has other kinds, too.
  virtual bool is_of_a_device() const { return true; }
  bool on_device() const { return on_device_; }
  uint64_t start_alignment() const { return start_alignment_; }
  // Requests for a larger one cannot be served.
  uint64_t largest_alignment() const { return largest_alignment_; }
  uint32_t tail_bytes() const { return tail_bytes_; }
  int32_t device() const { return device_; }
  // The device's words for the last failure that the calling thread met.
  static std::string& error();

  // Settles which source PLAT_POOL_SOURCE_DEVICE is, in the options. Null, and `why`, when there is none.
  static std::unique_ptr<Source> create(plat_pool_options& options, std::string* why);

 protected:
  Outcome failed(const char* call, int code);
  bool taken(const char* call, int code);  // back by the device
  bool on_device_ = true;
  uint64_t start_alignment_ = 64;
  uint64_t largest_alignment_ = uint64_t{2} << 20;
  uint32_t tail_bytes_ = 32;
  int32_t device_ = 0;

 private:
  std::unique_ptr<Events> events_;
};

inline constexpr uint64_t kPageBytes = 2u << 20;

}  // namespace plat::pool
