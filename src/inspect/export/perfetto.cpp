// SPDX-License-Identifier: Apache-2.0
// Track events of Perfetto: lives as slices with their call stacks, bytes as counters, copies as instants
// that flow from the allocation to the free, ranges, marks and streams. The numbers are those of its
// protocol.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_map>

#include "inspect/export/export.h"
#include "inspect/export/protobuf.h"
#include "inspect/export/touched.h"

namespace plat::inspect {

namespace {

// Fields of messages.
namespace trace {
constexpr uint32_t kPacket = 1;
}
namespace packet {
constexpr uint32_t kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInterned = 12, kFlags = 13,
                   kDescriptor = 60;
enum Flags : uint64_t { kStartsAnew = 1, kNeedsInterned = 2 };
}  // namespace packet
namespace track {
constexpr uint32_t kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8, kOrdering = 11,
                   kRank = 12;
constexpr uint64_t kExplicit = 3;
}  // namespace track
namespace track_event {
constexpr uint32_t kCategory = 3, kAnnotations = 4, kType = 9, kName = 10, kTrack = 11, kCounterValue = 30,
                   kFlows = 47, kLastFlows = 48, kCallstack = 56;
enum Type : uint64_t { kBegin = 1, kEnd = 2, kInstant = 3, kCounter = 4 };
}  // namespace track_event
namespace annotation {
constexpr uint32_t kName = 1, kNumber = 3, kPointer = 7, kText = 17;
}
namespace interned {
enum Table : uint32_t {
  kCategories = 1,
  kNames = 2,
  kAnnotationNames = 3,
  kFunctions = 5,
  kFrames = 6,
  kCallstacks = 7,
  kFiles = 18,
  kTexts = 29
};
}
namespace frame {
constexpr uint32_t kFunction = 2, kFile = 5, kLine = 6;
}
constexpr uint64_t kBytesUnit = 3;

// What events say again and again is written once, and has a number in its table from then on.
class Interned {
 public:
  explicit Interned(NamedStacks& stacks) : stacks_(stacks) {}

  uint64_t text(interned::Table table, const std::string& text) {
    auto& numbers = texts_[table];
    const auto [found, is_new] = numbers.try_emplace(text, numbers.size() + 1);
    if (is_new) all_.message(table, Message().number(1, found->second).text(2, text));
    return found->second;
  }
  // Outermost first.
  uint64_t stack(const std::vector<uint32_t>& frames) {
    const auto [found, is_new] = callstacks_.try_emplace(frames, callstacks_.size() + 1);
    if (is_new) {
      Message stack;
      stack.number(1, found->second);
      for (auto number = frames.rbegin(); number != frames.rend(); ++number) stack.number(2, frame(*number));
      all_.message(interned::kCallstacks, stack);
    }
    return found->second;
  }
  const Message& all() const { return all_; }

 private:
  uint64_t frame(uint32_t number) {
    const auto [found, is_new] = frames_.try_emplace(number, frames_.size() + 1);
    if (is_new) {
      const NamedFrame& one = stacks_.frame(number);
      Message said;
      said.number(1, found->second).number(frame::kFunction, text(interned::kFunctions, one.name));
      if (!one.file.empty()) said.number(frame::kFile, text(interned::kFiles, one.file));
      if (one.line > 0) said.number(frame::kLine, static_cast<uint64_t>(one.line));
      all_.message(interned::kFrames, said);
    }
    return found->second;
  }

  NamedStacks& stacks_;
  Message all_;
  std::map<interned::Table, std::unordered_map<std::string, uint64_t>> texts_;
  std::unordered_map<uint32_t, uint64_t> frames_;
  std::map<std::vector<uint32_t>, uint64_t> callstacks_;
};

// Slices of a track must nest. Things that overlap as they like get parallel tracks: several of one name,
// which the viewer shows as one.
class ParallelTracks {
 public:
  explicit ParallelTracks(std::function<uint64_t()> make) : make_(std::move(make)) {}
  uint64_t take() {
    if (free_.empty()) return make_();
    const uint64_t track = free_.top();
    free_.pop();
    return track;
  }
  void give_back(uint64_t track) { free_.push(track); }

 private:
  std::function<uint64_t()> make_;
  std::priority_queue<uint64_t, std::vector<uint64_t>, std::greater<>> free_;
};

class PerfettoWriter {
 public:
  PerfettoWriter(const History& history, NamedStacks& stacks)
      : history_(history), stacks_(stacks), interned_(stacks), track_of_(history.lives.size()) {}

  std::string write() {
    describe(kProcess, [&](Message& descriptor) {
      descriptor.message(track::kProcess, Message()
                                              .number(1, history_.info.pid)
                                              .text(2, history_.info.program)
                                              .text(6, history_.info.program));
    });
    walk(
        history_, [&](const Step& step) { write_step(step); },
        [&](const Touch& touch, int64_t life) { write_touch(touch, life); });
    write_remarks();
    write_streams();
    std::stable_sort(events_.begin(), events_.end(),
                     [](const Timed& a, const Timed& b) { return a.time_ns < b.time_ns; });
    Message whole, words;
    words.number(packet::kSequence, 1)
        .number(packet::kFlags, packet::kStartsAnew)
        .message(packet::kInterned, interned_.all());
    whole.message(trace::kPacket, words);
    for (const std::string& descriptor : descriptors_) whole.text(trace::kPacket, descriptor);
    for (const Timed& event : events_) whole.text(trace::kPacket, event.packet);
    return whole.bytes();
  }

 private:
  static constexpr uint64_t kProcess = 1;
  struct Timed {
    uint64_t time_ns;
    std::string packet;
  };

  template <class Fill>
  uint64_t describe(uint64_t uuid, Fill&& fill) {
    Message descriptor;
    descriptor.number(track::kUuid, uuid);
    fill(descriptor);
    Message out;
    out.number(packet::kSequence, 1);
    descriptors_.push_back(out.message(packet::kDescriptor, descriptor).bytes());
    return uuid;
  }
  uint64_t new_track(const std::string& name, uint64_t parent) {
    return describe(next_++, [&](Message& descriptor) {
      descriptor.text(track::kName, name).number(track::kParent, parent);
    });
  }
  uint64_t device_track(int32_t device) {
    const auto [found, is_new] = devices_.emplace(device, 0);
    if (is_new)
      found->second = describe(next_++, [&](Message& descriptor) {
        descriptor.text(track::kName, fmt::format("device {}", device))
            .number(track::kParent, kProcess)
            .number(track::kOrdering, track::kExplicit);
      });
    return found->second;
  }
  uint64_t thread_track(uint32_t thread) {
    const auto [found, is_new] = threads_.emplace(thread, 0);
    if (is_new)
      found->second = describe(next_++, [&](Message& descriptor) {
        const auto name = history_.info.threads.find(thread);
        descriptor.message(track::kThread,
                           Message()
                               .number(1, history_.info.pid)
                               .number(2, thread)
                               .text(5, name != history_.info.threads.end() ? name->second : ""));
      });
    return found->second;
  }
  uint64_t stream_track(uint64_t stream) {
    const auto [found, is_new] = streams_.emplace(stream, 0);
    if (is_new)
      found->second =
          new_track(stream == 0 ? "default stream" : fmt::format("stream {:#x}", stream), kProcess);
    return found->second;
  }
  // A number over time, of a device: children of its track, above the parallel ones.
  uint64_t counter_track(int32_t device, const std::string& name) {
    const auto [found, is_new] = counters_.emplace(std::pair(device, name), 0);
    if (is_new)
      found->second = describe(next_++, [&](Message& descriptor) {
        descriptor.text(track::kName, name)
            .number(track::kParent, device_track(device))
            .number(track::kRank, counters_.size())
            .message(track::kCounter, Message().number(3, kBytesUnit));
      });
    return found->second;
  }
  ParallelTracks& parallel_tracks(const std::string& name, uint64_t parent) {
    const auto found = tracks_.find({name, parent});
    if (found != tracks_.end()) return found->second;
    return tracks_
        .emplace(std::pair(name, parent),
                 ParallelTracks([this, name, parent] { return new_track(name, parent); }))
        .first->second;
  }

  void add(uint64_t time_ns, const Message& event) {
    Message out;
    out.number(packet::kTimestamp, time_ns)
        .number(packet::kSequence, 1)
        .number(packet::kFlags, packet::kNeedsInterned)
        .message(packet::kTrackEvent, event);
    events_.push_back({time_ns, out.bytes()});
  }
  static Message event_on(uint64_t uuid, track_event::Type type) {
    Message event;
    return event.number(track_event::kType, type).number(track_event::kTrack, uuid);
  }
  void title(Message& event, const char* category, const std::string& name) {
    event.number(track_event::kCategory, interned_.text(interned::kCategories, category))
        .number(track_event::kName, interned_.text(interned::kNames, name));
  }
  void annotate(Message& event, const char* name, uint32_t kind, uint64_t value) {
    const uint64_t named = interned_.text(interned::kAnnotationNames, name);
    event.message(track_event::kAnnotations, Message().number(annotation::kName, named).number(kind, value));
  }
  void annotate(Message& event, const char* name, const std::string& value) {
    if (!value.empty()) annotate(event, name, annotation::kText, interned_.text(interned::kTexts, value));
  }
  void add_stack(Message& event, const Site& site) {
    event.number(track_event::kCallstack, interned_.stack(stacks_.of(site)));
  }

  void write_step(const Step& step) {
    const Life& life = history_.lives[step.life];
    if (!life.is_memory()) return;
    const std::string& pool = history_.texts[life.pool];
    ParallelTracks& group = parallel_tracks(
        life.kind == Kind::Region ? fmt::format("blocks of pool '{}'", pool) : "device memory",
        device_track(life.device));
    const uint64_t time = history_.time_of(step);
    if (step.birth) {
      track_of_[step.life] = group.take();
      Message event = event_on(track_of_[step.life], track_event::kBegin);
      title(event, "memory", title_of(life));
      event.fixed(track_event::kFlows, flow_of(step.life));
      annotate(event, "bytes", annotation::kNumber, life.size);
      if (life.start != 0) annotate(event, "address", annotation::kPointer, life.start);
      annotate(event, "owner", history_.texts[life.name]);
      annotate(event, "label", history_.texts[life.label]);
      add_stack(event, life.born);
      add(time, event);
    } else {
      Message event = event_on(track_of_[step.life], track_event::kEnd);
      event.fixed(track_event::kLastFlows, flow_of(step.life));
      add_stack(event, life.died);
      add(time, event);
      group.give_back(track_of_[step.life]);
    }
    count(life, step.birth, time);
  }

  static uint64_t flow_of(uint32_t life) { return life + uint64_t{1}; }
  std::string title_of(const Life& life) const {
    const std::string& label = history_.texts[life.label];
    return label.empty() ? name_of(life.kind) : label;
  }

  void count(const Life& life, bool birth, uint64_t time) {
    const auto change = [&](const std::string& name) {
      const uint64_t counter = counter_track(life.device, name);
      uint64_t& value = values_[counter];
      value = birth ? value + life.size : value - life.size;
      add(time, event_on(counter, track_event::kCounter).number(track_event::kCounterValue, value));
    };
    if (life.counts) change("device memory in use");
    if (life.kind == Kind::Region) change(fmt::format("pool '{}' in use", history_.texts[life.pool]));
    if (life.divided) change(fmt::format("pool '{}' taken from the device", history_.texts[life.pool]));
  }

  void write_touch(const Touch& touch, int64_t life) {
    const uint64_t place = touch.on_stream ? stream_track(touch.stream) : thread_track(touch.site.thread);
    Message event = event_on(place, track_event::kInstant);
    title(event, "copy",
          fmt::format("{} ({})", info_of(touch.site.op).name, touch.write ? "writes" : "reads"));
    annotate(event, "bytes", annotation::kNumber, touch.size);
    annotate(event, "address", annotation::kPointer, touch.address);
    if (life >= 0) event.fixed(track_event::kFlows, flow_of(static_cast<uint32_t>(life)));
    add_stack(event, touch.site);
    add(touch.site.time_ns, event);
  }

  void write_remarks() {
    for (const Remark& mark : history_.marks) {
      Message event = event_on(thread_track(mark.site.thread), track_event::kInstant);
      title(event, "mstx", history_.texts[mark.text]);
      add(mark.site.time_ns, event);
    }
    for (const Span& span : history_.spans)
      slice(fmt::format("ranges of thread {}", span.site.thread), thread_track(span.site.thread),
            history_.texts[span.text], span.site.time_ns, span.ended ? span.end_ns : history_.end_ns, "mstx");
  }

  // Queued work has no length of its own here: when a device is through with it is not recorded. Waits have.
  void write_streams() {
    for (const StreamCall& made : history_.stream_calls) {
      const std::string name(info_of(made.site.op).name);
      if (made.end_ns > made.site.time_ns) {
        slice("waits of the host", stream_track(made.stream), name, made.site.time_ns, made.end_ns, "wait");
        continue;
      }
      Message event = event_on(stream_track(made.stream), track_event::kInstant);
      title(event, "stream", name);
      add(made.site.time_ns, event);
    }
  }

  // In the order in which they begin; a track is free again when what is in it has ended.
  void slice(const std::string& group, uint64_t parent, const std::string& name, uint64_t from, uint64_t to,
             const char* category) {
    auto& used = spans_[{group, parent}];
    auto track = std::find_if(used.begin(), used.end(), [&](const auto& one) { return one.second <= from; });
    if (track == used.end()) track = used.insert(used.end(), {new_track(group, parent), 0});
    track->second = std::max(to, from + 1);
    Message event = event_on(track->first, track_event::kBegin);
    title(event, category, name);
    add(from, event);
    add(track->second, event_on(track->first, track_event::kEnd));
  }

  const History& history_;
  NamedStacks& stacks_;
  Interned interned_;
  std::vector<std::string> descriptors_;
  std::vector<Timed> events_;
  uint64_t next_ = 2;  // a track that is not taken
  std::map<int32_t, uint64_t> devices_;
  std::map<uint32_t, uint64_t> threads_;
  std::map<uint64_t, uint64_t> streams_, values_;
  std::map<std::pair<int32_t, std::string>, uint64_t> counters_;
  std::map<std::pair<std::string, uint64_t>, ParallelTracks> tracks_;
  // Parallel tracks, and until when each is taken.
  std::map<std::pair<std::string, uint64_t>, std::vector<std::pair<uint64_t, uint64_t>>> spans_;
  std::vector<uint64_t> track_of_;  // by life
};

}  // namespace

std::string to_perfetto(const History& history, NamedStacks& stacks) {
  return PerfettoWriter(history, stacks).write();
}

}  // namespace plat::inspect
