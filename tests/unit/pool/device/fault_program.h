// SPDX-License-Identifier: Apache-2.0
// A fixed program over a pool and libascendcl.so, for a process of its own in which one device call fails.
// Every step that fails is held against what was promised (contents and counts are as before) and tried
// again.
#pragma once

#include <acl/acl.h>
#include <plat/pool.h>

#include <cstdint>
#include <string>
#include <vector>

namespace plat::test {

class FaultProgram {
 public:
  // Empty when all is well, else what was broken first.
  std::string run();

 private:
  struct Live {
    void* address;
    uint64_t bytes;
    unsigned char pattern;
    bool host;
  };

  void start();
  void grow();
  void remap();
  void use_streams();
  void serve_purposes();
  void sleep_and_wake();
  void use_an_arena();
  void use_a_cache();
  void finish();

  template <class Call>
  void step(const char* what, Call&& call);
  template <class Call>
  void device(const char* what, Call&& call);
  void problem(const std::string& what);
  void* take(uint64_t bytes, plat_pool_purpose purpose = PLAT_POOL_COMPUTE, uint16_t tag = 0,
             aclrtStream stream = nullptr);
  void release(size_t index);
  void write(void* to, const Live& block);
  unsigned char read(const Live& block, uint64_t at);
  void check_contents();
  void check_counts();

  std::string problem_;
  plat_pool* pool_ = nullptr;
  aclrtStream first_ = nullptr;
  aclrtStream second_ = nullptr;
  std::vector<Live> live_;
  unsigned char pattern_ = 0;
};

}  // namespace plat::test
