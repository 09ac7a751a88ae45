// SPDX-License-Identifier: Apache-2.0
// PyTorch's memory snapshot: what is there at its end (segments), and what happened before that, as far back
// as the history goes (device_traces). What was there when the history began comes from going through it
// backwards.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "inspect/import/imported.h"
#include "inspect/import/plain.h"

namespace plat::inspect {

namespace {

constexpr const char* kPool = "PyTorch";
constexpr size_t kOwnerMax = 500;  // bytes of a name that every block keeps for itself

// Pieces of what was taken from the device, by address; ranges are mapped and unmapped in other pieces than
// they came.
using Pieces = std::map<uint64_t, uint64_t>;

struct Piece {
  uint64_t start, size;
};

// Takes a range out; what was there comes back.
std::vector<Piece> carve(Pieces& pieces, uint64_t start, uint64_t size) {
  std::vector<Piece> taken;
  const uint64_t end = start + size;
  auto at = pieces.upper_bound(start);
  if (at != pieces.begin()) --at;
  while (at != pieces.end() && at->first < end) {
    const Piece piece{at->first, at->second};
    if (piece.start + piece.size <= start) {
      ++at;
      continue;
    }
    at = pieces.erase(at);
    taken.push_back(piece);
    if (piece.start < start) pieces[piece.start] = start - piece.start;
    if (piece.start + piece.size > end) {
      pieces[end] = piece.start + piece.size - end;
      break;
    }
  }
  return taken;
}

struct Entry {
  int32_t device;
  uint64_t time_ns;
  const Value* value;
};

class SnapshotImporter {
 public:
  std::optional<Imported> run(const Value& root, std::string& why) {
    const Value* const traces = root.find("device_traces");
    const Value* const segments = root.find("segments");
    if (traces == nullptr && segments == nullptr)
      return why = "is no memory snapshot: it has neither device_traces nor segments", std::nullopt;
    if ((segments != nullptr && !note_end(*segments)) || (traces != nullptr && !gather(*traces)))
      return why = "is damaged: it has the same list at two places", std::nullopt;
    go_back();
    const uint64_t start = entries_.empty() ? 0 : entries_.front().time_ns;
    for (const auto& [device, pieces] : pieces_)
      for (const auto& [address, size] : pieces)
        importer_.allocate(taken(device, address, size), {start, 0, 0});
    for (const auto& [place, block] : blocks_) importer_.allocate(block.life, {start, 0, block.stack});
    for (const Entry& entry : entries_) go_on(entry);
    importer_.result().divides_all = true;
    auto imported = importer_.finish(why);
    if (!imported && why == "holds no allocation")
      why = "holds no allocation: it has no blocks, and no history of them (device_traces)";
    return imported;
  }

 private:
  struct Block {
    ImportedLife life;
    uint32_t stack = 0;
  };

  static ImportedLife taken(int32_t device, uint64_t address, uint64_t size) {
    return {Held::Taken, device, address, size, 0, kPool, ""};
  }
  static ImportedLife handed(int32_t device, const Value& value, uint64_t address) {
    return {Held::Handed,
            device,
            address,
            value.number_of("size"),
            value.number_of("stream"),
            kPool,
            value.text_of("user_metadata").substr(0, kOwnerMax)};
  }

  // Lists of frames are shared: each is looked at once.
  uint32_t stack_of(const Value& value) {
    const Value* const list = value.find("frames");
    if (list == nullptr) return 0;
    const auto [found, is_new] = stacks_.emplace(list, 0);
    if (!is_new) return found->second;
    std::vector<ImportedFrame> frames;
    for (const Value* const frame : list->items)
      frames.push_back({frame->text_of("name"), frame->text_of("filename"),
                        static_cast<uint32_t>(frame->number_of("line"))});
    return found->second = importer_.stack_of(frames);
  }

  // A pickle can name a list again, and so hold far more than it has bytes.
  bool is_new(const Value& list) { return list.items.empty() || lists_.insert(&list).second; }

  // False if a list comes twice; so does the next one.
  bool note_end(const Value& segments) {
    for (const Value* const segment : segments.items) {
      const auto device = static_cast<int32_t>(segment->number_of("device"));
      const uint64_t start = segment->number_of("address");
      if (segment->number_of("total_size") != 0) pieces_[device][start] = segment->number_of("total_size");
      const Value* const blocks = segment->find("blocks");
      if (blocks == nullptr) continue;
      if (!is_new(*blocks)) return false;
      uint64_t at = start;  // they lie one behind the other
      for (const Value* const block : blocks->items) {
        if (block->find("address") != nullptr) at = block->number_of("address");
        if (block->text_of("state").starts_with("active")) {
          Block one{handed(device, *block, at), stack_of(*block)};
          one.life.stream = segment->number_of("stream");
          blocks_[{device, at}] = one;
        }
        at += block->number_of("size");
      }
    }
    return true;
  }

  bool gather(const Value& traces) {
    bool has_times = true;
    for (size_t device = 0; device < traces.items.size(); ++device) {
      uint64_t count = 0;
      if (!is_new(*traces.items[device])) return false;
      for (const Value* const entry : traces.items[device]->items) {
        if (entry->find("action") == nullptr) continue;
        const Value* const time = entry->find("time_us");
        has_times = has_times && time != nullptr && time->number > 0;
        const uint64_t us = time != nullptr ? static_cast<uint64_t>(time->number) : ++count;
        entries_.push_back({static_cast<int32_t>(device), us * 1000, entry});
      }
    }
    // Without times nobody knows how devices went beside each other: then one after the other.
    if (!has_times)
      for (size_t i = 0; i < entries_.size(); ++i) entries_[i].time_ns = (i + 1) * 1000;
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.time_ns < b.time_ns; });
    return true;
  }

  // From what is there at the end to what was there at the beginning.
  void go_back() {
    for (size_t i = entries_.size(); i-- > 0;) {
      const Entry& entry = entries_[i];
      const std::string action = entry.value->text_of("action");
      const uint64_t address = entry.value->number_of("addr"), size = entry.value->number_of("size");
      if (action == "alloc")
        blocks_.erase({entry.device, address});
      else if (action == "free_completed")
        blocks_[{entry.device, address}] = {handed(entry.device, *entry.value, address), 0};
      else if (action == "segment_alloc" || action == "segment_map")
        carve(pieces_[entry.device], address, size);
      else if (action == "segment_free" || action == "segment_unmap")
        add_piece(entry.device, address, size);
    }
  }
  void add_piece(int32_t device, uint64_t address, uint64_t size) {
    if (size == 0) return;
    carve(pieces_[device], address, size);
    pieces_[device][address] = size;
  }

  // The same forwards; what is there is in pieces_ again.
  void go_on(const Entry& entry) {
    const std::string action = entry.value->text_of("action");
    const uint64_t address = entry.value->number_of("addr"), size = entry.value->number_of("size");
    const bool gives = action == "segment_free" || action == "segment_unmap";
    const bool takes = action == "segment_alloc" || action == "segment_map";
    if (!gives && !takes && action != "alloc" && action != "free_completed") return;
    const Importer::When when{entry.time_ns, 0, stack_of(*entry.value)};
    if (action == "alloc") return importer_.allocate(handed(entry.device, *entry.value, address), when);
    if (action == "free_completed")
      return importer_.release(handed(entry.device, *entry.value, address), when);
    Pieces& pieces = pieces_[entry.device];
    if (size == 0) return;
    // Of a piece that is taken back in part the rest stays, as a piece of its own.
    for (const Piece& piece : carve(pieces, address, size)) {
      importer_.release(taken(entry.device, piece.start, piece.size), when);
      if (piece.start < address)
        importer_.allocate(taken(entry.device, piece.start, address - piece.start), when);
      if (piece.start + piece.size > address + size)
        importer_.allocate(taken(entry.device, address + size, piece.start + piece.size - address - size),
                           when);
    }
    if (!takes) return;
    pieces[address] = size;
    importer_.allocate(taken(entry.device, address, size), when);
  }

  Importer importer_;
  std::map<int32_t, Pieces> pieces_;
  std::map<std::pair<int32_t, uint64_t>, Block> blocks_;
  std::vector<Entry> entries_;
  std::unordered_map<const Value*, uint32_t> stacks_;
  std::unordered_set<const Value*> lists_;  // that were read
};

}  // namespace

std::optional<Imported> import_snapshot(const std::string& content, std::string& why) {
  Values values;
  const Value* const root =
      content.starts_with('{') ? read_json(content, values, why) : read_pickle(content, values, why);
  if (root == nullptr) return std::nullopt;
  return SnapshotImporter().run(*root, why);
}

}  // namespace plat::inspect
