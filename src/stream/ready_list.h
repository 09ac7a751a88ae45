// SPDX-License-Identifier: Apache-2.0
// ReadyList: streams that can run, first come first served. A stream is in one at most, and carries its link
// itself: that it is runnable is noted without memory, which may be what has run out. Guarded by its owner.
#pragma once

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

  std::shared_ptr<Stream> pop() {
    std::shared_ptr<Stream> stream = std::move(first_);
    first_ = std::move(stream->next_ready_);
    if (first_ == nullptr) last_ = nullptr;
    return stream;
  }

 private:
  std::shared_ptr<Stream> first_;
  Stream* last_ = nullptr;
};

}  // namespace plat::stream
