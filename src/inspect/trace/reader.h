// SPDX-License-Identifier: Apache-2.0
// Reads a trace: finished, of a program that was killed, or of one that still runs. Takes any bytes.
//
// Opening looks through the whole file once, for what must be known before the events: stacks, modules,
// threads, the clock. Then events come in the order in which they happened, over all threads, a few chunks in
// memory at a time. Of a program that still runs, more can come after the end: refresh() looks.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "inspect/trace/chunk.h"
#include "inspect/trace/event.h"

namespace plat::inspect {

// Where the bytes of a trace are. `read` returns how many it could give.
struct Source {
  uint64_t size = 0;
  std::function<size_t(void* target, uint64_t offset, size_t size)> read;
  std::function<uint64_t()> size_now;  // empty: it does not grow
};
Source source_of_bytes(const uint8_t* data, size_t size);
// nothing, with the reason, if the file cannot be opened.
std::optional<Source> source_of_file(const std::string& path, std::string& problem);

struct Module {
  uint64_t load = 0;
  uint64_t first = 0;  // executable addresses
  uint64_t last = 0;
  std::string file;
};

using Frames = std::vector<uint64_t>;

// Of a frame that is in no module.
struct FrameName {
  std::string function;
  std::string file;
  uint32_t line = 0;
};

struct TraceInfo {
  uint32_t pid = 0;
  uint32_t parent = 0;
  std::string program;
  uint64_t start_realtime_ns = 0;
  uint64_t lost = 0;           // events that found no room when they were recorded
  uint64_t events = 0;         // without those about the trace itself
  uint64_t bytes = 0;          // that the events take
  uint64_t damaged = 0;        // chunks that end in something unreadable
  bool cut_off = false;        // the file ends within a chunk, as the recorder leaves none
  bool ended = false;          // the program came to its end by itself
  bool mstx_only = false;      // calls of the device were not seen
  bool imported = false;       // made of what another tool recorded
  std::string foreign_device;  // the file of the device's library if it is not ours
  std::vector<Module> modules;
  std::map<uint32_t, Frames> stacks;
  std::map<uint64_t, FrameName> frame_names;  // by address
  std::map<uint32_t, std::string> threads;
};

class Reader {
 public:
  // nothing, with the reason, if it is no trace of a version that this reader knows.
  static std::optional<Reader> open(Source source, std::string& problem);

  const TraceInfo& info() const { return info_; }
  // False at the end.
  bool next(Event& event);
  // At the end: whatever was written since comes next. Events of different threads that were written around
  // the last look may come in the wrong order.
  void refresh();

 private:
  struct Chunk {
    uint64_t offset = 0;
    uint32_t used = 0;
    uint64_t first_ticks = 0;
    uint64_t skip = 0;  // events at its start that an earlier look has read
  };
  // How much of a chunk is known.
  struct Seen {
    uint32_t used = 0;
    uint64_t bytes = 0;
    uint64_t events = 0;
    bool damaged = false;
  };
  // A chunk that is being read, at its next event.
  struct Open {
    std::vector<uint8_t> bytes;
    ChunkDecoder decoder;
    RawEvent event;
    uint64_t order = 0;  // between events of the same tick
  };
  struct Later {
    bool operator()(const std::unique_ptr<Open>& a, const std::unique_ptr<Open>& b) const {
      return a->event.ticks != b->event.ticks ? a->event.ticks > b->event.ticks : a->order > b->order;
    }
  };

  bool read_header(std::string& problem);
  void index_chunks();
  void index_chunk(Seen& seen, uint64_t offset, uint32_t used);
  void note(const RawEvent& event);
  bool load(const Chunk& chunk, std::vector<uint8_t>& bytes) const;
  void open_due(uint64_t ticks);
  bool advance(Open& open);
  uint64_t to_ns(uint64_t ticks) const;
  void add_clock(uint64_t ticks, uint64_t ns);

  Source source_;
  TraceInfo info_;
  std::vector<Seen> seen_;  // in the order of the file
  std::vector<Chunk> chunks_;
  size_t next_chunk_ = 0;
  std::priority_queue<std::unique_ptr<Open>, std::vector<std::unique_ptr<Open>>, Later> open_;
  uint64_t start_ticks_ = 0;
  uint64_t start_ns_ = 0;
  uint64_t late_ticks_ = 0;  // the pair of clocks farthest from the start
  uint64_t late_ns_ = 0;
  uint64_t number_ = 0;
  uint64_t last_ns_ = 0;
};

}  // namespace plat::inspect
