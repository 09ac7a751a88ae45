// SPDX-License-Identifier: Apache-2.0
// A second process of a test, forked before the first ACL call, with a channel of 64-bit numbers in both
// directions.
#pragma once

#include <functional>
#include <string>

#include <sys/types.h>

namespace plat::test {

// Sends and receives numbers and texts between two processes.
class Channel {
 public:
  Channel(int in, int out) : in_(in), out_(out) {}
  void send(uint64_t value) const;
  void send_text(const std::string& text) const;
  // Ends the process when the other side is gone: a test must not hang.
  uint64_t receive() const;
  std::string receive_text() const;
  void close() const;

 private:
  int in_;
  int out_;
};

// Another process that runs this body; channel() is to it, and in the body from it.
class Peer {
 public:
  explicit Peer(const std::function<void(Channel&)>& body);
  ~Peer();
  Channel& channel() { return channel_; }
  pid_t pid() const { return pid_; }
  // Waits for its end; true if it ended by itself without a failed expectation.
  bool join();
  void kill_now();

 private:
  Channel channel_{-1, -1};
  pid_t pid_ = -1;
};

// Runs in a child, for a test that makes its first ACL call itself. Expectations that fail there fail here.
void in_child(const std::function<void()>& body);

}  // namespace plat::test
