// SPDX-License-Identifier: Apache-2.0
#include "replay/recording.h"

#include <cstring>
#include <map>
#include <unordered_set>
#include <vector>

#include "inspect/model/model.h"
#include "inspect/trace/format.h"
#include "inspect/trace/reader.h"

namespace plat::replay {

namespace {

using inspect::Kind;
using inspect::Object;
using inspect::ObjectId;
using inspect::Op;

// What the program was handed, in order; what turns out to be a pool's is left out at the end.
class Gatherer final : public inspect::Listener {
 public:
  void apply(const inspect::Event& event) {
    event_ = &event;
    model_.apply(event);
    if (event.op == Op::platMstxMemRegionsResize) resized(event);
  }

  void born(const Object& object) override {
    switch (object.kind) {
      case Kind::DeviceBlock:
      case Kind::Physical:
      case Kind::PoolBlock:
      case Kind::Region:
        if (object.kind != Kind::Physical || !object.imported) allocated(object);
        if (object.kind == Kind::Region) divide(object.start, object.end());
        return;
      case Kind::Heap:
        return divide(object.start, object.end());
      case Kind::Mapping:
        if (in_heap(object)) divided_.insert(model_.object(object.parent).serial);
        return;
      default:
        return;
    }
  }
  void died(const Object& object) override {
    if (object.kind == Kind::DeviceBlock || object.kind == Kind::Physical || object.kind == Kind::PoolBlock ||
        object.kind == Kind::Region)
      released(object);
  }
  void access(const inspect::Access& access) override {
    if (!access.asynchronous || access.stream == 0) return;
    inspect::Model::Ranges::Range range;
    if (!model_.memory().find(access.address, range)) return;
    const Object& block = model_.object(range.value);
    if (block.kind == Kind::PoolBlock && block.stream != access.stream)
      items_.push_back({Item::kUse, block.serial, 0, access.stream, block.device});
  }

  // The device that did the most.
  void tell(Builder& builder) const {
    std::map<int32_t, size_t> counts;
    int32_t busiest = 0;
    for (const Item& item : items_)
      if (divided_.count(item.object) == 0 && ++counts[item.device] > counts[busiest]) busiest = item.device;
    for (const Item& item : items_) {
      if (item.device != busiest || divided_.count(item.object) != 0) continue;
      if (item.what == Item::kAllocate)
        builder.allocate(item.object, item.bytes, item.stream);
      else if (item.what == Item::kRelease)
        builder.release(item.object, item.stream);
      else
        builder.use(item.object, item.stream);
    }
  }

 private:
  struct Item {
    enum What : uint8_t { kAllocate, kRelease, kUse } what;
    uint64_t object;  // its serial number: ids are used again
    uint64_t bytes;
    uint64_t stream;
    int32_t device;
  };

  void allocated(const Object& object) {
    items_.push_back({Item::kAllocate, object.serial, object.size, object.stream, object.device});
  }
  void released(const Object& object) {
    const bool on_stream = event_->op == Op::aclrtMemPoolFreeAsync;
    items_.push_back({Item::kRelease, object.serial, 0, on_stream ? event_->stream() : 0, object.device});
  }
  // Memory under a heap or a region is what a pool took to divide.
  void divide(uint64_t start, uint64_t end) {
    model_.memory().for_each(start, end, [&](uint64_t, uint64_t, ObjectId id) {
      const Object& holder = model_.object(id);
      divided_.insert(holder.kind == Kind::Mapping ? model_.object(holder.parent).serial : holder.serial);
    });
  }
  bool in_heap(const Object& mapping) const {
    bool found = false;
    for (const auto& [name, layer] : model_.layers())
      layer.heaps.for_each(mapping.start, mapping.end(), [&](uint64_t, uint64_t, ObjectId) { found = true; });
    return found;
  }
  // A block that grew or shrank is another one in its place.
  void resized(const inspect::Event& event) {
    inspect::Model::Ranges::Range range;
    for (const auto& [name, layer] : model_.layers()) {
      if (!layer.regions.find(event.address(), range)) continue;
      const Object& region = model_.object(range.value);
      if (region.start != event.address() || region.size != event.size()) continue;
      released(region);
      allocated(region);
    }
  }

  inspect::Model model_{*this};
  const inspect::Event* event_ = nullptr;
  std::vector<Item> items_;
  std::unordered_set<uint64_t> divided_;  // serial numbers
};

}  // namespace

bool is_recording(const std::string& content) {
  return content.size() >= sizeof inspect::kMagic &&
         std::memcmp(content.data(), inspect::kMagic, sizeof inspect::kMagic) == 0;
}

bool read_recording(const std::string& content, Builder& builder, std::string& why) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(content.data());
  auto reader = inspect::Reader::open(inspect::source_of_bytes(bytes, content.size()), why);
  if (!reader) return false;
  if (reader->info().cut_off) return why = "is cut off, and what came after is not known", false;
  Gatherer gatherer;
  for (inspect::Event event; reader->next(event);) gatherer.apply(event);
  gatherer.tell(builder);
  return true;
}

}  // namespace plat::replay
