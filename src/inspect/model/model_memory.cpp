// Blocks, and what happens to everything when a device is reset.
#include <fmt/format.h>

#include "base/units.h"
#include "inspect/model/model.h"

namespace plat::inspect {

namespace {

constexpr uint64_t kUnit = 32;
constexpr uint64_t kGigaPages = 6;  // ACL_MEM_MALLOC_HUGE1G_ONLY and its P2P form: no padding
constexpr uint64_t kSizeMax = 1_TiB;
// The block of another process has a size that only that process knows.
constexpr uint64_t kImportReach = 64_GiB;

bool is_media(Op op) {
  return op == Op::acldvppMalloc || op == Op::acldvppMallocWithCfg || op == Op::hi_mpi_dvpp_malloc;
}
bool frees_media(Op op) { return op == Op::acldvppFree || op == Op::hi_mpi_dvpp_free; }

}  // namespace

uint64_t Model::usable_size(const Event& event) const {
  if (event[1] > kSizeMax) return event[1];
  const uint64_t rounded = align_up(event[1], kUnit);
  const bool giga = event[2] == kGigaPages || event[2] == kGigaPages + 1;
  const bool padded =
      is_media(event.op) || ((event.op == Op::aclrtMalloc || event.op == Op::aclrtMallocCached) && !giga);
  return padded ? rounded + kUnit : rounded;
}

void Model::allocate(const Event& event, Kind kind, uint64_t usable) {
  if (!event.succeeded() || event[0] == 0 || event[1] == 0) return;
  Object& block = add(event, kind, event[0], event[1]);
  block.usable = usable;
  block.opaque = kind == Kind::HostBlock;  // the host writes to it as it likes
  if (kind == Kind::PoolBlock) {
    block.stream = event[3];
    block.allocated = order_.act(actor_of(event, event[3]));
  }
  memory_.assign(block.start, block.end(), block.id);
  freed_memory_.erase(block.start, block.start + usable);
  listener_.born(block);
}

// Its bytes are no longer there for anybody.
void Model::end_memory(const Event& event, Object& object) {
  memory_goes(event, object);
  memory_.erase(object.start, object.end());
  freed_memory_.assign(object.start, object.end(), object.id);
  end(event, object);
}

void Model::free_block(const Event& event, Kind kind) {
  const bool asynchronous = event.op == Op::aclrtMemPoolFreeAsync;
  Ranges::Range range;
  if (event[0] == 0) return;  // the device says so
  if (!memory_.find(event[0], range)) {
    if (freed_memory_.find(event[0], range) && object(range.value).start == event[0]) {
      problem(RuleId::FreeTwice, event, fmt::format("{:#x} was given back before", event[0]),
              &object(range.value));
    } else {
      problem(RuleId::FreeUnknown, event, fmt::format("nothing that lives starts at {:#x}", event[0]));
    }
    return;
  }
  Object& block = at(range.value);
  if (block.start != event[0] || block.kind == Kind::Mapping || block.kind == Kind::Import ||
      block.kind == Kind::HostRegistration) {
    problem(RuleId::FreeUnknown, event,
            fmt::format("{:#x} is {} bytes into a {}", event[0], event[0] - block.start, name_of(block.kind)),
            &block);
    return;
  }
  const bool wants_host = kind == Kind::HostBlock;
  if (wants_host != (block.kind == Kind::HostBlock) || (block.kind == Kind::DeviceBlock && !asynchronous &&
                                                        is_media(block.born.op) != frees_media(event.op))) {
    problem(RuleId::FreeFamily, event,
            fmt::format("{:#x} comes from {}", event[0], info_of(block.born.op).name), &block);
  }
  if (!event.succeeded()) return;
  if (asynchronous) {
    const uint32_t actor = actor_of(event, event[1]);
    order_.act(actor);
    check_in_flight(event, block, actor);
  } else if (event.op == Op::aclrtFreeWithDevSync || event.op == Op::aclrtFreeHostWithDevSync) {
    order_.join(Order::kHost, order_.everything());
  } else {
    check_in_flight(event, block, Order::kHost);
  }
  end_memory(event, block);
}

void Model::host_register(const Event& event) {
  if (!event.succeeded()) return;
  Object& block = add(event, Kind::HostRegistration, event[0], event[1]);
  block.opaque = true;
  memory_.assign(block.start, block.end(), block.id);
  if (event.op == Op::aclrtHostRegister && event[3] != 0 && event[3] != event[0]) {
    block.view = event[3];
    views_.assign(block.view, block.view + block.size, 1);
  }
  listener_.born(block);
}

void Model::host_view(const Event& event) {
  Ranges::Range range;
  if (!event.succeeded() || !memory_.find(event[0], range)) return;
  if (event[1] == event[0]) return;
  Object& block = at(range.value);
  block.view = event[1] - (event[0] - block.start);
  views_.assign(block.view, block.view + block.size, 1);
}

void Model::reset_device(const Event& event, std::optional<int32_t> device) {
  for (const ObjectId id : objects_.living()) {
    Object& object = at(id);
    const bool told =
        object.kind == Kind::Heap || object.kind == Kind::Region;  // by the program, not the device
    const bool host = object.kind == Kind::HostBlock || object.kind == Kind::HostRegistration ||
                      object.kind == Kind::Reservation;
    if (told || (device && (host || object.device != *device))) continue;
    listener_.dropped(object, event);
    if (object.kind == Kind::Reservation) reservations_.erase(object.start, object.end());
    Ranges::Range range;
    if (memory_.find(object.start, range) && range.value == object.id) {
      memory_.erase(object.start, object.end());
      freed_memory_.assign(object.start, object.end(), object.id);
    }
    end(event, object);
  }
  order_.join(Order::kHost, order_.everything());
}

void Model::apply_memory(const Event& event) {
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
      return allocate(event, Kind::PoolBlock, event[1]);
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
      if (event.succeeded() && memory_.find(event[0], range) && range.start == event[0])
        end_memory(event, at(range.value));
      return;
    }
    case Op::aclrtIpcMemImportByKey: {
      if (!event.succeeded()) return;
      Object& block = add(event, Kind::Import, event[0], 0);
      block.name = event.text;
      imports_[event.text] = block.id;
      views_.assign(event[0], event[0] + kImportReach, 1);
      listener_.born(block);
      return;
    }
    case Op::aclrtIpcMemClose: {
      const auto found = imports_.find(event.text);
      if (!event.succeeded() || found == imports_.end()) return;
      Object& block = at(found->second);
      views_.erase(block.start, block.start + kImportReach);
      imports_.erase(found);
      end(event, block);
      return;
    }
    case Op::aclrtIpcMemGetExportKey: {
      Ranges::Range range;
      if (event.succeeded() && memory_.find(event[0], range)) at(range.value).opaque = true;
      return;
    }
    case Op::aclrtSetDevice:
      if (!event.succeeded()) return;
      devices_[event.thread] = static_cast<int32_t>(event[0]);
      ++set_counts_[static_cast<int32_t>(event[0])];
      return;
    case Op::aclrtResetDevice:
    case Op::aclrtResetDeviceForce: {
      const auto device = static_cast<int32_t>(event[0]);
      if (!event.succeeded() || set_counts_[device] == 0) return;
      if (event.op == Op::aclrtResetDeviceForce || --set_counts_[device] == 0) {
        set_counts_[device] = 0;
        reset_device(event, device);
      }
      return;
    }
    case Op::aclFinalizeReference:
      if (event[0] != 0) return;
      [[fallthrough]];
    case Op::aclFinalize:
      if (event.succeeded()) reset_device(event, std::nullopt);
      return;
    default:
      return;
  }
}

}  // namespace plat::inspect
