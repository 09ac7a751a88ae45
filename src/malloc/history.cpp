// SPDX-License-Identifier: Apache-2.0
#include "malloc/history.h"

#include <execinfo.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

#include "device/config.h"

namespace plat::memory {

namespace {
constexpr int kFrames = 24;
constexpr int kOwnFrames = 2;  // walk() and who called it

bool stacks_wanted() { return device::setting("stacks").value_or("0") != "0"; }

// Asked of the system once.
int this_thread() {
  [[gnu::tls_model("initial-exec")]] static constinit thread_local int number = 0;
  if (number == 0) number = gettid();
  return number;
}

std::string when(uint64_t frees_since) {
  return frees_since == 0   ? "the last that was freed"
         : frees_since == 1 ? "one free before the last"
                            : fmt::format("{} frees ago", frees_since);
}

}  // namespace

History::History() : stacks_(stacks_wanted()) { deaths_.reserve(kRemembered); }

History::Stack History::walk() {
  void* frames[kFrames];
  const int depth = backtrace(frames, kFrames);
  return depth > kOwnFrames ? Stack(frames + kOwnFrames, frames + depth) : Stack{};
}

std::string History::format(const Stack& stack) {
  std::string text;
  char** names = backtrace_symbols(stack.data(), static_cast<int>(stack.size()));
  for (size_t i = 0; names != nullptr && i < stack.size(); ++i) text += fmt::format("\n    {}", names[i]);
  std::free(names);
  return text;
}

void History::allocated(Va start) {
  if (!stacks_) [[likely]]
    return;
  Stack stack = walk();
  const std::lock_guard lock(mutex_);
  births_[start.value] = std::move(stack);
}

void History::freed(Va start, uint64_t size_bytes, const char* how) {
  Stack stack = stacks_ ? walk() : Stack{};
  const std::lock_guard lock(mutex_);
  const Death death{start, size_bytes, how, free_count_, this_thread()};
  if (deaths_.size() < kRemembered)
    deaths_.push_back(death);
  else
    deaths_[free_count_ % kRemembered] = death;
  free_count_ += 1;
  if (!stacks_) return;
  if (dead_stacks_.size() > kRemembered) dead_stacks_.clear();
  auto& both = dead_stacks_[start.value];
  if (auto birth = births_.extract(start.value)) both.first = std::move(birth.mapped());
  both.second = std::move(stack);
}

std::optional<History::Death> History::death_at(Va va) const {
  const std::lock_guard lock(mutex_);
  for (size_t age = 0; age < deaths_.size(); ++age) {
    const Death& death = deaths_[(free_count_ - 1 - age) % kRemembered];
    if (va >= death.start && va - death.start < death.size_bytes) return death;
  }
  return std::nullopt;
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

}  // namespace plat::memory
