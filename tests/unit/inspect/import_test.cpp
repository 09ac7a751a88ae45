// SPDX-License-Identifier: Apache-2.0
// Snapshots of another allocator, read as if they were traces.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "inspect/check/symbols.h"
#include "inspect/export/export.h"
#include "inspect/import/imported.h"
#include "inspect/report/report.h"

namespace plat::inspect {
namespace {

using Json = nlohmann::json;

Report report_of(const std::string& snapshot) {
  std::string why;
  const auto imported = import_snapshot(snapshot, why);
  EXPECT_TRUE(imported) << why;
  if (!imported) return {};
  const std::string trace = to_trace(*imported, "snapshot");
  const auto source = source_of_bytes(reinterpret_cast<const uint8_t*>(trace.data()), trace.size());
  auto report = make_report(source, why);
  EXPECT_TRUE(report) << why;
  return report ? *report : Report{};
}

const KindTotals& totals(const Report& report, Kind kind) { return report.kinds[static_cast<size_t>(kind)]; }

Json entry(const char* action, uint64_t address, uint64_t size) {
  return {{"action", action}, {"addr", address}, {"size", size}, {"stream", 0}};
}

// An allocator as a snapshot sees it: segments that are cut into blocks.
class Allocator {
 public:
  explicit Allocator(uint32_t seed) : random_(seed) {}

  void step() {
    const uint32_t choice = random_() % 8;
    if (segments_.empty() || choice == 0) return take();
    if (choice == 1 && segments_.size() > 1) return give();
    if (choice < 5) return allocate();
    release();
  }
  const Json& entries() const { return entries_; }
  Json segments() const {
    Json list = Json::array();
    for (const auto& [start, blocks] : segments_) {
      Json pieces = Json::array();
      for (size_t i = 0; i < kSlots; ++i)
        pieces.push_back({{"size", kBlock},
                          {"requested_size", kBlock},
                          {"address", start + i * kBlock},
                          {"state", blocks[i] ? "active_allocated" : "inactive"}});
      list.push_back(
          {{"device", 0}, {"address", start}, {"total_size", kSegment}, {"stream", 0}, {"blocks", pieces}});
    }
    return list;
  }
  uint64_t taken() const { return segments_.size() * kSegment; }
  uint64_t handed() const { return live_ * kBlock; }

  static constexpr uint64_t kSlots = 8, kBlock = 4096, kSegment = kSlots * kBlock;

 private:
  void take() {
    for (uint64_t start = kSegment;; start += kSegment) {
      if (segments_.contains(start)) continue;
      segments_[start] = {};
      return entries_.push_back(entry("segment_alloc", start, kSegment));
    }
  }
  void give() {
    for (auto at = segments_.begin(); at != segments_.end(); ++at) {
      if (std::count(at->second.begin(), at->second.end(), true) != 0) continue;
      entries_.push_back(entry("segment_free", at->first, kSegment));
      segments_.erase(at);
      return;
    }
  }
  void allocate() {
    for (auto& [start, blocks] : segments_) {
      const size_t slot = random_() % kSlots;
      if (blocks[slot]) continue;
      blocks[slot] = true;
      ++live_;
      return entries_.push_back(entry("alloc", start + slot * kBlock, kBlock));
    }
  }
  void release() {
    for (auto& [start, blocks] : segments_) {
      const size_t slot = random_() % kSlots;
      if (!blocks[slot]) continue;
      blocks[slot] = false;
      --live_;
      entries_.push_back(entry("free_requested", start + slot * kBlock, kBlock));
      return entries_.push_back(entry("free_completed", start + slot * kBlock, kBlock));
    }
  }

  std::mt19937 random_;
  std::map<uint64_t, std::array<bool, kSlots>> segments_;
  uint64_t live_ = 0;
  Json entries_ = Json::array();
};

// The history of a snapshot goes back only so far: what it holds in that time is right all the same.
TEST(Import, OfASnapshotIsRightHoweverFarItsHistoryGoes) {
  for (uint32_t seed = 0; seed < 60; ++seed) {
    Allocator allocator(seed);
    std::vector<std::pair<uint64_t, uint64_t>> after;  // each entry: taken, handed out
    after.emplace_back(0, 0);
    for (int i = 0; i < 200; ++i) {
      allocator.step();
      while (after.size() <= allocator.entries().size())
        after.emplace_back(allocator.taken(), allocator.handed());
    }
    const Json all = allocator.entries();
    for (const size_t kept : {all.size(), all.size() / 2, size_t{7}, size_t{0}}) {
      const size_t first = all.size() - kept;
      // Not between the two halves of a free, which the model takes as one.
      if (first > 0 && all[first - 1]["action"] == "free_requested") continue;
      Json history = Json::array();
      for (size_t i = first; i < all.size(); ++i) history.push_back(all[i]);
      const Json snapshot{{"segments", allocator.segments()}, {"device_traces", Json::array({history})}};
      uint64_t taken = 0, handed = 0;
      for (size_t i = first; i < after.size(); ++i) {
        taken = std::max(taken, after[i].first);
        handed = std::max(handed, after[i].second);
      }
      const Report report = report_of(snapshot.dump());
      ASSERT_EQ(report.peak_bytes, taken) << "seed " << seed << ", the last " << kept;
      ASSERT_EQ(report.live_bytes, allocator.taken()) << "seed " << seed << ", the last " << kept;
      ASSERT_EQ(totals(report, Kind::Region).peak_bytes, handed) << "seed " << seed << ", the last " << kept;
      ASSERT_EQ(totals(report, Kind::Region).live_bytes, allocator.handed()) << "seed " << seed;
    }
  }
}

// Ranges are unmapped in other pieces than they were mapped.
TEST(Import, TakesMappedMemoryBackInPieces) {
  const Json history =
      Json::array({entry("segment_map", 0x100000, 0x4000), entry("segment_map", 0x104000, 0x4000),
                   entry("segment_unmap", 0x102000, 0x4000), entry("segment_map", 0x103000, 0x1000)});
  const Report report = report_of(Json{{"device_traces", Json::array({history})}}.dump());
  EXPECT_EQ(report.peak_bytes, 0x8000u);
  EXPECT_EQ(report.live_bytes, 0x5000u);
}

TEST(Import, NamesTheFramesThatTheSnapshotNames) {
  Json alloc = entry("alloc", 0x1000, 512);
  alloc["frames"] = Json::array({{{"name", "forward"}, {"filename", "/model/net.py"}, {"line", 31}},
                                 {{"name", "main"}, {"filename", "/model/train.py"}, {"line", 7}}});
  const Report report = report_of(Json{{"device_traces", Json::array({Json::array({alloc})})}}.dump());
  ASSERT_EQ(report.at_peak.size(), 1u);
  EXPECT_EQ(report.at_peak[0].name, "PyTorch");
  EXPECT_EQ(report.peak_bytes, 512u) << "without segments what was handed out is what is known";
  Symbols symbols(report.info);
  const auto frames = symbols.frames_of(report.at_peak[0].site.stack);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(to_text(frames[0]), "forward at /model/net.py:31");
  EXPECT_EQ(to_text(frames[1]), "main at /model/train.py:7");
}

TEST(Import, OfWhatIsNoSnapshotHasAReason) {
  for (const char* const text : {"{", "{}", "[]", R"({"segments": 3})", R"({"device_traces": [[]]})",
                                 R"({"device_traces": [3, "x", {}]})",
                                 R"({"device_traces": [[{"action": "alloc", "addr": 1, "size": -1}]]})",
                                 R"({"segments": [{"address": 5, "total_size": 18446744073709551615}]})"}) {
    std::string why;
    EXPECT_FALSE(import_snapshot(text, why)) << text;
    EXPECT_FALSE(why.empty()) << text;
  }
}

// Cut and changed at random: read, or refused with a reason.
TEST(Import, OfDamagedSnapshotsNeverFailsOtherwise) {
  Allocator allocator(3);
  for (int i = 0; i < 40; ++i) allocator.step();
  const std::string whole =
      Json{{"segments", allocator.segments()}, {"device_traces", Json::array({allocator.entries()})}}.dump();
  std::mt19937 random(7);
  for (int i = 0; i < 3000; ++i) {
    std::string text = whole.substr(0, i % 3 == 0 ? random() % whole.size() : whole.size());
    for (uint32_t changes = random() % 4; changes > 0 && text.size() > 1; --changes)
      text[1 + random() % (text.size() - 1)] = "0123456789{}[],:\"az\\"[random() % 20];
    std::string why;
    const auto imported = import_snapshot(text, why);
    if (!imported) {
      EXPECT_FALSE(why.empty());
      continue;
    }
    const std::string trace = to_trace(*imported, "s");
    const auto source = source_of_bytes(reinterpret_cast<const uint8_t*>(trace.data()), trace.size());
    EXPECT_TRUE(make_report(source, why)) << why;
  }
}

#ifdef PLAT_WITH_SQLITE

// A database of several pages, of what an allocator did in so many steps.
std::string database_of(int steps) {
  Allocator allocator(5);
  for (int i = 0; i < steps; ++i) allocator.step();
  const Json snapshot{{"segments", allocator.segments()},
                      {"device_traces", Json::array({allocator.entries()})}};
  std::string why;
  const std::string trace = to_trace(import_snapshot(snapshot.dump(), why).value(), "s");
  const auto source = source_of_bytes(reinterpret_cast<const uint8_t*>(trace.data()), trace.size());
  const auto history = read_history(source, why);
  Symbols symbols(history.value().info);
  NamedStacks stacks(symbols);
  return to_memscope(*history, stacks);
}

TEST(Import, OfADatabaseThatIsCutOffSaysSo) {
  const std::string whole = database_of(200);
  std::string why;
  ASSERT_TRUE(import_memscope(whole, why)) << why;
  for (size_t kept = 0; kept < whole.size(); kept += 512) {
    ASSERT_FALSE(import_memscope(whole.substr(0, kept), why)) << kept;
    ASSERT_NE(why.find("cut off"), std::string::npos) << kept << ": " << why;
  }
  EXPECT_FALSE(import_memscope(whole.substr(0, whole.size() - 1), why));
  EXPECT_NE(why.find("cut off"), std::string::npos) << why;
}

TEST(Import, OfDamagedDatabasesNeverFailsOtherwise) {
  const std::string whole = database_of(40);
  size_t read = 0, refused = 0;
  for (size_t at = 16; at < whole.size(); at += 101) {
    for (const char change : {'\x00', '\xff', 'A'}) {
      std::string bytes = whole;
      bytes.replace(at, 7, 7, change);
      std::string why;
      const auto imported = import_memscope(bytes, why);
      ++(imported ? read : refused);
      if (!imported) {
        EXPECT_FALSE(why.empty());
        continue;
      }
      const std::string trace = to_trace(*imported, "s");
      const auto source = source_of_bytes(reinterpret_cast<const uint8_t*>(trace.data()), trace.size());
      EXPECT_TRUE(make_report(source, why)) << why;
    }
  }
  EXPECT_GT(read, 0u);
  EXPECT_GT(refused, 0u);
}

#endif

}  // namespace
}  // namespace plat::inspect
