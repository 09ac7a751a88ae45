// SPDX-License-Identifier: Apache-2.0
// Where events go: from the calling thread into its chunk of the trace.
//
// Nothing is created before the first event, so that a shell that only starts the program leaves no file. A
// forked child starts a trace of its own with its first event.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "inspect/record/ticks.h"
#include "inspect/trace/coding.h"
#include "inspect/trace/format.h"
#include "inspect/trace/ops.h"

namespace plat::inspect {

// What the thread is doing: in a recorded call, what that call calls is not recorded; while it writes, a
// signal handler must not.
enum class Busy : uint32_t { No, InCall, Writing };

// The thread's place in the trace. Plain data, so that it costs one load to reach.
struct ThreadState {
  uint8_t* at;  // where the next event goes
  uint8_t* end;
  ChunkHeader* chunk;
  uint64_t last_ticks;
  uint64_t begun;  // the last call that counts from its beginning
  uint64_t last[kBases];
  uint32_t life;   // which trace the chunk is of
  uint32_t forks;  // which process: a child does not have its parent's chunks
  Busy busy;
  uintptr_t stack_low;  // where frames of this thread may be
  uintptr_t stack_high;
};

extern thread_local ThreadState t_state __attribute__((tls_model("initial-exec")));
extern uint32_t g_life;

enum class Phase : uint8_t { Idle, Starting, Running, Failed };
extern std::atomic<Phase> g_phase;

// The most that an event without text takes.
inline constexpr size_t kEventMax = 2 + kVarintMax * (3 + kFieldsMax);

// Makes room for `bytes` in the thread's chunk, in a new one if need be. False: there is none.
bool make_room(ThreadState& state, size_t bytes);
// An event of the program found no room.
void count_lost();

inline bool has_room(ThreadState& state, size_t bytes) {
  if (__builtin_expect(state.life == g_life && static_cast<size_t>(state.end - state.at) >= bytes, 1))
    return true;
  return make_room(state, bytes);
}

struct EventHead {
  uint64_t ticks = 0;
  int result = 0;
  uint32_t stack = 0;
  bool begins = false;
};

template <class T>
uint64_t word(T value) {
  if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<uint64_t>(value);
  } else {
    return static_cast<uint64_t>(value);
  }
}

// While this lives the thread's chunk may be half-way between two events.
class Writing {
 public:
  explicit Writing(ThreadState& state) : state_(state), before_(state.busy) {
    state_.busy = Busy::Writing;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Writing() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    state_.busy = before_;
  }
  Writing(const Writing&) = delete;
  Writing& operator=(const Writing&) = delete;

 private:
  ThreadState& state_;
  Busy before_;
};

template <Op op>
__attribute__((always_inline)) inline void write(const EventHead& head,
                                                 const std::array<uint64_t, words_of(op)>& words,
                                                 std::string_view text = {}) {
  ThreadState& state = t_state;
  if (text.size() > kTextMax) text = text.substr(0, kTextMax);
  if (!has_room(state, kEventMax + (has_text(op) ? text.size() + kVarintMax : 0))) {
    // Not where room was looked for: an event whose stack finds none either is one event.
    if constexpr (!is_about_trace(op)) count_lost();
    return;
  }
  uint8_t* at = state.at;
  *at++ = static_cast<uint8_t>(op);
  *at++ = static_cast<uint8_t>((head.result != 0 ? kHasResult : 0) | (head.stack != 0 ? kHasStack : 0) |
                               (head.begins ? kBegins : 0));
  // A call that began before its own consequences is told after them.
  const uint64_t now = head.ticks > state.last_ticks ? head.ticks : state.last_ticks;
  at = put_varint(at, now - state.last_ticks);
  state.last_ticks = now;
  if (head.result != 0) at = put_varint(at, zigzag(static_cast<uint64_t>(static_cast<int64_t>(head.result))));
  if (head.stack != 0) at = put_varint(at, head.stack);
  constexpr FieldList fields = info_of(op).fields;
  for (size_t i = 0; i < words.size(); ++i) {
    const FieldKind kind = kind_of(fields[i]);
    if (kind == FieldKind::Number) {
      at = put_varint(at, words[i]);
    } else {
      uint64_t& last = state.last[base_of(kind)];
      at = put_varint(at, zigzag(words[i] - last));
      last = words[i];
    }
  }
  if constexpr (has_text(op)) {
    at = put_varint(at, text.size());
    __builtin_memcpy(at, text.data(), text.size());
    at += text.size();
  }
  state.at = at;
  state.chunk->used.store(static_cast<uint32_t>(at - reinterpret_cast<uint8_t*>(state.chunk + 1)),
                          std::memory_order_release);
}

// Starts the recorder if that has not happened. False: nothing is recorded in this process.
bool start_now();
inline bool start() {
  return __builtin_expect(g_phase.load(std::memory_order_acquire) == Phase::Running, 1) || start_now();
}

// The end of a trace that was asked for while the program ran; another may be asked for later. No call may be
// inside the recorder.
void end_late_trace();

// Numbers for host work, mstx domains, heaps, regions and ranges; never 0.
uint64_t next_number();

// The program's thread, not one of ours, for which what happens inside the current call counts again.
class Unguarded {
 public:
  Unguarded() : busy_(t_state.busy) { t_state.busy = Busy::No; }
  ~Unguarded() { t_state.busy = busy_; }
  Unguarded(const Unguarded&) = delete;
  Unguarded& operator=(const Unguarded&) = delete;

 private:
  Busy busy_;
};

}  // namespace plat::inspect
