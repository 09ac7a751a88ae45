// SPDX-License-Identifier: Apache-2.0
// What a process can do to its recorder: signals, threads that end, another program in its place, death.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "inspect/program.h"

namespace programs {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr size_t kHandlerBytes = 32768;  // of frames that are watched
#else
constexpr size_t kHandlerBytes = 6144;
#endif

// Blocks and regions of its own, over and over.
void work(char* memory, int rounds) {
  const auto handle = heap(memory, 4096);
  for (int i = 0; i < rounds; ++i) {
    const auto one = region(handle, memory, 256);
    write(memory, 256);
    read(memory, 256);
    unregister(one);
    mstxMarkA("step", nullptr);
  }
  mstxMemHeapUnregister(nullptr, handle);
}

void work_alone(int rounds) {
  MUST(aclrtSetDevice(0));
  char* const memory = block(4096);
  work(memory, rounds);
  MUST(aclrtFree(memory));
  MUST(aclrtResetDevice(0));
}

void need(bool condition) {
  if (!condition) std::exit(97);
}

// As small as a program may make it: what the system needs for a handler, and a little. Nothing is below it.
void use_small_signal_stack() {
  constexpr size_t kRoom = 65536;
  const size_t size = static_cast<size_t>(sysconf(_SC_MINSIGSTKSZ)) + kHandlerBytes;
  void* const memory = mmap(nullptr, 2 * kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  need(size <= kRoom && memory != MAP_FAILED && mprotect(memory, kRoom, PROT_NONE) == 0);
  stack_t stack{};
  stack.ss_sp = static_cast<char*>(memory) + kRoom;
  stack.ss_size = size;
  need(sigaltstack(&stack, nullptr) == 0);
}

void make_many_events() {
  for (int i = 0; i < 10'000; ++i) MUST(aclrtFree(block(4096)));
}

// Closes every number and gives each that it may have to a file of its own; the file must stay as it is.
void take_all_numbers(bool remove_trace) {
  Device device;
  MUST(aclrtFree(block(4096)));
  const std::vector<char> mine(4 * kMiB, 'm');
  std::FILE* const file = std::tmpfile();
  need(file != nullptr && std::fwrite(mine.data(), 1, mine.size(), file) == mine.size());
  need(std::fflush(file) == 0);
  const int low = fileno(file);
  if (remove_trace) need(unlink(std::getenv("PLAT_INSPECT_TRACE")) == 0);
  closefrom(low + 1);
  rlimit limit{};
  need(getrlimit(RLIMIT_NOFILE, &limit) == 0);
  const int last = static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 4096)) - 8;
  for (int number = low + 1; number < last; ++number) need(dup2(low, number) == number);
  make_many_events();
  std::vector<char> now(mine.size() + 1);
  need(pread(low, now.data(), now.size(), 0) == static_cast<ssize_t>(mine.size()));
  now.pop_back();
  if (now != mine) std::exit(96);
}

}  // namespace

void add_process_programs(Programs& all) {
  all["odd_names"] = [] {
    Device device;
    mstxMarkA("</script><b>", nullptr);
    mstxMarkA("\xff\xfe \" \\ \n", nullptr);
  };
  // Names that would clear the screen, set a title, and hide the rest of a line.
  all["names_that_command"] = [] {
    prctl(PR_SET_NAME, "\x1b[5mblink");
    Device device;
    const auto domain = mstxDomainCreateA(
        "\x1b[2J\x1b]0;title\x07pool\xc2\x9b"
        "8m");
    for (int i = 0; i < 3; ++i) {
      mstxDomainMarkA(domain, "\x1b[31mred\rback", nullptr);
      char* const memory = block(4096);
      region(heap(memory, 4096, domain), memory, 512, domain);
    }
    if (std::getenv("PLANTED_WAIT") == nullptr) return;
    std::printf("ready\n");
    std::fflush(stdout);
    for (;;) pause();
  };
  // The handler tells of itself in the middle of whatever the program is telling.
  all["signals"] = [] {
    Device device;
    mstxMarkA("first", nullptr);  // loads the tool, which a handler must not
    static std::atomic<int> ticks{0};
    struct sigaction action {};
    action.sa_handler = [](int) {
      ++ticks;
      mstxMarkA("tick", nullptr);
    };
    action.sa_flags = SA_RESTART;
    if (sigaction(SIGALRM, &action, nullptr) != 0) std::exit(97);
    const itimerval often = {{0, 200}, {0, 200}};
    if (setitimer(ITIMER_REAL, &often, nullptr) != 0) std::exit(97);
    char* const memory = block(4096);
    while (ticks < 200) work(memory, 20);
    const itimerval never = {};
    setitimer(ITIMER_REAL, &never, nullptr);
    MUST(aclrtFree(memory));
  };
  all["threads_end"] = [] {
    Device device;
    for (int generation = 0; generation < 16; ++generation) {
      std::vector<std::thread> threads;
      for (int i = 0; i < 4; ++i) threads.emplace_back(work_alone, 3);
      for (std::thread& thread : threads) thread.join();
    }
  };
  // A call after the thread's own clean-up has begun: the recorder has let its chunk go by then.
  all["thread_late_call"] = [] {
    Device device;
    static pthread_key_t key;
    if (pthread_key_create(&key, [](void*) { mstxMarkA("late", nullptr); }) != 0) std::exit(97);
    std::thread([] {
      mstxMarkA("early", nullptr);
      pthread_setspecific(key, &key);
    }).join();
  };
  all["execs"] = [] {
    { Device device; }
    execl("/proc/self/exe", "inspect_programs", "past_end", nullptr);
    std::exit(97);
  };
  // Until a signal ends it.
  all["waits"] = [] {
    Device device;
    block(4096);
    std::printf("ready\n");
    std::fflush(stdout);
    for (;;) pause();
  };
  all["elsewhere"] = [] {
    if (chdir("/") != 0) std::exit(97);
    Device device;
    MUST(aclrtFree(block(4096)));
  };
  // More than fits into the smallest trace, and nothing left behind.
  all["many_events"] = [] {
    Device device;
    make_many_events();
  };
  all["takes_all_numbers"] = [] { take_all_numbers(false); };
  all["takes_all_numbers_and_the_name"] = [] { take_all_numbers(true); };
  all["has_all_numbers"] = [] {
    Device device;
    MUST(aclrtFree(block(4096)));
    std::vector<int> numbers;
    for (int number = 0; (number = dup(STDERR_FILENO)) >= 0;) numbers.push_back(number);
    make_many_events();
    for (const int number : numbers) close(number);  // a sanitizer needs some to look for leaks
  };
  // Its events go on, into a file that is shorter than they were.
  all["cuts_its_trace"] = [] {
    Device device;
    MUST(aclrtFree(block(4096)));
    use_small_signal_stack();
    need(truncate(std::getenv("PLAT_INSPECT_TRACE"), 0) == 0);
    MUST(aclrtFree(block(4096)));
    std::thread([] { work_alone(3); }).join();
    make_many_events();
  };
  // Files may have 256 KiB from here on, and nobody asks for the signal.
  all["limits_its_files"] = [] {
    Device device;
    rlimit limit{};
    need(getrlimit(RLIMIT_FSIZE, &limit) == 0);
    limit.rlim_cur = 256 << 10;
    need(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    make_many_events();
  };
  // Nobody reads what is said from here on.
  all["has_no_reader"] = [] {
    int ends[2] = {};
    need(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    Device device;
    void* nothing = nullptr;
    need(aclrtMalloc(&nothing, 0, ACL_MEM_MALLOC_HUGE_FIRST) != ACL_SUCCESS);  // the device has a line to say
    make_many_events();
  };
  // Dies at some instruction of one of its threads, while the others work.
  all["killed_at_work"] = [] {
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
    const char* const after = std::getenv("PLANTED_ROUNDS");
    const int rounds = after != nullptr ? std::atoi(after) : 10;
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i) threads.emplace_back([] { work_alone(1'000'000); });
    work_alone(rounds);
    kill(getpid(), SIGKILL);
  };
}

}  // namespace programs
