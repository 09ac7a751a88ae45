// SPDX-License-Identifier: Apache-2.0
#include "inspect/report/report.h"

#include <algorithm>

#include "inspect/report/timeline.h"

namespace plat::inspect {

namespace {

constexpr size_t kMarksMax = 1 << 16;

class Collector final : public Listener {
 public:
  Collector(Report& report, uint64_t peak_event, const PlaceOf& place_of)
      : report_(report), peak_event_(peak_event), growth_(place_of), model_(*this) {}

  void run(Reader& reader) {
    Event event;
    while (reader.next(event)) {
      model_.apply(event);
      report_.end_ns = event.time_ns;
    }
    report_.info = reader.info();
    sum_up();
  }

  uint64_t peak_event() const { return found_peak_; }

  void event(const Event& event) override {
    ++report_.events;
    if (!event.begins && !event.succeeded()) ++report_.failed_calls;
    if (event.op != Op::mstxMark) return;
    growth_.mark(event.text);
    if (report_.marks.size() < kMarksMax)
      report_.marks.push_back({event.text, event.time_ns, report_.live_bytes});
  }

  void access(const Access& access) override {
    if (access.write && access.event.succeeded()) report_.copied_bytes += access.size;
  }

  void born(const Object& object) override {
    growth_.born(object);
    KindTotals& totals = report_.kinds[static_cast<size_t>(object.kind)];
    ++totals.births;
    ++totals.live;
    totals.live_bytes += object.size;
    totals.peak_bytes = std::max(totals.peak_bytes, totals.live_bytes);
    Owner& owner = owners_[key_of(object)];
    if (owner.births == 0) {
      owner.kind = object.kind;
      owner.group = group_of(object);
      owner.name = std::get<1>(key_of(object));
      owner.site = object.born;
    }
    ++owner.births;
    owner.born_bytes += object.size;
    ++owner.live_count;
    owner.live_bytes += object.size;
    last_born_ = object.serial;
    if (!counts(object)) return;
    report_.live_bytes += object.size;
    timeline_.add(object.born.time_ns, report_.live_bytes);
    if (report_.live_bytes > report_.peak_bytes) {
      report_.peak_bytes = report_.live_bytes;
      report_.peak_ns = object.born.time_ns;
      found_peak_ = object.born.event;
    }
    if (object.born.event == peak_event_) look_around();
  }

  void died(const Object& object) override {
    growth_.died(object);
    KindTotals& totals = report_.kinds[static_cast<size_t>(object.kind)];
    totals.live -= std::min<uint64_t>(totals.live, 1);
    totals.live_bytes -= std::min(totals.live_bytes, object.size);
    Owner& owner = owners_[key_of(object)];
    owner.live_count -= std::min<uint64_t>(owner.live_count, 1);
    owner.live_bytes -= std::min(owner.live_bytes, object.size);
    if (last_born_ == object.serial) ++owner.temporary;
    if (!counts(object)) return;
    report_.live_bytes -= std::min(report_.live_bytes, object.size);
    timeline_.add(object.died.time_ns, report_.live_bytes);
  }

 private:
  using Key = std::tuple<Kind, std::string, uint32_t>;

  // The name of an import is its key, and every one has another.
  Key key_of(const Object& object) const {
    return {object.kind, object.kind == Kind::Import ? "" : object.name, growth_.place_of(object.born.stack)};
  }

  // Whether its bytes are device memory. Where the calls of the device were not seen, what pools hand out is
  // the best that is known.
  bool counts(const Object& object) const {
    if (report_.info.mstx_only) return object.kind == Kind::Region;
    return takes_device_memory(object.kind) && !object.imported;
  }

  Group group_of(const Object& object) const {
    if (counts(object)) return Group::Device;
    if (object.kind == Kind::Region) return Group::Pools;
    if (is_addresses(object.kind)) return Group::Addresses;
    const bool of_host =
        object.kind == Kind::HostBlock || object.kind == Kind::HostRegistration || object.kind == Kind::Mbuf;
    return of_host ? Group::Host : Group::Other;
  }

  // What is seen only from the end, or from where the trace has come to.
  void sum_up() {
    report_.holes_at_end = holes();
    report_.at_end = largest_owners();
    report_.owners.clear();
    for (const auto& [key, owner] : owners_) report_.owners.push_back(owner);
    std::stable_sort(report_.owners.begin(), report_.owners.end(),
                     [](const Owner& a, const Owner& b) { return a.births > b.births; });
    report_.growth = growth_.rising();
    report_.timeline = timeline_.points();
  }

  std::vector<Owner> largest_owners() const {
    std::vector<Owner> list;
    for (const auto& [key, owner] : owners_)
      if (owner.live_bytes > 0) list.push_back(owner);
    std::stable_sort(list.begin(), list.end(), [](const Owner& a, const Owner& b) {
      return std::pair(b.group, a.live_bytes) > std::pair(a.group, b.live_bytes);
    });
    return list;
  }

  void look_around() {
    report_.at_peak = largest_owners();
    report_.holes_at_peak = holes();
  }

  Holes holes_of(const Object& object, const Model::Ranges& inside) const {
    Holes holes{object.kind, object.title(), object.start, object.size, 0, 0, 0, 0};
    if (object.kind == Kind::Heap)
      model_.memory().for_each(object.start, object.end(), [&](uint64_t start, uint64_t end, ObjectId) {
        holes.held_bytes += end - start;
      });
    const bool of_memory = holes.held_bytes > 0;
    if (!of_memory) holes.held_bytes = object.size;
    uint64_t at = object.start;
    const auto add_free = [&](uint64_t start, uint64_t end) {
      if (end <= start) return;
      ++holes.free_ranges;
      holes.largest_free = std::max(holes.largest_free, end - start);
    };
    const auto gap = [&](uint64_t until) {
      if (!of_memory || until <= at) return add_free(at, until);
      uint64_t first = at, last = at;  // pieces that touch are one
      model_.memory().for_each(at, until, [&](uint64_t start, uint64_t end, ObjectId) {
        if (start != last) {
          add_free(first, last);
          first = start;
        }
        last = end;
      });
      add_free(first, last);
    };
    inside.for_each(object.start, object.end(), [&](uint64_t start, uint64_t end, ObjectId) {
      gap(start);
      holes.used_bytes += end - start;
      at = end;
    });
    gap(object.end());
    return holes;
  }

  std::vector<Holes> holes() const {
    std::vector<Holes> all;
    for (const auto& named : model_.layers())
      named.second.heaps.for_each([&](uint64_t, uint64_t, ObjectId id) {
        all.push_back(holes_of(model_.object(id), named.second.regions));
      });
    model_.reservations().for_each([&](uint64_t, uint64_t, ObjectId id) {
      all.push_back(holes_of(model_.object(id), model_.memory()));
    });
    return all;
  }

  Report& report_;
  uint64_t peak_event_;
  uint64_t found_peak_ = 0;
  uint64_t last_born_ = 0;  // its serial number
  std::map<Key, Owner> owners_;
  GrowthBook growth_;
  Timeline timeline_;
  Model model_;
};

class Follower final : public LiveReport {
 public:
  Follower(Reader reader, const FrameFilter& filter)
      : reader_(std::move(reader)),
        symbols_(reader_.info(), filter),
        collector_(report_, 0, [this](uint32_t stack) { return symbols_.place_of(stack); }) {
    report_.info = reader_.info();
  }

  const Report& update() override {
    reader_.refresh();
    collector_.run(reader_);
    return report_;
  }

 private:
  Reader reader_;
  Symbols symbols_;
  Report report_;
  Collector collector_;
};

}  // namespace

const char* name_of(Group group) {
  constexpr std::array<const char*, kGroups> kNames = {"device memory", "blocks of pools", "host memory",
                                                       "other memory", "addresses"};
  return kNames[static_cast<size_t>(group)];
}

std::unique_ptr<LiveReport> LiveReport::open(const Source& source, std::string& problem,
                                             const FrameFilter& filter) {
  auto reader = Reader::open(source, problem);
  return reader ? std::make_unique<Follower>(std::move(*reader), filter) : nullptr;
}

std::optional<Report> make_report(const Source& source, std::string& problem, const FrameFilter& filter) {
  uint64_t peak = 0;
  for (int pass = 0;; ++pass) {
    auto reader = Reader::open(source, problem);
    if (!reader) return std::nullopt;
    Report report;
    report.info = reader->info();
    Symbols symbols(reader->info(), filter);
    Collector collector(report, peak, [&](uint32_t stack) { return symbols.place_of(stack); });
    collector.run(*reader);
    if (pass == 1 || collector.peak_event() == 0) return report;
    peak = collector.peak_event();
  }
}

}  // namespace plat::inspect
