// SPDX-License-Identifier: Apache-2.0
#include "inspect/export/history.h"

#include <fmt/format.h>

#include <unordered_map>

#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

class Historian final : public Listener {
 public:
  explicit Historian(History& history) : history_(history) {}

  void apply(const Event& event) {
    model_.apply(event);
    if (event.op == Op::platMstxMemRegionsResize) resized(event);
    history_.end_ns = event.time_ns;
  }

  void born(const Object& object) override {
    if (object.kind == Kind::Heap || object.kind == Kind::Region) divide(object.start, object.end());
    if (object.kind == Kind::Mapping) mapped(object);
    const bool is_memory = object.kind == Kind::Region || takes_device_memory(object.kind);
    if (is_memory && !object.imported) begin(object, object.born);
  }

  void died(const Object& object) override { end(object, object.died); }

 private:
  void begin(const Object& object, const Site& site) {
    open_[object.serial] = static_cast<uint32_t>(history_.lives.size());
    history_.steps.push_back({open_[object.serial], true});
    Life life;
    life.kind = object.kind;
    life.start = object.kind == Kind::Physical ? 0 : object.start;
    life.size = object.size;
    life.device = object.device;
    life.stream = object.stream;
    life.name = object.name;
    life.born = site;
    // Where the calls of the device were not seen, what pools hand out is the best that is known.
    life.counts = history_.info.mstx_only == (object.kind == Kind::Region);
    history_.lives.push_back(std::move(life));
    if (!history_.lives.back().counts) return;
    live_bytes_ += object.size;
    if (live_bytes_ <= history_.peak_bytes) return;
    history_.peak_bytes = live_bytes_;
    history_.peak_steps = history_.steps.size();
  }

  void end(const Object& object, const Site& site) {
    const auto found = open_.find(object.serial);
    if (found == open_.end()) return;
    Life& life = history_.lives[found->second];
    life.died = site;
    if (life.counts) live_bytes_ -= life.size;
    history_.steps.push_back({found->second, false});
    open_.erase(found);
  }

  Life* life_of(const Object& object) {
    const auto found = open_.find(object.serial);
    return found != open_.end() ? &history_.lives[found->second] : nullptr;
  }

  // Memory under a heap or a region is what a pool took to divide.
  void divide(uint64_t start, uint64_t end) {
    model_.memory().for_each(start, end, [&](uint64_t, uint64_t, ObjectId id) {
      const Object& holder = model_.object(id);
      Life* const life = life_of(holder.kind == Kind::Mapping ? model_.object(holder.parent) : holder);
      if (life != nullptr) life->divided = true;
    });
  }

  void mapped(const Object& mapping) {
    if (mapping.parent == 0) return;
    Life* const life = life_of(model_.object(mapping.parent));
    if (life == nullptr) return;
    if (life->start == 0) life->start = mapping.start;
    for (const auto& named : model_.layers())
      named.second.heaps.for_each(mapping.start, mapping.end(),
                                  [&](uint64_t, uint64_t, ObjectId) { life->divided = true; });
  }

  void resized(const Event& event) {
    Model::Ranges::Range range;
    for (const auto& named : model_.layers()) {
      if (!named.second.regions.find(event[3], range)) continue;
      const Object& region = model_.object(range.value);
      const Life* const life = life_of(region);
      if (life == nullptr || region.start != event[3] || life->size == region.size) continue;
      end(region, Site::of(event));
      begin(region, Site::of(event));
    }
  }

  History& history_;
  std::unordered_map<uint64_t, uint32_t> open_;  // those that live, by serial number
  uint64_t live_bytes_ = 0;
  Model model_{*this};
};

}  // namespace

std::optional<History> read_history(const Source& source, std::string& problem) {
  auto reader = Reader::open(source, problem);
  if (!reader) return std::nullopt;
  History history;
  history.info = reader->info();
  // The recorder makes room for whole chunks.
  if (source.size < kHeaderBytes || (source.size - kHeaderBytes) % kChunkBytes != 0) {
    problem = fmt::format("is cut off: {} bytes are no whole number of chunks", source.size);
    return std::nullopt;
  }
  if (history.info.damaged > 0) {
    problem = fmt::format("is damaged: {} of its chunks cannot be read to the end", history.info.damaged);
    return std::nullopt;
  }
  Historian historian(history);
  for (Event event; reader->next(event);) historian.apply(event);
  history.info = reader->info();
  if (history.peak_bytes == 0) {
    problem = "holds no allocation of device memory";
    return std::nullopt;
  }
  return history;
}

}  // namespace plat::inspect
