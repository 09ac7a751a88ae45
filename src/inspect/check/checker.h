// SPDX-License-Identifier: Apache-2.0
// Looks at everything the model tells and finds what is wrong with it.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "inspect/check/breaches.h"
#include "inspect/check/failed_calls.h"
#include "inspect/check/finding.h"
#include "inspect/check/races.h"
#include "inspect/model/growth.h"
#include "inspect/model/model.h"
#include "inspect/trace/reader.h"

namespace plat::inspect {

struct CheckOptions {
  bool unwritten = true;  // reads of bytes that were never written
  bool warnings = true;   // documented rules that the device lets pass, and what it warns of itself
  bool pedantic = false;  // advice for pools: where blocks start, and the room behind them
  bool leaks = true;
  bool races = true;       // accesses that nothing orders
  bool mstx_only = false;  // calls of the device were not seen
  bool ended = true;       // false: the program did not come to its end, so what lives is no leak
  size_t sweep_after = Model::kSweepAfter;
  uint64_t max_peak = 0;  // bytes of device memory; 0: any
  uint64_t max_live = 0;
  bool has_max_live = false;
  std::function<bool(const Object&)> is_leak;  // whether one that lives at the end counts; empty: all do
  PlaceOf place_of;                            // findings of one place are one
};

struct Totals {
  uint64_t events = 0;
  uint64_t failed_calls = 0;
  uint64_t live_bytes = 0;  // device memory at the end
  uint64_t peak_bytes = 0;
  uint64_t peak_ns = 0;
  uint64_t left_out = 0;  // findings of rules that have enough of them
};

class Checker final : public Listener {
 public:
  explicit Checker(CheckOptions options)
      : options_(std::move(options)),
        model_(*this, options_.sweep_after),
        races_(model_),
        growth_(options_.place_of) {}

  void apply(const Event& event) { model_.apply(event); }
  // After the last event.
  void finish();

  const std::vector<Finding>& findings() const { return findings_; }
  const Totals& totals() const { return totals_; }
  // Probes that clients are known to make are left out unless they are asked for (pedantic).
  std::vector<FailedCall> failed_calls() const { return failed_.list(options_.pedantic); }
  const Model& model() const { return model_; }

  void access(const Access& access) override;
  void problem(Problem&& problem) override;
  void born(const Object& object) override;
  void died(const Object& object) override;
  void dropped(const Object& object, const Event& event) override;
  void event(const Event& event) override;

  // More places that break one rule tell nobody anything new.
  static constexpr size_t kFindingsOfRule = 1000;

 private:
  using Ranges = Model::Ranges;

  void add(Finding finding);
  uint32_t place_of(uint32_t stack) const { return options_.place_of ? options_.place_of(stack) : stack; }
  void move_to_place(Finding& finding) const;
  // Whether there is one like it, with this text if one is given, which is counted once more.
  bool count_again(const Likeness& likeness, uint64_t bytes, const std::string* text);
  Finding about(const Access& access, RuleId rule, std::string detail) const;
  void note_breach(const Event& event);
  void warn(const Breach& breach);
  void note_result(const Event& event);
  // checker_access.cpp
  bool check_layer(const Access& access, const Layer& layer);
  bool check_region(const Access& access, const Layer& layer, const Object& region);
  bool check_block(const Access& access, const Object& block);
  bool check_mapping(const Access& access);
  void check_nothing_there(const Access& access);
  // False if it found something.
  bool check_order(const Access& access);
  void check_race(const Access& access);
  void check_written(const Access& access);
  void check_documented(const Access& access);
  void add_neighbours(Finding& finding, const Ranges& ranges, uint64_t address) const;
  // checker_leaks.cpp
  void leak(const Object& object, const Event* taken_back);
  std::string growth_of(Kind kind, uint32_t stack) const;
  void report_growth();
  void report_open_ranges();
  void check_region_shape(const Object& region);
  // checker_pages.cpp
  void check_page_start(const Event& event, const Breach* why);

  CheckOptions options_;
  Model model_;
  Races races_;
  std::vector<Finding> findings_;
  std::unordered_multimap<uint64_t, size_t> index_;  // by rule and stack, or text if there is none
  std::map<RuleId, size_t> counts_;
  Totals totals_;

  BreachBook breaches_;
  FailedCalls failed_;
  GrowthBook growth_;
  // Ranges in which a pool copies whole pages for itself, by range: the thread. What lies in them is the
  // business of nobody else, so nothing is said of these copies.
  static constexpr std::string_view kMoving = "plat:moving";
  std::map<uint64_t, uint32_t> moving_;
  struct OpenRange {
    Site site;
    std::string text;
  };
  std::map<uint64_t, OpenRange> open_ranges_;  // of mstx, by number
};

}  // namespace plat::inspect
