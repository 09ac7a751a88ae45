// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/recorder.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <new>

#include "inspect/record/device_library.h"
#include "inspect/record/file.h"
#include "inspect/record/hook.h"
#include "inspect/record/modules.h"
#include "inspect/record/stacks.h"
#include "os/signal_chain.h"

namespace plat::inspect {

thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));
uint32_t g_life = 1;
std::atomic<Phase> g_phase{Phase::Idle};

namespace {

// Never destroyed: programs call until their very end.
alignas(File) std::byte g_file_place[sizeof(File)];
File& file() { return *std::launder(reinterpret_cast<File*>(g_file_place)); }

std::atomic<uint64_t> g_event_numbers{0};
pthread_key_t g_thread_key;
uint32_t g_forks = 0;

// Asked for by another process while the program runs.
struct Late {
  bool asked = false;
  Settings settings;
};
Late g_late;

void leave_chunk(ThreadState& state) {
  if (state.chunk != nullptr && state.life == g_life) {
    file().leave(state.chunk);
  } else if (state.chunk != nullptr && state.forks == g_forks) {
    File::close(state.chunk);  // of a trace that has ended
  }
  state.at = state.end = nullptr;
  state.chunk = nullptr;
  state.stack_high = 0;  // what the thread still does begins anew, and ends again
}

void thread_ends(void*) { leave_chunk(t_state); }

// The parent's mappings are not in the child, and its threads are gone.
void child_begins() {
  ++g_life;
  ++g_forks;
  if (g_phase.load(std::memory_order_acquire) == Phase::Running) file().leave_to_parent();
  // Who asked for a trace asked for the parent's.
  g_phase.store(g_late.asked ? Phase::Failed : Phase::Idle, std::memory_order_release);
  forget_stacks();
  forget_modules();
}

// After the program's own exit functions or before them: what still happens is recorded all the same.
void program_ends() {
  if (g_phase.load(std::memory_order_acquire) != Phase::Running || t_state.busy == Busy::Writing) return;
  const Writing writing(t_state);
  const uint64_t now = ticks();
  write<Op::Clock>({.ticks = now}, {now, monotonic_ns()});
  write<Op::Exit>({.ticks = now}, {});
}

// Whether calls come to us: they do if ours is the first definition that the program sees, or if the first is
// another library's that stands before us and passes on. A search from here would always find our own.
bool sees_device_calls() {
  void* const program = dlopen(nullptr, RTLD_LAZY);
  void* const first = look_up(program, "aclrtMalloc");
  const bool is_global = look_up(program, "plat_inspect_prepare") != nullptr;
  dlclose(program);
  if (first == reinterpret_cast<void*>(&aclrtMalloc)) return true;
  return is_global && first != nullptr && first != find_next("aclrtMalloc");
}

bool on_bus_error(int, siginfo_t* info, void*) {
  return info->si_code == BUS_ADRERR && g_phase.load(std::memory_order_acquire) != Phase::Idle &&
         file().survive_cut(info->si_addr, t_state.forks == g_forks ? t_state.chunk : nullptr);
}

void prepare_process_once() {
  static const bool done = [] {
    g_use_counter = counter_is_trusted();
    pthread_key_create(&g_thread_key, thread_ends);
    pthread_atfork(nullptr, nullptr, child_begins);
    std::atexit(program_ends);
    os::put_in_front(SIGBUS, on_bus_error);
    return true;
  }();
  static_cast<void>(done);
}

}  // namespace

bool start_now() {
  for (;;) {
    Phase phase = g_phase.load(std::memory_order_acquire);
    if (phase == Phase::Running) return true;
    if (phase == Phase::Failed) return false;
    if (phase == Phase::Starting) {
      sched_yield();
      continue;
    }
    if (!g_phase.compare_exchange_strong(phase, Phase::Starting)) continue;
    prepare_process_once();
    const Settings settings = g_late.asked ? g_late.settings : read_settings();
    new (g_file_place) File;
    const bool created = file().create(settings);
    if (created) {
      prepare_stacks(settings);
      const Writing writing(t_state);
      if (!sees_device_calls())
        write<Op::MstxOnly>({.ticks = ticks()}, {});
      else if (const char* const file = foreign_file_of(find_next("aclrtMalloc")))
        write<Op::ForeignDevice>({.ticks = ticks()}, {}, file);
    }
    g_phase.store(created ? Phase::Running : Phase::Failed, std::memory_order_release);
    return created;
  }
}

bool make_room(ThreadState& state, size_t bytes) {
  if (state.life != g_life) {
    if (state.chunk != nullptr && state.forks == g_forks) File::close(state.chunk);
    state = ThreadState{};
    state.life = g_life;
    state.forks = g_forks;
    state.busy = Busy::Writing;  // it is, or it would need no room
  }
  if (state.chunk != nullptr) File::close(state.chunk);
  state.chunk = nullptr;
  // The rest of another thread's chunk will do if this event and some more fit.
  ChunkHeader* chunk = state.stack_high == 0 ? file().claim_left() : nullptr;
  state.chunk = chunk;  // before it is touched: see on_bus_error
  uint32_t used = chunk != nullptr ? chunk->used.load(std::memory_order_relaxed) : 0;
  if (chunk != nullptr && kChunkRoom - used < bytes + 4096) {
    File::close(chunk);
    state.chunk = chunk = nullptr;
  }
  if (chunk == nullptr) {
    chunk = file().claim();
    used = 0;
  }
  if (chunk == nullptr) {
    state.at = state.end = nullptr;
    return false;
  }
  auto* const first = reinterpret_cast<uint8_t*>(chunk + 1);
  state.chunk = chunk;
  state.at = first + used;
  state.end = first + kChunkRoom;
  state.last_ticks = 0;
  for (uint64_t& last : state.last) last = 0;
  if (state.stack_high == 0) {
    find_stack_limits(state);
    pthread_setspecific(g_thread_key, &state);
  }
  char name[17] = {};
  prctl(PR_GET_NAME, name);
  // Without a time of its own: the event that needs the room may carry one that has passed.
  write<Op::Thread>({}, {static_cast<uint64_t>(syscall(SYS_gettid))}, name);
  return true;
}

void count_lost() { file().lost_one(); }

void end_late_trace() {
  if (!g_late.asked || g_phase.load(std::memory_order_acquire) != Phase::Running) return;
  {
    const Writing writing(t_state);
    const uint64_t now = ticks();
    write<Op::Clock>({.ticks = now}, {now, monotonic_ns()});
  }
  g_phase.store(Phase::Failed, std::memory_order_release);
  ++g_life;
  leave_chunk(t_state);  // other threads do with their next event, if there is one
  file().end();
  forget_stacks();
  forget_modules();
}

uint64_t next_number() { return g_event_numbers.fetch_add(1, std::memory_order_relaxed) + 1; }

}  // namespace plat::inspect

// Called by the broker before it attaches the recorder to a program that runs. Not 0: a trace is being
// written already.
extern "C" __attribute__((visibility("default"))) int plat_inspect_prepare(const char* trace,
                                                                           const char* stacks) {
  using namespace plat::inspect;
  const Phase phase = g_phase.load(std::memory_order_acquire);
  if (phase == Phase::Running || phase == Phase::Starting) return 1;
  g_late = {true, late_settings(trace, stacks)};
  g_phase.store(Phase::Idle, std::memory_order_release);
  return 0;
}
