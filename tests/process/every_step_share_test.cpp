// SPDX-License-Identifier: Apache-2.0
// A fault at every step of what processes share: memory, notifies and events, by handle and by key.
#include <array>
#include <cstring>

#include "base/units.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

aclrtIpcEventHandle event_handle{};
std::array<char, 65> own_key{};
std::string key;
uint64_t number = 0;

// A process that opens the device, says something of `share`, and stays until it is killed.
std::unique_ptr<Peer> sharing(const std::function<void(Channel&)>& share) {
  return std::make_unique<Peer>([=](Channel& channel) {
    EXPECT_DONE(aclInit(nullptr));
    EXPECT_DONE(aclrtSetDevice(0));
    share(channel);
    channel.receive();
  });
}
std::unique_ptr<Peer> sharing_a_notify() {
  auto peer = sharing([](Channel& channel) {
    EXPECT_DONE(aclrtCreateNotify(&notify, 0));
    EXPECT_DONE(aclrtNotifyGetExportKey(notify, own_key.data(), own_key.size(),
                                        ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
    channel.send_text(own_key.data());
  });
  key = peer->channel().receive_text();
  return peer;
}
std::unique_ptr<Peer> sharing_an_event() {
  auto peer = sharing([](Channel& channel) {
    aclrtIpcEventHandle shown{};
    EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    EXPECT_DONE(aclrtIpcGetEventHandle(event, &shown));
    uint64_t bits = 0;
    std::memcpy(&bits, shown.reserved, sizeof bits);
    channel.send(bits);
  });
  number = peer->channel().receive();
  return peer;
}
std::unique_ptr<Peer> sharing_a_handle() {
  auto peer = sharing([](Channel& channel) {
    allocate_handle();
    EXPECT_DONE(aclrtMemExportToShareableHandleV2(handle, ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION,
                                                  ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number));
    channel.send(number);
  });
  number = peer->channel().receive();
  return peer;
}
std::unique_ptr<Peer> sharing_by_key() {
  auto peer = sharing([](Channel& channel) {
    std::array<char, 65> text{};
    malloc_block();
    EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, text.data(), text.size(), 1));
    channel.send_text(text.data());
  });
  key = peer->channel().receive_text();
  return peer;
}
std::unique_ptr<Peer> sharing_by_number() {
  auto peer = sharing([](Channel& channel) {
    handle = allocate(2_MiB);
    EXPECT_DONE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE,
                                                ACL_RT_VMM_EXPORT_FLAG_DISABLE_PID_VALIDATION, &number));
    channel.send(number);
  });
  number = peer->channel().receive();
  return peer;
}
aclError open_event() {
  aclrtIpcEventHandle shown{};
  std::memcpy(shown.reserved, &number, sizeof number);
  return aclrtIpcOpenEventHandle(shown, &event);
}
aclError export_v2() {
  return aclrtMemExportToShareableHandleV2(handle, 0, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, &number);
}
uint32_t own_server() {
  int64_t id = 0;
  EXPECT_DONE(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_SUPER_POD_DEVICE_ID, &id));
  return static_cast<uint32_t>(id);
}

std::vector<Scenario> scenarios() {
  return {
      // Handles.
      {"aclrtMemExportToShareableHandle", allocate_handle,
       [] { return aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number); },
       free_handle},
      {"aclrtMemExportToShareableHandleV2", allocate_handle, export_v2, free_handle},
      {"aclrtMemSetPidToShareableHandle",
       [] {
         allocate_handle();
         EXPECT_DONE(aclrtMemExportToShareableHandle(handle, ACL_MEM_HANDLE_TYPE_NONE, 0, &number));
       },
       [] {
         std::array<int32_t, 40> pids{};
         for (int32_t& pid : pids) pid = 1 + static_cast<int32_t>(&pid - pids.data());
         return aclrtMemSetPidToShareableHandle(number, pids.data(), pids.size());
       },
       free_handle},
      {"aclrtMemSetPidToShareableHandleV2",
       [] {
         allocate_handle();
         EXPECT_DONE(export_v2());
       },
       [] {
         std::array<int32_t, 40> pids{};
         for (int32_t& pid : pids) pid = 1 + static_cast<int32_t>(&pid - pids.data());
         return aclrtMemSetPidToShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, pids.data(),
                                                  pids.size());
       },
       free_handle},
      {"aclrtMemImportFromShareableHandle", nothing,
       [] { return aclrtMemImportFromShareableHandle(number, 0, &handle); },
       [] { EXPECT_DONE(aclrtFreePhysical(handle)); }, sharing_by_number},
      {"aclrtMemImportFromShareableHandleV2", nothing,
       [] {
         return aclrtMemImportFromShareableHandleV2(&number, ACL_MEM_SHARE_HANDLE_TYPE_DEFAULT, 0, &handle);
       },
       free_handle, sharing_a_handle},
      {"aclrtFreePhysical of an import",
       [] { EXPECT_DONE(aclrtMemImportFromShareableHandle(number, 0, &handle)); },
       [] { return aclrtFreePhysical(handle); }, nothing, sharing_by_number},

      // Keys of memory.
      {"aclrtIpcMemGetExportKey", [] { malloc_of(2_MiB); },
       [] { return aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0); }, free_block},
      {"aclrtIpcMemImportPidInterServer",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0));
       },
       [] {
         int32_t pid = 1;
         aclrtServerPid server{own_server(), &pid, 1};
         return aclrtIpcMemImportPidInterServer(own_key.data(), &server, 1);
       },
       free_block, as("a3")},
      {"aclrtIpcMemSetAttr",
       [] {
         malloc_block();
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0));
       },
       [] { return aclrtIpcMemSetAttr(own_key.data(), ACL_RT_IPC_MEM_ATTR_ACCESS_LINK, 0); }, free_block,
       as("a3")},
      {"aclrtIpcMemImportByKey", nothing, [] { return aclrtIpcMemImportByKey(&block, key.c_str(), 0); },
       [] { EXPECT_DONE(aclrtIpcMemClose(key.c_str())); }, sharing_by_key},
      {"aclrtIpcMemClose",
       [] {
         malloc_of(2_MiB);
         EXPECT_DONE(aclrtIpcMemGetExportKey(block, 2_MiB, own_key.data(), own_key.size(), 0));
       },
       [] { return aclrtIpcMemClose(own_key.data()); }, free_block},
      {"aclrtIpcMemClose of an import", [] { EXPECT_DONE(aclrtIpcMemImportByKey(&block, key.c_str(), 0)); },
       [] { return aclrtIpcMemClose(key.c_str()); }, nothing, sharing_by_key},

      // Events and notifies.
      {"aclrtIpcGetEventHandle", [] { EXPECT_DONE(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC)); },
       [] { return aclrtIpcGetEventHandle(event, &event_handle); }, end_event},
      {"aclrtIpcOpenEventHandle", nothing, open_event, end_event, sharing_an_event},
      {"aclrtNotifyGetExportKey", make_notify,
       [] {
         std::array<char, 65> text{};
         return aclrtNotifyGetExportKey(notify, text.data(), text.size(), 0);
       },
       end_notify},
      {"aclrtNotifyImportByKey", nothing, [] { return aclrtNotifyImportByKey(&notify, key.c_str(), 0); },
       end_notify, sharing_a_notify},
      {"aclrtNotifySetImportPidInterServer",
       [] {
         EXPECT_DONE(aclrtCreateNotify(&notify, 0));
         EXPECT_DONE(aclrtNotifyGetExportKey(notify, own_key.data(), own_key.size(), 0));
       },
       [] {
         int32_t pid = 1;
         aclrtServerPid server{own_server(), &pid, 1};
         return aclrtNotifySetImportPidInterServer(notify, &server, 1);
       },
       end_notify, as("a3")},
  };
}

INSTANTIATE_TEST_SUITE_P(Share, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
