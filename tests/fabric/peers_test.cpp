// SPDX-License-Identifier: Apache-2.0
// Other servers, as a daemon calls them, with one that does not keep to the rules.
#include "fabricd/peers.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "os/process.h"

namespace plat::fabricd {
namespace {

// Greets, and then says nothing for a while.
class FallsSilent final : public rpc::Fabric::Service {
 public:
  grpc::Status Hello(grpc::ServerContext*, const rpc::HelloRequest*, rpc::HelloReply* reply) override {
    reply->set_token(1);
    return grpc::Status::OK;
  }
  grpc::Status Watch(grpc::ServerContext* context, const rpc::WatchRequest*,
                     grpc::ServerWriter<rpc::WatchReply>*) override {
    for (int waited_ms = 0; waited_ms < kSilentMs && !context->IsCancelled(); ++waited_ms)
      os::sleep_microseconds(1000);
    return grpc::Status::OK;
  }

 private:
  static constexpr int kSilentMs = 20000;
};

TEST(Peers, AServerThatFallsSilentAfterItsGreetingIsWaitedForNoLongerThanTheDeadline) {
  char name[] = "/tmp/plat-peers-XXXXXX";
  const std::string keys = mkdtemp(name);
  for (const uint32_t server : {0u, 1u}) ASSERT_TRUE(make_keys(keys, server, 10));
  const auto theirs = load_keys(keys, 0);
  ASSERT_TRUE(theirs);
  grpc::SslServerCredentialsOptions options(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = theirs->authority;
  options.pem_key_cert_pairs.push_back({theirs->key, theirs->certificate});
  FallsSilent service;
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::SslServerCredentials(options), &port);
  builder.RegisterService(&service);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  {
    Peers peers({1, "b", 1}, keys, {{0, {"127.0.0.1", static_cast<uint32_t>(port)}}});
    const auto reached = peers.reach(0, 2000);
    ASSERT_FALSE(reached);
    EXPECT_EQ(reached.error().cause, Cause::Timeout) << reached.error().text;
    EXPECT_NE(reached.error().text.find("server 0"), std::string::npos) << reached.error().text;
  }
  std::filesystem::remove_all(keys);
}

}  // namespace
}  // namespace plat::fabricd
