// SPDX-License-Identifier: Apache-2.0
#include "malloc/history.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/config.h"
#include "os/frame_names.h"
#include "os/process.h"

namespace plat::malloc {

namespace {
constexpr size_t kFrames = 24;
constexpr size_t kOwnFrames = 3;  // those of os/, walk() and who called it

bool stacks_wanted() { return device::setting("stacks").value_or("0") != "0"; }

// Asked of the system once.
int this_thread() {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local int number = 0;
  if (number == 0) number = os::thread_id();
  return number;
}

std::string when(uint64_t frees_since) {
  return frees_since == 0   ? "the last that was freed"
         : frees_since == 1 ? "one free before the last"
                            : fmt::format("{} frees ago", frees_since);
}

}  // namespace

History::History() : stacks_(stacks_wanted()) { deaths_.reserve(kRemembered); }

os::Stack History::walk() { return os::walk_stack(kFrames, kOwnFrames); }

std::string History::format(const os::Stack& stack) {
  std::string text = "\n" + os::name_frames(stack, "    ");
  text.pop_back();  // the last line goes on
  return text;
}

void History::allocated(Va start) {
  if (!stacks_) [[likely]]
    return;
  os::Stack stack = walk();
  const std::lock_guard lock(mutex_);
  births_[start.value] = std::move(stack);
}

void History::freed(Va start, uint64_t size_bytes, const char* how, uint64_t extra_bytes) {
  os::Stack stack;
  try {
    if (stacks_) stack = walk();
  } catch (const std::bad_alloc&) {
    // The block is free all the same; where, will not be told.
  }
  const std::lock_guard lock(mutex_);
  const Death death{start, size_bytes, extra_bytes, how, free_count_, this_thread()};
  if (deaths_.size() < kRemembered)
    deaths_.push_back(death);
  else
    deaths_[free_count_ % kRemembered] = death;
  free_count_ += 1;
  if (!stacks_) return;
  try {
    if (dead_stacks_.size() > kRemembered) dead_stacks_.clear();
    auto& both = dead_stacks_[start.value];
    if (auto birth = births_.extract(start.value)) both.first = std::move(birth.mapped());
    both.second = std::move(stack);
  } catch (const std::bad_alloc&) {
    dead_stacks_.erase(start.value);  // rather none than that of an earlier block
  }
}

const History::Death* History::last_death_at(Va va) const {
  for (size_t age = 0; age < deaths_.size(); ++age) {
    const Death& death = deaths_[(free_count_ - 1 - age) % kRemembered];
    if (va >= death.start && va - death.start < death.size_bytes + death.extra_bytes) return &death;
  }
  return nullptr;
}

std::optional<History::Death> History::death_at(Va va) const {
  const std::lock_guard lock(mutex_);
  const Death* death = last_death_at(va);
  return death == nullptr ? std::nullopt : std::optional(*death);
}

std::optional<vmm::FreedBlock> History::freed_at(Va va) const {
  const std::unique_lock lock(mutex_, std::try_to_lock);  // it may be held by the thread that faulted
  const Death* death = lock ? last_death_at(va) : nullptr;
  if (death == nullptr) return std::nullopt;
  vmm::FreedBlock freed{death->start, death->size_bytes, death->how, death->thread,
                        free_count_ - 1 - death->order};
  if (const auto stacks = dead_stacks_.find(death->start.value); stacks != dead_stacks_.end()) {
    freed.stack_frames = std::min(stacks->second.second.size(), freed.stack.size());
    std::copy_n(stacks->second.second.begin(), freed.stack_frames, freed.stack.begin());
  }
  return freed;
}

std::string History::tell(Va va) const {
  const auto death = death_at(va);
  if (!death) return "";
  const std::lock_guard lock(mutex_);
  const std::string who = death->thread == this_thread() ? "" : fmt::format(" in thread {}", death->thread);
  std::string text = fmt::format("{:#x} is offset {} of the block of {} bytes at {:#x} that {} freed{}, {}",
                                 va.value, va - death->start, death->size_bytes, death->start.value,
                                 death->how, who, when(free_count_ - 1 - death->order));
  const auto stacks = dead_stacks_.find(death->start.value);
  if (stacks != dead_stacks_.end())
    text += fmt::format("\n  allocated at:{}\n  freed at:{}\n ", format(stacks->second.first),
                        format(stacks->second.second));
  return text;
}

std::string History::allocation_stack(Va start) const {
  const std::lock_guard lock(mutex_);
  const auto birth = births_.find(start.value);
  return birth == births_.end() ? "" : fmt::format("\n  allocated at:{}\n ", format(birth->second));
}

}  // namespace plat::malloc
