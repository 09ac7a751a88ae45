// SPDX-License-Identifier: Apache-2.0
// What is known to happen before what: streams, events, and the host.
//
// Every stream counts its operations. A clock says, for each stream, up to which operation everything has
// happened before. The host is one more such actor: threads of a program order themselves in ways that no
// trace shows, so what one of them has waited for counts for all. That may miss a race; it never invents one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

namespace plat::inspect {

class Clock {
 public:
  uint64_t operator[](uint32_t actor) const { return actor < counts_.size() ? counts_[actor] : 0; }
  void raise(uint32_t actor, uint64_t count);
  void join(const Clock& other);

 private:
  std::vector<uint64_t> counts_;
};

// One operation of one actor.
struct Position {
  uint32_t actor = 0;
  uint64_t count = 0;  // 0: none
};

class Order {
 public:
  static constexpr uint32_t kHost = 0;

  uint32_t new_actor();
  // It does nothing more, and the host knows of all that it did. The next new actor goes on counting in its
  // place, so that clocks have room for those that live together, not for all that ever were.
  void retire(uint32_t actor);
  // An operation of the actor from here on: after all that it was given before and all that the host knows.
  Position act(uint32_t actor);
  const Clock& clock_of(uint32_t actor) const { return clocks_[actor]; }
  const Clock& host() const { return clocks_[kHost]; }
  void join(uint32_t actor, const Clock& clock) { clocks_[actor].join(clock); }
  // Actors that there is room for, with the host.
  size_t size() const { return clocks_.size(); }
  // Everything that was given to any stream so far.
  Clock everything() const;

  // What comes after this operation may also come after work that nobody knows of: it waits for something
  // that is done later, or by others. Until the host has waited for it, nothing can be said of its order.
  void doubt(Position position);
  bool is_doubtful(uint32_t actor) const;

  // Whether an operation comes before whatever the actor does next.
  bool is_before(Position position, uint32_t actor) const {
    return clocks_[actor][position.actor] >= position.count ||
           clocks_[kHost][position.actor] >= position.count;
  }

 private:
  std::vector<Clock> clocks_ = std::vector<Clock>(1);
  std::vector<uint32_t> retired_;
  struct Doubt {
    uint32_t actor;
    uint64_t first, last;
  };
  std::vector<Doubt> doubts_;  // one for an actor at most
};

}  // namespace plat::inspect
