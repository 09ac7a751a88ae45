// SPDX-License-Identifier: Apache-2.0
// A server of the fabric inside the fuzzer, with memory that it exports and listeners as the daemon has them.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "fabricd/listener.h"
#include "fabricd/sessions.h"
#include "share/fabric.h"

namespace plat::fuzz {

inline void require(bool kept, int line = __builtin_LINE()) {
  if (kept) return;
  std::fprintf(stderr, "what line %d requires was not kept; errno is %d (%s)\n", line, errno,
               std::strerror(errno));
  std::abort();
}

// Takes pieces off the front of an input; what is missing is zero.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}
  bool empty() const { return left_ == 0; }
  void take(void* bytes, size_t size) {
    std::memset(bytes, 0, size);
    const size_t some = std::min(size, left_);
    std::memcpy(bytes, data_, some);
    data_ += some;
    left_ -= some;
  }
  template <class T>
  T number() {
    T value{};
    take(&value, sizeof value);
    return value;
  }
  std::string text(size_t size) {
    std::string bytes(std::min(size, left_), 0);
    take(bytes.data(), bytes.size());
    return bytes;
  }

 private:
  const uint8_t* data_;
  size_t left_;
};

inline std::string fresh_directory() {
  char name[] = "/tmp/plat-fuzz-XXXXXX";
  static const std::string made = mkdtemp(name);
  std::atexit([] { std::filesystem::remove_all(made); });
  return made;
}

struct Server {
  static constexpr uint32_t kSelf = 0, kOther = 1;
  std::string directory = fresh_directory();
  device::Node node{config()};
  vmm::Vmm vmm{node};
  share::FabricHandle exported = export_block();
  std::unique_ptr<fabricd::Target> target = std::move(*fabricd::Target::listen("127.0.0.1"));
  fabricd::Exports exports{node, *target};
  fabricd::Guests guests{{kSelf, "fuzzed", 1}, exports, *target};

  uint64_t used_bytes() {
    const auto usage = (*node.bank(device::BankId(0)))->ledger().usage();
    return usage.total_bytes - usage.free_bytes;
  }

 private:
  device::Config config() const {
    device::Config config = device::read_config([](const std::string& name) -> std::optional<std::string> {
      if (name == "PLAT_PRODUCT") return "a3";
      if (name == "PLAT_NODE") return "fuzzed";
      if (name == "PLAT_CAPACITY") return "32MiB";
      if (name == "PLAT_HOST_CAPACITY") return "32MiB";
      if (name == "PLAT_DEVICES") return "1";
      if (name == "PLAT_QUIET") return "1";
      if (name == "PLAT_LOG") return "off";
      return std::nullopt;
    });
    config.directory = directory;
    return config;
  }
  share::FabricHandle export_block() {
    node.set_open(0, true);
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_HBM_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    const auto handle = vmm.create(uint64_t{4} << 20, prop);
    require(handle.has_value());
    const auto made = share::export_fabric(vmm, *handle, 1);
    require(made.has_value());
    return *made;
  }
};

}  // namespace plat::fuzz
