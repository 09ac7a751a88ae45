// SPDX-License-Identifier: Apache-2.0
#include "inspect/check/checker.h"

#include <fmt/format.h>

#include "base/text.h"

namespace plat::inspect {

namespace {

// Where two findings have a chance to be the same.
uint64_t index_key(const Likeness& likeness, const std::string* text) {
  const uint64_t place = text != nullptr ? std::hash<std::string>()(*text) : likeness.stack;
  return (place << 16) | static_cast<uint64_t>(likeness.rule);
}
const std::string* text_of(const Finding& finding) {
  return finding.is_told_by_text() ? &finding.detail : nullptr;
}

}  // namespace

// Stacks of one place are shown alike, so that any of them tells the same.
void Checker::move_to_place(Finding& finding) const {
  finding.site.stack = place_of(finding.site.stack);
  for (Related& related : finding.related) related.born.stack = place_of(related.born.stack);
}

bool Checker::count_again(const Likeness& likeness, uint64_t bytes, const std::string* text) {
  const auto [first, last] = index_.equal_range(index_key(likeness, text));
  for (auto at = first; at != last; ++at) {
    Finding& known = findings_[at->second];
    if (known.likeness() != likeness || (text != nullptr && known.detail != *text)) continue;
    ++known.count;
    known.bytes += bytes;
    return true;
  }
  return false;
}

void Checker::add(Finding finding) {
  if (!options_.warnings && finding.severity() == rules::Severity::Warning) return;
  move_to_place(finding);
  const Likeness likeness = finding.likeness();
  const std::string* const text = text_of(finding);
  if (count_again(likeness, finding.bytes, text)) return;
  if (counts_[finding.rule] == kFindingsOfRule) {
    ++totals_.left_out;
    return;
  }
  ++counts_[finding.rule];
  index_.emplace(index_key(likeness, text), findings_.size());
  findings_.push_back(std::move(finding));
}

Finding Checker::about(const Access& access, RuleId rule, std::string detail) const {
  Finding finding;
  finding.rule = rule;
  finding.detail = std::move(detail);
  finding.site = Site::of(access.event);
  finding.result = access.event.result;
  finding.address = access.address;
  finding.size = access.size;
  finding.stream = access.stream;
  finding.on_stream = access.asynchronous;
  finding.writes = access.write;
  return finding;
}

void Checker::problem(Problem&& problem) {
  const bool unpaired =
      problem.rule == RuleId::GivenBackUnknown && problem.object == 0 && problem.event.succeeded();
  if (unpaired) return;  // the device took it, so it was obtained before the recorder came
  if (problem.rule == RuleId::MstxHeapUnallocated && options_.mstx_only) return;  // nobody saw who allocates
  Finding finding;
  finding.rule = problem.rule;
  finding.detail = std::move(problem.detail);
  finding.site = Site::of(problem.event);
  finding.result = problem.event.result;
  finding.address = problem.address;
  finding.size = problem.size;
  if (problem.object != 0) finding.related.push_back(Related::of("concerned", model_.object(problem.object)));
  if (problem.other != 0) finding.related.push_back(Related::of("other", model_.object(problem.other)));
  if (problem.rule == RuleId::OrderFreeInFlight)
    for (const Use& use : model_.object(problem.object).uses) {
      if (model_.order().is_before(use.position, Order::kHost)) continue;
      Related work = finding.related.front();
      work.role = "used by";
      work.born = use.site;
      work.died = {};
      finding.related.push_back(work);
      break;
    }
  add(std::move(finding));
}

void Checker::warn(const Breach& breach) {
  if (breach.rule->id == RuleId::MapPart) return;  // found by ourselves, over any device
  Finding finding;
  finding.rule = breach.rule->id;
  finding.by_device = true;
  finding.call = breach.function.empty() ? "the device" : breach.function;
  finding.detail = breach.detail;
  finding.site = breach.site;
  add(std::move(finding));
}

// Of a call that is not watched, so that this is all that is known of it.
void Checker::note_breach(const Event& event) {
  for (const Breach& breach : breaches_.add(event)) {
    if (breach.code == 0) {
      warn(breach);
    } else {
      ++totals_.failed_calls;
      failed_.note(breach);
    }
  }
}

void Checker::note_result(const Event& event) {
  const std::vector<Breach> said = breaches_.during(event);
  const Breach* why = nullptr;
  for (const Breach& breach : said) {
    if (breach.code == 0)
      warn(breach);
    else if (breach.code == event.result && breach.function == info_of(event.op).name)
      why = &breach;
    else
      failed_.note(breach);  // of host work that ran inside this call
  }
  if (!event.begins && !event.succeeded()) ++totals_.failed_calls;
  failed_.note(event, why);
  if (options_.pedantic && !event.begins) check_page_start(event, why);
}

void Checker::event(const Event& event) {
  ++totals_.events;
  if (event.op == Op::DeviceSays) return note_breach(event);
  note_result(event);
  if (event.op == Op::mstxMark) growth_.mark(event.text);
  if (event.op == Op::mstxRangeStart && event.text == kMoving) moving_.emplace(event.range(), event.thread);
  if (event.op == Op::mstxRangeStart) open_ranges_[event.range()] = {Site::of(event), event.text};
  if (event.op == Op::mstxRangeEnd) {
    moving_.erase(event.range());
    open_ranges_.erase(event.range());
  }
}

void Checker::born(const Object& object) {
  growth_.born(object);
  if (object.kind == Kind::Region && options_.pedantic) check_region_shape(object);
  if (!takes_device_memory(object.kind) || object.imported) return;
  totals_.live_bytes += object.size;
  if (totals_.live_bytes <= totals_.peak_bytes) return;
  const bool crosses = options_.max_peak != 0 && totals_.peak_bytes <= options_.max_peak &&
                       totals_.live_bytes > options_.max_peak;
  totals_.peak_bytes = totals_.live_bytes;
  totals_.peak_ns = object.born.time_ns;
  if (!crosses) return;
  Finding finding;
  finding.rule = RuleId::BudgetPeak;
  finding.detail = fmt::format("with this allocation {} live, and {} are allowed",
                               format_bytes(totals_.live_bytes), format_bytes(options_.max_peak));
  finding.site = object.born;
  finding.related.push_back(Related::of("allocated", object));
  add(std::move(finding));
}

void Checker::died(const Object& object) {
  races_.forget(object);
  growth_.died(object);
  if (takes_device_memory(object.kind) && !object.imported)
    totals_.live_bytes -= std::min(totals_.live_bytes, object.size);
}

void Checker::dropped(const Object& object, const Event& event) {
  if (options_.leaks) leak(object, &event);
}

void Checker::finish() {
  if (options_.leaks && options_.ended)
    for (const ObjectId id : model_.objects().living())
      if (!options_.is_leak || options_.is_leak(model_.object(id))) leak(model_.object(id), nullptr);
  report_growth();
  report_open_ranges();
  if (options_.has_max_live && totals_.live_bytes > options_.max_live) {
    Finding finding;
    finding.rule = RuleId::BudgetLive;
    finding.detail = fmt::format("{} of device memory live at the end, and {} are allowed",
                                 format_bytes(totals_.live_bytes), format_bytes(options_.max_live));
    finding.bytes = totals_.live_bytes;
    add(std::move(finding));
  }
}

}  // namespace plat::inspect
