// SPDX-License-Identifier: Apache-2.0
// Plays a script of calls on managed memory, reductions, peer maps, notifies, streams, system parameters,
// buffers of queues and snapshots, and holds each answer and every byte against a plain model written from
// the documented contract. The machine is an A2, or an A2 in RC form for the buffers, or a 950 for counting
// notifies. Scripts are those of vmm_play.h.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "acl/acl.h"
#include "rules/rules.h"
#include "support/vmm_play.h"

namespace plat::test {

class ObjectPlayer {
 public:
  enum class Machine { A2, Rc, A950 };
  explicit ObjectPlayer(Machine machine) : machine_(machine) {}

  // Plays the script and takes everything down. False where the two sides part.
  bool play(Script script);
  const std::string& difference() const { return difference_; }
  std::string history() const;

 private:
  static constexpr size_t kWords = 64;
  static constexpr uint64_t kPage = uint64_t{2} << 20;
  using Words = std::array<int32_t, kWords>;
  struct Managed {
    uint64_t size;
    char byte = 0;                   // what the host wrote everywhere last
    std::vector<int32_t> preferred;  // of each page: a device, -1 the host, -2 none
  };
  struct Buffer {
    uint32_t memory;
    uint64_t size;
    uint64_t length = 0;
    char user = 0;
    std::vector<uint64_t> followers{};
    uint64_t head = 0;
  };
  enum class Snapshot { Running, Locked, BackedUp };
  struct Attributes {
    uint32_t flags = 0;
    uint32_t priority = 0;
    uint32_t overflow = 0;
    uint32_t tag = 0;
    uint32_t cache = 0;
  };

  static void* pointer(uint64_t value) { return reinterpret_cast<void*>(value); }
  static uint64_t number(const void* value) { return reinterpret_cast<uint64_t>(value); }
  // One of those that live, or now and then none or one that is gone.
  template <class Map>
  static uint64_t some_key(const Map& map, uint64_t gone, Choices& choices) {
    if (map.empty() || choices.one_in(12)) return choices.one_in(4) ? 0 : gone;
    return std::next(map.begin(), choices.below(static_cast<uint32_t>(map.size())))->first;
  }

  bool open();
  bool take_down();
  bool step(Choices& choices);

  bool managed_allocate(Choices& choices);
  bool managed_free(Choices& choices);
  bool managed_advise(Choices& choices);
  bool managed_ask(Choices& choices);
  bool managed_touch(Choices& choices);
  bool reduce(Choices& choices);
  bool fill(Choices& choices);
  bool peer_map(Choices& choices);
  bool notify_create(Choices& choices);
  bool notify_use(Choices& choices);
  bool snapshot(Choices& choices);
  bool stream_create(Choices& choices);
  bool stream_ask(Choices& choices);
  bool stream_set(Choices& choices);
  bool stream_cut(Choices& choices);
  bool event_record(Choices& choices);
  bool options(Choices& choices);
  bool read_options();  // as an earlier script left them
  bool count_create(Choices& choices);
  bool count_use(Choices& choices);
  bool buffer_allocate(Choices& choices);
  bool buffer_use(Choices& choices);
  bool buffer_chain(Choices& choices);

  // Holds the result against the rule that the model expects to be broken; none: success.
  bool agree(std::string call, std::optional<RuleId> wanted, int got);
  bool differ(std::string how);
  bool same_words(int block);
  // The range as pages of a managed block: the block and its first page; nothing when it is in none.
  std::optional<std::pair<Managed*, size_t>> pages_of(uint64_t start, uint64_t size);
  uint64_t some_managed(Choices& choices) const;
  uint64_t some_notify(Choices& choices) const;
  uint64_t some_buffer(Choices& choices) const;

  const Machine machine_;
  aclrtStream stream_ = nullptr;
  std::map<uint64_t, Managed> managed_;
  uint64_t freed_managed_ = 0;
  std::array<void*, 2> blocks_{};  // device memory for reductions
  std::array<Words, 2> words_{};
  std::array<Words, 2> saved_{};
  bool is_peer_ = false;
  std::map<uint64_t, bool> notifies_;  // and whether each is set
  uint64_t gone_notify_ = 0;
  Snapshot snapshot_ = Snapshot::Running;
  std::map<uint64_t, Attributes> streams_;
  uint64_t gone_stream_ = 0;
  std::map<uint64_t, std::optional<uint32_t>> events_;  // and the flag that each is recorded with
  uint64_t gone_event_ = 0;
  std::array<int64_t, 4> options_{};
  std::array<std::optional<int64_t>, 3> context_options_{};
  std::map<uint64_t, uint32_t> counts_;
  uint64_t gone_count_ = 0;
  std::map<uint64_t, Buffer> buffers_;
  uint64_t gone_buffer_ = 0;
  uint32_t next_memory_ = 0;
  std::deque<std::string> calls_;
  std::string difference_;
};

}  // namespace plat::test
