// SPDX-License-Identifier: Apache-2.0
// The messages of wire.h, sent and received whole.
#pragma once

#include <string>
#include <string_view>

#include "fabric/wire.h"
#include "os/packets.h"

namespace plat::fabric {

using os::Received;

// `timeout_ms` -1: for ever. A message that is too short is the end: the other side is none of ours. But a
// request of another version may have any length: of that one only the version means something. With a
// lookout it does not sleep at once.
Received receive(int socket, Request& request, int timeout_ms, os::Lookout* lookout = nullptr);
Received receive(int socket, Reply& reply, std::string& text, int timeout_ms, os::Fd* file = nullptr,
                 os::Lookout* lookout = nullptr);

// False when the other side is gone.
bool send(int socket, const Request& request);
bool send(int socket, const Reply& reply, std::string_view text, int file = -1);

}  // namespace plat::fabric
