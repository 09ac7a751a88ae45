// SPDX-License-Identifier: Apache-2.0
// Serves the page of a program that runs, on this machine alone and to whoever knows the token.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace plat::cli {

class LiveServer {
 public:
  struct Content {
    std::function<std::string(const std::string& token)> page;
    std::function<std::string()> data;   // all there is, packed
    std::function<uint64_t()> how_much;  // grows with the data
  };
  // nullptr, with the reason, if it cannot listen, or cpp-httplib is not here or was not when this was built.
  static std::unique_ptr<LiveServer> start(Content content, int port, std::string& problem);
  virtual ~LiveServer() = default;

  virtual std::string address() const = 0;
  // Tells the pages that look whether there is more; they ask for it themselves.
  virtual void announce() = 0;
  // The program has ended: pages are told, and get the last of it within some seconds.
  virtual void end() = 0;
};

}  // namespace plat::cli
