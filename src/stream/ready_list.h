// SPDX-License-Identifier: Apache-2.0
// ReadyList: streams that can run, first come first served. A stream is in one at most, and carries its link
// itself: that it is runnable is noted without memory, which may be what has run out. Guarded by its owner.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "stream/stream.h"

namespace plat::stream {

class ReadyList {
 public:
  ReadyList() = default;
  ReadyList(const ReadyList&) = delete;
  ReadyList& operator=(const ReadyList&) = delete;
  ~ReadyList() {
    while (!empty()) pop();
  }

  bool empty() const { return first_ == nullptr; }

  void push(std::shared_ptr<Stream> stream) {
    Stream* const added = stream.get();
    (last_ == nullptr ? first_ : last_->next_ready_) = std::move(stream);
    last_ = added;
  }

  std::shared_ptr<Stream> pop() { return take(0); }

  // The one that stands behind `before` others; there must be so many.
  std::shared_ptr<Stream> take(size_t before) {
    std::shared_ptr<Stream>* link = &first_;
    Stream* previous = nullptr;
    for (; before > 0; --before) {
      previous = link->get();
      link = &previous->next_ready_;
    }
    std::shared_ptr<Stream> stream = std::move(*link);
    *link = std::move(stream->next_ready_);
    if (*link == nullptr) last_ = previous;
    return stream;
  }

 private:
  std::shared_ptr<Stream> first_;
  Stream* last_ = nullptr;
};

}  // namespace plat::stream
