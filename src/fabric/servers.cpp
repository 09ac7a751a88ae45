// SPDX-License-Identifier: Apache-2.0
#include "fabric/servers.h"

#include <algorithm>
#include <chrono>

#include "device/report.h"
#include "fabric/disturbed.h"
#include "fabric/start.h"
#include "rules/rules.h"

namespace plat::fabric {

namespace {

class Block final : public vmm::Remote {
 public:
  Block(std::shared_ptr<Daemon> daemon, const Reply& imported, uint32_t server, uint32_t deadline_ms)
      : daemon_(std::move(daemon)), imported_(imported), server_(server), deadline_ms_(deadline_ms) {}
  ~Block() override { daemon_->release(imported_.import); }

  Result<> write(uint64_t offset, uint64_t size_bytes, const Source& source) const override {
    if (const auto disturbed = Disturbed::next(server_, deadline_ms_))
      return disturbed->write(size_bytes, source, [&](uint64_t size, const Source& from) {
        return daemon_->write(imported_.import, offset, size, from);
      });
    return daemon_->write(imported_.import, offset, size_bytes, source);
  }
  Result<> read(uint64_t offset, uint64_t size_bytes, const Sink& sink) const override {
    if (const auto disturbed = Disturbed::next(server_, deadline_ms_))
      return disturbed->read(size_bytes, sink, [&](uint64_t size, const Sink& to) {
        return daemon_->read(imported_.import, offset, size, to);
      });
    return daemon_->read(imported_.import, offset, size_bytes, sink);
  }
  Properties properties() const override {
    return {static_cast<aclrtMemAttr>(imported_.attribute),
            static_cast<aclrtMemLocationType>(imported_.location_type), imported_.location_id};
  }
  uint32_t server() const override { return server_; }

 private:
  const std::shared_ptr<Daemon> daemon_;
  const Reply imported_;
  const uint32_t server_;
  const uint32_t deadline_ms_;
};

Error blame_handle(Error error) {
  if (error.parameter.empty()) error.parameter = "shareableHandle";
  return error;
}

// Whatever a server answers is looked at before it is used.
Result<> check_answer(const Reply& answer, uint32_t server) {
  const bool is_known = answer.location_type == ACL_MEM_LOCATION_TYPE_DEVICE ||
                        answer.location_type == ACL_MEM_LOCATION_TYPE_HOST;
  if (answer.size_bytes != 0 && answer.size_bytes % core::kPageBytes == 0 && is_known) return {};
  return fail(RuleId::FabricPeer, "", "server {} answered with {} bytes at a place of kind {}", server,
              answer.size_bytes, answer.location_type);
}

}  // namespace

Servers::Servers(const device::Config& config)
    : where_{socket_path(config.directory, config.node), config.fabric_deadline_ms},
      may_start_(!device::setting("fabric").value_or("").empty()) {}

Result<std::shared_ptr<Daemon>> Servers::meet(uint32_t wait_ms) const {
  auto met = Daemon::connect(where_, wait_ms);
  if (!met && may_start_ && met.error().rule == RuleId::FabricDaemon) {
    PLAT_TRY(start_daemon(daemon_beside_library(), where_.socket, kStartMs));
    met = Daemon::connect(where_, wait_ms);
  }
  return met;
}

// One thread at a time makes the acquaintance. The others wait for it, and for no longer than a call may
// take.
Result<std::shared_ptr<Daemon>> Servers::daemon() {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(where_.deadline_ms);
  std::unique_lock lock(mutex_);
  if (!met_.wait_until(lock, end, [&] { return !meeting_; }))
    return fail(RuleId::FabricSlow, "shareableHandle",
                "the daemon of this server did not answer another thread in {} ms", where_.deadline_ms);
  if (daemon_ && daemon_->is_alive()) return daemon_;
  const struct Meeting {
    explicit Meeting(Servers& of, std::unique_lock<std::mutex>& held) : servers(of), lock(held) {
      servers.meeting_ = true;
      lock.unlock();
    }
    ~Meeting() {
      if (!lock.owns_lock()) lock.lock();
      servers.meeting_ = false;
      servers.met_.notify_all();
    }
    Servers& servers;
    std::unique_lock<std::mutex>& lock;
  } meeting(*this, lock);
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
  PLAT_ASSIGN(connected, meet(static_cast<uint32_t>(std::max<int64_t>(left, 1))));
  in_child_.store(connected.get(), std::memory_order_release);
  lock.lock();
  daemon_ = std::move(connected);
  return daemon_;
}

Result<vmm::PhysicalHandle> Servers::import_remote(vmm::Vmm& vmm, const share::FabricHandle& handle,
                                                   uint32_t device) {
  auto met = daemon();
  if (!met) return forward(blame_handle(met.error()));
  const std::shared_ptr<Daemon> first = *met;
  const Daemon::Wanted wanted{handle.server, handle.share, handle.key};
  auto imported = first->import(wanted);
  std::shared_ptr<Daemon> used = first;
  // A daemon that was started again is another one; it is not this call's fault.
  if (!imported && !first->is_alive() && imported.error().rule == RuleId::FabricDaemon) {
    const auto second = daemon();
    if (!second) return forward(blame_handle(second.error()));
    used = *second;
    imported = used->import(wanted);
  }
  if (!imported) return forward(blame_handle(imported.error()));
  // From here on whoever fails lets go of the memory.
  auto block = std::make_shared<Block>(used, *imported, handle.server, where_.deadline_ms);
  Result<> sound;
  if (const auto disturbed = Disturbed::next(handle.server, where_.deadline_ms))
    sound = disturbed->import(*imported);
  if (sound) sound = check_answer(*imported, handle.server);
  if (!sound) return forward(blame_handle(sound.error()));
  return vmm.import_remote({std::move(block), device, handle.share, imported->size_bytes});
}

void Servers::exported() {
  if (!may_start_ || cannot_start_.load(std::memory_order_relaxed)) return;
  const auto started = start_daemon(daemon_beside_library(), where_.socket, kStartMs);
  if (started) return;
  cannot_start_.store(true, std::memory_order_relaxed);
  report::warning(fmt::format("other servers cannot import what is exported here: {}: {}",
                              rules::get(started.error().rule).name, started.error().detail));
}

void Servers::abandon_in_child() {
  if (Daemon* inherited = in_child_.load(std::memory_order_acquire)) inherited->abandon_in_child();
}

}  // namespace plat::fabric
