// SPDX-License-Identifier: Apache-2.0
// A short and repeatable run of fuzz_mstx, which a fuzzer runs for longer.

#include <random>

#include "unit/mstx/fixture.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace plat::mstx::test {
namespace {

class MstxFuzzTest : public MstxTest {};

TEST_F(MstxFuzzTest, RandomProgramsAndToolsAgree) {
  for (uint32_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    std::vector<uint8_t> bytes(200 + seed);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  }
}

}  // namespace
}  // namespace plat::mstx::test
