// SPDX-License-Identifier: Apache-2.0
// Accesses to the same bytes, at least one of them a write, that nothing orders.
//
// For every byte, by ranges: who wrote it last, and who has read it since. Only queued work is remembered:
// what the host does itself is over when its call returns, so whatever comes later comes after it. What the
// host has waited for can race with nothing that comes later, and is dropped when a map grows.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "inspect/model/model.h"
#include "inspect/model/range_table.h"

namespace plat::inspect {

// Counts who has it; for one thread.
template <class T>
class SharedTouch {
 public:
  SharedTouch() = default;
  explicit SharedTouch(const T& value) : node_(new Node{value, 1}) {}
  SharedTouch(const SharedTouch& other) : node_(other.node_) {
    if (node_ != nullptr) ++node_->users;
  }
  SharedTouch(SharedTouch&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
  SharedTouch& operator=(SharedTouch other) noexcept {
    std::swap(node_, other.node_);
    return *this;
  }
  ~SharedTouch() {
    if (node_ != nullptr && --node_->users == 0) delete node_;
  }

  explicit operator bool() const { return node_ != nullptr; }
  const T& operator*() const { return node_->value; }

 private:
  struct Node {
    T value;
    uint32_t users;
  };
  Node* node_ = nullptr;
};

class Races {
 public:
  // One access, as it is remembered.
  struct Touch {
    Position position;
    Site site;
    uint64_t stream = 0;
  };
  struct Conflict {
    Touch earlier;
    bool earlier_writes = false;
    uint64_t start = 0;  // the bytes in common
    uint64_t size = 0;
  };

  explicit Races(const Model& model) : model_(model) {}

  // An earlier access that this one races with, if there is one; then remembers this one. Accesses before the
  // event `since` were to what had the address before, and are the business of another rule.
  std::optional<Conflict> note(const Access& access, uint64_t since);
  // Its bytes are no longer there.
  void forget(const Object& object);

  // Ranges of one block. Beyond that many, with none of them known to be over, the block is forgotten and
  // begun anew: that may miss a race.
  static constexpr size_t kRangesMax = size_t{1} << 16;
  // Fewer of them are not worth a look.
  static constexpr size_t kLookAfter = 512;
  // Ranges of all blocks.
  size_t size() const;

 private:
  // One access is remembered once, for all ranges that it was the last one of.
  using Shared = SharedTouch<Touch>;
  struct Bytes {
    Shared write;  // none: nobody that counts
    Shared read;   // since the write; none of these comes before another
    std::unique_ptr<std::vector<Shared>> more_reads;

    Bytes() = default;
    Bytes(Bytes&&) noexcept = default;
    Bytes& operator=(Bytes&&) noexcept = default;
    Bytes(const Bytes& other)
        : write(other.write),
          read(other.read),
          more_reads(other.more_reads ? std::make_unique<std::vector<Shared>>(*other.more_reads) : nullptr) {}
    Bytes& operator=(const Bytes& other) { return *this = Bytes(other); }
    ~Bytes() = default;

    template <class Visit>
    void for_each_read(Visit&& visit) const {
      if (read) visit(*read);
      if (more_reads)
        for (const Shared& one : *more_reads) visit(*one);
    }
    template <class IsBefore>
    void add_read(const Shared& touch, IsBefore&& is_before) {
      if (more_reads) {
        std::erase_if(*more_reads, [&](const Shared& one) { return is_before(*one); });
        if (more_reads->empty()) more_reads.reset();
      }
      if (!read || is_before(*read)) {
        read = touch;
        return;
      }
      if (!more_reads) more_reads = std::make_unique<std::vector<Shared>>();
      more_reads->push_back(touch);
    }
  };
  struct Book {
    RangeTable<Bytes> ranges;
    size_t look_after = kLookAfter;  // when to look for what is over
  };

  void note_part(const Access& access, uint64_t since, const Object& holder, uint64_t offset, uint64_t start,
                 uint64_t size, std::optional<Conflict>& found);
  // Whether the access comes after the earlier one, or nobody can say.
  bool is_after(const Access& access, uint64_t since, const Touch& earlier) const;
  void remember(Book& book, const Access& access, uint64_t offset, uint64_t end);
  void drop_what_is_over(Book& book) const;

  const Model& model_;
  std::unordered_map<uint64_t, Book> books_;  // by the serial number of the block or physical handle
};

}  // namespace plat::inspect
