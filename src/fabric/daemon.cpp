// SPDX-License-Identifier: Apache-2.0
#include "fabric/daemon.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include "os/memory.h"
#include "os/process.h"
#include "os/uncancelled.h"
#include "rules/rules.h"

namespace plat::fabric {

namespace {

constexpr uint64_t kRingBytes = kBuffers * kBufferBytes;
// The daemon notices first, and says more.
constexpr uint32_t kGraceMs = 1000;

}  // namespace

RuleId import_rule(Cause cause) {
  switch (cause) {
    case Cause::NoServer:
      return RuleId::FabricServer;
    case Cause::Untrusted:
      return RuleId::FabricTrust;
    case Cause::Version:
      return RuleId::FabricVersion;
    case Cause::Unknown:
      return RuleId::ShareUnknown;
    case Cause::KeyPrivate:
      return RuleId::FabricKeyPrivate;
    case Cause::KeyExpired:
      return RuleId::FabricKeyExpired;
    case Cause::KeyForeign:
      return RuleId::FabricKeyForeign;
    case Cause::Full:
      return RuleId::FabricFull;
    case Cause::Timeout:
      return RuleId::FabricSlow;
    default:
      return RuleId::FabricPeer;
  }
}

Daemon::Channel::~Channel() {
  if (buffers != nullptr) os::unmap(buffers, kRingBytes);
}

Result<std::shared_ptr<Daemon>> Daemon::connect(const Where& where, const Deadline& deadline) {
  const os::Uncancelled wait;
  std::shared_ptr<Daemon> made(new Daemon(where));
  made->socket_ = os::connect_to(where.socket, deadline.left_ms(kGraceMs));
  if (!made->socket_ && errno == EAGAIN)
    return fail(RuleId::FabricSlow, "shareableHandle", "the daemon at {} took no connection in {} ms",
                where.socket, deadline.length_ms() + kGraceMs);
  if (!made->socket_)
    return fail(RuleId::FabricDaemon, "shareableHandle", "nobody answers at {}: {}", where.socket,
                std::strerror(errno));
  made->remember(made->socket_.get());
  const os::SocketPeer who = os::peer_of(made->socket_.get()).value_or(os::SocketPeer{0, UINT32_MAX});
  if (who.user != os::user_id())
    return fail(RuleId::FabricDaemon, "shareableHandle", "{} belongs to user {}, not to {}", where.socket,
                who.user, os::user_id());
  made->pid_ = who.pid;
  Request hello;
  hello.ask = Ask::Hello;
  PLAT_ASSIGN(reply, made->ask_at(made->socket_.get(), hello, deadline));
  made->session_ = reply.session;
  return made;
}

Daemon::~Daemon() = default;

// The daemon is gone, or stopped: what it had of ours is lost with it.
Error Daemon::lost(RuleId rule, std::string_view doing) {
  alive_.store(false, std::memory_order_release);
  return Error{rule, "", fmt::format("the daemon of this server (pid {}) {}", pid_, doing)};
}

Error Daemon::silent(uint32_t waited_ms) {
  silent_.store(true, std::memory_order_relaxed);
  return lost(RuleId::FabricSlow, fmt::format("did not answer in {} ms", waited_ms));
}

// The session's own connection if nobody asks there; a server that does not answer one thread must not keep
// the others waiting.
Result<Reply> Daemon::ask(Request& request, const Deadline& deadline) {
  std::unique_lock lock(asking_, std::try_to_lock);
  if (!lock) {
    if (os::Fd asker = take_asker(deadline)) {
      auto reply = ask_at(asker.get(), request, deadline);
      if (is_alive())
        give_back(std::move(asker));
      else
        forget(asker.get());
      return reply;
    }
    // With the grace: who asks before us may just find out that it is silent.
    if (!lock.try_lock_for(std::chrono::milliseconds(deadline.left_ms(kGraceMs))))
      return fail(RuleId::FabricSlow, "", "other threads have been asking the daemon (pid {}) for {} ms",
                  pid_, deadline.length_ms() + kGraceMs);
  }
  return ask_at(socket_.get(), request, deadline);
}

os::Fd Daemon::take_asker(const Deadline& deadline) {
  {
    const std::lock_guard lock(mutex_);
    if (!idle_askers_.empty()) {
      os::Fd asker = std::move(idle_askers_.back());
      idle_askers_.pop_back();
      return asker;
    }
  }
  const uint32_t wait_ms = std::min(kGraceMs, deadline.left_ms());
  os::Fd asker = os::connect_to(where_.socket, wait_ms);
  Request join;
  join.ask = Ask::Join;
  join.session = session_;
  Reply reply;
  std::string text;
  if (!asker || !send(asker.get(), join) ||
      receive(asker.get(), reply, text, static_cast<int>(wait_ms)) != Received::Message ||
      reply.cause != Cause::None)
    return {};
  remember(asker.get());
  return asker;
}

void Daemon::give_back(os::Fd asker) {
  const std::lock_guard lock(mutex_);
  idle_askers_.push_back(std::move(asker));
}

// The daemon is told what is left of the time now: it is the one that notices first.
Result<Reply> Daemon::ask_at(int socket, Request& request, const Deadline& deadline) {
  request.deadline_ms = deadline.left_ms();
  Reply reply;
  std::string text;
  if (!is_alive() && silent_.load(std::memory_order_relaxed))
    return forward(lost(RuleId::FabricSlow, "did not answer another call in time"));
  if (!is_alive() || !send(socket, request))
    return forward(lost(RuleId::FabricDaemon, "has ended since the last import"));
  const uint32_t wait_ms = deadline.left_ms(kGraceMs);
  switch (receive(socket, reply, text, static_cast<int>(wait_ms))) {
    case Received::End:
      return forward(lost(RuleId::FabricDaemon, "ended before it answered"));
    case Received::Nothing:
      return forward(silent(deadline.length_ms() + kGraceMs));
    case Received::Message:
      break;
  }
  if (reply.version != kWireVersion)
    return fail(RuleId::FabricVersion, "shareableHandle",
                "the daemon (pid {}) speaks version {}, this library {}", pid_, reply.version, kWireVersion);
  if (reply.cause != Cause::None) return forward(Error{import_rule(reply.cause), "shareableHandle", text});
  return reply;
}

Result<Reply> Daemon::import(const Wanted& wanted, const Deadline& deadline) {
  const os::Uncancelled wait;
  Request request;
  request.ask = Ask::Import;
  request.server = wanted.server;
  request.share = wanted.share;
  request.secret = wanted.secret;
  return ask(request, deadline);
}

void Daemon::release(uint64_t import) {
  const os::Uncancelled wait;
  Request request;
  request.ask = Ask::Release;
  request.import = import;
  // Whoever does not hear it has taken the memory back by itself.
  (void)ask(request, Deadline(where_.deadline_ms));
}

// -- Channels

Result<std::unique_ptr<Daemon::Channel>> Daemon::open_channel(const Deadline& deadline) {
  auto channel = std::make_unique<Channel>();
  channel->given_up_before = given_up_.load();
  channel->socket = os::connect_to(where_.socket, deadline.left_ms(kGraceMs));
  const bool is_silent = !channel->socket && errno == EAGAIN;
  Request hello;
  hello.ask = Ask::Hello;
  hello.session = session_;
  Reply reply;
  std::string text;
  os::Fd file;
  if (!channel->socket || !send(channel->socket.get(), hello))
    return forward(lost(RuleId::FabricLost, is_silent ? "takes no connections" : "has ended"));
  remember(channel->socket.get());
  const auto got =
      receive(channel->socket.get(), reply, text, static_cast<int>(deadline.left_ms(kGraceMs)), &file);
  if (got != Received::Message || reply.cause != Cause::None || !file) {
    forget(channel->socket.get());
    return forward(lost(RuleId::FabricLost, got == Received::Nothing ? "does not answer"
                                            : got == Received::End   ? "has ended"
                                                                     : text));
  }
  channel->buffers = os::map_shared(file.get(), 0, kRingBytes);
  if (channel->buffers == nullptr) {
    forget(channel->socket.get());
    return fail(RuleId::OutOfHostMemory, "", "no addresses for buffers: {}", std::strerror(errno));
  }
  return channel;
}

Result<std::unique_ptr<Daemon::Channel>> Daemon::take_channel(const Deadline& deadline) {
  if (!is_alive())
    return forward(lost(RuleId::FabricLost, "through which the memory was imported, has ended"));
  {
    const std::lock_guard lock(mutex_);
    if (!idle_.empty()) {
      auto channel = std::move(idle_.back());
      idle_.pop_back();
      return channel;
    }
  }
  return open_channel(deadline);
}

void Daemon::give_back(std::unique_ptr<Channel> channel) {
  const std::lock_guard lock(mutex_);
  if (channel->given_up_before == given_up_.load())
    idle_.push_back(std::move(channel));
  else
    forget(channel->socket.get());
}

void Daemon::note_given_up() {
  const std::lock_guard lock(mutex_);
  given_up_ += 1;
  for (const auto& channel : idle_) forget(channel->socket.get());
  idle_.clear();
}

// Bytes go in pieces of a buffer's size, the last one less; the piece at a place of the copy has the buffer
// that follows from the place. The channel is returned when everything on it was answered; else it is closed,
// and what comes late meets nobody.
class Daemon::Copy {
 public:
  Copy(Daemon& daemon, std::unique_ptr<Channel> channel, Ask what, uint64_t import, const Deadline& deadline)
      : daemon_(daemon), channel_(std::move(channel)), deadline_(deadline) {
    request_.ask = what;
    request_.import = import;
  }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  ~Copy() {
    if (under_way_ == 0)
      daemon_.give_back(std::move(channel_));
    else
      daemon_.forget(channel_->socket.get());
  }

  std::byte* piece_at(uint64_t at) const { return channel_->buffers + buffer_at(at) * kBufferBytes; }

  // Asks for the piece at this place, which is so far behind the beginning of the import.
  Result<> ask_for(uint64_t at, uint64_t offset, uint64_t size_bytes) {
    request_.buffer = buffer_at(at);
    request_.offset = offset;
    request_.size_bytes = size_bytes;
    // What the program's own side took is not the daemon's.
    if (under_way_ == 0 && std::exchange(asked_before_, true)) deadline_.renew();
    request_.deadline_ms = deadline_.left_ms();
    if (!send(channel_->socket.get(), request_))
      return forward(daemon_.lost(RuleId::FabricLost, "has ended"));
    under_way_ |= uint32_t{1} << request_.buffer;
    return {};
  }

  // Until what was asked for last with the buffer of this place is answered.
  Result<> wait_for(uint64_t at) {
    while ((under_way_ >> buffer_at(at) & 1) != 0) PLAT_TRY(take_answer());
    return {};
  }
  Result<> wait_for_all() {
    while (under_way_ != 0) PLAT_TRY(take_answer());
    return {};
  }

 private:
  static uint32_t buffer_at(uint64_t at) { return static_cast<uint32_t>(at / kBufferBytes % kBuffers); }

  Result<> take_answer() {
    const char* const doing = request_.ask == Ask::Write ? "a write to" : "a read of";
    const uint32_t wait_ms = deadline_.left_ms(kGraceMs);
    Reply reply;
    std::string text;
    switch (receive(channel_->socket.get(), reply, text, static_cast<int>(wait_ms), nullptr,
                    &channel_->answers)) {
      case Received::End:
        return forward(daemon_.lost(
            RuleId::FabricLost, fmt::format("ended in the middle of {} import {}", doing, request_.import)));
      case Received::Nothing:
        daemon_.note_given_up();
        return fail(RuleId::FabricTimeout, "",
                    "the daemon of this server (pid {}) did not answer in {} ms; {} import {}", daemon_.pid_,
                    deadline_.length_ms() + kGraceMs, doing, request_.import);
      case Received::Message:
        break;
    }
    if (reply.cause != Cause::None || reply.buffers == 0 || (reply.buffers & ~under_way_) != 0)
      return forward(
          Error{reply.cause == Cause::Timeout ? RuleId::FabricTimeout : RuleId::FabricGone, "", text});
    under_way_ &= ~reply.buffers;
    deadline_.renew();
    return {};
  }

  Daemon& daemon_;
  std::unique_ptr<Channel> channel_;
  Deadline deadline_;  // of the next byte that moves
  Request request_;
  uint32_t under_way_ = 0;  // a bit for each buffer
  bool asked_before_ = false;
};

Result<> Daemon::write(uint64_t import, uint64_t offset, uint64_t size_bytes,
                       const vmm::Remote::Source& source) {
  const os::Uncancelled wait;
  const Deadline deadline(where_.deadline_ms);
  PLAT_ASSIGN(channel, take_channel(deadline));
  Copy copy(*this, std::move(channel), Ask::Write, import, deadline);
  Result<> made;
  for (uint64_t at = 0; at < size_bytes; at += kBufferBytes) {
    const uint64_t size = std::min(kBufferBytes, size_bytes - at);
    PLAT_TRY(copy.wait_for(at));
    made = source(copy.piece_at(at), size, at);
    if (!made) break;
    PLAT_TRY(copy.ask_for(at, offset + at, size));
  }
  PLAT_TRY(copy.wait_for_all());
  return made;
}

Result<> Daemon::read(uint64_t import, uint64_t offset, uint64_t size_bytes, const vmm::Remote::Sink& sink) {
  const os::Uncancelled wait;
  const Deadline deadline(where_.deadline_ms);
  PLAT_ASSIGN(channel, take_channel(deadline));
  Copy copy(*this, std::move(channel), Ask::Read, import, deadline);
  Result<> taken;
  uint64_t asked = 0;
  for (uint64_t at = 0; at < size_bytes && taken; at += kBufferBytes) {
    for (; asked < size_bytes && asked - at < kRingBytes; asked += kBufferBytes)
      PLAT_TRY(copy.ask_for(asked, offset + asked, std::min(kBufferBytes, size_bytes - asked)));
    PLAT_TRY(copy.wait_for(at));
    taken = sink(copy.piece_at(at), std::min(kBufferBytes, size_bytes - at), at);
  }
  PLAT_TRY(copy.wait_for_all());
  return taken;
}

// -- Fork

void Daemon::remember(int socket) {
  for (auto& place : sockets_) {
    int vacant = 0;
    if (place.compare_exchange_strong(vacant, socket + 1)) return;
  }
}

void Daemon::forget(int socket) {
  for (auto& place : sockets_) {
    int own = socket + 1;
    if (place.compare_exchange_strong(own, 0)) return;
  }
}

void Daemon::abandon_in_child() {
  alive_.store(false, std::memory_order_release);
  for (auto& place : sockets_)
    if (const int socket = place.exchange(0); socket != 0) os::close_number(socket - 1);
}

}  // namespace plat::fabric
