// SPDX-License-Identifier: Apache-2.0
#include "inspect/view/pack.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "inspect/view/columns.h"

namespace plat::inspect {

namespace {

constexpr size_t kNameMost = 60;              // letters of a function
constexpr uint8_t kCounts = 1, kDivided = 2;  // flags of a life, as web/trace.js knows them

// Numbers from 0 for what comes as system ids and handles.
class Numbers {
 public:
  uint32_t operator()(uint64_t value) {
    const auto [found, is_new] = numbers_.emplace(value, static_cast<uint32_t>(list_.size()));
    if (is_new) list_.push_back(value);
    return found->second;
  }
  const std::vector<uint64_t>& list() const { return list_; }

 private:
  std::map<uint64_t, uint32_t> numbers_;
  std::vector<uint64_t> list_;
};

class Packer {
 public:
  Packer(const PageData& data, NamedStacks& stacks, Symbols& symbols)
      : data_(data), history_(data.history), stacks_(stacks), symbols_(symbols) {}

  std::string pack() {
    add_lives();
    add_others();
    Json json{{"process", process()},
              {"findings", findings()},
              {"failedCalls", failed_calls()},
              {"notes", data_.notes},
              {"growth", growth()}};
    add_stacks();  // after all that name one
    Json& texts = json["texts"] = history_.texts.list();
    Json& threads = json["threads"] = Json::array();
    for (const uint64_t thread : threads_.list()) {
      threads.push_back(texts.size());
      texts.push_back(thread_name(static_cast<uint32_t>(thread)));
    }
    // As text: handles have more bits than a number of JavaScript holds.
    Json& streams = json["streams"] = Json::array();
    for (const uint64_t stream : streams_.list()) streams.push_back(fmt::format("{:#x}", stream));
    for (size_t kind = 0; kind < kKinds; ++kind) json["kinds"].push_back(name_of(static_cast<Kind>(kind)));
    for (const OpInfo& op : kOps) json["ops"].push_back(std::string(op.name));
    Json& frames = json["frames"] = Json::array();
    for (const NamedFrame& frame : stacks_.frames())
      frames.push_back(Json::array({shortened(frame.name, kNameMost), frame.file, std::max(frame.line, 0)}));
    json["columns"] = columns_.list();
    return compress(json);
  }

 private:
  std::string thread_name(uint32_t thread) const {
    const auto found = history_.info.threads.find(thread);
    const bool has_name = found != history_.info.threads.end() && !found->second.empty();
    return has_name ? fmt::format("thread {} ({})", thread, found->second) : fmt::format("thread {}", thread);
  }

  // Stacks that are shown alike share a number, and where there is none all of one call.
  uint32_t stack_of(const Site& site) {
    const std::vector<uint32_t>* const frames = &stacks_.of(site);
    const auto [known, is_first] = stack_numbers_.emplace(frames, 0);
    if (!is_first) return known->second;
    const auto [found, is_new] = alike_.emplace(*frames, static_cast<uint32_t>(stack_list_.size()));
    if (is_new) stack_list_.push_back(frames);
    return known->second = found->second;
  }

  // A time, or -1 for what never came.
  static double died_at(const Life& life) {
    return life.lives() ? -1 : static_cast<double>(life.died.time_ns);
  }

  void add_lives() {
    const auto& lives = history_.lives;
    columns_.add<uint8_t>("life.kind", lives, [](const Life& life) { return life.kind; });
    columns_.add<uint8_t>("life.flags", lives, [](const Life& life) {
      return (life.counts ? kCounts : 0) | (life.divided ? kDivided : 0);
    });
    columns_.add<int16_t>("life.device", lives, [](const Life& life) { return life.device; });
    columns_.add<double>("life.start", lives, [](const Life& life) { return life.start; });
    columns_.add<double>("life.size", lives, [](const Life& life) { return life.size; });
    columns_.add<double>("life.born", lives, [](const Life& life) { return life.born.time_ns; });
    columns_.add<double>("life.died", lives, died_at);
    columns_.add<uint32_t>("life.bornStack", lives, [&](const Life& life) { return stack_of(life.born); });
    columns_.add<uint32_t>("life.diedStack", lives, [&](const Life& life) { return stack_of(life.died); });
    columns_.add<uint8_t>("life.bornOp", lives, [](const Life& life) { return life.born.op; });
    columns_.add<uint8_t>("life.diedOp", lives, [](const Life& life) { return life.died.op; });
    columns_.add<uint16_t>("life.bornThread", lives,
                           [&](const Life& life) { return threads_(life.born.thread); });
    columns_.add<uint16_t>("life.diedThread", lives,
                           [&](const Life& life) { return threads_(life.died.thread); });
    columns_.add<uint32_t>("life.name", lives, [](const Life& life) { return life.name; });
    columns_.add<uint32_t>("life.label", lives, [](const Life& life) { return life.label; });
    columns_.add<uint32_t>("life.pool", lives, [](const Life& life) { return life.pool; });
    columns_.add<uint32_t>("life.parent", lives, [](const Life& life) { return life.parent; });
    // Twice the life, and one more for a birth.
    columns_.add<uint32_t>("step.life", history_.steps,
                           [](const Step& step) { return step.life * 2 + (step.birth ? 1 : 0); });
  }

  void add_others() {
    const auto& touches = history_.touches;
    columns_.add<double>("touch.ns", touches, [](const Touch& touch) { return touch.site.time_ns; });
    columns_.add<double>("touch.address", touches, [](const Touch& touch) { return touch.address; });
    columns_.add<double>("touch.size", touches, [](const Touch& touch) { return touch.size; });
    columns_.add<uint8_t>("touch.write", touches, [](const Touch& touch) { return touch.write; });
    columns_.add<uint32_t>("touch.stream", touches, [&](const Touch& touch) {
      return touch.on_stream ? streams_(touch.stream) + 1 : 0;
    });
    columns_.add<uint8_t>("touch.op", touches, [](const Touch& touch) { return touch.site.op; });
    columns_.add<uint32_t>("touch.stack", touches, [&](const Touch& touch) { return stack_of(touch.site); });
    const auto& marks = history_.marks;
    columns_.add<double>("mark.ns", marks, [](const Remark& mark) { return mark.site.time_ns; });
    columns_.add<uint32_t>("mark.text", marks, [](const Remark& mark) { return mark.text; });
    columns_.add<uint16_t>("mark.thread", marks,
                           [&](const Remark& mark) { return threads_(mark.site.thread); });
    const auto& spans = history_.spans;
    columns_.add<double>("range.from", spans, [](const Span& span) { return span.site.time_ns; });
    columns_.add<double>("range.to", spans,
                         [](const Span& span) { return span.ended ? static_cast<double>(span.end_ns) : -1; });
    columns_.add<uint32_t>("range.text", spans, [](const Span& span) { return span.text; });
    columns_.add<uint16_t>("range.thread", spans,
                           [&](const Span& span) { return threads_(span.site.thread); });
    const auto& calls = history_.stream_calls;
    columns_.add<uint32_t>("work.stream", calls,
                           [&](const StreamCall& call) { return streams_(call.stream); });
    columns_.add<uint8_t>("work.op", calls, [](const StreamCall& call) { return call.site.op; });
    columns_.add<double>("work.from", calls, [](const StreamCall& call) { return call.site.time_ns; });
    columns_.add<double>("work.to", calls, [](const StreamCall& call) { return call.end_ns; });
  }

  void add_stacks() {
    std::vector<uint32_t> first{0}, frames;
    for (const auto* stack : stack_list_) {
      frames.insert(frames.end(), stack->begin(), stack->end());
      first.push_back(static_cast<uint32_t>(frames.size()));
    }
    const auto same = [](uint32_t number) { return number; };
    columns_.add<uint32_t>("stack.first", first, same);
    columns_.add<uint32_t>("stack.frames", frames, same);
  }

  Json process() const {
    const TraceInfo& info = history_.info;
    return {{"pid", info.pid},
            {"program", info.program},
            {"title", data_.title},
            {"events", history_.events},
            {"failed", history_.failed_calls},
            {"duration", history_.end_ns},
            {"copied", history_.copied_bytes},
            {"peak", history_.peak_bytes},
            {"peakAt", history_.peak_ns},
            {"left", history_.live_bytes},
            {"complete", info.ended},
            {"lost", info.lost},
            {"pools", info.mstx_only},
            {"judged", !info.imported}};
  }

  // The lives that a finding is about are found by their birth.
  Json findings() {
    std::multimap<uint64_t, size_t> births;
    for (size_t i = 0; i < history_.lives.size(); ++i) births.emplace(history_.lives[i].born.event, i);
    Json list = Json::array();
    for (const Finding& finding : data_.findings) {
      const Json told = to_json(finding, symbols_);
      Json lives = Json::array();
      for (const Related& related : finding.related) {
        const auto [first, last] = births.equal_range(related.born.event);
        for (auto birth = first; birth != last; ++birth)
          if (history_.lives[birth->second].kind == related.kind) lives.push_back(birth->second);
      }
      list.push_back({{"rule", told["rule"]},
                      {"severity", told["severity"]},
                      {"message", finding.detail},
                      {"text", to_text(told, 6)},
                      {"ns", finding.site.time_ns},
                      {"lives", std::move(lives)}});
    }
    return list;
  }

  Json failed_calls() {
    Json list = Json::array();
    for (const FailedCall& call : data_.failed_calls)
      list.push_back(failed_call_text(to_json(call, symbols_), 6));
    return list;
  }

  Json growth() {
    Json list = Json::array();
    for (const GrowthLine& line : history_.growth) {
      if (list.size() == 200) break;
      list.push_back({{"kind", name_of(line.kind)},
                      {"mark", line.mark},
                      {"marks", line.series.marks},
                      {"rises", line.series.rises},
                      {"firstCount", line.series.first_count},
                      {"firstBytes", line.series.first_bytes},
                      {"lastCount", line.series.last_count},
                      {"lastBytes", line.series.last_bytes},
                      {"neverStops", line.series.keeps_growing()},
                      {"stack", stack_of(line.series.site)}});
    }
    return list;
  }

  std::string compress(const Json& json) const {
    std::string text = to_line(json);
    text.append((8 - text.size() % 8) % 8, ' ');
    const auto length = static_cast<uint32_t>(text.size());
    std::string raw(8, '\0');
    std::memcpy(raw.data(), &length, sizeof length);
    raw += text;
    raw += columns_.bytes();
    uLongf packed_size = compressBound(raw.size());
    std::string packed(packed_size, '\0');
    // The fastest: a page is smaller by a tenth with the best, and takes six times as long.
    if (compress2(reinterpret_cast<Bytef*>(packed.data()), &packed_size,
                  reinterpret_cast<const Bytef*>(raw.data()), raw.size(), Z_BEST_SPEED) != Z_OK)
      throw std::runtime_error("the data of the page cannot be packed");
    packed.resize(packed_size);
    return packed;
  }

  const PageData& data_;
  const History& history_;
  NamedStacks& stacks_;
  Symbols& symbols_;
  Columns columns_;
  std::map<const std::vector<uint32_t>*, uint32_t> stack_numbers_;
  std::map<std::vector<uint32_t>, uint32_t> alike_;
  std::vector<const std::vector<uint32_t>*> stack_list_;
  Numbers threads_, streams_;
};

}  // namespace

std::string pack_page_data(const PageData& data, NamedStacks& stacks, Symbols& symbols) {
  return Packer(data, stacks, symbols).pack();
}

}  // namespace plat::inspect
