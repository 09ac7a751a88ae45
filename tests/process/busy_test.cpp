// SPDX-License-Identifier: Apache-2.0
// Memory that a copy is using stays where it is, however often and by whatever call it is given up. Each test
// holds a copy in its middle, gives the memory up again and again, and looks whether others got it.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "acl/acl_rt_memory_soma.h"
#include "base/units.h"
#include "support/held_copy.h"
#include "support/machine.h"
#include "support/peer.h"

namespace plat::test {
namespace {

constexpr aclError kBusy = 507899;
using Kept = HeldCopy::Kept;

// All that is free on device 0, in pages of 2 MiB, filled with zeros.
class Others {
 public:
  Others() {
    for (void* block = nullptr; aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_ONLY) == ACL_SUCCESS;)
      blocks_.push_back(block);
    for (void* block : blocks_) EXPECT_EQ(aclrtMemset(block, 2_MiB, 0, 2_MiB), ACL_SUCCESS);
  }
  ~Others() {
    for (void* block : blocks_) EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
  }
  void expect_untouched() const {
    std::vector<char> bytes(2_MiB);
    for (void* block : blocks_) {
      EXPECT_EQ(aclrtMemcpy(bytes.data(), 2_MiB, block, 2_MiB, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
      EXPECT_EQ(std::count(bytes.begin(), bytes.end(), 0), static_cast<long>(bytes.size()));
    }
  }

 private:
  std::vector<void*> blocks_;
};

void on_a_machine(const std::function<void()>& body) {
  in_child([&] {
    const Machine machine("16MiB");
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    body();
  });
}

// Gives the memory up while a copy of 64 bytes at its start is held, and again, and again; then without it.
void expect_kept(void* memory, Kept kept, const std::function<aclError()>& give_up) {
  HeldCopy copy(memory, 64, kept);
  for (int attempt = 0; attempt < 3; ++attempt) EXPECT_EQ(give_up(), kBusy) << "attempt " << attempt;
  {
    const Others others;
    EXPECT_EQ(copy.let_go(), ACL_SUCCESS) << aclGetRecentErrMsg();
    others.expect_untouched();
  }
  EXPECT_EQ(give_up(), ACL_SUCCESS) << aclGetRecentErrMsg();
}

// Who is refused is told the size that was asked for.
aclError free_block(void* memory, size_t size) {
  const aclError code = aclrtFree(memory);
  const std::string named = "using the block of " + std::to_string(size) + " bytes";
  if (code == kBusy) {
    EXPECT_NE(std::string(aclGetRecentErrMsg()).find(named), std::string::npos);
  }
  return code;
}

class BusyTest : public ::testing::TestWithParam<Kept> {};

TEST_P(BusyTest, MappingStays) {
  on_a_machine([] {
    void* memory = map_new(2_MiB);
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(aclrtMemRetainAllocationHandle(memory, &handle), ACL_SUCCESS);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(aclrtFreePhysical(handle), ACL_SUCCESS);
    expect_kept(memory, GetParam(), [&] { return aclrtUnmapMem(memory); });
  });
}

TEST_P(BusyTest, LargeBlockStays) {
  on_a_machine([] {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    expect_kept(memory, GetParam(), [&] { return free_block(memory, 4_MiB); });
  });
}

// And so it does while the thread that frees it, or yet another one, copies with it too.
TEST_P(BusyTest, LargeBlockOfSeveralStays) {
  on_a_machine([] {
    void* memory = nullptr;
    EXPECT_EQ(aclrtMalloc(&memory, 4_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
    char bytes[64] = {};
    const auto copy_too = [&] {
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(aclrtMemcpy(bytes, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_HOST), ACL_SUCCESS);
    };
    copy_too();
    expect_kept(memory, GetParam(), [&] {
      const aclError code = aclrtFree(memory);
      if (code == kBusy) copy_too();
      return code;
    });
  });
}

// A block in small pages: its neighbours in the same page live on, and it goes only without the copy.
TEST_P(BusyTest, SmallBlockStays) {
  on_a_machine([] {
    void* neighbour = nullptr;
    void* memory = nullptr;
    for (void** block : {&neighbour, &memory})
      EXPECT_EQ(aclrtMalloc(block, 4096, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    expect_kept(memory, GetParam(), [&] {
      const aclError code = free_block(memory, 4096);
      void* next = nullptr;  // the place of the block is not given to others
      EXPECT_EQ(aclrtMalloc(&next, 4096, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
      EXPECT_TRUE(next != memory || code == ACL_SUCCESS);
      EXPECT_EQ(aclrtFree(next), ACL_SUCCESS);
      return code;
    });
    EXPECT_EQ(aclrtFree(neighbour), ACL_SUCCESS);
  });
}

// Who frees one of them is not held up by a copy with another.
TEST_P(BusyTest, NeighbourOfSmallBlockGoes) {
  on_a_machine([] {
    void* blocks[3] = {};
    for (void*& block : blocks) EXPECT_EQ(aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_NORMAL_ONLY), ACL_SUCCESS);
    HeldCopy copy(blocks[1], 64, GetParam());
    EXPECT_EQ(aclrtFree(blocks[0]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(blocks[2]), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(blocks[1]), kBusy);
    EXPECT_EQ(copy.let_go(), ACL_SUCCESS);
    EXPECT_EQ(aclrtFree(blocks[1]), ACL_SUCCESS) << aclGetRecentErrMsg();
  });
}

// A reset says nothing of what it could not take back; it stays until a later one.
TEST_P(BusyTest, ResetLeavesItAlone) {
  on_a_machine([] {
    const std::function<void*()> makers[] = {
        [] { return map_new(2_MiB); },
        [] {
          void* block = nullptr;
          (void)aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_ONLY);
          return block;
        },
        [] {
          void* block = nullptr;
          (void)aclrtMalloc(&block, 4096, ACL_MEM_MALLOC_NORMAL_ONLY);
          return block;
        },
    };
    const auto reset = [] {
      EXPECT_EQ(aclrtResetDeviceForce(0), ACL_SUCCESS);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    };
    for (const auto& make : makers) {
      SCOPED_TRACE(&make - makers);
      HeldCopy copy(make(), 64, GetParam());
      for (int attempt = 0; attempt < 3; ++attempt) {
        reset();
        EXPECT_GE(used_bytes(), 4096u);
      }
      {
        const Others others;
        EXPECT_EQ(copy.let_go(), ACL_SUCCESS);
        others.expect_untouched();
      }
      reset();
      EXPECT_EQ(used_bytes(), 0u);
    }
  });
}

// A pool keeps a segment that a copy still uses, although the block was freed in the order of its stream.
TEST_P(BusyTest, PoolsKeepTheSegment) {
  on_a_machine([] {
    aclrtMemPoolProps props{};
    props.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
    aclrtMemPool pool = nullptr;
    aclrtStream stream = nullptr;
    void* memory = nullptr;
    EXPECT_EQ(aclrtCreateStream(&stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolCreate(&pool, &props), ACL_SUCCESS);
    EXPECT_EQ(aclrtMemPoolMallocAsync(&memory, 2_MiB, pool, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    HeldCopy copy(memory, 64, GetParam());
    EXPECT_EQ(aclrtMemPoolFreeAsync(memory, stream), ACL_SUCCESS);
    EXPECT_EQ(aclrtSynchronizeStream(stream), ACL_SUCCESS);
    for (int attempt = 0; attempt < 3; ++attempt) {
      EXPECT_EQ(aclrtMemPoolTrimTo(pool, 0), ACL_SUCCESS);
      EXPECT_EQ(used_bytes(), 2_MiB);
    }
    {
      const Others others;
      EXPECT_EQ(copy.let_go(), ACL_SUCCESS);
      others.expect_untouched();
    }
    EXPECT_EQ(aclrtMemPoolTrimTo(pool, 0), ACL_SUCCESS);
    EXPECT_EQ(used_bytes(), 0u);
  });
}

// A key that was imported is not closed while a copy uses what it stands for.
TEST_P(BusyTest, ImportStays) {
  Peer test([](Channel&) {
    const Machine machine("16MiB");
    Peer exporter([](Channel& channel) {
      EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
      EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
      void* block = nullptr;
      char key[65] = {};
      EXPECT_EQ(aclrtMalloc(&block, 2_MiB, ACL_MEM_MALLOC_HUGE_ONLY), ACL_SUCCESS);
      EXPECT_EQ(aclrtIpcMemGetExportKey(block, 2_MiB, key, sizeof key, 1), ACL_SUCCESS);
      channel.send_text(key);
      channel.receive();
      EXPECT_EQ(aclrtFree(block), ACL_SUCCESS);
      channel.send(0);
      channel.receive();
    });
    const std::string key = exporter.channel().receive_text();
    EXPECT_EQ(aclInit(nullptr), ACL_SUCCESS);
    EXPECT_EQ(aclrtSetDevice(0), ACL_SUCCESS);
    void* memory = nullptr;
    EXPECT_EQ(aclrtIpcMemImportByKey(&memory, key.c_str(), 0), ACL_SUCCESS) << aclGetRecentErrMsg();
    exporter.channel().send(0);
    exporter.channel().receive();
    expect_kept(memory, GetParam(), [&] { return aclrtIpcMemClose(key.c_str()); });
    exporter.channel().send(0);
    EXPECT_TRUE(exporter.join());
  });
  EXPECT_TRUE(test.join());
}

INSTANTIATE_TEST_SUITE_P(Copy, BusyTest, ::testing::Values(Kept::Noted, Kept::Counted),
                         [](const auto& kept) { return kept.param == Kept::Noted ? "Noted" : "Counted"; });

}  // namespace
}  // namespace plat::test
