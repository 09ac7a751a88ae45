// SPDX-License-Identifier: Apache-2.0
// A stream-ordered pool for tests of rules.
#pragma once

#include "acl/acl_rt_memory_soma.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {

inline aclrtMemPoolProps pool_props(size_t max_size = 0) {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  props.maxSize = max_size;
  return props;
}

struct PoolFixture : Memory {
  aclrtMemPool pool = nullptr;
  aclrtStream stream = nullptr;
  explicit PoolFixture(size_t max_size = 8_MiB) {
    const aclrtMemPoolProps props = pool_props(max_size);
    EXPECT_OK(aclrtMemPoolCreate(&pool, &props));
    EXPECT_OK(aclrtCreateStream(&stream));
  }
  void* malloc(size_t size) {
    void* block = nullptr;
    EXPECT_OK(aclrtMemPoolMallocAsync(&block, size, pool, stream));
    return block;
  }
};

}  // namespace plat::rule_test
