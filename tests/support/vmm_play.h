// SPDX-License-Identifier: Apache-2.0
// Plays a script of calls against the library and against the model, and stops where they part.
//
// A script is a string of bytes: each record of kRecordBytes is one call, its bytes choose the call and its
// arguments among what lives at that moment, most of them legal and some of them not. Any bytes are a script,
// so a random generator and a fuzzer speak the same language, and a script can be shortened record by record.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "support/vmm_model.h"

namespace plat::test {

inline constexpr size_t kRecordBytes = 12;
// Where expected addresses are tried: clear of what sanitizers keep at the window's start.
inline constexpr uint64_t kExpectedBase = 0x101000000000;
// The first address of the window. The address sanitizer's records reach 2 GiB into it.
#ifdef __SANITIZE_ADDRESS__
inline constexpr uint64_t kFirstAddress = 0x100080000000;
#else
inline constexpr uint64_t kFirstAddress = 0x100000000000;
#endif
using Script = std::span<const uint8_t>;

// The bytes of one record, as choices. Behind its end every choice is the first.
class Choices {
 public:
  explicit Choices(Script bytes) : bytes_(bytes) {}
  uint32_t below(uint32_t count) {
    if (count == 0 || at_ == bytes_.size()) return 0;
    return bytes_[at_++] % count;
  }
  bool one_in(uint32_t count) { return below(count) == count - 1; }
  template <class T>
  T among(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<uint32_t>(values.size()))];
  }

 private:
  Script bytes_;
  size_t at_ = 0;
};

class Player {
 public:
  // Opens the devices of the settings; the environment must describe the same machine.
  explicit Player(const VmmModel::Settings& settings);

  // Plays the whole script, asks about everything that is left, and takes it down. False where the two sides
  // part.
  bool play(Script script);

  // How they parted, and the calls that led to it.
  const std::string& difference() const { return difference_; }
  std::string history() const;

 private:
  struct Call {
    const char* name;
    std::vector<uint64_t> arguments;
    Verdict wanted;
    int got = 0;
  };

  bool step(Script record);
  bool ask_about_everything();
  bool take_down();

  bool reserve(Choices& choices);
  bool release(uint64_t start);
  bool create(Choices& choices);
  bool free(uint64_t handle);
  bool map(Choices& choices);
  bool unmap(uint64_t start);
  bool set_access(Choices& choices);
  bool get_access(uint64_t va, aclrtMemLocation* location);
  bool retain(uint64_t va, bool with_output);
  bool properties(uint64_t handle);
  bool granularity(Choices& choices);
  bool touch(Choices& choices);

  uint64_t some_address(Choices& choices);
  uint64_t some_mapping(Choices& choices);
  uint64_t some_handle(Choices& choices);
  aclrtPhysicalMemProp some_prop(Choices& choices);
  aclrtMemLocation some_location(Choices& choices);

  // Notes the call and holds its result against the verdict; then the accounts.
  bool agree(const char* name, std::vector<uint64_t> arguments, const Verdict& wanted, int got);
  bool differ(std::string how);

  VmmModel model_;
  std::vector<uint64_t> past_handles_;  // some that lived once
  std::vector<uint64_t> past_addresses_;
  std::deque<Call> calls_;
  uint64_t steps_ = 0;
  uint64_t next_mark_ = 1;
  std::string difference_;
};

}  // namespace plat::test
