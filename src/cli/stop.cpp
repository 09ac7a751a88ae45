// SPDX-License-Identifier: Apache-2.0
#include "cli/stop.h"

#include <csignal>
#include <initializer_list>

namespace plat::cli {

namespace {

volatile std::sig_atomic_t g_signal = 0;

}  // namespace

void keep_stop_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    // One that was ignored, as under nohup, stays so.
    const auto before = std::signal(signal, [](int number) { g_signal = number; });
    if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  }
}

bool should_stop() { return g_signal != 0; }

void end_if_stopped() {
  if (g_signal == 0) return;
  std::signal(g_signal, SIG_DFL);
  std::raise(g_signal);
}

}  // namespace plat::cli
