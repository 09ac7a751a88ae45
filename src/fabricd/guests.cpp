// SPDX-License-Identifier: Apache-2.0
#include "fabricd/guests.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "fabricd/keys.h"
#include "os/process.h"

namespace plat::fabricd {

namespace {

constexpr size_t kMaxGuests = 1024;
constexpr size_t kMaxConnections = 256;  // of one guest

void tell(rpc::Reply* reply, const Trouble& why) {
  reply->set_cause(static_cast<uint32_t>(why.cause));
  reply->set_text(why.text);
}

const Trouble kStranger{Cause::Gone, "it does not know this daemon, or took it for dead"};

// Whether the certificate of the caller is the one of the server that it says it is.
bool is_who_it_says(const grpc::ServerContext& context, uint32_t server) {
  const std::string name = name_of_server(server);
  for (const grpc::string_ref& known :
       context.auth_context()->FindPropertyValues("x509_subject_alternative_name"))
    if (std::string_view(known.data(), known.size()) == name) return true;
  return false;
}

// The call stays open until the guest ends it, by will or by death.
class WatchReactor final : public grpc::ServerWriteReactor<rpc::WatchReply> {
 public:
  WatchReactor(Guests& guests, Guest guest) : guests_(guests), guest_(guest) { StartSendInitialMetadata(); }
  explicit WatchReactor(Guests& guests) : guests_(guests) {
    Finish(grpc::Status(grpc::StatusCode::NOT_FOUND, kStranger.text));
  }
  void OnCancel() override { Finish(grpc::Status::CANCELLED); }
  void OnDone() override {
    if (guest_ != 0) guests_.leave(guest_);
    delete this;
  }

 private:
  Guests& guests_;
  Guest guest_ = 0;
};

}  // namespace

Guests::Call::Call(Guests& guests, Guest guest) : guests_(guests), guest_(guest) {
  const std::lock_guard lock(guests_.mutex_);
  const auto found = guests_.guests_.find(guest);
  if (found == guests_.guests_.end() || found->second.leaving || !found->second.watched) return;
  found->second.calls += 1;
  good_ = true;
}

Guests::Call::~Call() {
  if (!good_) return;
  {
    const std::lock_guard lock(guests_.mutex_);
    Known& known = guests_.guests_.at(guest_);
    known.calls -= 1;
    if (!known.leaving || known.calls > 0) return;
  }
  guests_.drop(guest_);
}

void Guests::leave(Guest guest) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = guests_.find(guest);
    if (found == guests_.end() || found->second.leaving) return;
    found->second.leaving = true;
    if (found->second.calls > 0) return;  // the last of them does it
  }
  drop(guest);
}

bool Guests::are_gone() {
  const std::lock_guard lock(mutex_);
  const auto stays = [](const auto& entry) { return entry.second.watched || entry.second.calls > 0; };
  if (std::exchange(somebody_came_, false) || std::any_of(guests_.begin(), guests_.end(), stays))
    return false;
  guests_.clear();
  return true;
}

void Guests::drop(Guest guest) {
  exports_.drop(guest);
  const std::lock_guard lock(mutex_);
  guests_.erase(guest);
}

grpc::Status Guests::Hello(grpc::ServerContext* context, const rpc::HelloRequest* request,
                           rpc::HelloReply* reply) {
  if (!is_who_it_says(*context, request->server())) {
    tell(reply->mutable_result(),
         {Cause::Untrusted,
          fmt::format("the caller's certificate is not that of server {}", request->server())});
    return grpc::Status::OK;
  }
  if (request->version() != kFabricVersion) {
    tell(reply->mutable_result(),
         {Cause::Version, fmt::format("server {} speaks version {} of the fabric, server {} version {}",
                                      request->server(), request->version(), self_.server, kFabricVersion)});
    return grpc::Status::OK;
  }
  const auto is_also = [&](const std::string& node) {
    tell(reply->mutable_result(), {Cause::Untrusted, fmt::format("node '{}' and node '{}' are both server {}",
                                                                 request->node(), node, request->server())});
    return grpc::Status::OK;
  };
  if (request->server() == self_.server) return is_also(self_.node);
  std::unique_lock lock(mutex_);
  somebody_came_ = true;
  for (const auto& [guest, known] : guests_)
    if (known.server == request->server() && known.node != request->node() && known.watched && !known.leaving)
      return is_also(known.node);
  // One that never began to watch makes room.
  std::erase_if(guests_, [&](const auto& entry) {
    return guests_.size() >= kMaxGuests && !entry.second.watched && entry.second.calls == 0;
  });
  if (guests_.size() >= kMaxGuests) {
    tell(reply->mutable_result(), {Cause::Full, fmt::format("it has {} guests", guests_.size())});
    return grpc::Status::OK;
  }
  std::vector<Guest> earlier;
  for (const auto& [guest, known] : guests_)
    if (known.server == request->server()) earlier.push_back(guest);
  Guest token = 0;
  while (token == 0 || guests_.contains(token)) token = os::random_number();
  guests_[token] = Known{request->server(), request->node(), false, 0, false};
  reply->set_server(self_.server);
  reply->set_node(self_.node);
  reply->set_incarnation(self_.incarnation);
  reply->set_token(token);
  reply->set_data_port(target_.port());
  lock.unlock();
  // A daemon that comes anew has given up what it had, or is another life of itself. What it wrote then may
  // still be on its way, and must not land on what it writes from now on.
  for (const Guest guest : earlier) {
    target_.cut_all(guest);
    leave(guest);
  }
  return grpc::Status::OK;
}

grpc::ServerWriteReactor<rpc::WatchReply>* Guests::Watch(grpc::CallbackServerContext*,
                                                         const rpc::WatchRequest* request) {
  {
    const std::lock_guard lock(mutex_);
    const auto found = guests_.find(request->token());
    if (found == guests_.end() || found->second.watched) return new WatchReactor(*this);
    found->second.watched = true;
  }
  return new WatchReactor(*this, request->token());
}

grpc::Status Guests::Import(grpc::ServerContext*, const rpc::ImportRequest* request,
                            rpc::ImportReply* reply) {
  const Call call(*this, request->token());
  if (!call) {
    tell(reply->mutable_result(), kStranger);
    return grpc::Status::OK;
  }
  const auto granted = exports_.grant(request->token(), request->share(), request->secret());
  if (!granted) {
    tell(reply->mutable_result(), granted.error());
    return grpc::Status::OK;
  }
  reply->set_import(granted->import);
  reply->set_size_bytes(granted->size_bytes);
  reply->set_attribute(granted->attribute);
  reply->set_location_type(granted->location_type);
  reply->set_location_id(granted->location_id);
  reply->set_key(granted->key);
  reply->set_base(granted->base);
  return grpc::Status::OK;
}

grpc::Status Guests::Release(grpc::ServerContext*, const rpc::ReleaseRequest* request, rpc::Reply* reply) {
  const Call call(*this, request->token());
  if (!call) {
    tell(reply, kStranger);
    return grpc::Status::OK;
  }
  if (const auto done = exports_.take_back(request->token(), request->import()); !done)
    tell(reply, done.error());
  return grpc::Status::OK;
}

grpc::Status Guests::OpenData(grpc::ServerContext*, const rpc::OpenDataRequest* request,
                              rpc::OpenDataReply* reply) {
  const Call call(*this, request->token());
  if (!call) {
    tell(reply->mutable_result(), kStranger);
    return grpc::Status::OK;
  }
  const auto opening = target_.expect(request->token(), kMaxConnections);
  if (!opening) {
    tell(reply->mutable_result(), opening.error());
    return grpc::Status::OK;
  }
  reply->set_connection(opening->connection);
  reply->set_ticket(opening->ticket.data(), opening->ticket.size());
  return grpc::Status::OK;
}

grpc::Status Guests::CutData(grpc::ServerContext*, const rpc::CutDataRequest* request, rpc::Reply* reply) {
  const Call call(*this, request->token());
  if (!call)
    tell(reply, kStranger);
  else
    target_.cut(request->token(), request->connection());
  return grpc::Status::OK;
}

std::vector<Guests::Seen> Guests::seen() {
  std::map<Guest, Known> guests;
  {
    const std::lock_guard lock(mutex_);
    guests = guests_;
  }
  std::vector<Seen> all;
  all.reserve(guests.size());
  for (const auto& [guest, known] : guests)
    all.push_back({known.server, known.node, target_.connections(guest), exports_.held_by(guest)});
  return all;
}

}  // namespace plat::fabricd
