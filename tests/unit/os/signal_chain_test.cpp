// SPDX-License-Identifier: Apache-2.0
// What comes to the program behind our handler is what would have come to it without us.
#include "os/signal_chain.h"

#include <gtest/gtest.h>
#include <setjmp.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace plat::os {
namespace {

// How a child ends that runs the body: its exit code, or minus the signal that killed it.
int ending_of(const std::function<void()>& body) {
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    for (const int fault : {SIGSEGV, SIGBUS}) signal(fault, SIG_DFL);  // a sanitizer has handlers of its own
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

bool not_ours(int, siginfo_t*, void*) { return false; }

void touch_nothing() {
  static volatile char* const page =
      static_cast<char*>(mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  *page = 1;
}

sigjmp_buf resume_here;
volatile int calls = 0;
sigset_t seen_mask;

void jump(int) {
  calls = calls + 1;
  pthread_sigmask(SIG_BLOCK, nullptr, &seen_mask);
  siglongjmp(resume_here, 1);
}
void jump_with_info(int, siginfo_t* info, void* context) {
  if (info->si_addr == nullptr || context == nullptr) _exit(3);
  jump(0);
}
void only_count(int) {
  calls = calls + 1;
  pthread_sigmask(SIG_BLOCK, nullptr, &seen_mask);
}

void install(void (*handler)(int), int flags, std::initializer_list<int> mask = {}) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = flags;
  for (const int blocked : mask) sigaddset(&action.sa_mask, blocked);
  sigaction(SIGSEGV, &action, nullptr);
  put_in_front(SIGSEGV, not_ours);
}

TEST(SignalChain, TheDefaultEndsTheProcess) {
  EXPECT_EQ(ending_of([] {
              install(SIG_DFL, 0);
              touch_nothing();
            }),
            -SIGSEGV);
  EXPECT_EQ(ending_of([] {
              install(SIG_DFL, 0);
              raise(SIGSEGV);
            }),
            -SIGSEGV);
}

TEST(SignalChain, WhatAProcessSendsIsIgnoredAndAFaultIsNot) {
  EXPECT_EQ(ending_of([] {
              install(SIG_IGN, 0);
              raise(SIGSEGV);
              raise(SIGSEGV);
              _exit(7);
            }),
            7);
  EXPECT_EQ(ending_of([] {
              install(SIG_IGN, 0);
              touch_nothing();
            }),
            -SIGSEGV);
}

TEST(SignalChain, AHandlerForOneSignalGetsOne) {
  EXPECT_EQ(ending_of([] {
              install(jump, SA_RESETHAND);
              if (sigsetjmp(resume_here, 1) == 0) touch_nothing();
              if (calls != 1) _exit(1);
              touch_nothing();
              _exit(2);
            }),
            -SIGSEGV);
  // It stays in place, and runs for ever, if it does not repair the fault: that is why programs ask for one.
  EXPECT_EQ(ending_of([] {
              install(only_count, SA_RESETHAND);
              touch_nothing();
            }),
            -SIGSEGV);
}

TEST(SignalChain, AnyOtherHandlerGetsAll) {
  EXPECT_EQ(ending_of([] {
              install(jump, 0);
              for (int i = 0; i < 3; ++i)
                if (sigsetjmp(resume_here, 1) == 0) touch_nothing();
              _exit(calls == 3 ? 7 : 1);
            }),
            7);
}

TEST(SignalChain, AHandlerWithInformationGetsIt) {
  EXPECT_EQ(ending_of([] {
              struct sigaction action {};
              action.sa_sigaction = jump_with_info;
              action.sa_flags = SA_SIGINFO;
              sigaction(SIGSEGV, &action, nullptr);
              put_in_front(SIGSEGV, not_ours);
              if (sigsetjmp(resume_here, 1) == 0) touch_nothing();
              _exit(calls == 1 ? 7 : 1);
            }),
            7);
}

TEST(SignalChain, AHandlerRunsWithItsMask) {
  EXPECT_EQ(ending_of([] {
              install(only_count, 0, {SIGUSR1});
              raise(SIGSEGV);
              if (sigismember(&seen_mask, SIGSEGV) != 1 || sigismember(&seen_mask, SIGUSR1) != 1) _exit(1);
              sigset_t now;
              pthread_sigmask(SIG_BLOCK, nullptr, &now);  // as before once it has returned
              _exit(sigismember(&now, SIGSEGV) == 0 && sigismember(&now, SIGUSR1) == 0 ? 7 : 2);
            }),
            7);
#ifndef __SANITIZE_THREAD__  // which calls handlers later, with a mask of its own
  EXPECT_EQ(ending_of([] {
              install(only_count, SA_NODEFER);
              raise(SIGSEGV);
              _exit(sigismember(&seen_mask, SIGSEGV) == 0 ? 7 : 1);
            }),
            7);
#endif
}

// Without SA_NODEFER a fault inside the handler ends the process; it does not call the handler again.
TEST(SignalChain, AFaultInsideTheHandlerIsTheEnd) {
  EXPECT_EQ(ending_of([] {
              install(
                  [](int) {
                    calls = calls + 1;
                    if (calls > 1) _exit(1);
                    touch_nothing();
                  },
                  0);
              touch_nothing();
            }),
            -SIGSEGV);
}

TEST(SignalChain, WhatIsDealtWithGoesNoFurther) {
  EXPECT_EQ(ending_of([] {
              put_in_front(SIGSEGV, [](int, siginfo_t*, void*) { return true; });
              raise(SIGSEGV);
              _exit(7);
            }),
            7);
}

}  // namespace
}  // namespace plat::os
