// SPDX-License-Identifier: Apache-2.0
// The things a program has: blocks, mappings, heaps, regions, streams and so on, from their birth on.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "inspect/model/order.h"
#include "inspect/model/range_map.h"
#include "inspect/trace/event.h"

namespace plat::inspect {

enum class Kind : uint8_t {
  DeviceBlock,
  HostBlock,
  HostRegistration,
  PoolBlock,  // of a stream-ordered pool
  Import,     // a block of another process, by key
  Physical,
  Reservation,
  Mapping,
  Heap,
  Region,
  Stream,
  Event,
  Context,
  Pool,
  ManagedBlock,  // of host and device alike
  Mbuf,          // of queues
};
inline constexpr size_t kKinds = 16;

// "device block"
const char* name_of(Kind kind);
// Whether its bytes are memory of a device that the program asked for. Mappings are not: the memory is that
// of the physical handle.
constexpr bool takes_device_memory(Kind kind) {
  return kind == Kind::DeviceBlock || kind == Kind::PoolBlock || kind == Kind::Physical;
}

// Ranges of addresses, which say where memory is and are none: in lists they come after what is.
constexpr bool is_addresses(Kind kind) {
  return kind == Kind::Reservation || kind == Kind::Mapping || kind == Kind::Heap;
}

// Where something happened.
struct Site {
  uint64_t event = 0;  // 0: nowhere
  uint64_t time_ns = 0;
  uint32_t thread = 0;
  uint32_t stack = 0;
  Op op{};

  static Site of(const Event& event);
};

// Which place a stack is: one number for all stacks that people cannot tell apart. Empty: each stack is a
// place.
using PlaceOf = std::function<uint32_t(uint32_t stack)>;

struct Use {
  Position position;
  Site site;
};

// Which bytes were written, each with the number of the event that did it last.
using Written = RangeMap<uint64_t>;

using ObjectId = uint32_t;  // 0: none

struct Object {
  ObjectId id = 0;      // 0: this is none
  uint64_t serial = 0;  // no other has it, before or after
  Kind kind{};
  uint64_t start = 0;   // address, or the handle
  uint64_t size = 0;    // as it was asked for
  uint64_t usable = 0;  // with what the device adds at the end
  int32_t device = 0;
  Site born;
  Site died;                 // event 0: it lives
  std::string name;          // whose it is: the pool's domain, the key of an import, the server of a handle
  std::string label;         // what its owner calls it
  uint64_t number = 0;       // heap, region and domain: what the recorder called it
  ObjectId parent = 0;       // the physical handle of a mapping, the heap of a region, the head of an mbuf
  uint64_t domain = 0;       // of a heap or region, and of memory in a pool
  uint64_t stream = 0;       // of a pool block: where it was allocated
  uint64_t view = 0;         // of host memory: where the device sees it
  Position allocated;        // of a pool block: from here on it may be used
  uint32_t references = 1;   // of a physical handle: those that the program holds
  uint32_t mappings = 0;     // of a physical handle
  uint32_t permissions = 3;  // of a region
  bool opaque = false;       // others may write to it: nobody can say which bytes were written
  bool imported = false;
  bool replayed = false;       // a heap or region that was told again: it is older than its birth here
  bool in_pool = false;        // memory that a heap was registered over
  bool disputed = false;       // a region that another was registered over, or that other one
  bool dialect = false;        // a region of a client that reports blocks without a heap
  Written written;             // by offset
  std::vector<Use> uses;       // the last one by each stream
  std::vector<Use> inherited;  // of a region: of those that had these bytes before, perhaps still going on

  const std::string& title() const { return label.empty() ? name : label; }
  bool lives() const { return died.event == 0; }
  uint64_t end() const { return start + size; }
  bool holds(uint64_t address) const { return address >= start && address - start < size; }
};

}  // namespace plat::inspect
