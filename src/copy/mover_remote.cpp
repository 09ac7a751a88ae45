// SPDX-License-Identifier: Apache-2.0
// Copies and fills of memory that another server has. Both ranges are pinned before the first byte moves, as
// at home; bytes go through pieces that vmm::Remote hands out.
#include <cstring>
#include <vector>

#include "copy/mover.h"
#include "copy/walk.h"

namespace plat::copy {

using malloc::HostUse;
using vmm::PinnedRange;

namespace {

constexpr uint64_t kRelayBytes = 4_MiB;

// What went wrong says which side of the copy it was.
Result<> on_side(Result<> result, const char* parameter) {
  if (!result && result.error().parameter.empty()) result.error().parameter = parameter;
  return result;
}

}  // namespace

Result<PinnedRange> Mover::take_remote(Va start, uint64_t size_bytes, uint32_t device,
                                       const char* parameter) const {
  return PinnedRange::take(heap_.vmm().space(), start, size_bytes, device, parameter, vmm::PageEntry::Remote);
}

Result<> Mover::write_remote(const PinnedRange& range, Va start, uint64_t size_bytes,
                             const vmm::Remote::Source& source) const {
  for (uint64_t done = 0; done < size_bytes;) {
    const PinnedRange::Part part = range.part_at(start + done);
    const uint64_t size = std::min(part.size_bytes, size_bytes - done);
    PLAT_TRY(heap_.vmm()
                 .remote(*part.mapping)
                 .write(part.offset, size, [&](std::byte* piece, uint64_t bytes, uint64_t at) {
                   return source(piece, bytes, done + at);
                 }));
    done += size;
  }
  return {};
}

Result<> Mover::read_remote(const PinnedRange& range, Va start, uint64_t size_bytes,
                            const vmm::Remote::Sink& sink) const {
  for (uint64_t done = 0; done < size_bytes;) {
    const PinnedRange::Part part = range.part_at(start + done);
    const uint64_t size = std::min(part.size_bytes, size_bytes - done);
    PLAT_TRY(heap_.vmm()
                 .remote(*part.mapping)
                 .read(part.offset, size, [&](const std::byte* piece, uint64_t bytes, uint64_t at) {
                   return sink(piece, bytes, done + at);
                 }));
    done += size;
  }
  return {};
}

// From one server to another, or within one, by way of this process. Ranges may overlap: the end that is
// overwritten first is read first.
Result<> Mover::relay(const PinnedRange& target, const PinnedRange& source) const {
  const uint64_t total = source.size_bytes();
  const bool from_end = source.start() < target.start();
  std::vector<std::byte> piece(std::min(total, kRelayBytes));
  for (uint64_t done = 0; done < total;) {
    const uint64_t size = std::min<uint64_t>(piece.size(), total - done);
    const uint64_t at = from_end ? total - done - size : done;
    PLAT_TRY(on_side(read_remote(source, source.start() + at, size,
                                 [&](const std::byte* from, uint64_t bytes, uint64_t offset) -> Result<> {
                                   std::memcpy(piece.data() + offset, from, bytes);
                                   return {};
                                 }),
                     "src"));
    PLAT_TRY(on_side(write_remote(target, target.start() + at, size,
                                  [&](std::byte* to, uint64_t bytes, uint64_t offset) -> Result<> {
                                    std::memcpy(to, piece.data() + offset, bytes);
                                    return {};
                                  }),
                     "dst"));
    done += size;
  }
  return {};
}

Result<> Mover::send_remote(const PinnedRange& range, Va source, uint32_t device, Claim claim) const {
  const uint64_t total = range.size_bytes();
  if (locator_.is_device_address(source)) {
    PLAT_ASSIGN(sources, take(source, total, device, "src"));
    Walk walk(sources, heap_.vmm().node());
    return write_remote(range, range.start(), total,
                        [&](std::byte* piece, uint64_t size, uint64_t) -> Result<> {
                          for (uint64_t done = 0; done < size;) {
                            const Extent extent = walk.next(size - done);
                            if (extent.cold)
                              std::memset(piece + done, 0, extent.size_bytes);
                            else
                              std::memcpy(piece + done, extent.memory(), extent.size_bytes);
                            done += extent.size_bytes;
                          }
                          return {};
                        });
  }
  HostUse held;
  PLAT_TRY(hosts_.hold(held, source, total, HostUse::Source, "src"));
  if (claim.source_on_device) PLAT_TRY(probe(source, total, "src"));
  return write_remote(range, range.start(), total,
                      [&](std::byte* piece, uint64_t size, uint64_t at) -> Result<> {
                        if (os::copy(piece, host(source) + at, size)) return {};
                        return forward(blame_fault(source, total, "src"));
                      });
}

Result<> Mover::fetch_remote(Va target, const PinnedRange& range, uint32_t device, Claim claim) const {
  const uint64_t total = range.size_bytes();
  if (locator_.is_device_address(target)) {
    PLAT_ASSIGN(targets, take(target, total, device, "dst"));
    Walk walk(targets, heap_.vmm().node());
    return read_remote(range, range.start(), total,
                       [&](const std::byte* piece, uint64_t size, uint64_t) -> Result<> {
                         for (uint64_t done = 0; done < size;) {
                           const Extent extent = walk.next(size - done);
                           PLAT_TRY(extent.bank->commit(extent.page));
                           std::memcpy(extent.memory(), piece + done, extent.size_bytes);
                           done += extent.size_bytes;
                         }
                         return {};
                       });
  }
  HostUse held;
  PLAT_TRY(hosts_.hold(held, target, total, HostUse::Target, "dst"));
  if (claim.target_on_device) PLAT_TRY(probe(target, total, "dst"));
  return read_remote(range, range.start(), total,
                     [&](const std::byte* piece, uint64_t size, uint64_t at) -> Result<> {
                       if (os::copy(host(target) + at, piece, size)) return {};
                       return forward(blame_fault(target, total, "dst"));
                     });
}

Result<> Mover::copy_remote(Va target, Va source, uint64_t size_bytes, uint32_t device, Claim claim) const {
  if (!is_remote(target)) {
    PLAT_ASSIGN(range, take_remote(source, size_bytes, device, "src"));
    return on_side(fetch_remote(target, range, device, claim), "src");
  }
  PLAT_ASSIGN(range, take_remote(target, size_bytes, device, "dst"));
  if (!is_remote(source)) return on_side(send_remote(range, source, device, claim), "dst");
  PLAT_ASSIGN(sources, take_remote(source, size_bytes, device, "src"));
  return relay(range, sources);
}

Result<> Mover::fill_remote(Va target, uint64_t size_bytes, uint32_t pattern, uint32_t device) const {
  PLAT_ASSIGN(range, take_remote(target, size_bytes, device, "devPtr"));
  return on_side(write_remote(range, range.start(), size_bytes,
                              [&](std::byte* piece, uint64_t size, uint64_t at) -> Result<> {
                                const auto* bytes = reinterpret_cast<const std::byte*>(&pattern);
                                for (uint64_t i = 0; i < size; ++i)
                                  piece[i] = bytes[(at + i) % sizeof pattern];
                                return {};
                              }),
                 "devPtr");
}

}  // namespace plat::copy
