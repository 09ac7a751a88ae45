// SPDX-License-Identifier: Apache-2.0
// Inputs of a fuzz target, damaged by chance: bytes changed, taken out, doubled, put in, the end cut off, two
// joined. Linked with one tests/fuzz/fuzz_TARGET.cpp, whose crash or abort is the violation.
//   soak_mutate_TARGET --seed N --seconds S
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <vector>

#include "soak/campaign.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);
extern "C" __attribute__((weak)) int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace {

using Bytes = std::vector<uint8_t>;

std::vector<Bytes> read_corpus(const char* directory) {
  std::set<std::filesystem::path> files;  // in order, so that a seed repeats
  for (const auto& entry : std::filesystem::directory_iterator(directory)) files.insert(entry.path());
  std::vector<Bytes> corpus;
  for (const auto& path : files) {
    std::ifstream stream(path, std::ios::binary);
    corpus.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return corpus;
}

Bytes mutated(const std::vector<Bytes>& corpus, std::mt19937_64& random) {
  Bytes bytes = corpus[random() % corpus.size()];
  for (uint64_t changes = 1 + random() % 8; changes > 0 && !bytes.empty(); --changes) {
    const size_t at = random() % bytes.size();
    const size_t length = std::min<size_t>(bytes.size() - at, 1 + random() % 64);
    const auto position = bytes.begin() + static_cast<long>(at);
    switch (random() % 7) {
      case 0:
        bytes[at] = static_cast<uint8_t>(random());
        break;
      case 1:
        bytes[at] ^= static_cast<uint8_t>(1 << random() % 8);
        break;
      case 2:
        bytes.erase(position, position + static_cast<long>(length));
        break;
      case 3:
        bytes.insert(position, length, static_cast<uint8_t>(random()));
        break;
      case 4: {
        const Bytes piece(position, position + static_cast<long>(length));
        bytes.insert(position, piece.begin(), piece.end());
        break;
      }
      case 5:
        bytes.resize(at);
        break;
      default: {
        const Bytes& other = corpus[random() % corpus.size()];
        bytes.resize(at);
        bytes.insert(bytes.end(),
                     other.begin() + static_cast<long>(other.empty() ? 0 : random() % other.size()),
                     other.end());
      }
    }
  }
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  plat::soak::Campaign campaign(SOAK_NAME, argc, argv);
  const char* directory = SOAK_CORPUS;
  if (LLVMFuzzerInitialize != nullptr) LLVMFuzzerInitialize(&argc, &argv);
  const std::vector<Bytes> corpus = read_corpus(directory);
  std::mt19937_64 random(campaign.seed());
  while (campaign.time_left() && !corpus.empty()) {
    const Bytes bytes = mutated(corpus, random);
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    ++campaign.calls;
  }
  return campaign.finish();
}
