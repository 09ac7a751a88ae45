// SPDX-License-Identifier: Apache-2.0
#include "trace_json.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <string_view>

#include "inspect/check/suppressions.h"
#include "notes.h"

namespace plat::inspect_python {

using inspect::Event;
using inspect::Finding;
using inspect::Json;
using inspect::Kind;
using inspect::Object;
using inspect::Site;

namespace {

// A stack as findings are told apart by: the native one and Python's, inside the check or not. So one that
// shows inside never counts as the repetition of one from before.
class Stacks {
 public:
  struct Both {
    uint32_t native;
    uint64_t python;
    bool inside;
    uint64_t event;  // 0, unless nothing else tells it apart
    auto operator<=>(const Both&) const = default;
  };

  uint32_t number_of(const Both& both) {
    const auto [found, fresh] = numbers_.try_emplace(both, static_cast<uint32_t>(known_.size() + 1));
    if (fresh) known_.push_back(both);
    return found->second;
  }
  // By number, from 1.
  const std::vector<Both>& all() const { return known_; }
  Both of(uint32_t number) const { return number != 0 ? known_[number - 1] : Both{}; }

 private:
  std::map<Both, uint32_t> numbers_;
  std::vector<Both> known_;
};

class TraceJson {
 public:
  explicit TraceJson(const Question& question) : question_(question), notes_(question.window) {
    if (const size_t wrong = suppressions_.add(question.suppressions); wrong != 0)
      throw std::runtime_error(fmt::format("line {} of the suppressions: no rule has such a name", wrong));
  }

  Json run() {
    std::string problem;
    const auto source = inspect::source_of_file(question_.trace, problem);
    auto reader = source ? inspect::Reader::open(*source, problem) : std::nullopt;
    if (!reader) throw std::runtime_error(fmt::format("{}: {}", question_.trace, problem));
    inspect::CheckOptions options = question_.options;
    options.ended = options.ended || question_.window != 0 || reader->info().ended;
    options.is_leak = [this](const Object& object) { return is_leak(object); };
    if (question_.objects) options.sweep_after = inspect::Model::kNoSweep;
    inspect::Checker checker(options);
    Event event;
    while (!notes_.is_over() && reader->next(event)) {
      if (notes_.take(event)) continue;
      if (notes_.inside()) ++events_;
      event.stack = stack_of(event);
      checker.apply(event);
    }
    if (!notes_.has_begun()) throw std::runtime_error("the trace does not have the beginning of this check");
    checker.finish();
    return told(checker, reader->info());
  }

 private:
  uint32_t stack_of(const Event& event) {
    const Stacks::Both both{event.stack, notes_.stack_of(event.thread), notes_.inside(), 0};
    if (both.native != 0 || both.python != 0) return stacks_.number_of(both);
    return both.inside ? stacks_.number_of({0, 0, true, event.number}) : 0;
  }

  bool is_leak(const Object& object) const {
    const Stacks::Both born = stacks_.of(object.born.stack);
    if (question_.window != 0 && !born.inside) return false;
    const PythonStack* const python = notes_.find(born.python);
    if (question_.window == 0 || python == nullptr || !python->by_pool) return true;
    // A pool keeps what it took for itself. What it handed out is the caller's, and so is a pool made inside.
    return object.kind == Kind::Region || (object.kind == Kind::Heap && notes_.is_own_domain(object.domain));
  }

  bool is_wanted(const Finding& finding) const {
    const Stacks::Both shows = stacks_.of(finding.site.stack);
    return question_.window == 0 || finding.site.event == 0 || shows.inside;
  }

  Json told(const inspect::Checker& checker, const inspect::TraceInfo& info) {
    inspect::TraceInfo named = info;
    named.stacks.clear();
    for (size_t i = 0; i < stacks_.all().size(); ++i)
      if (const auto native = info.stacks.find(stacks_.all()[i].native); native != info.stacks.end()) {
        std::vector<uint64_t>& frames = named.stacks[static_cast<uint32_t>(i + 1)] = native->second;
        // The notes say it already, and without the frames of whoever runs the program.
        if (stacks_.all()[i].python != 0)
          std::erase_if(frames, [](uint64_t frame) { return frame >= inspect::kPythonFrames; });
      }
    inspect::Symbols symbols(named);
    uint64_t suppressed = 0;
    Json findings = Json::array();
    for (const Finding& finding : checker.findings()) {
      if (!is_wanted(finding)) continue;
      Json json = told(finding, symbols);
      if (suppressions_.covers(json)) {
        ++suppressed;
        continue;
      }
      json["text"] = inspect::to_text(json, kFramesShown);
      findings.push_back(std::move(json));
    }
    const inspect::Totals& totals = checker.totals();
    Json json{{"findings", std::move(findings)},
              {"suppressed", suppressed},
              {"events", events_},
              {"failed_calls", totals.failed_calls},
              {"peak_bytes", totals.peak_bytes},
              {"live_bytes", totals.live_bytes},
              {"lost", info.lost + info.damaged}};
    if (question_.objects) json["objects"] = objects(checker);
    return json;
  }

  Json told(const Finding& finding, inspect::Symbols& symbols) const {
    Json json = inspect::to_json(finding, symbols);
    if (json.contains("site")) add_python(json["site"], finding.site);
    for (size_t i = 0; i < finding.related.size(); ++i) {
      Json& object = json["objects"][i];
      for (const char* name : {"allocated", "used"})
        if (object.contains(name)) add_python(object[name], finding.related[i].born);
      if (object.contains("freed")) add_python(object["freed"], finding.related[i].died);
    }
    return json;
  }

  // The lines of Python instead of those of its interpreter, which stay beside them.
  void add_python(Json& site, const Site& where) const {
    site["native"] = site["stack"];
    const Json frames = python_frames(where.stack);
    if (!frames.empty()) site["stack"] = frames;
  }

  Json python_frames(uint32_t stack) const {
    Json frames = Json::array();
    if (const PythonStack* const python = notes_.find(stacks_.of(stack).python))
      for (const PythonFrame& frame : python->frames)
        frames.push_back({{"text", fmt::format("{} at {}:{}", frame.function, frame.file, frame.line)},
                          {"function", frame.function},
                          {"file", frame.file},
                          {"line", frame.line}});
    return frames;
  }

  Json objects(const inspect::Checker& checker) const {
    Json list = Json::array();
    checker.model().objects().for_each([&](const Object& object) {
      const bool was_inside =
          stacks_.of(object.born.stack).inside || stacks_.of(object.died.stack).inside || object.lives();
      if (question_.window != 0 && !was_inside) return;
      list.push_back({{"kind", inspect::name_of(object.kind)},
                      {"address", object.start},
                      {"bytes", object.size},
                      {"name", object.name},
                      {"device", object.device},
                      {"takes_memory", takes_device_memory(object.kind) && !object.imported},
                      {"born", object.born.event},
                      {"died", object.died.event},
                      {"stack", python_frames(object.born.stack)}});
    });
    return list;
  }

  static constexpr size_t kFramesShown = 8;

  const Question& question_;
  NoteReader notes_;
  Stacks stacks_;
  inspect::Suppressions suppressions_;
  uint64_t events_ = 0;
};

}  // namespace

Json trace_json(const Question& question) { return TraceJson(question).run(); }

}  // namespace plat::inspect_python
