// SPDX-License-Identifier: Apache-2.0
// The listener for other servers: a member of the cluster that lies. It says what it likes in any order and
// ends; then nothing is held for it, and the next one is served. All the while another member keeps to the
// rules, and keeps what it holds. It also keeps the listener awake, which sleeps when it has no guests:
// whoever says nothing but nonsense for ten seconds is cut off then, in the middle of a call.
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include "fuzz/fabric_server.h"
#include "os/process.h"

using namespace plat;
using namespace plat::fabricd;
using fuzz::require;

namespace {

using Stub = rpc::Fabric::Stub;

struct Watched {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<rpc::WatchReply>> reader;
  Watched(Stub& stub, uint64_t token) {
    rpc::WatchRequest request;
    request.set_token(token);
    reader = stub.Watch(&context, request);
    reader->WaitForInitialMetadata();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() {
    context.TryCancel();
    rpc::WatchReply nothing;
    while (reader->Read(&nothing)) continue;
    reader->Finish();
  }
};

template <class Request, class Reply>
void call(Stub& stub, grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
          const Request& request, Reply& reply) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
  const grpc::Status status = (stub.*method)(&context, request, &reply);
  if (!status.ok())
    std::fprintf(stderr, "a call failed: %d %s\n", status.error_code(), status.error_message().c_str());
  require(status.ok());
}

struct World : fuzz::Server {
  static constexpr uint32_t kHonest = 2;

  Keys own = keys_of(kSelf);
  std::unique_ptr<Listener> listener = open();
  std::unique_ptr<Stub> liar = connect(kOther), honest = connect(kHonest);
  std::unique_ptr<Watched> watched = hold_some();
  uint64_t at_rest_bytes = used_bytes();

  // Of a guest: what it holds, and whether it has connections.
  bool holds(uint32_t server) {
    for (const Guests::Seen& guest : guests.seen())
      if (guest.server == server && (!guest.held.empty() || guest.connections != 0)) return true;
    return false;
  }

 private:
  std::unique_ptr<Watched> hold_some() {
    rpc::HelloRequest hello;
    rpc::HelloReply known;
    hello.set_version(fabricd::kFabricVersion);
    hello.set_server(kHonest);
    hello.set_node("honest");
    call(*honest, &Stub::Hello, hello, known);
    auto made = std::make_unique<Watched>(*honest, known.token());
    rpc::ImportRequest import;
    rpc::ImportReply granted;
    import.set_token(known.token());
    import.set_share(exported.share);
    import.set_secret(exported.key);
    call(*honest, &Stub::Import, import, granted);
    require(granted.result().cause() == 0);
    return made;
  }
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
  std::unique_ptr<Stub> connect(uint32_t server) const {
    const Keys theirs = keys_of(server);
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // a connection of its own
    arguments.SetSslTargetNameOverride(name_of_server(kSelf));
    const ServerAddress address{"127.0.0.1", listener->port()};
    return rpc::Fabric::NewStub(grpc::CreateCustomChannel(
        address.text(), grpc::SslCredentials({theirs.authority, theirs.key, theirs.certificate}), arguments));
  }
};

World& world() {
  static auto* const made = new World;
  return *made;
}

struct Said {
  uint64_t token = 0, import = 0, connection = 0;
};

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
      call(*world().liar, &Stub::Hello, request, reply);
      if (reply.result().cause() == 0) said.token = reply.token();
      return;
    }
    case 1: {
      if (watched.size() >= 4) return;
      watched.push_back(std::make_unique<Watched>(*world().liar, some(said.token)));
      return;
    }
    case 2:
    case 3: {
      rpc::ImportRequest request;
      rpc::ImportReply reply;
      request.set_token(some(said.token));
      request.set_share(some(world().exported.share));
      request.set_secret(some(world().exported.key));
      call(*world().liar, &Stub::Import, request, reply);
      if (reply.result().cause() == 0) said.import = reply.import();
      require(reply.result().cause() != 0 || reply.size_bytes() == uint64_t{4} << 20);
      return;
    }
    case 4: {
      rpc::ReleaseRequest request;
      rpc::Reply reply;
      request.set_token(some(said.token));
      request.set_import(some(said.import));
      call(*world().liar, &Stub::Release, request, reply);
      return;
    }
    case 5: {
      rpc::OpenDataRequest request;
      rpc::OpenDataReply reply;
      request.set_token(some(said.token));
      call(*world().liar, &Stub::OpenData, request, reply);
      if (reply.result().cause() == 0) said.connection = reply.connection();
      return;
    }
    case 6: {
      rpc::CutDataRequest request;
      rpc::Reply reply;
      request.set_token(some(said.token));
      request.set_connection(some(said.connection));
      call(*world().liar, &Stub::CutData, request, reply);
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
  while (world().holds(World::kOther) && os::monotonic_nanoseconds() < end_ns) os::sleep_microseconds(100);
  require(!world().holds(World::kOther));
  require(world().holds(World::kHonest));
  require(world().used_bytes() == world().at_rest_bytes);
  return 0;
}
