// SPDX-License-Identifier: Apache-2.0
#include "fabricd/sessions.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "fabric/message.h"
#include "fabricd/channel.h"
#include "os/memory.h"
#include "os/process.h"

namespace plat::fabricd {

using fabric::Ask;
using fabric::Reply;
using fabric::Request;

Outcome<Reply> Session::import(Peers& peers, const Request& request) {
  const uint64_t begin = os::monotonic_nanoseconds();
  auto peer = peers.reach(request.server, request.deadline_ms);
  if (!peer) return pass_on(peer.error());
  // What the first acquaintance took is gone.
  const uint64_t spent_ms = (os::monotonic_nanoseconds() - begin) / 1000000;
  const auto left_ms =
      static_cast<uint32_t>(request.deadline_ms - std::min<uint64_t>(spent_ms, request.deadline_ms));
  auto granted = (*peer)->import(request.share, request.secret, std::max(left_ms, 1u));
  if (!granted) return pass_on(granted.error());
  Reply reply;
  reply.size_bytes = granted->size_bytes();
  reply.attribute = granted->attribute();
  reply.location_type = granted->location_type();
  reply.location_id = granted->location_id();
  auto imported = std::make_shared<const Imported>(*peer, *granted);
  const std::lock_guard lock(mutex_);
  reply.import = next_++;
  imports_[reply.import] = std::move(imported);
  return reply;
}

Outcome<> Session::release(uint64_t import) {
  ImportedPtr ended;  // goes when the lock is free
  const std::lock_guard lock(mutex_);
  const auto found = imports_.find(import);
  if (found == imports_.end()) return trouble(Cause::Unknown, "there is no import {}", import);
  ended = std::move(found->second);
  imports_.erase(found);
  return {};
}

Outcome<ImportedPtr> Session::find(uint64_t import) {
  const std::lock_guard lock(mutex_);
  const auto found = imports_.find(import);
  if (found == imports_.end()) return trouble(Cause::Unknown, "there is no import {}", import);
  return found->second;
}

bool Session::add_channel(int socket) {
  const std::lock_guard lock(mutex_);
  if (has_ended()) return false;
  channels_.insert(socket);
  return true;
}

void Session::remove_channel(int socket) {
  const std::lock_guard lock(mutex_);
  channels_.erase(socket);
  changed_.notify_all();
}

void Session::end() {
  std::map<uint64_t, ImportedPtr> imports;  // go when the lock is free
  std::unique_lock lock(mutex_);
  ended_.store(true, std::memory_order_release);
  for (const int socket : channels_) shutdown(socket, SHUT_RDWR);
  changed_.wait(lock, [&] { return channels_.empty(); });
  imports.swap(imports_);
}

Session::Seen Session::seen() {
  const std::lock_guard lock(mutex_);
  Seen seen{pid_, os::process_name(pid_), imports_.size(), 0};
  for (const auto& [number, imported] : imports_) seen.bytes += imported->size_bytes;
  return seen;
}

namespace {

// Who is at the other end, held so that its number cannot become somebody else's.
struct Caller {
  int32_t pid = 0;
  os::Fd process;
};

Outcome<Caller> caller_of(int socket) {
  const os::SocketPeer who = os::peer_of(socket).value_or(os::SocketPeer{0, UINT32_MAX});
  if (who.user != os::user_id())
    return trouble(Cause::Untrusted, "this daemon is of user {}, the caller of user {}", os::user_id(),
                   who.user);
  return Caller{who.pid, os::Fd(static_cast<int>(syscall(SYS_pidfd_open, who.pid, 0)))};
}

void refuse(int socket, const Trouble& why) {
  Reply reply;
  reply.cause = why.cause;
  fabric::send(socket, reply, why.text);
}

// Buffers that both sides have mapped, and that neither can cut short under the other.
struct Buffers {
  os::Fd file;
  std::byte* start = nullptr;
  static constexpr uint64_t kBytes = fabric::kBuffers * fabric::kBufferBytes;

  Buffers() : file(memfd_create("plat-fabric", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
    if (!file || ftruncate(file.get(), kBytes) != 0 ||
        fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0 ||
        os::commit(file.get(), 0, kBytes) != 0)
      return;
    start = os::map_shared(file.get(), 0, kBytes);
  }
  ~Buffers() {
    if (start != nullptr) os::unmap(start, kBytes);
  }
};

}  // namespace

std::shared_ptr<Session> Sessions::find(uint64_t id, int32_t pid) {
  const std::lock_guard lock(mutex_);
  const auto found = sessions_.find(id);
  return found == sessions_.end() || found->second->pid() != pid ? nullptr : found->second;
}

namespace {

bool is_left(int socket) {
  pollfd watched{socket, 0, 0};
  return poll(&watched, 1, 0) > 0;
}

}  // namespace

// A process that gave up on a connection, because this daemon was stopped for a while, comes with another
// one. What it began on the first is over before anything begins on the next: a write that failed must not
// land on one that succeeds.
Sessions::Served::Served(Sessions& sessions, int socket, int32_t pid) : owner(sessions), number(socket) {
  std::unique_lock lock(owner.mutex_);
  owner.changed_.wait(lock, [&] {
    return std::none_of(owner.served_.begin(), owner.served_.end(),
                        [&](const auto& entry) { return entry.second == pid && is_left(entry.first); });
  });
  owner.served_[number] = pid;
}

Sessions::Served::~Served() {
  const std::lock_guard lock(owner.mutex_);
  owner.served_.erase(number);
  owner.changed_.notify_all();
}

void Sessions::serve(int listener) {
  for (;;) {
    os::Fd socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (socket) {
      std::thread([this, fd = socket.release()] { serve_one(os::Fd(fd)); }).detach();
      continue;
    }
    if (errno != EINTR && errno != ECONNABORTED) os::sleep_microseconds(10000);  // out of file numbers
  }
}

void Sessions::serve_one(os::Fd socket) {
  auto caller = caller_of(socket.get());
  if (!caller) return refuse(socket.get(), caller.error());
  Request request;
  if (fabric::receive(socket.get(), request, -1) != fabric::Received::Message) return;
  if (request.version != fabric::kWireVersion)
    return refuse(socket.get(), {Cause::Version, fmt::format("the daemon speaks version {}, the library {}",
                                                             fabric::kWireVersion, request.version)});
  if (request.ask == Ask::Status) {
    fabric::send(socket.get(), Reply{}, status_(seen()));
    return;
  }
  const Served served(*this, socket.get(), caller->pid);
  if (request.ask == Ask::Join) {
    const auto session = find(request.session, caller->pid);
    if (session == nullptr || !session->add_channel(socket.get()))
      return refuse(socket.get(), {Cause::Gone, "the session has ended"});
    fabric::send(socket.get(), Reply{}, "");
    ask(socket.get(), caller->process.get(), session);
    session->remove_channel(socket.get());
    return;
  }
  if (request.ask != Ask::Hello)
    return refuse(socket.get(), {Cause::BadRequest, "a connection begins with Hello"});
  if (request.session == 0) {
    auto session = std::make_shared<Session>(os::random_number() | 1, caller->pid);
    {
      const std::lock_guard lock(mutex_);
      sessions_[session->id()] = session;
    }
    Reply reply;
    reply.session = session->id();
    fabric::send(socket.get(), reply, "");
    ask(socket.get(), caller->process.get(), session);
    session->end();
    const std::lock_guard lock(mutex_);
    sessions_.erase(session->id());
    return;
  }
  const auto session = find(request.session, caller->pid);
  if (session == nullptr || !session->add_channel(socket.get()))
    return refuse(socket.get(), {Cause::Gone, "the session has ended"});
  if (const Buffers buffers; buffers.start == nullptr) {
    refuse(socket.get(), {Cause::Full, "the machine has no memory for buffers"});
  } else {
    fabric::send(socket.get(), Reply{}, "", buffers.file.get());
    Channel(socket.get(), session, {buffers.start, Buffers::kBytes}).serve();
  }
  session->remove_channel(socket.get());
}

// Imports and releases until the process is gone. A child that it forked may keep the socket open, so the
// process itself is watched too.
void Sessions::ask(int socket, int process, const std::shared_ptr<Session>& session) {
  for (;;) {
    pollfd watched[2] = {{socket, POLLIN, 0}, {process, POLLIN, 0}};
    if (poll(watched, process >= 0 ? 2 : 1, -1) < 0) continue;
    if (watched[1].revents != 0) return;
    Request request;
    const auto got = fabric::receive(socket, request, 0);
    if (got == fabric::Received::End) return;
    if (got == fabric::Received::Nothing) continue;
    if (request.version != fabric::kWireVersion) return;
    if (request.ask == Ask::Import) {
      if (const auto imported = session->import(peers_, request))
        fabric::send(socket, *imported, "");
      else
        refuse(socket, imported.error());
    } else if (request.ask == Ask::Release) {
      if (const auto released = session->release(request.import))
        fabric::send(socket, Reply{}, "");
      else
        refuse(socket, released.error());
    } else {
      refuse(socket, {Cause::BadRequest, "the request makes no sense"});
    }
  }
}

// One that has released all, or is about to end, uses nothing.
std::vector<Session::Seen> Sessions::seen() {
  std::vector<Session::Seen> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [id, session] : sessions_)
    if (const Session::Seen one = session->seen(); one.imports > 0) all.push_back(one);
  return all;
}

}  // namespace plat::fabricd
