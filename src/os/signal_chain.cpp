// SPDX-License-Identifier: Apache-2.0
#include "os/signal_chain.h"

#include <array>
#include <atomic>
#include <cerrno>

namespace plat::os {

namespace {

struct Chain {
  SignalHandler handler = nullptr;
  struct sigaction previous {};
  std::atomic<bool> spent{false};  // a handler that wanted one signal has had it
};

std::array<Chain, NSIG> chains;

// What the signal would have done without us, had the default been in place.
void die_of(int signal, const siginfo_t* info) {
  struct sigaction fallback {};
  fallback.sa_handler = SIG_DFL;
  sigaction(signal, &fallback, nullptr);
  // A fault: we return, the same instruction faults again, and the core shows the true place.
  if (info->si_code <= 0) raise(signal);
}

void pass_on(int signal, siginfo_t* info, void* context) {
  Chain& chain = chains[static_cast<size_t>(signal)];
  const struct sigaction& previous = chain.previous;
  if (previous.sa_handler == SIG_DFL) return die_of(signal, info);
  if (previous.sa_handler == SIG_IGN) {
    // What a process sent is ignored; a fault cannot be.
    if (info->si_code > 0) die_of(signal, info);
    return;
  }
  if ((previous.sa_flags & SA_RESETHAND) != 0 && chain.spent.exchange(true)) return die_of(signal, info);
  // Blocked until the handler returns: the mask of the context then comes back, as it would without us, or it
  // stays if the handler jumps away.
  sigset_t blocked = previous.sa_mask;
  if ((previous.sa_flags & SA_NODEFER) == 0) sigaddset(&blocked, signal);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  if ((previous.sa_flags & SA_SIGINFO) != 0)
    previous.sa_sigaction(signal, info, context);
  else
    previous.sa_handler(signal);
}

void on_signal(int signal, siginfo_t* info, void* context) {
  const int saved_errno = errno;
  const bool done = chains[static_cast<size_t>(signal)].handler(signal, info, context);
  errno = saved_errno;
  if (!done) pass_on(signal, info, context);
}

}  // namespace

void put_in_front(int signal, SignalHandler handler) {
  Chain& chain = chains[static_cast<size_t>(signal)];
  // Known before ours is there: a signal may come at once.
  sigaction(signal, nullptr, &chain.previous);
  chain.handler = handler;
  struct sigaction action {};
  action.sa_sigaction = on_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  // An ignored signal interrupts nothing; of a handler the program said what it wants.
  const bool ignored = chain.previous.sa_handler == SIG_IGN || chain.previous.sa_handler == SIG_DFL;
  action.sa_flags |= ignored ? SA_RESTART : chain.previous.sa_flags & SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void unblock_faults() {
  sigset_t faults;
  sigemptyset(&faults);
  sigaddset(&faults, SIGSEGV);
  sigaddset(&faults, SIGBUS);
  pthread_sigmask(SIG_UNBLOCK, &faults, nullptr);
}

}  // namespace plat::os
