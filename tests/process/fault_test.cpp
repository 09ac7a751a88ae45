// SPDX-License-Identifier: Apache-2.0
// The host touches device memory: the program stops with a report; everybody else's faults stay theirs.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <thread>

#include "base/units.h"
#include "support/directory.h"
#include "support/machine.h"

namespace plat::test {
namespace {

struct Ending {
  int status = 0;
  std::string output;
};

// Runs the body in a child and collects what it writes to stderr.
Ending run(const std::function<void()>& body) {
  int pipe_ends[2];
  EXPECT_EQ(pipe(pipe_ends), 0);
  fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(pipe_ends[1], STDERR_FILENO);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    setenv("PLAT_NODE", "private", 1);
    setenv("PLAT_CAPACITY", "64MiB", 1);
    setenv("PLAT_QUIET", "1", 1);
    body();
    _exit(0);
  }
  close(pipe_ends[1]);
  Ending ending;
  char buffer[4096];
  for (ssize_t got = 0; (got = read(pipe_ends[0], buffer, sizeof buffer)) > 0;)
    ending.output.append(buffer, static_cast<size_t>(got));
  close(pipe_ends[0]);
  waitpid(child, &ending.status, 0);
  return ending;
}

bool stopped(const Ending& ending) {
  // Without a sanitizer the signal itself ends the program; with one, its handler does, after ours.
  return (WIFSIGNALED(ending.status) && WTERMSIG(ending.status) == SIGSEGV) ||
         (WIFEXITED(ending.status) && WEXITSTATUS(ending.status) != 0);
}

TEST(HostFault, ReadOfMappedMemoryIsExplained) {
  const Ending ending = run([] {
    aclrtSetDevice(0);
    auto* memory = static_cast<volatile char*>(map_new(2_MiB));
    (void)memory[4711];
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find("VMM-Host-dereference"), std::string::npos) << ending.output;
  EXPECT_NE(ending.output.find("read device address"), std::string::npos) << ending.output;
  EXPECT_NE(ending.output.find("offset 4711 of the mapping of 2097152 bytes"), std::string::npos)
      << ending.output;
  EXPECT_NE(ending.output.find("Stack:"), std::string::npos) << ending.output;
  // Function, file and line, where there is something to read them with; nothing of what printed them.
#ifndef __SANITIZE_THREAD__  // which would report the child that looks them up
  if (dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL) != nullptr) {
    EXPECT_NE(ending.output.find("fault_test.cpp:"), std::string::npos) << ending.output;
  }
#else
  EXPECT_EQ(ending.output.find("WARNING: ThreadSanitizer"), std::string::npos) << ending.output;
#endif
  EXPECT_EQ(ending.output.find("print_stack"), std::string::npos) << ending.output;
}

TEST(HostFault, WriteOfReservedMemoryIsExplained) {
  const Ending ending = run([] {
    void* va = nullptr;
    aclrtReserveMemAddress(&va, 8_MiB, 0, nullptr, 0);
    static_cast<volatile char*>(va)[5_MiB] = 1;
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find("write device address"), std::string::npos) << ending.output;
  EXPECT_NE(ending.output.find("nothing is mapped there"), std::string::npos) << ending.output;
}

TEST(HostFault, BlockInsideSharedPagesIsNamed) {
  const Ending ending = run([] {
    aclrtSetDevice(0);
    void* first = nullptr;
    void* second = nullptr;
    aclrtMalloc(&first, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtMalloc(&second, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    (void)static_cast<volatile char*>(second)[7];
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  // What was asked for, and not what it is rounded to and padded by.
  EXPECT_NE(ending.output.find("offset 7 of the allocation of 100 bytes"), std::string::npos)
      << ending.output;
}

// Small blocks share pages that stay; a large one takes its addresses with it; page-locked memory is the
// host's.
TEST(HostFault, FreedMemorySaysWhoFreedIt) {
  const Ending small = run([] {
    aclrtSetDevice(0);
    void* block = nullptr;
    aclrtMalloc(&block, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtFree(block);
    (void)static_cast<volatile char*>(block)[7];
  });
  EXPECT_TRUE(stopped(small)) << small.status;
  EXPECT_NE(small.output.find("VMM-Host-dereference"), std::string::npos) << small.output;
  EXPECT_NE(small.output.find("offset 7 of the block of 100 bytes"), std::string::npos) << small.output;
  EXPECT_NE(small.output.find("that aclrtFree freed, the last that was freed\n"), std::string::npos)
      << small.output;
  EXPECT_NE(small.output.find("PLAT_STACKS=1"), std::string::npos) << small.output;

  const Ending large = run([] {
    setenv("PLAT_STACKS", "1", 1);
    aclrtSetDevice(0);
    void* blocks[3] = {};
    for (void*& block : blocks) aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY);
    for (void* block : blocks) aclrtFree(block);
    static_cast<volatile char*>(blocks[0])[9] = 1;
  });
  EXPECT_TRUE(stopped(large)) << large.status;
  EXPECT_NE(large.output.find("write device address"), std::string::npos) << large.output;
  EXPECT_NE(large.output.find("offset 9 of the block of 4194304 bytes"), std::string::npos) << large.output;
  EXPECT_NE(large.output.find("that aclrtFree freed, 2 frees ago\n"), std::string::npos) << large.output;
  EXPECT_NE(large.output.find("Freed at:"), std::string::npos) << large.output;

  const Ending pinned = run([] {
    aclrtSetDevice(0);
    void* block = nullptr;
    aclrtMallocHost(&block, 1000);
    std::thread([&] {
      aclrtSetDevice(0);
      aclrtFreeHost(block);
    }).join();
    (void)static_cast<volatile char*>(block)[3];
  });
  EXPECT_TRUE(stopped(pinned)) << pinned.status;
  EXPECT_NE(pinned.output.find("read page-locked memory that was freed"), std::string::npos) << pinned.output;
  EXPECT_NE(pinned.output.find("offset 3 of the block of 1000 bytes"), std::string::npos) << pinned.output;
  EXPECT_NE(pinned.output.find("that aclrtFreeHost freed in thread "), std::string::npos) << pinned.output;
}

// The place has an owner again: what it was before is of no interest.
TEST(HostFault, MemoryThatWasAllocatedAgainIsNotCalledFreed) {
  const Ending ending = run([] {
    aclrtSetDevice(0);
    void* block = nullptr;
    aclrtMalloc(&block, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    aclrtFree(block);
    void* again = nullptr;
    aclrtMalloc(&again, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    if (again == block) (void)static_cast<volatile char*>(again)[7];
    _exit(77);
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find("offset 7 of the allocation of"), std::string::npos) << ending.output;
  EXPECT_EQ(ending.output.find("freed"), std::string::npos) << ending.output;
}

TEST(HostFault, PageBesideTheBlocksIsNotCalledAllocated) {
  const Ending ending = run([] {
    aclrtSetDevice(0);
    void* only = nullptr;
    aclrtMalloc(&only, 100, ACL_MEM_MALLOC_NORMAL_ONLY);
    (void)static_cast<volatile char*>(only)[64 * 4096];
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find("not allocated"), std::string::npos) << ending.output;
}

TEST(HostFault, DeviceHasTheNumberThatTheProgramKnows) {
  const Ending ending = run([] {
    setenv("ASCEND_RT_VISIBLE_DEVICES", "2", 1);
    aclrtSetDevice(0);
    (void)static_cast<volatile char*>(map_new(2_MiB))[0];
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find(" on device 0\n"), std::string::npos) << ending.output;
}

TEST(HostFault, HostMemoryIsOnTheHost) {
  const Ending ending = run([] {
    aclrtPhysicalMemProp prop{};
    prop.memAttr = ACL_MEM_HUGE;
    prop.location.type = ACL_MEM_LOCATION_TYPE_HOST;
    aclrtDrvMemHandle handle = nullptr;
    void* va = nullptr;
    if (aclrtMallocPhysical(&handle, 2_MiB, &prop, 0) != ACL_SUCCESS ||
        aclrtReserveMemAddress(&va, 2_MiB, 0, nullptr, 0) != ACL_SUCCESS ||
        aclrtMemMapNoAccess(va, 2_MiB, 0, handle, 0) != ACL_SUCCESS)
      _exit(0);
    (void)static_cast<volatile char*>(va)[0];
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_NE(ending.output.find(" on the host\n"), std::string::npos) << ending.output;
}

TEST(HostFault, OtherFaultsAreNotExplained) {
  const Ending ending = run([] {
    aclrtSetDevice(0);
    map_new(2_MiB);
    // Volatile, so that the compiler does not see a null pointer's neighbourhood.
    volatile uintptr_t nowhere = 8;
    volatile char* wild = reinterpret_cast<volatile char*>(nowhere);
    *wild = 1;
  });
  EXPECT_TRUE(stopped(ending)) << ending.status;
  EXPECT_EQ(ending.output.find("VMM-Host-dereference"), std::string::npos) << ending.output;
}

sigjmp_buf resume_here;
void jump(int) { siglongjmp(resume_here, 1); }

TEST(HostFault, HandlerOfTheProgramStillGetsItsFaults) {
  const Ending ending = run([] {
    signal(SIGSEGV, jump);
    aclrtSetDevice(0);  // installs ours behind it
    // Volatile, so that the compiler does not see a null pointer's neighbourhood.
    volatile uintptr_t nowhere = 8;
    volatile char* wild = reinterpret_cast<volatile char*>(nowhere);
    if (sigsetjmp(resume_here, 1) == 0) *wild = 1;
    auto* memory = static_cast<volatile char*>(map_new(2_MiB));
    if (sigsetjmp(resume_here, 1) == 0)
      memory[0] = 1;  // explained, and then the program's own handler decides
    _exit(42);
  });
  EXPECT_TRUE(WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 42) << ending.status << ending.output;
  EXPECT_NE(ending.output.find("VMM-Host-dereference"), std::string::npos) << ending.output;
}

// A handler that asked for one fault gets one: the second, after the same report, is the end.
TEST(HostFault, HandlerForOneFaultGetsOne) {
  const Ending ending = run([] {
    struct sigaction action {};
    action.sa_handler = jump;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    sigaction(SIGSEGV, &action, nullptr);
    aclrtSetDevice(0);
    auto* memory = static_cast<volatile char*>(map_new(2_MiB));
    if (sigsetjmp(resume_here, 1) == 0) memory[0] = 1;
    memory[0] = 1;
    _exit(42);
  });
  EXPECT_TRUE(WIFSIGNALED(ending.status)) << ending.status << ending.output;
}

// A handler that came after ours is before it, and may leave a copy of ours by a jump. The block is in use
// until the thread makes its next copy; nothing waits for ever, and other threads are not concerned.
TEST(HostFault, AJumpOutOfACopyCostsNobodyElse) {
  const Ending ending = run([] {
    alarm(60);
    aclrtSetDevice(0);
    void* block = nullptr;
    if (aclrtMalloc(&block, 4_MiB, ACL_MEM_MALLOC_HUGE_FIRST) != 0) _exit(1);
    void* const hole = mmap(nullptr, 1_MiB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGSEGV, jump);
    for (const size_t size : {size_t{64}, size_t{20000}, size_t{1_MiB}}) {
      if (sigsetjmp(resume_here, 1) == 0) aclrtMemcpy(block, size, hole, size, ACL_MEMCPY_HOST_TO_DEVICE);
      if (sigsetjmp(resume_here, 1) == 0) aclrtMemcpy(hole, size, block, size, ACL_MEMCPY_DEVICE_TO_HOST);
    }
    const auto copies = [&] {
      char host[64] = {7};
      if (aclrtMemcpy(block, 64, host, 64, ACL_MEMCPY_HOST_TO_DEVICE) != 0) _exit(2);
      host[0] = 0;
      if (aclrtMemcpy(host, 64, block, 64, ACL_MEMCPY_DEVICE_TO_HOST) != 0 || host[0] != 7) _exit(3);
    };
    std::thread([&] {
      aclrtSetDevice(0);
      copies();
    }).join();
    copies();
    if (const aclError freed = aclrtFree(block);
        freed != 0 && freed != ACL_ERROR_RT_RESOURCE_ALLOC_FAIL && freed != ACL_ERROR_RT_DRV_INTERNAL_ERROR)
      _exit(4);
    _exit(aclrtFree(block) == 0 ? 43 : 42);
  });
  EXPECT_TRUE(WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 42) << ending.status << ending.output;
}

TEST(HostFault, IgnoredSignalOfAProcessStaysIgnored) {
  const Ending ending = run([] {
    signal(SIGSEGV, SIG_IGN);
    aclrtSetDevice(0);
    kill(getpid(), SIGSEGV);
    kill(getpid(), SIGSEGV);
    _exit(42);
  });
  EXPECT_TRUE(WIFEXITED(ending.status) && WEXITSTATUS(ending.status) == 42) << ending.status << ending.output;
}

TEST(HostFault, AllowedAccessDoesNotFault) {
  const Ending ending = run([] {
    setenv("PLAT_HOST_ACCESS", "allow", 1);
    aclrtSetDevice(0);
    auto* memory = static_cast<volatile char*>(map_new(4_MiB));
    memory[3_MiB] = 9;
    if (memory[3_MiB] != 9 || memory[0] != 0) _exit(1);
  });
  EXPECT_EQ(ending.status, 0) << ending.output;
}

// The host may touch it, but there is nothing to touch.
TEST(HostFault, PageThatTheMachineHasNoMemoryForIsExplained) {
  const Directory directory;
  const Ending ending = run([&] {
    setenv("PLAT_NODE", "small", 1);
    setenv("PLAT_HOST_ACCESS", "allow", 1);
    directory.limit("40m");
    aclrtSetDevice(0);
    auto* memory = static_cast<volatile char*>(map_new(60_MiB));
    for (uint64_t at = 0; at < 60_MiB; at += 4096) memory[at] = 1;
  });
  EXPECT_NE(ending.status, 0);
  EXPECT_NE(ending.output.find("MEM-Machine-memory"), std::string::npos) << ending.output;
  EXPECT_NE(ending.output.find("of the mapping of 62914560 bytes"), std::string::npos) << ending.output;
}

}  // namespace
}  // namespace plat::test
