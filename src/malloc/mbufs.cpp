// SPDX-License-Identifier: Apache-2.0
#include "malloc/mbufs.h"

#include <cstring>

#include "base/text.h"
#include "rules/rules.h"

namespace plat::malloc {

namespace {

constexpr const char* kFreeCall = "aclrtFreeBuf";
// Odd, so that no handle is the address of anything.
constexpr Mbufs::Handle kFirst = 0x4D42'0001;

}  // namespace

Result<const Mbufs::Buffer*> Mbufs::find(Handle buffer, const char* parameter) const {
  const auto found = buffers_.find(buffer);
  if (found == buffers_.end())
    return fail(RuleId::MbufHandle, parameter, "{:#x} is no buffer that lives", buffer);
  return &found->second;
}

Result<Mbufs::Buffer*> Mbufs::find(Handle buffer, const char* parameter) {
  PLAT_ASSIGN(found, static_cast<const Mbufs&>(*this).find(buffer, parameter));
  return const_cast<Buffer*>(found);
}

Mbufs::Handle Mbufs::add(Buffer buffer) {
  newest_ = newest_ == 0 ? kFirst : newest_ + 2;
  buffers_.emplace(newest_, std::move(buffer));
  return newest_;
}

Result<Mbufs::Handle> Mbufs::allocate(uint64_t size_bytes) {
  if (size_bytes > kLargestMbuf)
    return fail(RuleId::MbufRange, "size", "size is {}, a buffer has at most {}", format_bytes(size_bytes),
                format_bytes(kLargestMbuf));
  PLAT_ASSIGN(start, hosts_.allocate(size_bytes));
  const std::lock_guard lock(mutex_);
  Buffer buffer;
  buffer.memory = std::make_shared<Memory>(Memory{{start, size_bytes}});
  return add(std::move(buffer));
}

// The buffer is there.
Result<> Mbufs::drop(Handle buffer) {
  const auto found = buffers_.find(buffer);
  Memory& memory = *found->second.memory;
  if (memory.references == 1) PLAT_TRY(hosts_.free(memory.data.start, kFreeCall));
  --memory.references;
  buffers_.erase(found);
  return {};
}

Result<> Mbufs::free(Handle buffer) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  if (found->head != 0)
    return fail(RuleId::MbufChain, "buf", "{:#x} is in the chain of {:#x}", buffer, found->head);
  while (!found->followers.empty()) {
    PLAT_TRY(drop(found->followers.back()));
    found->followers.pop_back();
  }
  return drop(buffer);
}

void Mbufs::free_all() {
  const std::lock_guard lock(mutex_);
  // What a copy uses at this moment stays with the host's heap.
  for (auto& [handle, buffer] : buffers_)
    if (--buffer.memory->references == 0) (void)hosts_.free(buffer.memory->data.start, kFreeCall);
  buffers_.clear();
}

Result<Mbufs::Data> Mbufs::data(Handle buffer) const {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  return found->memory->data;
}

Result<> Mbufs::set_length(Handle buffer, uint64_t length) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  if (length > found->memory->data.size_bytes)
    return fail(RuleId::MbufRange, "len", "len is {}, the buffer has {} bytes", length,
                found->memory->data.size_bytes);
  found->length = length;
  return {};
}

Result<uint64_t> Mbufs::length(Handle buffer) const {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  return found->length;
}

Result<> Mbufs::read_user(Handle buffer, std::span<std::byte> out, size_t offset) const {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  std::memcpy(out.data(), found->user.data() + offset, out.size());
  return {};
}

Result<> Mbufs::write_user(Handle buffer, std::span<const std::byte> in, size_t offset) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  std::memcpy(found->user.data() + offset, in.data(), in.size());
  return {};
}

Result<Mbufs::Handle> Mbufs::copy_reference(Handle buffer) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(buffer, "buf"));
  const auto copy = [&](const Buffer& of) {
    Buffer made = of;
    made.followers.clear();
    made.head = 0;
    ++made.memory->references;
    return add(std::move(made));
  };
  const Handle made = copy(*found);
  for (const Handle follower : found->followers) {
    const Handle next = copy(buffers_.at(follower));
    buffers_.at(next).head = made;
    buffers_.at(made).followers.push_back(next);
  }
  return made;
}

Result<> Mbufs::append(Handle head, Handle buffer) {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(first, find(head, "headBuf"));
  PLAT_ASSIGN(next, find(buffer, "buf"));
  if (first->head != 0)
    return fail(RuleId::MbufChain, "headBuf", "{:#x} is in the chain of {:#x}", head, first->head);
  if (head == buffer || next->head != 0 || !next->followers.empty())
    return fail(RuleId::MbufChain, "buf", "{:#x} {}", buffer,
                head == buffer             ? "is the head itself"
                : !next->followers.empty() ? "is the head of a chain"
                                           : "is in a chain already");
  first->followers.push_back(buffer);
  next->head = head;
  return {};
}

Result<std::vector<Mbufs::Handle>> Mbufs::chain(Handle head) const {
  const std::lock_guard lock(mutex_);
  PLAT_ASSIGN(found, find(head, "headBuf"));
  if (found->head != 0)
    return fail(RuleId::MbufChain, "headBuf", "{:#x} is in the chain of {:#x}", head, found->head);
  std::vector<Handle> all = {head};
  all.insert(all.end(), found->followers.begin(), found->followers.end());
  return all;
}

}  // namespace plat::malloc
