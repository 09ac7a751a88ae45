// SPDX-License-Identifier: Apache-2.0
// How soon a daemon that vanished, or stopped, is taken for dead: after two and a half seconds without work
// it is asked for a sign of life, and must give one within as much.
#pragma once

#include <grpcpp/support/channel_arguments.h>

namespace plat::fabricd {

inline constexpr int kKeepaliveMs = 2500;

// Of a channel, or of a server (which has a function of the same name for arguments).
template <class Arguments, class Set>
void set_keep_alive(Arguments& arguments, Set&& set) {
  set(arguments, GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  set(arguments, GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  set(arguments, GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
  set(arguments, GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  set(arguments, GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 1000);
}

inline void keep_alive(grpc::ChannelArguments& arguments) {
  set_keep_alive(arguments, [](auto& a, const char* name, int value) { a.SetInt(name, value); });
}

}  // namespace plat::fabricd
