// SPDX-License-Identifier: Apache-2.0
// The listener for other servers: a member of the cluster that lies. It says what it likes in any order and
// ends; then nothing is held for it, and the next one is served.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "fuzz/fabric_server.h"
#include "os/process.h"

using namespace plat;
using namespace plat::fabricd;
using fuzz::require;

namespace {

struct World : fuzz::Server {
  Keys own = keys_of(kSelf), theirs = keys_of(kOther);
  std::unique_ptr<Listener> listener = open();
  std::unique_ptr<rpc::Fabric::Stub> stub = connect();
  uint64_t at_rest_bytes = used_bytes();

  std::unique_ptr<Listener> open() {
    auto made = Listener::open({"127.0.0.1", 0}, own, guests);
    require(made.has_value());
    std::thread(&Listener::serve, made->get()).detach();
    return std::move(*made);
  }
  Keys keys_of(uint32_t server) const {
    const std::string keys = directory + "/keys";
    require(make_keys(keys, server, 10).has_value());
    return *load_keys(keys, server);
  }
  std::unique_ptr<rpc::Fabric::Stub> connect() const {
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride(name_of_server(kSelf));
    const Place place{"127.0.0.1", listener->port()};
    return rpc::Fabric::NewStub(grpc::CreateCustomChannel(
        place.text(), grpc::SslCredentials({theirs.authority, theirs.key, theirs.certificate}), arguments));
  }
};

World& world() {
  static auto* const made = new World;
  return *made;
}

struct Watched {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<rpc::WatchReply>> reader;
  ~Watched() {
    context.TryCancel();
    rpc::WatchReply nothing;
    while (reader->Read(&nothing)) continue;
    reader->Finish();
  }
};

struct Said {
  uint64_t token = 0, import = 0, connection = 0;
};

template <class Request, class Reply>
void call(grpc::Status (rpc::Fabric::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
          const Request& request, Reply& reply) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  require((world().stub.get()->*method)(&context, request, &reply).ok());
}

void say(fuzz::Input& input, Said& said, std::vector<std::unique_ptr<Watched>>& watched) {
  const auto what = input.number<uint8_t>();
  // Mostly what was heard before, so that it gets somewhere; sometimes anything.
  const auto some = [&](uint64_t known) {
    return input.number<uint8_t>() % 4 == 0 ? input.number<uint64_t>() : known;
  };
  switch (what % 8) {
    case 0: {
      rpc::HelloRequest request;
      rpc::HelloReply reply;
      request.set_version(what / 8 % 4 == 0 ? input.number<uint32_t>() : fabricd::kFabricVersion);
      request.set_server(what / 8 % 8 == 1 ? input.number<uint32_t>() : World::kOther);
      request.set_node(input.text(input.number<uint8_t>()));
      // Text of the protocol is UTF-8; its library sees to that.
      for (char& c : *request.mutable_node()) c = static_cast<char>(c & 0x7F);
      call(&rpc::Fabric::Stub::Hello, request, reply);
      if (reply.result().cause() == 0) said.token = reply.token();
      return;
    }
    case 1: {
      if (watched.size() >= 4) return;
      rpc::WatchRequest request;
      request.set_token(some(said.token));
      auto one = std::make_unique<Watched>();
      one->reader = world().stub->Watch(&one->context, request);
      one->reader->WaitForInitialMetadata();
      watched.push_back(std::move(one));
      return;
    }
    case 2:
    case 3: {
      rpc::ImportRequest request;
      rpc::ImportReply reply;
      request.set_token(some(said.token));
      request.set_share(some(world().exported.share));
      request.set_secret(some(world().exported.key));
      call(&rpc::Fabric::Stub::Import, request, reply);
      if (reply.result().cause() == 0) said.import = reply.import();
      require(reply.result().cause() != 0 || reply.size_bytes() == uint64_t{4} << 20);
      return;
    }
    case 4: {
      rpc::ReleaseRequest request;
      rpc::Reply reply;
      request.set_token(some(said.token));
      request.set_import(some(said.import));
      call(&rpc::Fabric::Stub::Release, request, reply);
      return;
    }
    case 5: {
      rpc::OpenDataRequest request;
      rpc::OpenDataReply reply;
      request.set_token(some(said.token));
      call(&rpc::Fabric::Stub::OpenData, request, reply);
      if (reply.result().cause() == 0) said.connection = reply.connection();
      return;
    }
    case 6: {
      rpc::CutDataRequest request;
      rpc::Reply reply;
      request.set_token(some(said.token));
      request.set_connection(some(said.connection));
      call(&rpc::Fabric::Stub::CutData, request, reply);
      return;
    }
    default:
      if (!watched.empty()) watched.pop_back();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  Said said;
  std::vector<std::unique_ptr<Watched>> watched;
  for (int calls = 0; calls < 40 && !input.empty(); ++calls) say(input, said, watched);
  watched.clear();
  // The end of a watch is heard of a moment later.
  const uint64_t end_ns = os::monotonic_nanoseconds() + uint64_t{60} * 1000000000;
  const auto holds = [] {
    for (const Guests::Seen& guest : world().guests.seen())
      if (!guest.held.empty() || guest.connections != 0) return true;
    return false;
  };
  while (holds() && os::monotonic_nanoseconds() < end_ns) os::sleep_microseconds(100);
  require(!holds());
  require(world().used_bytes() == world().at_rest_bytes);
  return 0;
}
