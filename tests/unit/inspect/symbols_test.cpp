// SPDX-License-Identifier: Apache-2.0
// Which frames of a stack are shown, on stacks whose frames are named in the trace.
#include "inspect/check/symbols.h"

#include <gtest/gtest.h>

namespace plat::inspect {
namespace {

const FrameName kPool{"plat::pool::Pool::allocate()", "/usr/src/plat/src/pool/pool.cpp", 96};
const FrameName kPoolHeader{"plat::DevicePool::allocate()", "/opt/plat/include/plat/pool.hpp", 75};
const FrameName kVector{"std::vector<Block>::insert()", "/usr/include/c++/12/bits/vector.tcc", 462};
const FrameName kProgram{"step()", "/home/me/train.cpp", 11};

// The functions that are shown, innermost first.
std::vector<std::string> shown(const std::vector<FrameName>& stack, FrameFilter filter = {}) {
  TraceInfo info;
  for (const FrameName& frame : stack) {
    const uint64_t address = 0x1000 + info.frame_names.size();
    info.frame_names[address] = frame;
    info.stacks[1].push_back(address);
  }
  Symbols symbols(info, std::move(filter));
  std::vector<std::string> functions;
  for (const Frame& frame : symbols.frames_of(1)) functions.push_back(frame.function);
  return functions;
}

using Functions = std::vector<std::string>;

TEST(Symbols, ShowTheLinesOfTheProgram) {
  EXPECT_EQ(shown({kPool, kPoolHeader, kVector, kProgram}), Functions{"step()"});
}

TEST(Symbols, ShowHeadersOfTheSystemBeforeTheLinesOfPlat) {
  EXPECT_EQ(shown({kPool, kPoolHeader, kVector}), Functions{"std::vector<Block>::insert()"});
}

TEST(Symbols, ShowWhatThereIsWhereAllIsHidden) {
  EXPECT_EQ(shown({kPool, kPoolHeader}), (Functions{kPool.function, kPoolHeader.function}));
}

TEST(Symbols, ShowAllWhenAsked) {
  FrameFilter all;
  all.all = true;
  EXPECT_EQ(shown({kPool, kPoolHeader, kVector, kProgram}, all).size(), 4u);
}

}  // namespace
}  // namespace plat::inspect
