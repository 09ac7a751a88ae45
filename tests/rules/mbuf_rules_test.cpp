// SPDX-License-Identifier: Apache-2.0
// Buffers of queues: every rule broken and kept, references, chains and threads.
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "rules/memory_fixture.h"
#include "support/peer.h"

namespace plat::rule_test {
namespace {

// What aclrtAllocBuf gives.
aclrtMbuf buffer(size_t size = 4096) {
  aclrtMbuf made = nullptr;
  EXPECT_OK(aclrtAllocBuf(&made, size));
  return made;
}

// What aclrtGetBufData gives.
char* data_of(aclrtMbuf buf, size_t* size = nullptr) {
  void* data = nullptr;
  size_t bytes = 0;
  EXPECT_OK(aclrtGetBufData(buf, &data, &bytes));
  if (size != nullptr) *size = bytes;
  return static_cast<char*>(data);
}

RULE_BROKEN(MbufHandle, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = buffer();
  EXPECT_OK(aclrtFreeBuf(buf));
  EXPECT_BREAKS(aclrtFreeBuf(buf));

  int number = 0;
  size_t size = 0;
  uint32_t count = 0;
  void* data = nullptr;
  char user[8] = {};
  aclrtMbuf out = nullptr;
  aclrtMbuf live = buffer();
  for (aclrtMbuf wrong : {buf, static_cast<aclrtMbuf>(&number), static_cast<aclrtMbuf>(data_of(live))}) {
    EXPECT_BREAKS(aclrtGetBufData(wrong, &data, &size));
    EXPECT_BREAKS(aclrtSetBufDataLen(wrong, 1));
    EXPECT_BREAKS(aclrtGetBufDataLen(wrong, &size));
    EXPECT_BREAKS(aclrtGetBufUserData(wrong, user, 8, 0));
    EXPECT_BREAKS(aclrtSetBufUserData(wrong, user, 8, 0));
    EXPECT_BREAKS(aclrtCopyBufRef(wrong, &out));
    EXPECT_BREAKS(aclrtAppendBufChain(wrong, live));
    EXPECT_BREAKS(aclrtAppendBufChain(live, wrong));
    EXPECT_BREAKS(aclrtGetBufChainNum(wrong, &count));
    EXPECT_BREAKS(aclrtGetBufFromChain(wrong, 0, &out));
  }
  // A new one never has an old number.
  for (int i = 0; i < 100; ++i) {
    aclrtMbuf next = buffer();
    EXPECT_NE(next, buf);
    EXPECT_OK(aclrtFreeBuf(next));
  }
}
RULE_KEPT(MbufHandle, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = buffer(5000);
  size_t size = 0;
  char* data = data_of(buf, &size);
  EXPECT_EQ(size, 5000u);
  data[4999] = 3;
  EXPECT_OK(aclrtFreeBuf(buf));
}

RULE_BROKEN(MbufRange, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = nullptr;
  EXPECT_BREAKS(aclrtAllocBuf(&buf, 4_GiB + 1));
  EXPECT_EQ(buf, nullptr);

  buf = buffer(100);
  EXPECT_BREAKS(aclrtSetBufDataLen(buf, 101));
  aclrtMbuf out = nullptr;
  EXPECT_BREAKS(aclrtGetBufFromChain(buf, 1, &out));
  EXPECT_OK(aclrtAppendBufChain(buf, buffer()));
  EXPECT_BREAKS(aclrtGetBufFromChain(buf, 2, &out));
  EXPECT_BREAKS(aclrtGetBufFromChain(buf, UINT32_MAX, &out));
  EXPECT_EQ(out, nullptr);
}
RULE_KEPT(MbufRange, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = buffer(100);
  size_t length = 9;
  EXPECT_OK(aclrtGetBufDataLen(buf, &length));
  EXPECT_EQ(length, 0u);
  EXPECT_OK(aclrtSetBufDataLen(buf, 100));
  EXPECT_OK(aclrtGetBufDataLen(buf, &length));
  EXPECT_EQ(length, 100u);
}

RULE_BROKEN(MbufUserData, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = buffer();
  char user[97] = {};
  EXPECT_BREAKS(aclrtSetBufUserData(buf, user, 97, 0));

  EXPECT_BREAKS(aclrtSetBufUserData(buf, user, 1, 96));
  EXPECT_BREAKS(aclrtGetBufUserData(buf, user, 90, 7));
  EXPECT_BREAKS(aclrtGetBufUserData(buf, user, SIZE_MAX, 2));
  EXPECT_BREAKS(aclrtGetBufUserData(buf, user, 2, SIZE_MAX));
  EXPECT_BREAKS(aclrtGetBufUserData(nullptr, nullptr, 97, 0));  // before the nulls
}
RULE_KEPT(MbufUserData, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf buf = buffer();
  char user[96];
  std::memset(user, 5, sizeof user);
  EXPECT_OK(aclrtSetBufUserData(buf, user, 90, 6));
  char back[96] = {};
  EXPECT_OK(aclrtGetBufUserData(buf, back, 96, 0));
  EXPECT_EQ(back[5], 0);
  EXPECT_EQ(back[6], 5);
  EXPECT_EQ(back[95], 5);
}

RULE_BROKEN(MbufChain, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf head = buffer();
  aclrtMbuf next = buffer();
  EXPECT_OK(aclrtAppendBufChain(head, next));
  EXPECT_BREAKS(aclrtFreeBuf(next));

  aclrtMbuf other = buffer();
  uint32_t count = 0;
  aclrtMbuf out = nullptr;
  EXPECT_BREAKS(aclrtAppendBufChain(head, next));   // there already
  EXPECT_BREAKS(aclrtAppendBufChain(head, head));   // itself
  EXPECT_BREAKS(aclrtAppendBufChain(other, next));  // of another chain
  EXPECT_BREAKS(aclrtAppendBufChain(other, head));  // has a chain of its own
  EXPECT_BREAKS(aclrtAppendBufChain(next, other));  // is no head
  EXPECT_BREAKS(aclrtGetBufChainNum(next, &count));
  EXPECT_BREAKS(aclrtGetBufFromChain(next, 0, &out));
  EXPECT_OK(aclrtGetBufChainNum(head, &count));
  EXPECT_EQ(count, 2u);
}
RULE_KEPT(MbufChain, {"PLAT_PRODUCT", "200i-a2-rc"}) {
  aclrtMbuf head = buffer();
  aclrtMbuf parts[] = {buffer(), buffer()};
  for (aclrtMbuf part : parts) EXPECT_OK(aclrtAppendBufChain(head, part));
  uint32_t count = 0;
  EXPECT_OK(aclrtGetBufChainNum(head, &count));
  EXPECT_EQ(count, 3u);
  aclrtMbuf at = nullptr;
  EXPECT_OK(aclrtGetBufFromChain(head, 0, &at));
  EXPECT_EQ(at, head);
  EXPECT_OK(aclrtGetBufFromChain(head, 2, &at));
  EXPECT_EQ(at, parts[1]);
  EXPECT_OK(aclrtFreeBuf(head));
  EXPECT_EQ(aclrtFreeBuf(parts[0]), 507899);  // gone with its head
}

TEST(Mbuf, ChecksInOrder) {
  run({}, [] {
    aclrtMbuf buf = nullptr;
    size_t size = 0;
    EXPECT_EQ(aclrtAllocBuf(nullptr, 0), 100000);
    EXPECT_EQ(aclrtAllocBuf(&buf, 0), 100000);
    EXPECT_EQ(aclrtAllocBuf(&buf, 1), 207000);  // an A2 has none
    EXPECT_EQ(aclrtFreeBuf(nullptr), 100000);
    EXPECT_EQ(aclrtFreeBuf(&size), 207000);
    EXPECT_EQ(aclrtGetBufDataLen(&size, nullptr), 100000);
    EXPECT_EQ(aclrtGetBufDataLen(&size, &size), 207000);
    EXPECT_EQ(aclrtGetBufData(&size, nullptr, &size), 100000);
    EXPECT_EQ(aclrtCopyBufRef(&size, nullptr), 100000);
    EXPECT_EQ(aclrtAppendBufChain(&size, nullptr), 100000);
    EXPECT_EQ(aclrtGetBufChainNum(&size, nullptr), 100000);
    EXPECT_EQ(aclrtGetBufFromChain(&size, 0, nullptr), 100000);
    EXPECT_EQ(aclrtGetBufUserData(&size, nullptr, 1, 0), 100000);
    EXPECT_EQ(aclrtSetBufUserData(nullptr, &size, 1, 0), 100000);
  });
}

// Data is shared, lengths and the user's bytes are copied; memory goes with the last reference.
TEST(Mbuf, ReferencesShareTheData) {
  run({{"PLAT_PRODUCT", "200i-a2-rc"}}, [] {
    aclrtMbuf first = buffer();
    EXPECT_OK(aclrtSetBufDataLen(first, 10));
    EXPECT_OK(aclrtSetBufUserData(first, "abc", 3, 0));
    EXPECT_OK(aclrtAppendBufChain(first, buffer()));
    aclrtMbuf second = nullptr;
    EXPECT_OK(aclrtCopyBufRef(first, &second));
    EXPECT_EQ(data_of(first), data_of(second));
    EXPECT_OK(aclrtSetBufDataLen(first, 20));
    EXPECT_OK(aclrtSetBufUserData(first, "x", 1, 0));
    size_t length = 0;
    EXPECT_OK(aclrtGetBufDataLen(second, &length));
    EXPECT_EQ(length, 10u);
    char user = 0;
    EXPECT_OK(aclrtGetBufUserData(second, &user, 1, 0));
    EXPECT_EQ(user, 'a');
    uint32_t count = 0;
    EXPECT_OK(aclrtGetBufChainNum(second, &count));
    EXPECT_EQ(count, 2u);
    data_of(first)[9] = 4;
    EXPECT_OK(aclrtFreeBuf(first));
    EXPECT_EQ(data_of(second)[9], 4);
    EXPECT_OK(aclrtFreeBuf(second));
  });
}

TEST(Mbuf, CopiesTakeIt) {
  run({{"PLAT_PRODUCT", "200i-a2-rc"}}, [] {
    EXPECT_OK(aclrtSetDevice(0));
    aclrtMbuf buf = buffer();
    void* device = malloc_device();
    std::memset(data_of(buf), 6, 4096);
    EXPECT_OK(aclrtMemcpy(device, 4096, data_of(buf), 4096, ACL_MEMCPY_HOST_TO_DEVICE));
    EXPECT_OK(aclrtMemset(data_of(buf), 4096, 0, 4096));
    EXPECT_OK(aclrtMemcpy(data_of(buf), 4096, device, 4096, ACL_MEMCPY_DEVICE_TO_HOST));
    EXPECT_EQ(data_of(buf)[4095], 6);
  });
}

TEST(Mbuf, EndsWithTheProcess) {
  run({{"PLAT_PRODUCT", "200i-a2-rc"}}, [] {
    EXPECT_OK(aclInit(nullptr));
    aclrtMbuf buf = buffer();
    aclrtMbuf copy = nullptr;
    EXPECT_OK(aclrtCopyBufRef(buf, &copy));
    EXPECT_OK(aclFinalize());
    EXPECT_EQ(aclrtFreeBuf(buf), 507899);
    test::in_child([&] { EXPECT_NE(aclrtFreeBuf(copy), ACL_SUCCESS); });
    EXPECT_OK(aclInit(nullptr));
    EXPECT_OK(aclrtFreeBuf(buffer()));
  });
}

TEST(Mbuf, ThreadsAllocateChainAndFree) {
  run({{"PLAT_PRODUCT", "200i-a2-rc"}}, [] {
    aclrtMbuf shared = buffer();
    std::vector<std::thread> threads;
    for (unsigned thread = 0; thread < 4; ++thread)
      threads.emplace_back([&, thread] {
        std::mt19937 random(thread);
        for (int round = 0; round < 300; ++round) {
          aclrtMbuf head = buffer(1 + random() % 10000);
          const uint32_t parts = random() % 4;
          for (uint32_t i = 0; i < parts; ++i) EXPECT_OK(aclrtAppendBufChain(head, buffer(64)));
          aclrtMbuf copy = nullptr;
          EXPECT_OK(aclrtCopyBufRef(random() % 2 != 0 ? head : shared, &copy));
          uint32_t count = 0;
          EXPECT_OK(aclrtGetBufChainNum(head, &count));
          EXPECT_EQ(count, parts + 1);
          EXPECT_OK(aclrtFreeBuf(head));
          data_of(copy);
          EXPECT_OK(aclrtFreeBuf(copy));
        }
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_OK(aclrtFreeBuf(shared));
  });
}

}  // namespace
}  // namespace plat::rule_test
