// SPDX-License-Identifier: Apache-2.0
#include "malloc/policy.h"

#include "base/text.h"
#include "base/units.h"
#include "rules/rules.h"

namespace plat::malloc {

namespace {

constexpr uint64_t kMediaPadding = 32;
constexpr uint64_t kHugeAbove = 1_MiB;
constexpr uint32_t kPolicyBits = 0xFF;  // the rest says where memory lies and who may write it

bool pads(Call call, uint32_t policy) {
  if (policy == ACL_MEM_MALLOC_HUGE1G_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P) return false;
  return call == Call::Malloc || call == Call::Cached;
}

Result<uint64_t> block_bytes(const device::Product& product, Call call, uint64_t size_bytes,
                             uint32_t policy) {
  const uint64_t padding = call == Call::Media  ? kMediaPadding
                           : pads(call, policy) ? product.padding_bytes
                                                : 0;
  if (size_bytes > UINT64_MAX - kRounding - padding)
    return fail(RuleId::MallocOverflow, "size", "size is {}, with rounding and {} bytes of padding it wraps",
                size_bytes, padding);
  // Not UP32(size) + padding: the padding of some products is no multiple of 32.
  return (size_bytes + kRounding + padding - 1) / kRounding * kRounding;
}

// What remains of a policy after a call has left out what it does not know.
uint32_t known_policy(Call call, uint32_t policy) {
  const bool takes_bits = call == Call::WithConfig || call == Call::TaskScheduler;
  if (takes_bits) policy &= kPolicyBits;
  const bool cached_knows = policy == ACL_MEM_MALLOC_HUGE_FIRST || policy == ACL_MEM_MALLOC_HUGE_ONLY ||
                            policy == ACL_MEM_MALLOC_NORMAL_ONLY || policy == ACL_MEM_MALLOC_HUGE1G_ONLY;
  if (call == Call::Cached && !cached_knows) return ACL_MEM_MALLOC_HUGE_FIRST;
  return policy <= ACL_MEM_MALLOC_HUGE1G_ONLY_P2P ? policy : uint32_t{ACL_MEM_MALLOC_HUGE_FIRST};
}

}  // namespace

uint64_t BlockRequest::charged_bytes() const { return align_up(block_bytes, page_bytes(pages)); }

Result<BlockRequest> request_for(const device::Product& product, Call call, uint64_t size_bytes,
                                 uint32_t policy) {
  BlockRequest result;
  const uint32_t known = known_policy(call, policy);
  PLAT_ASSIGN(bytes, block_bytes(product, call, size_bytes, known));
  if (bytes > device::kLargestReservation)
    return fail(RuleId::MallocLargest, "size", "asked for {} ({} bytes)", format_bytes(size_bytes),
                size_bytes);
  result.asked_bytes = size_bytes;
  result.block_bytes = bytes;
  result.peer = known >= ACL_MEM_MALLOC_HUGE_FIRST_P2P && known != ACL_MEM_MALLOC_HUGE1G_ONLY;
  if (result.peer && !product.peer_access)
    return fail(RuleId::ProductSupport, "policy", "{} has no memory that other devices reach (policy {})",
                product.soc_name, policy);
  if (call == Call::WithConfig || call == Call::TaskScheduler)
    result.read_only = (policy & ACL_MEM_ACCESS_USER_SPACE_READONLY) != 0;
  const Pages first = bytes > kHugeAbove ? Pages::Huge : Pages::Normal;
  // Through the plain calls a request for peer memory ends in normal pages.
  const bool peer_is_normal = result.peer && call != Call::WithConfig && call != Call::TaskScheduler;
  switch (known) {
    case ACL_MEM_MALLOC_HUGE1G_ONLY:
    case ACL_MEM_MALLOC_HUGE1G_ONLY_P2P:
      if (!product.giant_pages)
        return fail(RuleId::ProductSupport, "policy", "{} has no 1 GiB pages (policy {})", product.soc_name,
                    policy);
      result.pages = Pages::Giant;
      break;
    case ACL_MEM_MALLOC_HUGE_ONLY:
    case ACL_MEM_MALLOC_HUGE_ONLY_P2P:
      result.pages = peer_is_normal ? Pages::Normal : Pages::Huge;
      break;
    case ACL_MEM_MALLOC_NORMAL_ONLY:
    case ACL_MEM_MALLOC_NORMAL_ONLY_P2P:
      result.pages = Pages::Normal;
      break;
    default:
      result.pages = peer_is_normal ? Pages::Normal : first;
      result.falls_back = result.pages == Pages::Huge;
  }
  if (call == Call::Media) result.pages = Pages::Huge;
  return result;
}

aclrtMemAttr attribute_of(const BlockRequest& wanted, const device::Product& product) {
  if (wanted.peer) {
    if (wanted.pages == Pages::Giant) return ACL_MEM_P2P_HUGE1G;
    return wanted.pages == Pages::Huge ? ACL_MEM_P2P_HUGE : ACL_MEM_P2P_NORMAL;
  }
  if (wanted.pages == Pages::Giant) return ACL_HBM_MEM_HUGE1G;
  if (product.has_hbm) return wanted.pages == Pages::Huge ? ACL_HBM_MEM_HUGE : ACL_HBM_MEM_NORMAL;
  return wanted.pages == Pages::Huge ? ACL_DDR_MEM_HUGE : ACL_DDR_MEM_NORMAL;
}

}  // namespace plat::malloc
