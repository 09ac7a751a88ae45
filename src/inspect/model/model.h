// SPDX-License-Identifier: Apache-2.0
// What memory looked like at an event: built from the events before it, one at a time.
//
// Of what is dead it keeps what may still be asked about: what was at an address last, and the handles that
// were given back last. The rest is swept away from time to time, so that what a model takes depends on what
// lives together and not on how long the trace is.
//
// The model only keeps the books. It tells a listener what happens, before the books change for an access and
// after they changed for a birth or death, and leaves the judgement to it; only what the books themselves
// cannot take, such as a handle given back twice, comes as a problem.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "inspect/model/objects.h"
#include "inspect/rules.h"

namespace plat::inspect {

// A range that a call reads or writes.
struct Access {
  const Event& event;
  bool write = false;
  uint64_t address = 0;
  uint64_t size = 0;
  bool on_device = false;  // it must be memory of the device
  bool for_host = false;   // a read whose bytes the host gets to see
  bool asynchronous = false;
  uint32_t actor = Order::kHost;
  uint64_t stream = 0;
};

struct Problem {
  RuleId rule{};
  const Event& event;
  std::string detail;
  ObjectId object = 0;
  ObjectId other = 0;
  uint64_t address = 0;
  uint64_t size = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;
  virtual void access(const Access&) {}
  virtual void problem(Problem) {}
  virtual void born(const Object&) {}
  virtual void died(const Object&) {}
  // Taken back by the device because the program reset it or ended its use.
  virtual void dropped(const Object&, const Event&) {}
  virtual void event(const Event&) {}
};

// Heaps and regions of one domain, told apart by name: some clients make their domain anew for every call.
struct Layer {
  std::string name;
  bool dialect = false;  // reports blocks, and totals in the form of heaps
  RangeMap<ObjectId> heaps;
  RangeMap<ObjectId> regions;
  RangeMap<ObjectId> freed;  // regions that were there last
};

class Model {
 public:
  // A sweep comes when there are this many new objects, and as many as the last one left. 0: before every
  // event.
  static constexpr size_t kSweepAfter = 4096;
  static constexpr size_t kNoSweep = SIZE_MAX;  // for who wants to see all that ever lived
  // How many handles that were given back are known at a time. Older ones are as unknown as any number.
  static constexpr size_t kDeadHandles = 1 << 16;

  explicit Model(Listener& listener, size_t sweep_after = kSweepAfter)
      : listener_(listener), sweep_after_(sweep_after) {}

  void apply(const Event& event);

  const Object& object(ObjectId id) const { return objects_[id]; }
  const Objects& objects() const { return objects_; }
  const Order& order() const { return order_; }

  using Ranges = RangeMap<ObjectId>;
  const Ranges& memory() const { return memory_; }              // blocks and mappings
  const Ranges& freed_memory() const { return freed_memory_; }  // what was there last
  const Ranges& reservations() const { return reservations_; }
  const std::map<std::string, Layer>& layers() const { return layers_; }
  // Memory under an address of its own that the trace says little about: the device's view of host memory,
  // blocks of other processes.
  bool is_view(uint64_t address) const;

  // visit(start, end, event number) for the bytes of a range that were written, in addresses.
  template <class Visit>
  void for_each_written(uint64_t address, uint64_t size, Visit&& visit) const {
    for_each_storage(
        address, size, [&](const Written& written, uint64_t offset, uint64_t start, uint64_t length) {
          written.for_each(offset, offset + length, [&](uint64_t first, uint64_t last, uint64_t event) {
            visit(start + (first - offset), start + (last - offset), event);
          });
        });
  }
  // Whether nobody can say which of its bytes were written: the host writes as it likes, other processes do,
  // or nobody is known to have allocated it.
  bool is_opaque(uint64_t address) const;

 private:
  // model_sweep.cpp
  void sweep();
  void name(Kind kind, uint64_t handle, const Object& object);
  void forget_with(Object& object);
  void forget_stream(uint64_t stream);
  void forget_handles();

  // model_memory.cpp
  void apply_memory(const Event& event);
  void allocate(const Event& event, Kind kind, uint64_t usable);
  void free_block(const Event& event, Kind kind);
  void host_register(const Event& event);
  void host_view(const Event& event);
  void reset_device(const Event& event, std::optional<int32_t> device);
  void end_memory(const Event& event, Object& object);
  uint64_t usable_size(const Event& event) const;

  // model_vmm.cpp
  void apply_vmm(const Event& event);
  void free_physical(const Event& event);
  void map(const Event& event);
  void unmap(const Event& event);
  void release(const Event& event);
  void retain(const Event& event);

  // model_copy.cpp
  void apply_copy(const Event& event);
  void copy(const Event& event, uint64_t target, uint64_t source, uint64_t size, uint64_t kind,
            bool asynchronous, uint64_t stream);
  void copy_2d(const Event& event, bool asynchronous);
  void fill(const Event& event, uint64_t address, uint64_t size, bool asynchronous, uint64_t stream);
  void tell(Access access, Position position);
  void set_written(uint64_t address, uint64_t size, uint64_t event);
  void copy_written(uint64_t target, uint64_t source, uint64_t size, uint64_t event);
  bool is_host_memory(uint64_t address) const;

  // model_stream.cpp
  void apply_stream(const Event& event);
  void wait_begins(const Event& event);
  void wait_ends(const Event& event);
  uint32_t actor_of(const Event& event, uint64_t stream);

  // model_mstx.cpp
  void apply_mstx(const Event& event);
  Layer& layer_of(uint64_t domain);
  void heap_register(const Event& event);
  void end_heap(const Event& event, Layer& layer, Object& heap);
  void region_register(const Event& event);
  void end_region(const Event& event, Layer& layer, Object& region);
  // The region that a reference names; none, after a problem, if there is no such region.
  Object* referenced(const Event& event, Layer& layer);
  void notice(const Event& event);
  void forget_told(const Event& event);
  void memory_goes(const Event& event, const Object& object);
  // Whether one live reservation holds all of it.
  bool is_reserved(uint64_t start, uint64_t end) const;

  Object& add(const Event& event, Kind kind, uint64_t start, uint64_t size);
  void end(const Event& event, Object& object);
  Object* live(Kind kind, uint64_t handle);
  // The last object of this kind that had the handle, alive or not.
  Object* known(Kind kind, uint64_t handle);
  void destroy(const Event& event, Kind kind);
  void problem(RuleId rule, const Event& event, std::string detail, const Object* object = nullptr,
               const Object* other = nullptr);
  void check_in_flight(const Event& event, const Object& object, uint32_t actor);
  Object& at(ObjectId id) { return objects_[id]; }

  template <class Visit>
  void for_each_storage(uint64_t address, uint64_t size, Visit&& visit) const {
    const uint64_t end = address + size;
    while (address < end) {
      Ranges::Range range;
      const Object* holder = nullptr;
      uint64_t offset = address;
      uint64_t piece = end;
      if (memory_.find(address, range)) {
        holder = &object(range.value);
        offset = address - holder->start;
        piece = std::min(end, range.end);
        if (holder->kind == Kind::Mapping) holder = &object(holder->parent);
      } else if (memory_.find_after(address, range)) {
        piece = std::min(end, range.start);
      }
      if (holder != nullptr) visit(holder->written, offset, address, piece - address);
      address = piece;
    }
  }

  Listener& listener_;
  size_t sweep_after_;
  size_t left_by_sweep_ = 0;
  Objects objects_;
  using Handle = std::pair<Kind, uint64_t>;
  std::map<Handle, ObjectId> handles_;
  struct DeadHandle {
    Handle handle;
    uint64_t serial;
  };
  std::deque<DeadHandle> dead_handles_;  // oldest first
  Ranges memory_, freed_memory_, reservations_;
  RangeMap<char> views_;
  std::map<std::string, ObjectId> imports_;  // by key

  Order order_;
  std::map<uint64_t, uint32_t> actors_;  // by stream
  std::map<uint64_t, Clock> recorded_;   // by event
  std::map<uint64_t, Clock> host_work_, value_writes_;
  std::map<uint32_t, Clock> waits_;      // what a waiting thread waits for
  std::map<uint32_t, int32_t> devices_;  // current one, by thread
  std::map<uint64_t, int32_t> contexts_;
  std::map<int32_t, uint32_t> set_counts_;
  struct Descriptor {
    uint64_t target, source, size;
  };
  std::map<uint64_t, Descriptor> descriptors_;

  std::map<std::string, Layer> layers_;
  std::map<uint64_t, std::string> domains_;  // by number
  bool replaying_ = false;
  bool missed_ = false;                         // things were registered that were not told
  std::map<uint32_t, uint64_t> mstx_problems_;  // the last event of each thread that already is a finding
};

}  // namespace plat::inspect
