// SPDX-License-Identifier: Apache-2.0
// Blocks, and what happens to everything when a device is reset.
#include "inspect/model/memory_book.h"

#include <fmt/format.h>

#include "acl/acl.h"
#include "base/units.h"

namespace plat::inspect {

namespace {

constexpr uint64_t kUnit = 32;
constexpr uint64_t kSizeMax = 1_TiB;
constexpr uint64_t kManagedPage = 2_MiB;
// The block of another process has a size that only that process knows.
constexpr uint64_t kImportReach = 64_GiB;

bool is_media(Op op) {
  return op == Op::acldvppMalloc || op == Op::acldvppMallocWithCfg || op == Op::hi_mpi_dvpp_malloc;
}
bool frees_media(Op op) { return op == Op::acldvppFree || op == Op::hi_mpi_dvpp_free; }

// With what the device adds at the end.
uint64_t usable_size(const Event& event) {
  if (event.size() > kSizeMax) return event.size();
  const uint64_t rounded = align_up(event.size(), kUnit);
  const bool giga = event.policy() == ACL_MEM_MALLOC_HUGE1G_ONLY ||
                    event.policy() == ACL_MEM_MALLOC_HUGE1G_ONLY_P2P;  // no padding
  const bool padded =
      is_media(event.op) || ((event.op == Op::aclrtMalloc || event.op == Op::aclrtMallocCached) && !giga);
  return padded ? rounded + kUnit : rounded;
}

}  // namespace

void MemoryBook::allocate(const Event& event, Kind kind, uint64_t usable) {
  if (!event.succeeded() || event.address() == 0 || event.size() == 0) return;
  Object& block = registry_.add(event, kind, event.address(), event.size());
  block.usable = usable;
  // The host writes to it as it likes.
  block.opaque = kind == Kind::HostBlock || kind == Kind::ManagedBlock;
  if (kind == Kind::PoolBlock) {
    block.stream = event.stream();
    block.allocated = streams_.order().act(streams_.actor_of(event, event.stream()));
  }
  memory_.assign(block.start, block.end(), block.id);
  freed_memory_.erase(block.start, block.start + usable);
  registry_.listener().born(block);
}

// Whether work of other streams may still be using what goes now.
void MemoryBook::check_in_flight(const Event& event, const Object& object, uint32_t actor) {
  for (const Use& use : object.uses) {
    if (streams_.order().is_before(use.position, actor)) continue;
    registry_.problem(
        RuleId::OrderFreeInFlight, event,
        fmt::format("{} of event {} was queued on another stream and nothing says that it is over",
                    info_of(use.site.op).name, use.site.event),
        &object);
    return;
  }
}

// Its bytes are no longer there for anybody.
void MemoryBook::end_memory(const Event& event, Object& object) {
  goes_(event, object);
  memory_.erase(object.start, object.end());
  freed_memory_.assign(object.start, object.end(), object.id);
  registry_.end(event, object);
}

void MemoryBook::free_block(const Event& event, Kind kind) {
  const bool asynchronous = event.op == Op::aclrtMemPoolFreeAsync;
  Ranges::Range range;
  if (event.address() == 0) return;  // the device says so
  if (!memory_.find(event.address(), range)) {
    if (freed_memory_.find(event.address(), range) && object(range.value).start == event.address()) {
      registry_.problem(RuleId::GivenBackTwice, event,
                        fmt::format("{:#x} was given back before", event.address()), &object(range.value));
    } else {
      registry_.problem(RuleId::GivenBackUnknown, event,
                        fmt::format("nothing that lives starts at {:#x}", event.address()));
    }
    return;
  }
  Object& block = at(range.value);
  if (block.start != event.address() || block.kind == Kind::Mapping || block.kind == Kind::Import ||
      block.kind == Kind::HostRegistration) {
    registry_.problem(RuleId::GivenBackUnknown, event,
                      fmt::format("{:#x} is {} bytes into a {}", event.address(),
                                  event.address() - block.start, name_of(block.kind)),
                      &block);
    return;
  }
  const bool wants_host = kind == Kind::HostBlock;
  const bool has_family = block.kind == Kind::DeviceBlock || block.kind == Kind::ManagedBlock;
  if (wants_host != (block.kind == Kind::HostBlock) ||
      (has_family && !asynchronous && is_media(block.born.op) != frees_media(event.op))) {
    registry_.problem(RuleId::GivenBackFamily, event,
                      fmt::format("{:#x} comes from {}", event.address(), info_of(block.born.op).name),
                      &block);
  }
  if (!event.succeeded()) return;
  if (asynchronous) {
    const uint32_t actor = streams_.actor_of(event, event.stream());
    streams_.order().act(actor);
    check_in_flight(event, block, actor);
  } else if (event.op == Op::aclrtFreeWithDevSync || event.op == Op::aclrtFreeHostWithDevSync) {
    streams_.wait_for_everything();
  } else {
    check_in_flight(event, block, Order::kHost);
  }
  end_memory(event, block);
}

void MemoryBook::host_register(const Event& event) {
  if (!event.succeeded()) return;
  Object& block = registry_.add(event, Kind::HostRegistration, event.address(), event.size());
  block.opaque = true;
  memory_.assign(block.start, block.end(), block.id);
  if (event.op == Op::aclrtHostRegister && event.view() != 0 && event.view() != event.address()) {
    block.view = event.view();
    views_.assign(block.view, block.view + block.size, 1);
  }
  registry_.listener().born(block);
}

void MemoryBook::host_view(const Event& event) {
  Ranges::Range range;
  if (!event.succeeded() || !memory_.find(event.address(), range)) return;
  if (event.view() == event.address()) return;
  Object& block = at(range.value);
  block.view = event.view() - (event.address() - block.start);
  views_.assign(block.view, block.view + block.size, 1);
}

void MemoryBook::import_key(const Event& event) {
  if (!event.succeeded()) return;
  Object& block = registry_.add(event, Kind::Import, event.address(), 0);
  block.name = event.text;
  imports_[event.text] = block.id;
  views_.assign(event.address(), event.address() + kImportReach, 1);
  registry_.listener().born(block);
}

void MemoryBook::close_key(const Event& event) {
  const auto found = imports_.find(event.text);
  if (!event.succeeded() || found == imports_.end()) return;
  Object& block = at(found->second);
  views_.erase(block.start, block.start + kImportReach);
  imports_.erase(found);
  registry_.end(event, block);
}

void MemoryBook::reset_device(const Event& event, std::optional<int32_t> device) {
  for (const ObjectId id : registry_.objects().living()) {
    Object& object = at(id);
    const bool told =
        object.kind == Kind::Heap || object.kind == Kind::Region;  // by the program, not the device
    const bool host = object.kind == Kind::HostBlock || object.kind == Kind::HostRegistration ||
                      object.kind == Kind::Reservation || object.kind == Kind::ManagedBlock ||
                      object.kind == Kind::Mbuf;
    const bool stays = device && (host || object.device != *device);
    if (object.kind == Kind::Heap && !stays) registry_.listener().dropped(object, event);
    if (told || stays) continue;
    registry_.listener().dropped(object, event);
    if (object.kind == Kind::Reservation) reservations_.erase(object.start, object.end());
    Ranges::Range range;
    if (memory_.find(object.start, range) && range.value == object.id) {
      memory_.erase(object.start, object.end());
      freed_memory_.assign(object.start, object.end(), object.id);
    }
    registry_.end(event, object);
  }
  streams_.wait_for_everything();
}

void MemoryBook::apply(const Event& event) {
  switch (event.op) {
    case Op::aclrtMalloc:
    case Op::aclrtMallocAlign32:
    case Op::aclrtMallocCached:
    case Op::aclrtMallocWithCfg:
    case Op::aclrtMallocForTaskScheduler:
    case Op::acldvppMalloc:
    case Op::acldvppMallocWithCfg:
    case Op::hi_mpi_dvpp_malloc:
      return allocate(event, Kind::DeviceBlock, usable_size(event));
    case Op::aclrtMallocHost:
    case Op::aclrtMallocHostWithCfg:
      return allocate(event, Kind::HostBlock, usable_size(event));
    case Op::aclrtMemPoolMallocAsync:
      return allocate(event, Kind::PoolBlock, event.size());
    case Op::aclrtMemAllocManaged:
      return allocate(event, Kind::ManagedBlock, align_up(event.size(), kManagedPage));
    case Op::aclrtFree:
    case Op::aclrtFreeWithDevSync:
    case Op::acldvppFree:
    case Op::hi_mpi_dvpp_free:
    case Op::aclrtMemPoolFreeAsync:
      return free_block(event, Kind::DeviceBlock);
    case Op::aclrtFreeHost:
    case Op::aclrtFreeHostWithDevSync:
      return free_block(event, Kind::HostBlock);
    case Op::aclrtHostRegister:
    case Op::aclrtHostRegisterV2:
      return host_register(event);
    case Op::aclrtHostGetDevicePointer:
      return host_view(event);
    case Op::aclrtHostUnregister: {
      Ranges::Range range;
      if (event.succeeded() && memory_.find(event.address(), range) && range.start == event.address())
        end_memory(event, at(range.value));
      return;
    }
    case Op::aclrtAllocBuf:
      return allocate_mbuf(event);
    case Op::aclrtCopyBufRef:
      return copy_mbuf(event);
    case Op::aclrtFreeBuf:
      return free_mbuf(event);
    case Op::aclrtAppendBufChain:
      return append_mbuf(event);
    case Op::aclrtSnapShotProcessLock:
      // It returns when all work has run.
      if (event.succeeded()) streams_.wait_for_everything();
      return;
    case Op::aclrtSnapShotProcessBackup:
      return back_up(event);
    case Op::aclrtSnapShotProcessRestore:
      return restore(event);
    case Op::aclrtSnapShotProcessUnlock:
      if (event.succeeded()) backup_.clear();
      return;
    case Op::aclrtIpcMemImportByKey:
      return import_key(event);
    case Op::aclrtIpcMemClose:
      return close_key(event);
    case Op::aclrtIpcMemGetExportKey: {
      Ranges::Range range;
      if (event.succeeded() && memory_.find(event.address(), range)) at(range.value).opaque = true;
      return;
    }
    case Op::aclrtSetDevice:
      if (!event.succeeded()) return;
      registry_.set_device(event.thread, static_cast<int32_t>(event.device()));
      ++set_counts_[static_cast<int32_t>(event.device())];
      return;
    case Op::aclrtResetDevice:
    case Op::aclrtResetDeviceForce: {
      const auto device = static_cast<int32_t>(event.device());
      if (!event.succeeded() || set_counts_[device] == 0) return;
      if (event.op == Op::aclrtResetDeviceForce || --set_counts_[device] == 0) {
        set_counts_[device] = 0;
        reset_device(event, device);
      }
      return;
    }
    case Op::aclFinalizeReference:
      if (event.references() != 0) return;
      [[fallthrough]];
    case Op::aclFinalize:
      if (event.succeeded()) reset_device(event, std::nullopt);
      return;
    default:
      return;
  }
}

}  // namespace plat::inspect
