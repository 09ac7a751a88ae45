// SPDX-License-Identifier: Apache-2.0
// Rules of memory of other servers, with a daemon that says what the test wants it to.
#include "rules/memory_fixture.h"
#include "share/fabric_handle.h"
#include "support/fake_daemon.h"

namespace plat::rule_test {
namespace {

using fabric::Cause;
using test::FakeDaemon;

// What the daemon has, 4 MiB.
constexpr size_t kBytes = 4_MiB;
#define ON_SERVER_1 \
  {"PLAT_PRODUCT", "a3"}, {"PLAT_NODE", "shared"}, { "PLAT_SERVER", "1" }

// A handle of server 0.
aclrtMemFabricHandle foreign() {
  EXPECT_READY(aclrtSetDevice(0));
  aclrtMemFabricHandle handle{};
  share::FabricHandle inside{};
  inside.mark = share::kFabricMark;
  inside.version = share::kFabricVersion;
  inside.share = 42;
  inside.key = 43;
  inside.write(&handle);
  return handle;
}

// aclrtMemImportFromShareableHandleV2 of a handle of server 0.
aclError import(aclrtDrvMemHandle* handle) {
  aclrtMemFabricHandle fabric = foreign();
  return aclrtMemImportFromShareableHandleV2(&fabric, kFabric, 0, handle);
}

// The fabric daemon of this server, which answers an import with this.
struct Answers {
  FakeDaemon& daemon = *new FakeDaemon;
  explicit Answers(Cause cause) { daemon.on_import = cause; }
  ~Answers() { daemon.leave(); }
};

// Imports a handle of server 0 and lets it go.
aclError import_once() {
  aclrtDrvMemHandle handle = nullptr;
  const aclError code = import(&handle);
  EXPECT_EQ(handle == nullptr, code != ACL_SUCCESS);
  return code == ACL_SUCCESS ? aclrtFreePhysical(handle) : code;
}

// Memory of server 0 in a reservation of this process, by way of the daemon.
struct Far {
  FakeDaemon& daemon = *new FakeDaemon;
  aclrtDrvMemHandle handle = nullptr;
  void* va = nullptr;
  ~Far() { daemon.leave(); }
  Far() {
    EXPECT_READY(import(&handle));
    va = reserve(kBytes);
    EXPECT_READY(aclrtMapMem(va, kBytes, 0, handle, 0));
  }
  aclError write() const {
    const std::vector<char> bytes(3_MiB, 'x');
    return aclrtMemcpy(va, kBytes, bytes.data(), bytes.size(), ACL_MEMCPY_HOST_TO_DEVICE);
  }
};

RULE_BROKEN(FabricServer, ON_SERVER_1) {
  const Answers answers(Cause::NoServer);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricServer, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricPeer, ON_SERVER_1) {
  const Answers answers(Cause::Unreachable);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));

  // An answer that makes no sense is none.
  answers.daemon.on_import = Cause::None;
  for (const size_t size : {size_t{0}, 2_MiB + 1}) {
    answers.daemon.imported_bytes = size;
    EXPECT_BREAKS(import(&handle));
  }
  EXPECT_EQ(handle, nullptr);
  EXPECT_EQ(answers.daemon.released, 2);
}
RULE_KEPT(FabricPeer, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricTrust, ON_SERVER_1) {
  const Answers answers(Cause::Untrusted);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricTrust, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricFull, ON_SERVER_1) {
  const Answers answers(Cause::Full);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricFull, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricSlow, ON_SERVER_1) {
  const Answers answers(Cause::Timeout);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricSlow, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricKeyPrivate, ON_SERVER_1) {
  const Answers answers(Cause::KeyPrivate);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricKeyPrivate, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricKeyExpired, ON_SERVER_1) {
  const Answers answers(Cause::KeyExpired);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricKeyExpired, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricKeyForeign, ON_SERVER_1) {
  const Answers answers(Cause::KeyForeign);
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricKeyForeign, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricVersion, ON_SERVER_1) {
  const Answers answers(Cause::Version);  // of the other server's daemon
  aclrtDrvMemHandle handle = nullptr;
  EXPECT_BREAKS(import(&handle));

  answers.daemon.version = fabric::kWireVersion + 1;  // of the own one
  EXPECT_BREAKS(import(&handle));
}
RULE_KEPT(FabricVersion, ON_SERVER_1) {
  const Answers answers(Cause::None);
  EXPECT_OK(import_once());
}

RULE_BROKEN(FabricGone, ON_SERVER_1) {
  Far far;
  far.daemon.on_copy = Cause::Gone;
  EXPECT_BREAKS(aclrtMemset(far.va, kBytes, 1, 100));

  EXPECT_BREAKS(far.write());
}
RULE_KEPT(FabricGone, ON_SERVER_1) {
  Far far;
  EXPECT_OK(aclrtMemset(far.va, kBytes, 1, 100));
}

RULE_BROKEN(FabricTimeout, ON_SERVER_1, {"PLAT_FABRIC_DEADLINE", "20"}) {
  Far far;
  far.daemon.on_copy = Cause::Timeout;
  EXPECT_BREAKS(aclrtMemset(far.va, kBytes, 1, 100));

  far.daemon.on_copy = Cause::None;
  far.daemon.is_silent = true;
  EXPECT_BREAKS(far.write());
}
RULE_KEPT(FabricTimeout, ON_SERVER_1, {"PLAT_FABRIC_DEADLINE", "20"}) {
  Far far;
  EXPECT_OK(aclrtMemset(far.va, kBytes, 1, 100));
}

RULE_BROKEN(FabricLost, ON_SERVER_1) {
  Far far;
  far.daemon.dies_on_copy = true;
  EXPECT_BREAKS(aclrtMemset(far.va, kBytes, 1, 100));

  EXPECT_BREAKS(far.write());
}
RULE_KEPT(FabricLost, ON_SERVER_1) {
  Far far;
  EXPECT_OK(aclrtMemset(far.va, kBytes, 1, 100));
}

RULE_BROKEN(FabricHost, ON_SERVER_1) {
  Far far;
  aclrtMemAccessDesc host{};
  host.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  host.location.type = ACL_MEM_LOCATION_TYPE_HOST;
  EXPECT_BREAKS(aclrtMemSetAccess(far.va, kBytes, &host, 1));
}
RULE_KEPT(FabricHost, ON_SERVER_1) {
  Far far;
  aclrtMemAccessDesc device{};
  device.flags = ACL_RT_MEM_ACCESS_FLAGS_READWRITE;
  device.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  EXPECT_OK(aclrtMemSetAccess(far.va, kBytes, &device, 1));
}

// What is imported is mapped, written and let go as memory at home is.
TEST(FabricRemote, ImportsWriteAndLetGo) {
  run({ON_SERVER_1}, [] {
    Far far;
    EXPECT_OK(far.write());
    EXPECT_EQ(far.daemon.byte_at(3_MiB - 1), std::byte{'x'});
    EXPECT_EQ(far.daemon.byte_at(3_MiB), std::byte{0});
    EXPECT_OK(aclrtUnmapMem(far.va));
    EXPECT_EQ(far.daemon.released, 0);
    EXPECT_OK(aclrtFreePhysical(far.handle));
    EXPECT_EQ(far.daemon.released, 1);
  });
}

// What was queued fails when it runs, and the stream says it.
TEST(FabricRemote, AQueuedCopyIsTheStreamsError) {
  run({ON_SERVER_1}, [] {
    Far far;
    aclrtStream stream = nullptr;
    EXPECT_OK(aclrtCreateStream(&stream));
    far.daemon.on_copy = Cause::Gone;
    EXPECT_OK(aclrtMemsetAsync(far.va, kBytes, 1, 100, stream));
    EXPECT_EQ(aclrtSynchronizeStream(stream), 507899);
  });
}

// Runs with a fault plan, and returns what the last message cites.
std::string recent_rule() {
  const std::string text = aclGetRecentErrMsg();
  return text.substr(0, text.find(' '));
}
bool names_the_plan() { return std::string(aclGetRecentErrMsg()).find("fault plan") != std::string::npos; }

// Of each copy that asks the server the plan counts one answer; an import is one too.
TEST(FabricRemote, AFaultPlanCutsACopy) {
  run({ON_SERVER_1, {"PLAT_FAULT", "server 0, nth=2, cut; server 5, every=1, cut"}}, [] {
    Far far;
    EXPECT_EQ(far.write(), 507899);
    EXPECT_EQ(recent_rule(), "FABRIC-Copy-server-alive");
    EXPECT_TRUE(names_the_plan());
    EXPECT_EQ(far.daemon.byte_at(1_MiB), std::byte{'x'});
    EXPECT_EQ(far.daemon.byte_at(2_MiB), std::byte{0});
    EXPECT_OK(far.write());
  });
}

TEST(FabricRemote, AFaultPlanLosesAnswers) {
  run({ON_SERVER_1,
       {"PLAT_FABRIC_DEADLINE", "20"},
       {"PLAT_FAULT", "server, nth=2, drop; server, nth=3, delay=1s"}},
      [] {
        Far far;
        std::vector<char> seen(100, 'u');
        EXPECT_EQ(far.write(), 507899);
        EXPECT_EQ(recent_rule(), "FABRIC-Copy-deadline");
        EXPECT_TRUE(names_the_plan());
        EXPECT_EQ(far.daemon.byte_at(3_MiB - 1), std::byte{'x'});  // it was the answer that was lost
        EXPECT_EQ(aclrtMemcpy(seen.data(), 100, far.va, 100, ACL_MEMCPY_DEVICE_TO_HOST), 507899);
        EXPECT_EQ(recent_rule(), "FABRIC-Copy-deadline");
        EXPECT_EQ(seen, std::vector<char>(100, 'u'));
        EXPECT_OK(aclrtMemcpy(seen.data(), 100, far.va, 100, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_EQ(seen, std::vector<char>(100, 'x'));
      });
}

TEST(FabricRemote, AFaultPlanStopsAServerForGood) {
  run({ON_SERVER_1, {"PLAT_FABRIC_DEADLINE", "10"}, {"PLAT_FAULT", "server 0, nth=3, stop"}}, [] {
    Far far;
    EXPECT_OK(far.write());
    for (int copy = 0; copy < 3; ++copy) EXPECT_EQ(far.write(), 507899);
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(import(&handle), 107017);
    EXPECT_EQ(recent_rule(), "FABRIC-Import-deadline");
    EXPECT_EQ(far.daemon.released, 1);  // what was granted and not heard of
  });
}

TEST(FabricRemote, AFaultPlanCorruptsBytesAndAnswers) {
  run({ON_SERVER_1, {"PLAT_FAULT", "server, nth=2, corrupt; server, nth=4, corrupt; server, nth=5, corrupt"}},
      [] {
        Far far;
        std::vector<char> seen(100);
        EXPECT_OK(far.write());
        EXPECT_NE(far.daemon.byte_at(0), std::byte{'x'});
        EXPECT_EQ(far.daemon.byte_at(1), std::byte{'x'});
        EXPECT_OK(far.write());
        EXPECT_OK(aclrtMemcpy(seen.data(), 100, far.va, 100, ACL_MEMCPY_DEVICE_TO_HOST));
        EXPECT_NE(seen[0], 'x');
        EXPECT_EQ(seen[1], 'x');
        aclrtDrvMemHandle handle = nullptr;
        EXPECT_EQ(import(&handle), 107017);
        EXPECT_EQ(recent_rule(), "FABRIC-Peer-reachable");
        EXPECT_NE(std::string(aclGetRecentErrMsg()).find("clause 3 of the fault plan"), std::string::npos)
            << aclGetRecentErrMsg();
        EXPECT_EQ(far.daemon.byte_at(0), std::byte{'x'});  // there all is well
        EXPECT_OK(import_once());
      });
}

TEST(FabricRemote, AFaultPlanCutsAnImport) {
  run({ON_SERVER_1, {"PLAT_FAULT", "server 0, nth=1, cut, delay=1us; server 0, nth=1, cut"}}, [] {
    EXPECT_NE(aclInit(nullptr), ACL_SUCCESS);  // one effect a clause
  });
  run({ON_SERVER_1, {"PLAT_FAULT", "server 0, nth=1, cut; server 0, nth=1, delay=1us"}}, [] {
    const Answers answers(Cause::None);
    aclrtDrvMemHandle handle = nullptr;
    EXPECT_EQ(import(&handle), 107017);
    EXPECT_EQ(recent_rule(), "FABRIC-Peer-reachable");
    EXPECT_EQ(answers.daemon.released, 1);
    EXPECT_OK(import_once());
  });
}

// A copy that fails on this side has not spoilt the connection.
TEST(FabricRemote, ABadHostAddressIsToldAsAtHome) {
  run({ON_SERVER_1}, [] {
    Far far;
    EXPECT_NE(aclrtMemcpy(far.va, kBytes, reinterpret_cast<void*>(64), 100, ACL_MEMCPY_HOST_TO_DEVICE),
              ACL_SUCCESS);
    EXPECT_NE(aclrtMemcpy(reinterpret_cast<void*>(64), kBytes, far.va, 3_MiB, ACL_MEMCPY_DEVICE_TO_HOST),
              ACL_SUCCESS);
    EXPECT_OK(far.write());
  });
}

// Handles go with the device that imported them.
TEST(FabricRemote, ADeviceThatIsResetByForceLetsGo) {
  run({ON_SERVER_1}, [] {
    Far far;
    EXPECT_OK(aclrtResetDeviceForce(0));
    EXPECT_EQ(far.daemon.released, 1);
  });
}

}  // namespace
}  // namespace plat::rule_test
