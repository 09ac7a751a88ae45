// SPDX-License-Identifier: Apache-2.0
// The buffers of queues, which only programs on the device have.
#include <fmt/format.h>

#include <cstring>

#include "support/object_play.h"

namespace plat::test {

uint64_t ObjectPlayer::some_buffer(Choices& choices) const {
  return some_key(buffers_, gone_buffer_, choices);
}

bool ObjectPlayer::buffer_allocate(Choices& choices) {
  if (buffers_.size() > 16) return true;
  const uint64_t size = choices.one_in(8) ? choices.among<uint64_t>({0, (uint64_t{4} << 30) + 1, UINT64_MAX})
                                          : 1 + 100 * choices.below(100);
  aclrtMbuf made = nullptr;
  const std::optional<RuleId> wanted = size == 0                  ? std::optional(RuleId::ArgZeroSize)
                                       : size > uint64_t{4} << 30 ? std::optional(RuleId::MbufRange)
                                                                  : std::nullopt;
  if (!agree(fmt::format("aclrtAllocBuf({})", size), wanted, aclrtAllocBuf(&made, size))) return false;
  if (wanted) return true;
  if (number(made) == gone_buffer_) return differ("a handle came twice");
  return buffers_.emplace(number(made), Buffer{next_memory_++, size}).second || differ("a handle came twice");
}

bool ObjectPlayer::buffer_use(Choices& choices) {
  const uint64_t handle = some_buffer(choices);
  const auto found = buffers_.find(handle);
  const std::optional<RuleId> unknown = handle == 0               ? std::optional(RuleId::ArgNull)
                                        : found == buffers_.end() ? std::optional(RuleId::MbufHandle)
                                                                  : std::nullopt;
  size_t size = 0;
  char user = 0;
  switch (choices.below(5)) {
    case 0: {
      void* data = nullptr;
      if (!agree("aclrtGetBufData", unknown, aclrtGetBufData(pointer(handle), &data, &size))) return false;
      return unknown || size == found->second.size || differ("another size");
    }
    case 1: {
      const uint64_t length = choices.below(256) * 40;
      const std::optional<RuleId> wanted = unknown                       ? unknown
                                           : length > found->second.size ? std::optional(RuleId::MbufRange)
                                                                         : std::nullopt;
      if (!agree("aclrtSetBufDataLen", wanted, aclrtSetBufDataLen(pointer(handle), length))) return false;
      if (!wanted) found->second.length = length;
      return true;
    }
    case 2:
      if (!agree("aclrtGetBufDataLen", unknown, aclrtGetBufDataLen(pointer(handle), &size))) return false;
      return unknown || size == found->second.length || differ("another length");
    case 3: {
      const size_t offset = choices.one_in(4) ? 96 : 95;
      user = static_cast<char>(choices.below(256));
      const std::optional<RuleId> wanted = offset == 96 ? std::optional(RuleId::MbufUserData) : unknown;
      if (!agree("aclrtSetBufUserData", wanted, aclrtSetBufUserData(pointer(handle), &user, 1, offset)))
        return false;
      if (!wanted) found->second.user = user;
      return true;
    }
    default:
      if (!agree("aclrtGetBufUserData", unknown, aclrtGetBufUserData(pointer(handle), &user, 1, 95)))
        return false;
      return unknown || user == found->second.user || differ("another byte of the user's");
  }
}

bool ObjectPlayer::buffer_chain(Choices& choices) {
  const uint64_t handle = some_buffer(choices);
  const auto found = buffers_.find(handle);
  const std::optional<RuleId> unknown = handle == 0               ? std::optional(RuleId::ArgNull)
                                        : found == buffers_.end() ? std::optional(RuleId::MbufHandle)
                                                                  : std::nullopt;
  const std::optional<RuleId> no_head = unknown                   ? unknown
                                        : found->second.head != 0 ? std::optional(RuleId::MbufChain)
                                                                  : std::nullopt;
  switch (choices.below(4)) {
    case 0: {
      const uint64_t other = some_buffer(choices);
      const auto next = buffers_.find(other);
      const std::optional<RuleId> wanted =
          handle == 0 || other == 0 ? std::optional(RuleId::ArgNull)
          : unknown                 ? unknown
          : next == buffers_.end()  ? std::optional(RuleId::MbufHandle)
          : no_head || other == handle || next->second.head != 0 || !next->second.followers.empty()
              ? std::optional(RuleId::MbufChain)
              : std::nullopt;
      if (!agree("aclrtAppendBufChain", wanted, aclrtAppendBufChain(pointer(handle), pointer(other))))
        return false;
      if (wanted) return true;
      found->second.followers.push_back(other);
      next->second.head = handle;
      return true;
    }
    case 1: {
      const uint32_t index = choices.below(4);
      uint32_t count = 0;
      aclrtMbuf at = nullptr;
      if (!agree("aclrtGetBufChainNum", no_head, aclrtGetBufChainNum(pointer(handle), &count))) return false;
      if (!no_head && count != found->second.followers.size() + 1) return differ("another number of buffers");
      const std::optional<RuleId> wanted = no_head          ? no_head
                                           : index >= count ? std::optional(RuleId::MbufRange)
                                                            : std::nullopt;
      if (!agree("aclrtGetBufFromChain", wanted, aclrtGetBufFromChain(pointer(handle), index, &at)))
        return false;
      const bool right = wanted || number(at) == (index == 0 ? handle : found->second.followers[index - 1]);
      return right || differ("another buffer of the chain");
    }
    case 2: {
      if (buffers_.size() > 16) return true;
      aclrtMbuf copy = nullptr;
      if (!agree("aclrtCopyBufRef", unknown, aclrtCopyBufRef(pointer(handle), &copy))) return false;
      if (unknown) return true;
      Buffer made = found->second;
      made.followers.clear();
      made.head = 0;
      for (uint32_t i = 1; i <= found->second.followers.size(); ++i) {
        aclrtMbuf follower = nullptr;
        if (aclrtGetBufFromChain(copy, i, &follower) != 0) return differ("the copied chain is shorter");
        Buffer next = buffers_.at(found->second.followers[i - 1]);
        next.head = number(copy);
        made.followers.push_back(number(follower));
        buffers_.emplace(number(follower), next);
      }
      buffers_.emplace(number(copy), made);
      return true;
    }
    default: {
      if (!agree("aclrtFreeBuf", no_head, aclrtFreeBuf(pointer(handle)))) return false;
      if (no_head) return true;
      for (const uint64_t follower : found->second.followers) buffers_.erase(follower);
      buffers_.erase(handle);
      gone_buffer_ = handle;
      return true;
    }
  }
}

}  // namespace plat::test
