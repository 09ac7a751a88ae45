// SPDX-License-Identifier: Apache-2.0
// What the daemon tells of itself, for 'plat fabric status', 'plat info' and 'plat top'.
#pragma once

#include <string>
#include <vector>

#include "fabricd/sessions.h"

namespace plat::fabricd {

struct Listening {
  Self self;
  std::string address;
  uint32_t data_port = 0;
};

// JSON, of at most the length that a message has; what does not fit is left out, and said.
std::string status_text(const Listening& own, const std::vector<Guests::Seen>& guests,
                        const std::vector<Peer::Seen>& peers, const std::vector<Session::Seen>& processes);

}  // namespace plat::fabricd
