// SPDX-License-Identifier: Apache-2.0
#include "fabric/servers.h"

#include "device/report.h"
#include "fabric/faulty_answer.h"
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
    if (const auto disturbed = FaultyAnswer::next(server_, deadline_ms_))
      return disturbed->write(size_bytes, source, [&](uint64_t size, const Source& from) {
        return daemon_->write(imported_.import, offset, size, from);
      });
    return daemon_->write(imported_.import, offset, size_bytes, source);
  }
  Result<> read(uint64_t offset, uint64_t size_bytes, const Sink& sink) const override {
    if (const auto disturbed = FaultyAnswer::next(server_, deadline_ms_))
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

// Whatever a server answers is looked at before it is used. `why`: what made it wrong, if that is known.
Result<> check_answer(const Reply& answer, uint32_t server, const std::string& why) {
  const bool is_known = answer.location_type == ACL_MEM_LOCATION_TYPE_DEVICE ||
                        answer.location_type == ACL_MEM_LOCATION_TYPE_HOST;
  if (answer.size_bytes != 0 && answer.size_bytes % core::kPageBytes == 0 && is_known) return {};
  return fail(RuleId::FabricPeer, "", "{}server {} answered with {} bytes at a place of kind {}", why, server,
              answer.size_bytes, answer.location_type);
}

}  // namespace

Servers::Servers(const device::Config& config)
    : where_{socket_path(config.directory, config.node), config.fabric_deadline_ms},
      may_start_(!device::setting("fabric").value_or("").empty()) {}

Result<> Servers::start() {
  const auto tell = [&](bool starting) {
    const std::lock_guard lock(mutex_);
    starting_ = starting;
    changed_.notify_all();
  };
  tell(true);
  auto started = start_daemon(daemon_beside_library(), where_.socket, kStartMs);
  tell(false);
  return started;
}

// To start the daemon takes what it takes: the call's deadline is for what the daemon does.
Result<std::shared_ptr<Daemon>> Servers::meet(Deadline& deadline) {
  auto met = Daemon::connect(where_, deadline);
  if (!met && may_start_ && met.error().rule == RuleId::FabricDaemon) {
    PLAT_TRY(start());
    deadline.renew();
    met = Daemon::connect(where_, deadline);
  }
  return met;
}

// Until no other thread makes the acquaintance. A start has a time of its own, which no call's deadline
// counts. True: it was waited for.
Result<bool> Servers::wait_for_others(std::unique_lock<std::mutex>& lock, Deadline& deadline) {
  bool waited_for_start = false;
  Deadline start(kStartMs + where_.deadline_ms);
  while (meeting_) {
    const bool was_starting = starting_;
    const Deadline& limit = was_starting ? start : deadline;
    const bool is_late = changed_.wait_until(lock, limit.end()) == std::cv_status::timeout;
    if (was_starting) {
      waited_for_start = true;
      deadline.renew();
    }
    if (!is_late || !meeting_ || was_starting != starting_) continue;
    if (was_starting)
      return fail(RuleId::FabricDaemon, "", "another thread has been starting it for {} ms",
                  limit.length_ms());
    return fail(RuleId::FabricSlow, "", "the daemon of this server did not answer another thread in {} ms",
                limit.length_ms());
  }
  return waited_for_start;
}

// One thread at a time makes the acquaintance. The others wait for it, and for no longer than a call may
// take. If the daemon cannot be started, that is the answer for all who waited for it.
Result<std::shared_ptr<Daemon>> Servers::daemon(Deadline& deadline) {
  std::unique_lock lock(mutex_);
  PLAT_ASSIGN(waited_for_start, wait_for_others(lock, deadline));
  if (daemon_ && daemon_->is_alive()) return daemon_;
  if (waited_for_start && not_met_) return forward(*not_met_);
  const struct Meeting {
    explicit Meeting(Servers& of, std::unique_lock<std::mutex>& held) : servers(of), lock(held) {
      servers.meeting_ = true;
      lock.unlock();
    }
    ~Meeting() {
      if (!lock.owns_lock()) lock.lock();
      servers.meeting_ = servers.starting_ = false;
      servers.changed_.notify_all();
    }
    Servers& servers;
    std::unique_lock<std::mutex>& lock;
  } meeting(*this, lock);
  auto met = meet(deadline);
  if (met) in_child_.store(met->get(), std::memory_order_release);
  lock.lock();
  not_met_ = met ? std::nullopt : std::optional(met.error());
  if (met) daemon_ = *met;
  return met;
}

Result<vmm::PhysicalHandle> Servers::import_remote(vmm::Vmm& vmm, const share::FabricHandle& handle,
                                                   uint32_t device) {
  Deadline deadline(where_.deadline_ms);
  auto met = daemon(deadline);
  if (!met) return forward(blame_handle(met.error()));
  const std::shared_ptr<Daemon> first = *met;
  const Daemon::Wanted wanted{handle.server, handle.share, handle.key};
  auto imported = first->import(wanted, deadline);
  std::shared_ptr<Daemon> used = first;
  // A daemon that was started again is another one; it is not this call's fault.
  if (!imported && !first->is_alive() && imported.error().rule == RuleId::FabricDaemon) {
    const auto second = daemon(deadline);
    if (!second) return forward(blame_handle(second.error()));
    used = *second;
    imported = used->import(wanted, deadline);
  }
  if (!imported) return forward(blame_handle(imported.error()));
  // From here on whoever fails lets go of the memory.
  auto block = std::make_shared<Block>(used, *imported, handle.server, where_.deadline_ms);
  Result<> sound;
  const auto disturbed = FaultyAnswer::next(handle.server, where_.deadline_ms);
  if (disturbed) sound = disturbed->import(*imported);
  if (sound) sound = check_answer(*imported, handle.server, disturbed ? disturbed->why() + ": " : "");
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
