// SPDX-License-Identifier: Apache-2.0
#include "fabricd/target.h"

#include <netinet/in.h>
#include <poll.h>
#include <rdma/fi_cm.h>

#include "fabricd/keys.h"
#include "os/lookout.h"
#include "os/process.h"

namespace plat::fabricd {

Outcome<std::unique_ptr<Target>> Target::listen(const std::string& host) {
  auto info = find_provider(host, "0", FI_SOURCE);
  if (!info) return pass_on(info.error());
  std::unique_ptr<Target> target(new Target);
  sockaddr_storage address{};
  size_t address_bytes = sizeof address;
  long error = 0;
  const bool ready = target->adapter_.open(std::move(*info), 1024, error) &&
                     opened(target->listener_, error,
                            [&](auto** made) {
                              return fi_passive_ep(target->adapter_.fabric.get(), target->adapter_.info.get(),
                                                   made, nullptr);
                            }) &&
                     (error = fi_pep_bind(target->listener_.get(), &target->adapter_.events->fid, 0)) == 0 &&
                     (error = fi_listen(target->listener_.get())) == 0 &&
                     (error = fi_getname(&target->listener_->fid, &address, &address_bytes)) == 0;
  if (!ready)
    return trouble(Cause::Unreachable, "no data port can be opened on {}: {}", host, fi_text(error));
  target->port_ = ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                                      : reinterpret_cast<sockaddr_in&>(address).sin_port);
  // They end with the process.
  std::thread(&Target::hear, target.get()).detach();
  std::thread(&Target::move, target.get()).detach();
  return target;
}

Outcome<Target::Registered> Target::offer(std::byte* start, uint64_t size_bytes) {
  for (;;) {
    fid_mr* memory = nullptr;
    const int error = fi_mr_reg(adapter_.domain.get(), start, size_bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0,
                                os::random_number(), 0, &memory, nullptr);
    if (error == -FI_ENOKEY) continue;  // somebody has this key: draw another
    if (error != 0) return trouble(Cause::Full, "memory cannot be registered: {}", fi_text(error));
    return Registered{Fid<fid_mr>(memory), fi_mr_key(memory), base_of(*adapter_.info, start)};
  }
}

Outcome<Opening> Target::expect(Guest guest, size_t most) {
  Opening opening;
  for (size_t at = 0; at < opening.ticket.size(); at += sizeof(uint64_t)) {
    const uint64_t random = os::random_number();
    std::memcpy(opening.ticket.data() + at, &random, sizeof random);
  }
  const std::lock_guard lock(mutex_);
  const auto has = std::count_if(connections_.begin(), connections_.end(),
                                 [&](const auto& entry) { return entry.second.guest == guest; });
  if (static_cast<size_t>(has) >= most)
    return trouble(Cause::Full, "it has {} data connections of this server", has);
  opening.connection = next_++;
  Connection& made = connections_[opening.connection];
  made.guest = guest;
  made.ticket = opening.ticket;
  return opening;
}

void Target::hear() {
  for (;;) {
    uint32_t event = 0;
    alignas(fi_eq_cm_entry) char buffer[sizeof(fi_eq_cm_entry) + 256];
    auto* entry = reinterpret_cast<fi_eq_cm_entry*>(buffer);
    const ssize_t got = fi_eq_sread(adapter_.events.get(), &event, buffer, sizeof buffer, -1, 0);
    if (got == -FI_EAVAIL) {
      fi_eq_err_entry why{};
      fi_eq_readerr(adapter_.events.get(), &why, 0);
      continue;
    }
    if (got < static_cast<ssize_t>(sizeof(fi_eq_cm_entry))) continue;
    if (event == FI_SHUTDOWN) forget(entry->fid);
    if (event != FI_CONNREQ) continue;
    const Info request(entry->info);
    Opening opening;
    const size_t said = static_cast<size_t>(got) - sizeof(fi_eq_cm_entry);
    // The gate: nothing is made for who has no ticket.
    if (parse_opening(entry->data, said, opening))
      accept(request.get(), opening);
    else
      fi_reject(listener_.get(), request->handle, nullptr, 0);
  }
}

void Target::accept(fi_info* request, const Opening& opening) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(opening.connection);
  if (found == connections_.end() || found->second.endpoint ||
      !same_secret(found->second.ticket, opening.ticket)) {
    fi_reject(listener_.get(), request->handle, nullptr, 0);
    return;
  }
  fid_ep* endpoint = nullptr;
  if (fi_endpoint(adapter_.domain.get(), request, &endpoint, nullptr) != 0) {
    fi_reject(listener_.get(), request->handle, nullptr, 0);
    connections_.erase(found);
    return;
  }
  found->second.endpoint.reset(endpoint);
  if (fi_ep_bind(endpoint, &adapter_.events->fid, 0) != 0 ||
      fi_ep_bind(endpoint, &adapter_.done->fid, FI_TRANSMIT | FI_RECV) != 0 || fi_enable(endpoint) != 0 ||
      fi_accept(endpoint, nullptr, 0) != 0)
    connections_.erase(found);
}

// The other side has ended it.
void Target::forget(fid_t endpoint) {
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const auto& entry) {
    return entry.second.endpoint && &entry.second.endpoint->fid == endpoint;
  });
}

// Nothing is ever received here; reading is what lets reads and writes of others get on.
void Target::move() {
  os::Lookout lookout;
  for (;;) {
    fi_cq_entry entry{};
    const ssize_t got = fi_cq_read(adapter_.done.get(), &entry, 1);
    if (got == -FI_EAVAIL) {
      fi_cq_err_entry why{};
      fi_cq_readerr(adapter_.done.get(), &why, 0);
    }
    if (got != -FI_EAGAIN || !adapter_.may_wait()) continue;
    pollfd watched{adapter_.ready, POLLIN, 0};
    const auto wait_ms = [&](int ms) { return poll(&watched, 1, ms) > 0; };
    lookout.wait([&] { return wait_ms(0); }, [&] { return wait_ms(-1); });
  }
}

void Target::cut(Guest guest, uint64_t connection) {
  const std::lock_guard lock(mutex_);
  const auto found = connections_.find(connection);
  if (found != connections_.end() && found->second.guest == guest) connections_.erase(found);
}

void Target::cut_all(Guest guest) {
  const std::lock_guard lock(mutex_);
  std::erase_if(connections_, [&](const auto& entry) { return entry.second.guest == guest; });
}

size_t Target::connections(Guest guest) {
  const std::lock_guard lock(mutex_);
  return static_cast<size_t>(std::count_if(connections_.begin(), connections_.end(), [&](const auto& entry) {
    return entry.second.guest == guest && entry.second.endpoint;
  }));
}

}  // namespace plat::fabricd
