// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/breaches.h"

#include <algorithm>
#include <utility>

namespace plat::inspect {

std::optional<Breach> Breach::of(const Event& event) {
  const std::string& text = event.text;
  const size_t name_end = text.find(' ');
  if (name_end == std::string::npos) return std::nullopt;
  Breach breach;
  breach.rule = rules::find(std::string_view(text).substr(0, name_end));
  if (breach.rule == nullptr) return std::nullopt;
  breach.code = static_cast<int>(event.code());
  const size_t open = std::min(text.find('(', name_end), text.size());
  breach.function = text.substr(name_end + 1, open - name_end - 1);
  breach.detail = text.substr(std::min(open + 1, text.size()));
  // "offset): offset is 3", and "): ..." of a call as a whole.
  if (const size_t close = breach.detail.find("): "); close != std::string::npos)
    breach.detail.erase(close, close == 0 ? 3 : 1);
  breach.site = Site::of(event);
  return breach;
}

std::vector<Breach> BreachBook::add(const Event& event) {
  auto breach = Breach::of(event);
  if (!breach) return {};
  if (event.in_call() == 0) return {*std::move(breach)};
  waiting_[event.thread].push_back(*std::move(breach));
  return {};
}

std::vector<Breach> BreachBook::during(const Event& event) {
  if (waiting_.empty() || event.begins) return {};
  // These are told while a call runs.
  const bool is_inside = info_of(event.op).part == Part::Mstx || event.op == Op::MemcpyBatchEntry ||
                         event.op == Op::ManagedPrefetchEntry || event.op == Op::HostWork ||
                         event.op == Op::HostWorkEnd || event.op == Op::Origin;
  const auto found = waiting_.find(event.thread);
  if (is_inside || found == waiting_.end()) return {};
  std::vector<Breach> all = std::move(found->second);
  waiting_.erase(found);
  for (Breach& breach : all) breach.site = Site::of(event);
  return all;
}

}  // namespace plat::inspect
