// SPDX-License-Identifier: Apache-2.0
// Buffers of queues, in a program that runs on the device itself; and snapshots of a process.
#include <unistd.h>

#include <cstring>

#include "acl/acl_rt_mbuf.h"
#include "inspect/program.h"

namespace programs {

namespace {

// 4 KiB.
constexpr size_t kMbufSize = 4096;

// A machine of its own: of another product, or with nobody else on its devices.
void alone(const char* product) {
  setenv("PLAT_NODE", "private", 1);
  setenv("PLAT_PRODUCT", product, 1);
}

// A program that runs on the device itself, as those with buffers of queues do: the process and device 0 are
// open until the end of the block.
struct OnDevice {
  OnDevice() {
    alone("200i-a2-rc");
    MUST(aclInit(nullptr));
    MUST(aclrtSetDevice(0));
  }
  ~OnDevice() {
    aclrtResetDevice(0);
    aclFinalize();
  }
};

// A buffer of 4 KiB, by aclrtAllocBuf.
aclrtMbuf mbuf() {
  aclrtMbuf made = nullptr;
  MUST(aclrtAllocBuf(&made, kMbufSize));
  return made;
}

// Where the bytes of a buffer are, by aclrtGetBufData.
char* data_of(aclrtMbuf buffer) {
  void* data = nullptr;
  size_t size = 0;
  MUST(aclrtGetBufData(buffer, &data, &size));
  return static_cast<char*>(data);
}

// Backs the process up and then copies one block over the other.
void back_up_and_copy(char* to, const char* from) {
  MUST(aclrtSnapShotProcessLock(getpid(), nullptr));
  MUST(aclrtSnapShotProcessBackup(getpid(), nullptr));
  MUST(aclrtMemcpy(to, kMbufSize, from, kMbufSize, ACL_MEMCPY_DEVICE_TO_DEVICE));
}

}  // namespace

void add_mbuf_programs(Programs& all) {
  all["leak_mbuf"] = [] {
    const OnDevice device;
    aclrtMbuf const lost = PLANTED(mbuf());
    (void)lost;
    MUST(aclrtFreeBuf(mbuf()));
  };
  all["leak_mbuf_reference"] = [] {
    const OnDevice device;
    aclrtMbuf const first = mbuf();
    aclrtMbuf second = nullptr;
    MUST(PLANTED(aclrtCopyBufRef(first, &second)));
    MUST(aclrtFreeBuf(first));
  };
  all["leak_mbuf_chain"] = [] {
    const OnDevice device;
    aclrtMbuf const head = PLANTED(mbuf());
    MUST(aclrtAppendBufChain(head, mbuf()));
  };
  all["mbufs_given_back"] = [] {
    const OnDevice device;
    aclrtMbuf const head = mbuf();
    aclrtMbuf second = nullptr;
    MUST(aclrtCopyBufRef(head, &second));
    MUST(aclrtFreeBuf(head));
    std::memset(data_of(second), 1, kMbufSize);  // its memory is still there
    MUST(aclrtMemset(data_of(second), kMbufSize, 0, kMbufSize));
    MUST(aclrtAppendBufChain(second, mbuf()));
    MUST(aclrtFreeBuf(second));
  };
  // A chain that is copied stays when the first one goes.
  all["mbuf_chain_copied"] = [] {
    const OnDevice device;
    aclrtMbuf const first = mbuf();
    MUST(aclrtAppendBufChain(first, mbuf()));
    aclrtMbuf second = nullptr, follower = nullptr;
    MUST(aclrtCopyBufRef(first, &second));
    MUST(aclrtFreeBuf(first));
    MUST(aclrtGetBufFromChain(second, 1, &follower));
    MUST(aclrtMemset(data_of(follower), kMbufSize, 0, kMbufSize));
    MUST(aclrtFreeBuf(second));
  };
  all["mbuf_twice"] = [] {
    const OnDevice device;
    aclrtMbuf const once = mbuf();
    MUST(aclrtFreeBuf(once));
    (void)PLANTED(aclrtFreeBuf(once));
  };
  all["snapshot_restored"] = [] {
    alone("a2");
    const Device device;
    char* const kept = block(kMbufSize);
    char* const fresh = block(kMbufSize, false);
    back_up_and_copy(kept, fresh);
    MUST(aclrtSnapShotProcessRestore(getpid(), nullptr));
    MUST(aclrtSnapShotProcessUnlock(getpid(), nullptr));
    MUST(read(kept, kMbufSize));
    MUST(aclrtFree(kept));
    MUST(aclrtFree(fresh));
  };
  all["snapshot_not_restored"] = [] {
    alone("a2");
    const Device device;
    char* const kept = block(kMbufSize);
    char* const fresh = block(kMbufSize, false);
    back_up_and_copy(kept, fresh);
    MUST(aclrtSnapShotProcessUnlock(getpid(), nullptr));
    MUST(PLANTED(read(kept, kMbufSize)));
    MUST(aclrtFree(kept));
    MUST(aclrtFree(fresh));
  };
}

}  // namespace programs
