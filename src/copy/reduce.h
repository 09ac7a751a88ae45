// SPDX-License-Identifier: Apache-2.0
// Reduce: dst = dst op src, element by element, over device memory.
#pragma once

#include "acl/acl_rt_copy.h"
#include "copy/mover.h"
#include "device/product.h"

namespace plat::copy {

// Whether the product's copy engine reduces elements of the type by the operation.
bool can_reduce(const device::Product& product, aclrtReduceKind kind, aclDataType type);

struct Reduction {
  Va target;
  Va source;
  uint64_t size_bytes = 0;  // whole elements
  aclrtReduceKind kind = ACL_RT_MEMCPY_SDMA_AUTOMATIC_SUM;
  aclDataType type = ACL_FLOAT;
};
// Now, in the calling thread. Integers wrap around; half floats are computed as floats and rounded.
Result<> reduce(const Mover& mover, const Reduction& work, uint32_t device);

}  // namespace plat::copy
