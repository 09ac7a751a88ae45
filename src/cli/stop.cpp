// SPDX-License-Identifier: Apache-2.0
#include "cli/stop.h"

#include <csignal>
#include <initializer_list>

namespace plat::cli {

namespace {

volatile std::sig_atomic_t g_signal = 0;

}  // namespace

void keep_stop_signals() {
  struct sigaction keep {};
  keep.sa_handler = [](int number) { g_signal = number; };
  keep.sa_flags = SA_RESTART | SA_RESETHAND;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    sigaction(signal, &keep, &before);
    // One that was ignored, as under nohup, stays so.
    if (before.sa_handler == SIG_IGN) sigaction(signal, &before, nullptr);
  }
}

bool should_stop() { return g_signal != 0; }

void end_if_stopped() {
  if (g_signal == 0) return;
  std::signal(g_signal, SIG_DFL);
  std::raise(g_signal);
}

}  // namespace plat::cli
