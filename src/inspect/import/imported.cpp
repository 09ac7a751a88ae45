// SPDX-License-Identifier: Apache-2.0
#include "inspect/import/imported.h"

#include <algorithm>

namespace plat::inspect {

namespace {

// More than any device has: a number that was damaged.
constexpr uint64_t kLargest = uint64_t{1} << 50;
constexpr char kDatabaseMagic[] = "SQLite format 3";

}  // namespace

uint32_t Importer::stack_of(const std::vector<ImportedFrame>& frames) {
  if (result_.stacks.empty()) result_.stacks.emplace_back();
  std::vector<uint32_t> numbers;
  for (const ImportedFrame& frame : frames) {
    const auto [found, is_new] = frames_.emplace(frame, static_cast<uint32_t>(result_.frames.size()));
    if (is_new) result_.frames.push_back(frame);
    numbers.push_back(found->second);
  }
  if (numbers.empty()) return 0;
  const auto [found, is_new] = stacks_.emplace(numbers, static_cast<uint32_t>(result_.stacks.size()));
  if (is_new) result_.stacks.push_back(numbers);
  return found->second;
}

uint32_t Importer::add(const ImportedLife& life) {
  if (life.size > kLargest || life.address + life.size < life.address) too_large_ = true;
  result_.lives.push_back(life);
  return static_cast<uint32_t>(result_.lives.size() - 1);
}

void Importer::allocate(const ImportedLife& life, const When& when) {
  if (life.size == 0) return;
  const auto [found, is_new] = live_.emplace(key_of(life), 0);
  if (!is_new) return;
  found->second = add(life);
  result_.steps.push_back({ImportedStep::Birth, found->second, when.time_ns, when.thread, when.stack});
}

void Importer::release(const ImportedLife& life, const When& when) {
  const auto found = live_.find(key_of(life));
  uint32_t number = 0;
  if (found != live_.end()) {
    number = found->second;
    live_.erase(found);
  } else {
    if (life.size == 0) return;
    from_the_start_.push_back(number = add(life));
  }
  result_.steps.push_back({ImportedStep::Death, number, when.time_ns, when.thread, when.stack});
}

void Importer::mark(std::string text, const When& when) {
  const auto number = static_cast<uint32_t>(result_.marks.size());
  result_.marks.push_back(std::move(text));
  result_.steps.push_back({ImportedStep::Mark, number, when.time_ns, when.thread, when.stack});
}

std::optional<Imported> Importer::finish(std::string& why) {
  if (too_large_) return why = "is damaged: it has a block of more than 1 PiB", std::nullopt;
  if (result_.lives.empty()) return why = "holds no allocation", std::nullopt;
  std::vector<ImportedStep> first;
  for (const uint32_t life : from_the_start_)
    first.push_back({ImportedStep::Birth, life, result_.steps.front().time_ns, 0, 0});
  result_.steps.insert(result_.steps.begin(), first.begin(), first.end());
  return std::move(result_);
}

bool is_importable(const std::string& content) {
  return content.starts_with(kDatabaseMagic) || content.starts_with('\x80') || content.starts_with('{');
}

std::optional<Imported> read_import(const std::string& content, std::string& why) {
  return content.starts_with(kDatabaseMagic) ? import_memscope(content, why) : import_snapshot(content, why);
}

}  // namespace plat::inspect
