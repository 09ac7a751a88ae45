// SPDX-License-Identifier: Apache-2.0
// What plat_pool_last_error() tells: the last few sentences of each thread, in places that are used again in
// turn and freed only with the thread, so that a sentence outlives the next failures.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

#include "pool/resource.h"

namespace plat::pool {

namespace {

constexpr size_t kSentences = 4;
constexpr size_t kSentenceBytes = 2048;

struct Sentences {
  std::array<std::array<char, kSentenceBytes>, kSentences> texts{};
  size_t last = 0;
};

constinit thread_local Sentences* sentences = nullptr;
constinit thread_local const char* fallback = "";  // where there are no places for sentences
constinit thread_local bool sentences_ended = false;

// Apart from the pointer, which is still there when the thread's destructors run.
struct Keeper {
  ~Keeper() {
    sentences_ended = true;
    delete std::exchange(sentences, nullptr);
  }
};
thread_local Keeper keeper;

}  // namespace

plat_pool_status report(plat_pool_status status, std::string_view sentence) {
  fallback = "there is no memory for the message";
  if (sentences == nullptr && !sentences_ended) {
    static_cast<void>(&keeper);
    sentences = new (std::nothrow) Sentences;
  }
  if (sentences == nullptr) return status;
  sentences->last = (sentences->last + 1) % kSentences;
  auto& text = sentences->texts[sentences->last];
  const size_t length = std::min(sentence.size(), kSentenceBytes - 1);
  std::memcpy(text.data(), sentence.data(), length);
  text[length] = '\0';
  constexpr std::string_view kCut = " ...";
  if (length < sentence.size()) std::memcpy(&text[length - kCut.size()], kCut.data(), kCut.size());
  return status;
}

const char* last_error() {
  return sentences != nullptr ? sentences->texts[sentences->last].data() : fallback;
}

}  // namespace plat::pool
