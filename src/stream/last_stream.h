// SPDX-License-Identifier: Apache-2.0
// LastStream: the stream that a thread gave work to last. Finding it again takes no lock and counts nothing,
// as long as no stream was closed in between.
#pragma once

#include <cstdint>
#include <memory>

#include "stream/ids.h"

namespace plat::stream {

class Stream;

class LastStream {
 public:
  // What the stream was found by: the runtime, its id there, and how many streams had been closed by then.
  struct Key {
    uint64_t runtime = 0;
    uint64_t id = 0;
    uint64_t closed = 0;

    bool operator==(const Key&) const = default;
  };

  // nullptr when it is another one. Good until the thread keeps another.
  static Stream* find(const Key& key) {
    const LastStream* last = own_;
    return last != nullptr && last->key_ == key ? last->stream_.get() : nullptr;
  }
  static void keep(const Key& key, std::shared_ptr<Stream> stream);

 private:
  friend struct LastStreamEnd;

  [[gnu::tls_model("initial-exec")]] static constinit thread_local LastStream* own_;

  Key key_;
  std::shared_ptr<Stream> stream_;
};

}  // namespace plat::stream
