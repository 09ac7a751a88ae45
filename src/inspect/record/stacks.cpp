// SPDX-License-Identifier: Apache-2.0
#include "inspect/record/stacks.h"

#include <execinfo.h>
#include <pthread.h>
#include <sys/mman.h>

#include <atomic>
#include <cstddef>

#include "inspect/record/modules.h"
#include "inspect/record/python_frames.h"
#include "inspect/record/recorder.h"

namespace plat::inspect {

Stacks g_stacks = Stacks::None;

namespace {

// Known stacks by hash; open addressing, never shrinks, filled without locks. When it is full, a stack that
// is not in it is written anew each time.
struct Known {
  std::atomic<uint64_t> hash;
  std::atomic<uint32_t> number;
};
constexpr size_t kKnownCount = size_t{1} << 18;
constexpr size_t kProbesMax = 32;

Known* g_known = nullptr;
// Frames of Python that the trace has names for; when it is full, they are named with every stack.
constexpr size_t kNamedCount = size_t{1} << 14;
std::atomic<uint64_t> g_named[kNamedCount];
std::atomic<uint32_t> g_stack_numbers{0};
uint32_t g_depth = 0;

uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

// The program's memory, which it may be changing: no sanitizer has an opinion on that.
__attribute__((no_sanitize("address", "thread", "undefined"))) uint32_t walk(const ThreadState& state,
                                                                             const void* frame,
                                                                             uintptr_t* frames,
                                                                             uint32_t depth) {
  auto at = reinterpret_cast<uintptr_t>(frame);
  uint32_t count = 0;
  while (count < depth && at >= state.stack_low && at + 2 * sizeof(uintptr_t) <= state.stack_high &&
         at % sizeof(uintptr_t) == 0) {
    const auto* const pair = reinterpret_cast<const uintptr_t*>(at);
    const uintptr_t next = pair[0];
    if (pair[1] < 4096) break;
    frames[count++] = pair[1];
    if (next <= at) break;  // frames lie higher and higher; code without frame pointers breaks the chain
    at = next;
  }
  return count;
}

uint32_t unwind(uintptr_t* frames, uint32_t depth) {
  constexpr uint32_t kOwnMax = 8;
  void* raw[kFramesMax + kOwnMax];
  const auto got = static_cast<uint32_t>(backtrace(raw, static_cast<int>(depth + kOwnMax)));
  uint32_t first = 0;
  while (first < got && is_own_code(reinterpret_cast<uintptr_t>(raw[first]))) ++first;
  uint32_t count = 0;
  for (; first < got && count < depth; ++first) frames[count++] = reinterpret_cast<uintptr_t>(raw[first]);
  return count;
}

// A stack as it was taken: frames of machine code, then those of Python that they stand for.
struct Taken {
  uintptr_t frames[kFramesMax];
  uint32_t count = 0;
  PythonFrame python[kFramesMax];
  uint32_t python_count = 0;
};

bool has_name(uint64_t address) {
  for (size_t probe = 0; probe < kProbesMax; ++probe) {
    std::atomic<uint64_t>& named = g_named[(address + probe) % kNamedCount];
    uint64_t there = named.load(std::memory_order_relaxed);
    if (there == 0 && named.compare_exchange_strong(there, address, std::memory_order_relaxed)) return false;
    if (there == address) return true;
  }
  return false;
}

void name_frames(const Taken& taken) {
  char text[kTextMax];
  for (uint32_t i = 0; i < taken.python_count; ++i) {
    const PythonFrame& frame = taken.python[i];
    if (has_name(frame.address)) continue;
    const size_t size = name_python_frame(frame, text, sizeof text);
    write<Op::FrameName>({}, {frame.address, static_cast<uint64_t>(frame.line > 0 ? frame.line : 0)},
                         {text, size});
  }
}

// A new stack goes into the trace before its number can be seen by anybody.
uint32_t define(const Taken& taken) {
  const uintptr_t* const frames = taken.frames;
  const uint32_t count = taken.count;
  note_modules();
  name_frames(taken);
  const uint32_t number = g_stack_numbers.fetch_add(1, std::memory_order_relaxed) + 1;
  ThreadState& state = t_state;
  if (!has_room(state, kEventMax + (count + 1) * kVarintMax)) return 0;
  uint8_t* at = state.at;
  *at++ = static_cast<uint8_t>(Op::Stack);
  *at++ = 0;
  *at++ = 0;  // no time passes
  at = put_varint(at, number);
  at = put_varint(at, count);
  uintptr_t last = 0;
  for (uint32_t i = 0; i < count; ++i) {
    at = put_varint(at, zigzag(frames[i] - last));
    last = frames[i];
  }
  state.at = at;
  state.chunk->used.store(static_cast<uint32_t>(at - reinterpret_cast<uint8_t*>(state.chunk + 1)),
                          std::memory_order_release);
  return number;
}

uint32_t intern(const Taken& taken) {
  uint64_t hash = taken.count;
  for (uint32_t i = 0; i < taken.count; ++i) hash = mix(hash, taken.frames[i]);
  if (hash == 0) hash = 1;
  for (size_t probe = 0; probe < kProbesMax; ++probe) {
    Known& known = g_known[(hash + probe) % kKnownCount];
    const uint64_t there = known.hash.load(std::memory_order_acquire);
    if (there == hash) {
      if (const uint32_t number = known.number.load(std::memory_order_acquire); number != 0) return number;
      break;  // another thread is about to number it: do not wait, write it once more
    }
    if (there != 0) continue;
    uint64_t expected = 0;
    if (!known.hash.compare_exchange_strong(expected, hash)) {
      if (expected == hash) break;
      continue;
    }
    const uint32_t number = define(taken);
    known.number.store(number, std::memory_order_release);
    return number;
  }
  return define(taken);
}

}  // namespace

void prepare_stacks(const Settings& settings) {
  g_depth = settings.depth;
  g_stacks = settings.stacks;
  if (g_stacks == Stacks::None || g_known != nullptr) return;
  find_python();
  void* const memory = mmap(nullptr, kKnownCount * sizeof(Known), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    g_stacks = Stacks::None;
    return;
  }
  g_known = static_cast<Known*>(memory);
  if (g_stacks == Stacks::Unwind) {
    void* frames[1];
    backtrace(frames, 1);  // loads the unwinder now, where it disturbs nobody
  }
}

void forget_stacks() {
  if (g_known == nullptr) return;
  munmap(g_known, kKnownCount * sizeof(Known));
  g_known = nullptr;
  for (auto& named : g_named) named.store(0, std::memory_order_relaxed);
}

void find_stack_limits(ThreadState& state) {
  pthread_attr_t attributes;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &low, &size);
    pthread_attr_destroy(&attributes);
  }
  state.stack_low = reinterpret_cast<uintptr_t>(low);
  state.stack_high = low != nullptr ? state.stack_low + size : 1;  // 1: asked, and there is none
}

uint32_t take_stack(const void* frame) {
  ThreadState& state = t_state;
  if (!has_room(state, kEventMax)) return 0;  // also finds the limits of a new thread
  Taken taken;
  taken.count = g_stacks == Stacks::FramePointer ? walk(state, frame, taken.frames, g_depth)
                                                 : unwind(taken.frames, g_depth);
  taken.python_count = take_python_frames(taken.python, g_depth);
  // Python says more than the machine code of its interpreter.
  if (taken.count + taken.python_count > kFramesMax) taken.count = kFramesMax - taken.python_count;
  for (uint32_t i = 0; i < taken.python_count; ++i) taken.frames[taken.count++] = taken.python[i].address;
  return taken.count != 0 ? intern(taken) : 0;
}

}  // namespace plat::inspect
