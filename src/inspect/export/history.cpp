// SPDX-License-Identifier: Apache-2.0
#include "inspect/export/history.h"

#include <fmt/format.h>

#include "inspect/trace/format.h"

namespace plat::inspect {

namespace {

bool has_a_life(Kind kind) {
  return kind != Kind::Stream && kind != Kind::Event && kind != Kind::Context && kind != Kind::Pool;
}

// Ranges of one domain are numbered apart from those of others.
uint64_t range_key(const Event& event) { return event.domain() << 48 ^ event.range(); }

}  // namespace

void Historian::apply(const Event& event) {
  model_.apply(event);
  if (event.op == Op::platMstxMemRegionsResize) resized(event);
  history_.end_ns = event.time_ns;
}

void Historian::event(const Event& event) {
  ++history_.events;
  if (!event.begins && !event.succeeded()) ++history_.failed_calls;
  if (event.op == Op::mstxMark) {
    growth_.mark(event.text);
    history_.marks.push_back({history_.texts.number_of(event.text), Site::of(event)});
  } else if (event.op == Op::mstxRangeStart) {
    open_ranges_[range_key(event)] = history_.spans.size();
    history_.spans.push_back({history_.texts.number_of(event.text), Site::of(event), 0, false});
  } else if (event.op == Op::mstxRangeEnd) {
    range_ends(event);
  } else {
    stream_call(event);
  }
}

void Historian::range_ends(const Event& event) {
  const auto found = open_ranges_.find(range_key(event));
  if (found == open_ranges_.end()) return;
  history_.spans[found->second].end_ns = event.time_ns;
  history_.spans[found->second].ended = true;
  open_ranges_.erase(found);
}

// A call that waits is there twice, when it begins and when it ends.
void Historian::stream_call(const Event& event) {
  if (info_of(event.op).part == Part::Mstx || !has_field(event.op, Field::stream)) return;
  if (event.begins) {
    waits_[event.thread] = event.time_ns;
    return;
  }
  const auto wait = waits_.find(event.thread);
  Site site = Site::of(event);
  if (wait != waits_.end()) site.time_ns = wait->second;
  if (wait != waits_.end()) waits_.erase(wait);
  if (event.succeeded()) history_.stream_calls.push_back({event.stream(), site, event.time_ns});
}

void Historian::access(const Access& access) {
  if (!access.event.succeeded()) return;
  if (access.write) history_.copied_bytes += access.size;
  history_.touches.push_back({access.address, access.size, access.stream, access.write, access.asynchronous,
                              Site::of(access.event)});
}

void Historian::born(const Object& object) {
  if (!has_a_life(object.kind)) return;
  growth_.born(object);
  begin(object, object.born);
  if (object.kind == Kind::Heap || object.kind == Kind::Region) divide(object);
  if (object.kind == Kind::Mapping) mapped(object);
}

void Historian::died(const Object& object) {
  if (has_a_life(object.kind)) growth_.died(object);
  end(object, object.died);
}

void Historian::begin(const Object& object, const Site& site) {
  open_[object.serial] = static_cast<uint32_t>(history_.lives.size());
  history_.steps.push_back({open_[object.serial], true});
  Life life;
  life.kind = object.kind;
  life.start = object.kind == Kind::Physical ? 0 : object.start;
  life.size = object.size;
  life.device = object.device;
  life.stream = object.stream;
  life.imported = object.imported;
  // The name of an import is its key, and every one has another.
  if (object.kind != Kind::Import) life.name = history_.texts.number_of(object.name);
  life.label = history_.texts.number_of(object.label);
  if (object.kind == Kind::Heap || object.kind == Kind::Region) life.pool = life.name;
  if (object.parent != 0)
    if (const auto parent = open_.find(model_.object(object.parent).serial); parent != open_.end())
      life.parent = parent->second + 1;
  life.born = site;
  // Where the calls of the device were not seen, what pools hand out is the best that is known.
  life.counts = life.is_memory() && history_.info.mstx_only == (object.kind == Kind::Region);
  history_.lives.push_back(life);
  if (!life.counts) return;
  history_.live_bytes += object.size;
  if (history_.live_bytes <= history_.peak_bytes) return;
  history_.peak_bytes = history_.live_bytes;
  history_.peak_ns = site.time_ns;
  history_.peak_steps = history_.steps.size();
}

void Historian::end(const Object& object, const Site& site) {
  const auto found = open_.find(object.serial);
  if (found == open_.end()) return;
  Life& life = history_.lives[found->second];
  life.died = site;
  life.label = history_.texts.number_of(object.label);
  if (life.counts) history_.live_bytes -= life.size;
  history_.steps.push_back({found->second, false});
  open_.erase(found);
}

Life* Historian::life_of(const Object& object) {
  const auto found = open_.find(object.serial);
  return found != open_.end() ? &history_.lives[found->second] : nullptr;
}

// Memory under a heap or a region is what a pool took to divide.
void Historian::divide(const Object& divider) {
  const uint32_t pool = history_.texts.number_of(divider.name);
  model_.memory().for_each(divider.start, divider.end(), [&](uint64_t, uint64_t, ObjectId id) {
    const Object& holder = model_.object(id);
    Life* const mapping = life_of(holder);
    Life* const life = holder.kind == Kind::Mapping ? life_of(model_.object(holder.parent)) : mapping;
    if (mapping != nullptr) mapping->pool = pool;
    if (life == nullptr) return;
    life->divided = true;
    life->pool = pool;
  });
}

void Historian::mapped(const Object& mapping) {
  if (mapping.parent == 0) return;
  Life* const life = life_of(model_.object(mapping.parent));
  if (life == nullptr) return;
  if (life->start == 0) life->start = mapping.start;
  for (const auto& [name, layer] : model_.layers())
    layer.heaps.for_each(mapping.start, mapping.end(), [&](uint64_t, uint64_t, ObjectId id) {
      life->divided = true;
      life->pool = history_.texts.number_of(model_.object(id).name);
      if (Life* const own = life_of(mapping)) own->pool = life->pool;
    });
}

void Historian::resized(const Event& event) {
  Model::Ranges::Range range;
  for (const auto& [name, layer] : model_.layers()) {
    if (!layer.regions.find(event.address(), range)) continue;
    const Object& region = model_.object(range.value);
    const Life* const life = life_of(region);
    if (life == nullptr || region.start != event.address() || life->size == region.size) continue;
    end(region, Site::of(event));
    begin(region, Site::of(event));
  }
}

History& Historian::finish(const TraceInfo& info) {
  history_.info = info;
  model_.objects().for_each([&](const Object& object) {
    if (Life* const life = life_of(object)) life->label = history_.texts.number_of(object.label);
  });
  history_.growth = growth_.rising();
  return history_;
}

std::optional<History> read_history(const Source& source, std::string& problem, Needs needs,
                                    const FrameFilter& filter) {
  auto reader = Reader::open(source, problem);
  if (!reader) return std::nullopt;
  if (reader->info().cut_off) {
    problem = fmt::format("is cut off: {} bytes are no whole number of chunks", source.size);
    return std::nullopt;
  }
  if (reader->info().damaged > 0) {
    problem = fmt::format("is damaged: {} of its chunks cannot be read to the end", reader->info().damaged);
    return std::nullopt;
  }
  Symbols symbols(reader->info(), filter);
  Historian historian(reader->info(), [&](uint32_t stack) { return symbols.place_of(stack); });
  for (Event event; reader->next(event);) historian.apply(event);
  History& history = historian.finish(reader->info());
  if (needs == Needs::DeviceMemory && history.peak_bytes == 0) {
    problem = "holds no allocation of device memory";
    return std::nullopt;
  }
  if (needs == Needs::Anything && history.lives.empty()) {
    problem = "holds no memory and no addresses";
    return std::nullopt;
  }
  return std::move(history);
}

}  // namespace plat::inspect
