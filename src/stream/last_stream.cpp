// SPDX-License-Identifier: Apache-2.0
#include "stream/last_stream.h"

#include <utility>

#include "stream/stream.h"

namespace plat::stream {

constinit thread_local LastStream* LastStream::own_ = nullptr;

namespace {
constinit thread_local bool t_ended = false;
}  // namespace

// A thread that ends forgets; what it calls from destructors that come later finds streams the usual way.
struct LastStreamEnd {
  ~LastStreamEnd() {
    t_ended = true;
    delete std::exchange(LastStream::own_, nullptr);
  }
};

void LastStream::keep(const Key& key, std::shared_ptr<Stream> stream) {
  if (t_ended) return;
  if (own_ == nullptr) {
    own_ = new LastStream;
    thread_local LastStreamEnd end;
    (void)end;
  }
  own_->key_ = key;
  own_->stream_ = std::move(stream);
}

}  // namespace plat::stream
