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

enum class Got { kYes, kNoMemory, kError };

class Source {
 public:
  virtual ~Source() = default;

  // Page sources: address space, pages, and mappings between them.
  virtual bool has_pages() const { return false; }
  virtual Got reserve(uint64_t, void**) { return Got::kError; }
  virtual bool unreserve(void*) { return false; }
  virtual Got create_page(void**) { return Got::kError; }
  virtual bool destroy_page(void*) { return false; }
  virtual Got map_page(void*, void*) { return Got::kError; }
  virtual Got unmap_page(void*) { return Got::kError; }

  // Block sources: whole blocks that are given back whole.
  virtual Got create_block(uint64_t, void**) { return Got::kError; }
  virtual bool destroy_block(void*) { return false; }
  // How much of a block is asked for by name; the device adds the rest.
  virtual uint64_t asked_bytes(uint64_t bytes) const { return bytes; }

  // Bytes of the device, for sizing the address space; 0 when unknown.
  virtual uint64_t total_bytes() const { return 0; }
  virtual Events& events() { return *events_; }
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
  Got failed(const char* call, int code);
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
