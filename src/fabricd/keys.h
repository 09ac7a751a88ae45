// SPDX-License-Identifier: Apache-2.0
// Keys: by what the daemons of a cluster know each other.
//
// A directory of this user's alone holds an authority (ca.crt, and ca.key where certificates are made) and a
// certificate for each server (server-3.crt, server-3.key). Nodes of one user on one machine share such a
// directory, which the first daemon makes; `plat fabric init` makes one for several machines.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "fabricd/outcome.h"

namespace plat::fabricd {

// As a certificate calls a server.
std::string name_of_server(uint32_t server);

struct Keys {
  std::string authority;  // PEM, all of them
  std::string certificate;
  std::string key;
};

// What is there, checked: nobody else can read the key, the certificate is of this authority, for this
// server, and good now.
Outcome<Keys> load_keys(const std::string& directory, uint32_t server);

// Makes the authority if there is none, and the certificate of a server if there is none.
Outcome<> make_keys(const std::string& directory, uint32_t server, uint32_t days);

// Takes as long whatever the difference.
bool same_secret(const std::array<uint8_t, 32>& a, const std::array<uint8_t, 32>& b);

}  // namespace plat::fabricd
