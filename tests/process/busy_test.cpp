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
    expect_kept(memory, GetParam(), [&] { return aclrtFree(memory); });
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

INSTANTIATE_TEST_SUITE_P(Copy, BusyTest, ::testing::Values(Kept::Noted, Kept::Counted),
                         [](const auto& kept) { return kept.param == Kept::Noted ? "Noted" : "Counted"; });

}  // namespace
}  // namespace plat::test
