// SPDX-License-Identifier: Apache-2.0
// A handler of ours in front of what the program has for a signal.
//
// What we do not deal with goes on to the program's own action as the kernel would have delivered it: with
// its mask, once only if it asked for that, and not at all if it ignores what another process sent. One thing
// is not passed on: the program's handler runs on the alternate stack, if the thread has one, because ours
// does.
#pragma once

#include <signal.h>

namespace plat::os {

// True: dealt with, nobody else hears of it. Async-signal-safe.
using SignalHandler = bool (*)(int signal, siginfo_t* info, void* context);

// Once for each signal. A program that installs a handler of its own later is in front of us; whether we hear
// of the signal is then up to it.
void put_in_front(int signal, SignalHandler handler);

// Lets the signals of memory faults reach the calling thread: one that is blocked ends the process instead.
// Threads inherit what is blocked from whoever starts them.
void unblock_faults();

}  // namespace plat::os
