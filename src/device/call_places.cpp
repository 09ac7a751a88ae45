// SPDX-License-Identifier: Apache-2.0
#include "device/call_places.h"

#include <memory>
#include <mutex>
#include <type_traits>

namespace plat::device {

constinit thread_local CallPlaces::Place CallPlaces::own_;

namespace {

struct List {
  std::mutex mutex;  // guards the rest, and the links of all places; a leaf
  CallPlaces::Place* first = nullptr;

  void add(CallPlaces::Place& place) {
    place.next = first;
    place.previous = nullptr;
    if (first != nullptr) first->previous = &place;
    first = &place;
  }
  void remove(CallPlaces::Place& place) {
    (place.previous != nullptr ? place.previous->next : first) = place.next;
    if (place.next != nullptr) place.next->previous = place.previous;
  }
};
// The first call of a thread asks for no memory, and threads call in after main: neither made nor destroyed.
static_assert(std::is_trivially_destructible_v<List>);
constinit List g_list;

// Takes the thread off the list. Its last calls, of destructors that come later, are not seen any more.
struct AtEnd {
  CallPlaces::Place* place = nullptr;
  ~AtEnd() {
    const std::lock_guard lock(g_list.mutex);
    g_list.remove(*place);
  }
};

}  // namespace

void CallPlaces::enlist() {
  own_.listed = true;
  {
    const std::lock_guard lock(g_list.mutex);
    g_list.add(own_);
  }
  thread_local AtEnd end;
  end.place = &own_;
}

bool CallPlaces::any_other(const std::function<bool(const char*)>& is_met) {
  const std::lock_guard lock(g_list.mutex);
  for (const Place* place = g_list.first; place != nullptr; place = place->next)
    if (place != &own_ && is_met(place->function.load(std::memory_order_acquire))) return true;
  return false;
}

void CallPlaces::forget_others() {
  std::construct_at(&g_list);  // another thread of the parent may have held the lock
  if (own_.listed) g_list.add(own_);
}

}  // namespace plat::device
