// SPDX-License-Identifier: Apache-2.0
#include "fabricd/peers.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>

#include "base/text.h"
#include "fabricd/keepalive.h"
#include "os/process.h"

namespace plat::fabricd {

namespace {

constexpr uint32_t kReleaseMs = 2000;
constexpr uint32_t kCutMs = 500;  // somebody has waited for long already
// An import that follows soon finds the acquaintance still there.
constexpr std::chrono::seconds kIdle{10};

void limit(grpc::ClientContext& context, uint32_t deadline_ms) {
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::milliseconds(deadline_ms));
}

Trouble trouble_of(const rpc::Reply& reply, const std::string& who) {
  return {static_cast<Cause>(reply.cause()), fmt::format("{}: {}", who, visible(reply.text()))};
}

}  // namespace

Outcome<std::shared_ptr<Peer>> Peer::meet(const Self& self, const Keys& keys, uint32_t server,
                                          const ServerAddress& address, uint32_t deadline_ms) {
  const fabric::Deadline deadline(deadline_ms);
  std::shared_ptr<Peer> peer(new Peer);
  peer->server_ = server;
  peer->address_ = address;
  grpc::ChannelArguments arguments;
  keep_alive(arguments);
  arguments.SetSslTargetNameOverride(name_of_server(server));
  // A connection of its own: another life of the daemon must not be taken for this one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  const auto credentials = grpc::SslCredentials({keys.authority, keys.key, keys.certificate});
  const auto line = std::make_shared<Line>();
  line->stub = rpc::Fabric::NewStub(grpc::CreateCustomChannel(address.text(), credentials, arguments));
  rpc::HelloRequest request;
  request.set_version(kFabricVersion);
  request.set_server(self.server);
  request.set_node(self.node);
  rpc::HelloReply reply;
  grpc::ClientContext context;
  limit(context, deadline_ms);
  if (const grpc::Status status = line->stub->Hello(&context, request, &reply); !status.ok())
    return pass_on(peer->explain(status, deadline_ms));
  if (reply.result().cause() != 0) return pass_on(trouble_of(reply.result(), peer->describe()));
  peer->node_ = visible(reply.node());
  peer->token_ = reply.token();
  peer->data_port_ = reply.data_port();
  peer->heard();
  rpc::WatchRequest watch;
  watch.set_token(peer->token_);
  line->watch = line->stub->Watch(&line->watching, watch);
  peer->line_ = line;
  peer->alive_.store(true, std::memory_order_release);
  peer->watcher_ = std::thread(&Peer::watch, peer.get());
  std::unique_lock lock(peer->mutex_);
  if (peer->changed_.wait_until(lock, deadline.end(), [&] { return peer->is_watched_; })) return peer;
  lock.unlock();
  return trouble(Cause::Timeout, "{} did not answer in {} ms", peer->describe(), deadline_ms);
}

Peer::~Peer() {
  leave();
  if (watcher_.joinable()) watcher_.join();
}

std::shared_ptr<Peer::Line> Peer::line() const {
  const std::lock_guard lock(mutex_);
  return line_;
}

void Peer::watch() {
  std::shared_ptr<Line> line = this->line();
  line->watch->WaitForInitialMetadata();
  {
    const std::lock_guard lock(mutex_);
    is_watched_ = true;
    changed_.notify_all();
  }
  rpc::WatchReply nothing;
  while (line->watch->Read(&nothing)) heard();
  alive_.store(false, std::memory_order_release);
  line->watch->Finish();
  const std::lock_guard lock(mutex_);
  line_.reset();
}

void Peer::leave() {
  alive_.store(false, std::memory_order_release);
  if (const auto line = this->line()) line->watching.TryCancel();
}

void Peer::heard() { heard_ns_.store(os::monotonic_nanoseconds(), std::memory_order_relaxed); }

double Peer::heard_seconds() const {
  return static_cast<double>(os::monotonic_nanoseconds() - heard_ns_.load(std::memory_order_relaxed)) / 1e9;
}

std::string Peer::describe() const {
  std::string text = fmt::format("server {} ({}", server_, address_.text());
  if (!node_.empty()) text += fmt::format(", node {}", node_);
  text += ")";
  if (heard_ns_.load(std::memory_order_relaxed) != 0)
    text += fmt::format(", last heard of {:.1f} s ago", heard_seconds());
  return text;
}

Peer::Seen Peer::seen() const {
  return {server_,
          address_.text(),
          node_,
          is_alive(),
          heard_seconds(),
          written_.load(std::memory_order_relaxed),
          read_.load(std::memory_order_relaxed)};
}

Trouble Peer::explain(const grpc::Status& status, uint32_t deadline_ms) const {
  const std::string& said = status.error_message();
  if (status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED)
    return {Cause::Timeout, fmt::format("{} did not answer in {} ms", describe(), deadline_ms)};
  if (said.find("andshake") != std::string::npos)
    return {Cause::Untrusted, fmt::format("{}: the two do not trust each other's certificates ({})",
                                          describe(), visible(said))};
  const bool is_silent = said.find("keepalive") != std::string::npos;
  return {heard_ns_.load() == 0 ? Cause::Unreachable : Cause::Gone,
          fmt::format("{}: {}", describe(),
                      is_silent ? "it gives no sign of life: it is stopped, or cut off" : visible(said))};
}

Trouble Peer::dead() const {
  return {Cause::Gone, fmt::format("{}: this life of its daemon has ended", describe())};
}

Outcome<rpc::ImportReply> Peer::import(uint64_t share, uint64_t secret, uint32_t deadline_ms) {
  rpc::ImportRequest request;
  request.set_token(token_);
  request.set_share(share);
  request.set_secret(secret);
  rpc::ImportReply reply;
  grpc::ClientContext context;
  limit(context, deadline_ms);
  const auto line = this->line();
  if (!line) return pass_on(dead());
  if (const grpc::Status status = line->stub->Import(&context, request, &reply); !status.ok()) {
    // It may have granted what we were not told of: only its end gives that back.
    leave();
    return pass_on(explain(status, deadline_ms));
  }
  heard();
  if (reply.result().cause() != 0) return pass_on(trouble_of(reply.result(), describe()));
  return reply;
}

bool Peer::release(uint64_t import) {
  rpc::ReleaseRequest request;
  request.set_token(token_);
  request.set_import(import);
  rpc::Reply reply;
  grpc::ClientContext context;
  limit(context, kReleaseMs);
  const auto line = this->line();
  if (is_alive() && line && line->stub->Release(&context, request, &reply).ok()) return true;
  leave();
  return false;
}

Outcome<Peer::Connection> Peer::connect(Link::Memory memory, const fabric::Deadline& deadline) {
  rpc::OpenDataRequest request;
  request.set_token(token_);
  rpc::OpenDataReply reply;
  grpc::ClientContext context;
  limit(context, deadline.left_ms());
  const auto line = this->line();
  if (!line) return pass_on(dead());
  if (const grpc::Status status = line->stub->OpenData(&context, request, &reply); !status.ok())
    return pass_on(explain(status, deadline.length_ms()));
  if (reply.result().cause() != 0) return pass_on(trouble_of(reply.result(), describe()));
  Opening opening;
  opening.connection = reply.connection();
  if (reply.ticket().size() != opening.ticket.size())
    return trouble(Cause::Version, "{}: its ticket has {} bytes", describe(), reply.ticket().size());
  std::memcpy(opening.ticket.data(), reply.ticket().data(), opening.ticket.size());
  auto link = Link::connect({address_.host, data_port_}, opening, memory, deadline);
  if (!link) return pass_on({link.error().cause, fmt::format("{}: {}", describe(), link.error().text)});
  heard();
  return Connection{std::move(*link), opening.connection};
}

void Peer::cut(uint64_t connection) {
  rpc::CutDataRequest request;
  request.set_token(token_);
  request.set_connection(connection);
  rpc::Reply reply;
  grpc::ClientContext context;
  limit(context, kCutMs);
  const auto line = this->line();
  if (!is_alive() || !line || !line->stub->CutData(&context, request, &reply).ok()) leave();
}

Outcome<std::shared_ptr<Peer>> Peers::reach(uint32_t server, uint32_t deadline_ms) {
  const auto address = table_.find(server);
  if (address == table_.end())
    return trouble(Cause::NoServer, "the table of server {} names {} server(s), and none is {}", self_.server,
                   table_.size(), server);
  Known* known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    known = &known_[server];
  }
  // Whoever comes while another calls waits for the outcome, and calls itself with what is left of its time.
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(deadline_ms);
  const std::unique_lock meeting(known->meeting, end);
  if (!meeting)
    return trouble(Cause::Timeout, "server {} ({}) did not answer in {} ms", server, address->second.text(),
                   deadline_ms);
  std::shared_ptr<Peer> dead;  // goes when no lock of the map is held: its end waits for its thread
  {
    const std::lock_guard lock(mutex_);
    known->was_idle = false;
    if (known->peer && known->peer->is_alive()) return known->peer;
    dead = std::move(known->peer);
  }
  const auto keys = load_keys(keys_, self_.server);
  if (!keys) return pass_on(keys.error());
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  auto met = Peer::meet(self_, *keys, server, address->second,
                        static_cast<uint32_t>(std::max<int64_t>(left.count(), 1)));
  if (!met) return met;
  const std::lock_guard lock(mutex_);
  known->peer = *met;
  met_.notify_all();
  return met;
}

void Peers::tidy() {
  std::unique_lock lock(mutex_);
  const auto is_alive = [](const auto& entry) { return entry.second.peer && entry.second.peer->is_alive(); };
  for (;;) {
    met_.wait(lock, [&] { return std::any_of(known_.begin(), known_.end(), is_alive); });
    met_.wait_for(lock, kIdle);
    for (auto& entry : known_) {
      if (!is_alive(entry)) continue;
      Known& known = entry.second;
      // Who uses it has the pointer, and only under this lock does anybody new get it.
      const bool is_idle = known.peer.use_count() == 1;
      if (is_idle && known.was_idle) known.peer->leave();
      known.was_idle = is_idle;
    }
  }
}

std::vector<Peer::Seen> Peers::seen() {
  std::vector<Peer::Seen> all;
  const std::lock_guard lock(mutex_);
  for (const auto& [server, known] : known_)
    if (known.peer) all.push_back(known.peer->seen());
  return all;
}

}  // namespace plat::fabricd
