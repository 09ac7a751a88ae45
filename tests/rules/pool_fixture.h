// SPDX-License-Identifier: Apache-2.0
// A stream-ordered pool for tests of rules.
#pragma once

#include "acl/acl_rt_memory_soma.h"
#include "rules/memory_fixture.h"

namespace plat::rule_test {

// A pool of device 0, with its largest size.
inline aclrtMemPoolProps pool_props(size_t max_size = 0) {
  aclrtMemPoolProps props{};
  props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  props.maxSize = max_size;
  return props;
}

// A device, a stream and a pool of 8 MiB; malloc() is aclrtMemPoolMallocAsync.
struct PoolFixture : Memory {
  aclrtMemPool pool = nullptr;
  aclrtStream stream = nullptr;
  explicit PoolFixture(size_t max_size = 8_MiB) {
    const aclrtMemPoolProps props = pool_props(max_size);
    EXPECT_READY(aclrtMemPoolCreate(&pool, &props));
    EXPECT_READY(aclrtCreateStream(&stream));
  }
  void* malloc(size_t size) {
    void* block = nullptr;
    EXPECT_OK(aclrtMemPoolMallocAsync(&block, size, pool, stream));
    return block;
  }
};

}  // namespace plat::rule_test
