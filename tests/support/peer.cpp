// SPDX-License-Identifier: Apache-2.0
#include "support/peer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace plat::test {

void Channel::send(uint64_t value) const {
  if (write(out_, &value, sizeof value) != sizeof value) _exit(3);
}

uint64_t Channel::receive() const {
  uint64_t value = 0;
  if (read(in_, &value, sizeof value) != sizeof value) {
    fprintf(stderr, "process %d: the other side of the channel is gone\n", getpid());
    _exit(3);
  }
  return value;
}

void Channel::send_text(const std::string& text) const {
  send(text.size());
  for (const char c : text) send(static_cast<unsigned char>(c));
}

void Channel::close() const {
  ::close(in_);
  ::close(out_);
}

std::string Channel::receive_text() const {
  std::string text(receive(), 0);
  for (char& c : text) c = static_cast<char>(receive());
  return text;
}

Peer::Peer(const std::function<void(Channel&)>& body) {
  int to_peer[2];
  int from_peer[2];
  if (pipe(to_peer) != 0 || pipe(from_peer) != 0) abort();
  fflush(nullptr);
  pid_ = fork();
  if (pid_ < 0) abort();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    close(to_peer[1]);
    close(from_peer[0]);
    Channel channel(to_peer[0], from_peer[1]);
    body(channel);
    fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  close(to_peer[0]);
  close(from_peer[1]);
  channel_ = Channel(from_peer[0], to_peer[1]);
}

bool Peer::join() {
  if (pid_ < 0) return true;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

void Peer::kill_now() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

Peer::~Peer() {
  kill_now();
  channel_.close();
}

void in_child(const std::function<void()>& body) {
  Peer child([&](Channel&) { body(); });
  EXPECT_TRUE(child.join());
}

}  // namespace plat::test
