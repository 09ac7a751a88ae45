// SPDX-License-Identifier: Apache-2.0
#include "copy/copies.h"

#include <vector>

#include "device/report.h"
#include "os/uncancelled.h"
#include "rules/rules.h"

namespace plat::copy {

using malloc::Location;
using malloc::Side;

namespace {

// Runs a step of a queued call; an error says which call it was.
template <class Step>
Result<> queued(const char* function, const Step& step) {
  // What is only a warning names the call too.
  const report::CallScope scope(function);
  Result<> result = step();
  if (!result) [[unlikely]]
    result.error().detail += fmt::format(" (queued by {})", function);
  return result;
}

const char* name_of(Side side) {
  return side == Side::Device ? "device memory" : side == Side::Host ? "known host memory" : "other memory";
}

const char* calling() { return report::CallScope::current(); }

}  // namespace

Result<> Copies::Queue::give(stream::Task task) const {
  PLAT_TRY(streams.enqueue(stream, std::move(task)));
  return {};
}

Result<> Copies::Queue::give_poll(stream::Poll poll) const {
  PLAT_TRY(streams.enqueue_poll(stream, std::move(poll)));
  return {};
}

// -- One range

// Mapped memory of two devices.
Result<> Copies::check_sync_peer(Va target, Va source) const {
  if (report::severity(RuleId::CopyVmmPeer) == rules::Severity::Off) return {};
  const Location to = locator_.locate(target);
  const Location from = locator_.locate(source);
  const bool two_devices = to.side == Side::Device && from.side == Side::Device && to.bank != from.bank;
  const bool mapped =
      two_devices && (locator_.is_client_mapping(target) || locator_.is_client_mapping(source));
  return report::check_soft(!mapped, RuleId::CopyVmmPeer, "dst", "from device {} to device {}",
                            from.bank.value, to.bank.value);
}

Result<> Copies::now(const CopyRequest& copy, uint32_t device) const {
  PLAT_TRY(segments_.check(copy.target, copy.size_bytes, "dst"));
  PLAT_TRY(segments_.check(copy.source, copy.size_bytes, "src"));
  if (locator_.is_device_address(copy.target) && locator_.is_device_address(copy.source))
    PLAT_TRY(check_sync_peer(copy.target, copy.source));
  return mover_.copy_anew(copy.target, copy.source, copy.size_bytes, device, claim_of(copy.kind));
}

Result<Copies::Resolved> Copies::resolve(Va target, Va source, aclrtMemcpyKind kind) const {
  const Location to = locator_.locate(target);
  const Location from = locator_.locate(source);
  // A device address with nothing behind it counts as the device's: the copy itself says what is wrong.
  const Side target_side = to.is_hole ? Side::Device : to.side;
  const Side source_side = from.is_hole ? Side::Device : from.side;
  // Managed memory is on whichever side it has to be.
  const bool to_managed = locator_.is_managed(target, to);
  const bool from_managed = locator_.is_managed(source, from);
  if (to_managed || from_managed) {
    const bool to_device =
        to_managed ? from_managed || source_side != Side::Device : target_side == Side::Device;
    return Resolved{to_device ? Direction::HostToDevice : Direction::DeviceToHost,
                    target_side == Side::Unregistered || source_side == Side::Unregistered};
  }
  const bool target_known = target_side != Side::Unregistered;
  const bool source_known = source_side != Side::Unregistered;
  const bool waits = !target_known || !source_known;
  const auto truth = [](bool from_device, bool to_device) {
    return from_device ? (to_device ? Direction::DeviceToDevice : Direction::DeviceToHost)
                       : (to_device ? Direction::HostToDevice : Direction::HostToHost);
  };
  const Direction actual = truth(source_side == Side::Device, target_side == Side::Device);
  if (!waits || kind == ACL_MEMCPY_DEFAULT) return Resolved{actual, waits};
  bool accepted = false;
  if (!source_known && !target_known)
    accepted = true;
  else if (target_side == Side::Device)
    accepted = kind == ACL_MEMCPY_HOST_TO_DEVICE || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  else if (source_side == Side::Device)
    accepted = kind == ACL_MEMCPY_DEVICE_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_DEVICE;
  else if (source_side == Side::Host)
    accepted = kind == ACL_MEMCPY_HOST_TO_HOST || kind == ACL_MEMCPY_HOST_TO_DEVICE;
  else
    accepted = kind == ACL_MEMCPY_HOST_TO_HOST || kind == ACL_MEMCPY_DEVICE_TO_HOST;
  if (!accepted)
    return fail(RuleId::CopyDirection, "kind", "kind is {}, src ({:#x}) is {}, dst ({:#x}) is {}",
                static_cast<int>(kind), source.value, name_of(source_side), target.value,
                name_of(target_side));
  // Of two addresses that nobody knows the kind is believed, except that it must not be host to host.
  if (source_side != Side::Device && target_side != Side::Device && kind != ACL_MEMCPY_HOST_TO_HOST)
    return Resolved{kind == ACL_MEMCPY_HOST_TO_DEVICE ? Direction::HostToDevice : Direction::DeviceToHost,
                    true};
  return Resolved{actual, waits};
}

Result<> Copies::queue(const CopyRequest& copy, const Queue& queue) const {
  // A wrong stream is told before a wrong direction; a right one is looked up once, when work is given to it.
  const auto fault = [&](Error error) -> Result<> {
    PLAT_TRY(queue.streams.resolve(queue.stream));
    return forward(std::move(error));
  };
  const auto aligned =
      report::check_soft(is_aligned(copy.target.value | copy.source.value, 64), RuleId::CopyAligned, "dst",
                         "dst is {:#x}, src is {:#x}", copy.target.value, copy.source.value);
  if (!aligned) return fault(aligned.error());
  if (segments_.are_checked()) {
    for (const auto& [va, name] : {std::pair(copy.target, "dst"), std::pair(copy.source, "src")})
      if (const auto kept = segments_.check(va, copy.size_bytes, name); !kept) return fault(kept.error());
  }
  if (copy.kind == ACL_MEMCPY_HOST_TO_BUF_TO_DEVICE) {
    PLAT_TRY(queue.streams.resolve(queue.stream));
    return queue_staged(copy, queue);
  }
  const auto resolved = resolve(copy.target, copy.source, copy.kind);
  if (!resolved) return fault(resolved.error());
  if (resolved->direction == Direction::HostToHost)
    return fault(Error{RuleId::CopyHostToHost, "kind",
                       fmt::format("src ({:#x}) and dst ({:#x}) are both on the host", copy.source.value,
                                   copy.target.value)});
  if (copy.target == copy.source || resolved->waits) {
    PLAT_ASSIGN(stream, queue.streams.resolve(queue.stream));
    if (copy.target == copy.source) return {};
    const os::Uncancelled wait;
    PLAT_TRY(queue.streams.synchronize(stream));
    return mover_.copy(copy.target, copy.source, copy.size_bytes, queue.device, claim_of(copy.kind));
  }
  return queue.give([mover = &mover_, target = copy.target, source = copy.source, size = copy.size_bytes,
                     device = queue.device, function = calling()]() -> Result<> {
    return queued(function, [&] { return mover->copy(target, source, size, device); });
  });
}

// The source is read now, so that the caller may change it at once.
Result<> Copies::queue_staged(const CopyRequest& copy, const Queue& queue) const {
  const Location from = locator_.locate(copy.source);
  const Location to = locator_.locate(copy.target);
  if (from.side == Side::Device || from.is_hole || !(to.side == Side::Device || to.is_hole))
    return fail(RuleId::CopyDirection, "kind",
                "kind is 5 (host to buffer to device), src ({:#x}) is {}, dst ({:#x}) is {}",
                copy.source.value, name_of(from.side), copy.target.value, name_of(to.side));
  std::vector<std::byte> staged(copy.size_bytes);
  PLAT_TRY(mover_.copy(va_of(staged.data()), copy.source, copy.size_bytes, queue.device));
  return queue.give([mover = &mover_, target = copy.target, device = queue.device, function = calling(),
                     bytes = std::move(staged)]() -> Result<> {
    return queued(function, [&] { return mover->copy(target, va_of(bytes.data()), bytes.size(), device); });
  });
}

Result<> Copies::queue_indirect(const Indirect& copy, const Queue& queue) const {
  return queue.give([mover = &mover_, copy, device = queue.device, function = calling()]() -> Result<> {
    return queued(function, [&]() -> Result<> {
      Va target;
      Va source;
      PLAT_TRY(mover->copy(va_of(&target), copy.target, sizeof(target), device));
      PLAT_TRY(mover->copy(va_of(&source), copy.source, sizeof(source), device));
      return mover->copy(target + copy.target_offset, source + copy.source_offset, copy.size_bytes, device,
                         Mover::Claim{true, true});
    });
  });
}

// -- Rows

Result<> Copies::now_2d(const Mover::Area& area, aclrtMemcpyKind kind, uint32_t device) const {
  PLAT_ASSIGN(resolved, resolve(area.target, area.source, kind));
  if (resolved.direction == Direction::DeviceToDevice)
    return fail(RuleId::Copy2dInDevice, "kind", "src ({:#x}) and dst ({:#x}) are both device memory",
                area.source.value, area.target.value);
  return mover_.copy_2d(area, device, claim_of(kind));
}

Result<> Copies::queue_2d(const Mover::Area& area, aclrtMemcpyKind kind, const Queue& queue) const {
  PLAT_ASSIGN(stream, queue.streams.resolve(queue.stream));
  PLAT_ASSIGN(resolved, resolve(area.target, area.source, kind));
  if (resolved.direction == Direction::HostToHost)
    return fail(RuleId::CopyHostToHost, "kind", "src ({:#x}) and dst ({:#x}) are both on the host",
                area.source.value, area.target.value);
  if (resolved.waits) {
    PLAT_TRY(queue.streams.synchronize(stream));
    return mover_.copy_2d(area, queue.device, claim_of(kind));
  }
  return queue.give([mover = &mover_, area, device = queue.device, function = calling()]() -> Result<> {
    return queued(function, [&] { return mover->copy_2d(area, device, Mover::Claim{}); });
  });
}

// -- Many ranges

Result<> Copies::check_batch_entry(const CopyRequest& copy, bool to_device, size_t index, bool& waits) const {
  const Location to = locator_.locate(copy.target);
  const Location from = locator_.locate(copy.source);
  const Location& on_device = to_device ? to : from;
  const Location& on_host = to_device ? from : to;
  const bool device_side = on_device.side == Side::Device || on_device.is_hole ||
                           locator_.is_managed(to_device ? copy.target : copy.source, on_device);
  if (!device_side || on_host.side == Side::Device || on_host.is_hole)
    return fail(RuleId::BatchDirection, fmt::format("{}[{}]", to_device ? "dsts" : "srcs", index),
                "the batch goes {}, but src ({:#x}) is {} and dst ({:#x}) is {}",
                to_device ? "to the device" : "to the host", copy.source.value, name_of(from.side),
                copy.target.value, name_of(to.side));
  waits = waits || on_host.side == Side::Unregistered;
  return {};
}

Result<> Copies::now_batch(const Batch& batch, uint32_t device, size_t& failed) const {
  bool waits = false;
  for (failed = 0; failed < batch.entries.size(); ++failed)
    PLAT_TRY(check_batch_entry(batch.entries[failed], batch.to_device, failed, waits));
  for (failed = 0; failed < batch.entries.size(); ++failed) {
    const CopyRequest& copy = batch.entries[failed];
    PLAT_TRY(mover_.copy(copy.target, copy.source, copy.size_bytes, device));
  }
  failed = SIZE_MAX;
  return {};
}

Result<> Copies::queue_batch(const Batch& batch, const Queue& queue, size_t& failed) const {
  failed = SIZE_MAX;
  PLAT_ASSIGN(stream, queue.streams.resolve(queue.stream));
  bool waits = false;
  for (failed = 0; failed < batch.entries.size(); ++failed)
    PLAT_TRY(check_batch_entry(batch.entries[failed], batch.to_device, failed, waits));
  failed = SIZE_MAX;
  if (waits) {
    PLAT_TRY(queue.streams.synchronize(stream));
    return now_batch(batch, queue.device, failed);
  }
  return queue.give([mover = &mover_, device = queue.device, function = calling(),
                     entries = std::vector(batch.entries.begin(), batch.entries.end())]() -> Result<> {
    return queued(function, [&]() -> Result<> {
      for (const CopyRequest& copy : entries)
        PLAT_TRY(mover->copy(copy.target, copy.source, copy.size_bytes, device));
      return {};
    });
  });
}

// -- Descriptors

Result<> Copies::write_descriptor(Va at, Va source, Va target, uint64_t size_bytes, uint32_t device) const {
  const Descriptor descriptor{kDescriptorMagic, source.value, target.value, size_bytes, {}};
  return mover_.copy(at, va_of(&descriptor), sizeof(descriptor), device);
}

Result<> Copies::queue_described(Va at, const Queue& queue) const {
  return queue.give([mover = &mover_, at, device = queue.device, function = calling()]() -> Result<> {
    return queued(function, [&]() -> Result<> {
      Descriptor descriptor;
      PLAT_TRY(mover->copy(va_of(&descriptor), at, sizeof(descriptor), device));
      if (descriptor.magic != kDescriptorMagic)
        return fail(RuleId::CopyDescriptor, "desc", "there is no copy descriptor at {:#x}", at.value);
      return mover->copy(Va{descriptor.target}, Va{descriptor.source}, descriptor.size_bytes, device,
                         Mover::Claim{true, true});
    });
  });
}

// -- Fills

Result<> Copies::fill(Va target, uint64_t size_bytes, uint8_t value, uint32_t device) const {
  return mover_.fill(target, size_bytes, value, device);
}

Result<> Copies::queue_fill(Va target, uint64_t size_bytes, uint8_t value, const Queue& queue) const {
  return queue.give([mover = &mover_, target, size_bytes, value, device = queue.device,
                     function = calling()]() -> Result<> {
    return queued(function, [&] { return mover->fill(target, size_bytes, value, device); });
  });
}

Result<> Copies::queue_fill_words(Va target, uint64_t count, uint32_t value, const Queue& queue) const {
  return queue.give(
      [mover = &mover_, target, count, value, device = queue.device, function = calling()]() -> Result<> {
        return queued(function, [&] { return mover->fill_words(target, count, value, device); });
      });
}

}  // namespace plat::copy
