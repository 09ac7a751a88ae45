// SPDX-License-Identifier: Apache-2.0
// A reference model of virtual memory, written from the documented contract and from nothing else: what each
// call must answer, given what was called before. It is as plain as can be (ordered maps, whole scans), so
// that it can be read and believed; the library is held against it.
//
// A call is asked about first (the verdict: a rule, or success). When the library said the same and
// succeeded, what it chose by itself (an address, a handle) is told to the model with reserved() or
// created(), which say what is wrong with that choice, or "".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl_rt.h"
#include "rules/rules.h"

namespace plat::test {

inline constexpr uint64_t kPage = uint64_t{2} << 20;

struct Verdict {
  std::optional<RuleId> rule;  // the one that the call breaks; none: it succeeds
  int code = 0;
  bool ok() const { return !rule; }
};

class VmmModel {
 public:
  struct Settings {
    rules::Generation generation = rules::Generation::V2;
    uint32_t devices = 2;
    uint64_t open_devices = 3;  // a bit for each
    uint64_t capacity_bytes = 0;
    uint64_t host_capacity_bytes = 0;
    bool giant_pages = true;
    bool expected_address = true;
    bool fixed_addresses = true;  // false where a sanitizer owns the address space
  };

  static constexpr uint32_t kHost = 1000;  // as the owner of memory, beside the devices

  struct Block {
    aclrtPhysicalMemProp prop{};  // as a query must answer
    uint32_t owner = 0;
    uint64_t size_bytes = 0;
    uint64_t page_bytes = 0;
    uint32_t references = 0;
    uint32_t map_references = 0;
    std::vector<uint64_t> marks;  // what was last written to each 2 MiB of it
  };
  struct Mapping {
    uint64_t size_bytes = 0;
    uint64_t handle = 0;
    uint64_t device_access = 0;
    bool host_access = false;
  };
  struct Reservation {
    uint64_t size_bytes = 0;
    std::optional<uint32_t> owner;  // from the first mapping to the release
    uint64_t page_bytes = 0;
    std::map<uint64_t, Mapping> mappings;  // by start
  };

  explicit VmmModel(const Settings& settings) : settings_(settings) {}

  // The calls. Pointers are what the client passes; outputs are only looked at for null.
  Verdict reserve(const void* output, uint64_t size, uint64_t alignment, uint64_t expected,
                  uint64_t flags) const;
  Verdict release(uint64_t start);
  Verdict create(const void* output, uint64_t size, const aclrtPhysicalMemProp* prop, uint64_t flags) const;
  Verdict free(uint64_t handle);
  Verdict map(uint64_t start, uint64_t size, uint64_t offset, uint64_t handle, uint64_t flags,
              bool grant_owner);
  Verdict unmap(uint64_t start);
  Verdict set_access(uint64_t start, uint64_t size, const aclrtMemAccessDesc* grants, uint64_t count);
  Verdict get_access(uint64_t va, const aclrtMemLocation* location, const void* output,
                     uint64_t& flags) const;
  Verdict retain(uint64_t va, const void* output, uint64_t& handle);
  Verdict properties(uint64_t handle, const void* output, aclrtPhysicalMemProp& prop) const;
  Verdict granularity(const aclrtPhysicalMemProp* prop, int option, const void* output,
                      uint64_t& bytes) const;

  std::string reserved(uint64_t start, uint64_t size, uint64_t expected);
  std::string created(uint64_t handle, uint64_t size, const aclrtPhysicalMemProp& prop);

  const Settings& settings() const { return settings_; }
  uint64_t free_bytes(uint32_t owner) const;
  const std::map<uint64_t, Reservation>& reservations() const { return reservations_; }
  const std::map<uint64_t, Block>& blocks() const { return blocks_; }
  Block& block(uint64_t handle) { return blocks_.at(handle); }
  // The mapping around an address and its start; nullptr when there is none.
  const Mapping* mapping_around(uint64_t va, uint64_t* start = nullptr) const;

 private:
  Verdict broken(RuleId rule, int code_v2, int code_v3) const;
  Verdict broken(RuleId rule, int code) const { return broken(rule, code, code); }
  static uint64_t page_bytes(int attribute);
  bool is_v3() const { return settings_.generation == rules::Generation::V3; }
  Verdict check_prop(const aclrtPhysicalMemProp& prop) const;
  Verdict check_attribute(const aclrtPhysicalMemProp& prop) const;
  Verdict check_pages(const aclrtPhysicalMemProp& prop) const;
  uint64_t rounded(uint64_t size, const aclrtPhysicalMemProp& prop) const;
  std::map<uint64_t, Reservation>::const_iterator around(uint64_t va) const;
  void drop(uint64_t handle);

  Settings settings_;
  std::map<uint64_t, Reservation> reservations_;  // by start
  std::map<uint64_t, Block> blocks_;              // by handle; only those that live
};

}  // namespace plat::test
