// Copies and fills: what they touch, in which order, and which bytes they write.
#include "inspect/model/model.h"

namespace plat::inspect {

namespace {

// aclrtMemcpyKind: what each side must be.
constexpr bool writes_device(uint64_t kind) { return kind == 1 || kind == 3 || kind >= 5; }
constexpr bool reads_device(uint64_t kind) { return kind == 2 || kind == 3 || kind == 6 || kind == 7; }

constexpr uint64_t kValueBytes = 8;
constexpr uint64_t kRowsMax = 5'242'880;  // more is refused

void note_use(Object& object, Position position, const Event& event) {
  for (Use& use : object.uses)
    if (use.position.actor == position.actor) {
      use = {position, Site::of(event)};
      return;
    }
  object.uses.push_back({position, Site::of(event)});
}

}  // namespace

bool Model::is_host_memory(uint64_t address) const {
  Ranges::Range range;
  if (memory_.find(address, range)) {
    const Kind kind = object(range.value).kind;
    return kind == Kind::HostBlock || kind == Kind::HostRegistration;
  }
  return !reservations_.find(address, range) && !is_view(address);
}

void Model::tell(Access access, Position position) {
  if (access.size == 0) return;
  if (access.address + access.size < access.address) access.size = 0 - access.address;
  listener_.access(access);
  if (!access.event.succeeded()) return;
  Ranges::Range range;
  if (memory_.find(access.address, range)) note_use(at(range.value), position, access.event);
  for (auto& [name, layer] : layers_)
    if (layer.regions.find(access.address, range)) {
      note_use(at(range.value), position, access.event);
      at(range.value).inherited.clear();  // it was looked at
    }
}

void Model::set_written(uint64_t address, uint64_t size, uint64_t event) {
  for_each_storage(address, size, [&](const Written& written, uint64_t offset, uint64_t, uint64_t length) {
    const_cast<Written&>(written).assign(offset, offset + length, event);
  });
}

// Bytes that were never written stay so when they are copied: nobody has looked at them yet.
void Model::copy_written(uint64_t target, uint64_t source, uint64_t size, uint64_t event) {
  if (is_opaque(source)) return set_written(target, size, event);
  std::vector<std::pair<uint64_t, uint64_t>> parts;
  for_each_written(source, size, [&](uint64_t start, uint64_t end, uint64_t) {
    parts.emplace_back(start - source, end - start);
  });
  for_each_storage(target, size, [&](const Written& written, uint64_t offset, uint64_t, uint64_t length) {
    const_cast<Written&>(written).erase(offset, offset + length);
  });
  for (const auto& [offset, length] : parts) set_written(target + offset, length, event);
}

void Model::copy(const Event& event, uint64_t target, uint64_t source, uint64_t size, uint64_t kind,
                 bool asynchronous, uint64_t stream) {
  if (size == 0) return;
  const uint32_t actor = asynchronous ? actor_of(event, stream) : Order::kHost;
  const Position position = event.succeeded() ? order_.act(actor) : Position{};
  const bool to_host = kind == 2 || (kind == 4 && is_host_memory(target));
  Access access{event, false, source, size, reads_device(kind), to_host, asynchronous, actor, stream};
  tell(access, position);
  access.write = true;
  access.address = target;
  access.on_device = writes_device(kind);
  tell(access, position);
  if (!event.succeeded()) return;
  copy_written(target, source, size, event.number);
  // With ordinary host memory the call returns when the copy is done.
  Ranges::Range range;
  const bool pageable = (!memory_.find(source, range) && is_host_memory(source)) ||
                        (!memory_.find(target, range) && is_host_memory(target));
  if (asynchronous && pageable) order_.join(Order::kHost, order_.clock_of(actor));
}

void Model::copy_2d(const Event& event, bool asynchronous) {
  const uint64_t width = event[4], height = event[5];
  if (width == 0 || height == 0 || height > kRowsMax) return;
  const uint64_t target_span = (height - 1) * event[1] + width;
  const uint64_t source_span = (height - 1) * event[3] + width;
  const uint64_t stream = asynchronous ? event[7] : 0;
  const uint32_t actor = asynchronous ? actor_of(event, stream) : Order::kHost;
  const Position position = event.succeeded() ? order_.act(actor) : Position{};
  // Between the rows nothing is read, so nothing can be said of bytes that were not written.
  tell({event, false, event[2], source_span, reads_device(event[6]), false, asynchronous, actor, stream},
       position);
  tell({event, true, event[0], target_span, writes_device(event[6]), false, asynchronous, actor, stream},
       position);
  if (!event.succeeded()) return;
  for (uint64_t row = 0; row < height; ++row)
    copy_written(event[0] + row * event[1], event[2] + row * event[3], width, event.number);
}

void Model::fill(const Event& event, uint64_t address, uint64_t size, bool asynchronous, uint64_t stream) {
  if (size == 0) return;
  const uint32_t actor = asynchronous ? actor_of(event, stream) : Order::kHost;
  const Position position = event.succeeded() ? order_.act(actor) : Position{};
  tell({event, true, address, size, true, false, asynchronous, actor, stream}, position);
  if (event.succeeded()) set_written(address, size, event.number);
}

void Model::apply_copy(const Event& event) {
  switch (event.op) {
    case Op::aclrtMemcpy:
      return copy(event, event[0], event[1], event[2], event[4], false, 0);
    case Op::aclrtMemcpyAsync:
    case Op::aclrtMemcpyAsyncWithCondition:
      return copy(event, event[0], event[1], event[2], event[4], true, event[5]);
    case Op::MemcpyBatchEntry:
      return copy(event, event[0], event[1], event[2], event[4], event[5] != 0, event[5]);
    case Op::aclrtMemcpy2d:
      return copy_2d(event, false);
    case Op::aclrtMemcpy2dAsync:
      return copy_2d(event, true);
    case Op::aclrtSetMemcpyDesc:
      if (event.succeeded()) descriptors_[event[0]] = {event[1], event[2], event[3]};
      return;
    case Op::aclrtMemcpyAsyncWithDesc:
      if (const auto found = descriptors_.find(event[0]); found != descriptors_.end())
        copy(event, found->second.target, found->second.source, found->second.size, 3, true, event[1]);
      return;
    case Op::aclrtMemset:
    case Op::aclrtMemsetD32:
      return fill(event, event[0], event[1], false, 0);
    case Op::aclrtMemsetAsync:
    case Op::aclrtMemsetD32Async:
      return fill(event, event[0], event[1], true, event[3]);
    case Op::aclrtValueWrite:
      fill(event, event[0], kValueBytes, true, event[1]);
      if (event.succeeded()) value_writes_[event[0]].join(order_.clock_of(actor_of(event, event[1])));
      return;
    case Op::aclrtValueWait: {
      const uint32_t actor = actor_of(event, event[1]);
      const Position position = event.succeeded() ? order_.act(actor) : Position{};
      tell({event, false, event[0], kValueBytes, true, false, true, actor, event[1]}, position);
      if (event.succeeded()) order_.join(actor, value_writes_[event[0]]);
      return;
    }
    default:
      return;
  }
}

}  // namespace plat::inspect
