// SPDX-License-Identifier: Apache-2.0
// A fault at every step of objects that the client fills in: descriptions of allocators, data buffers, dumps,
// profiles, and buffers of queues.
#include <array>
#include <cstring>

#include "acl/acl_mdl.h"
#include "acl/acl_prof.h"
#include "process/every_step.h"

namespace plat::test {
namespace {

aclrtAllocatorDesc description = nullptr;
aclDataBuffer* data = nullptr;
aclprofConfig* profile = nullptr;
aclprofStepInfo* step = nullptr;
aclrtMbuf buf = nullptr;
aclrtMbuf second_buf = nullptr;
std::array<char, 4096> host{};

aclError done() { return ACL_SUCCESS; }

void* give(aclrtAllocator, size_t) { return nullptr; }
void take(aclrtAllocator, aclrtAllocatorBlock) {}
void* give_near(aclrtAllocator, size_t, aclrtAllocatorAddr) { return nullptr; }
void* where(aclrtAllocatorBlock) { return nullptr; }
void make_description() {
  description = aclrtAllocatorCreateDesc();
  EXPECT_DONE(is_made(description));
  EXPECT_DONE(aclrtAllocatorSetObjToDesc(description, &host));
  EXPECT_DONE(aclrtAllocatorSetAllocFuncToDesc(description, give));
  EXPECT_DONE(aclrtAllocatorSetFreeFuncToDesc(description, take));
  EXPECT_DONE(aclrtAllocatorSetAllocAdviseFuncToDesc(description, give_near));
  EXPECT_DONE(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, where));
}
void end_description() { EXPECT_DONE(aclrtAllocatorDestroyDesc(description)); }
void register_allocator() {
  make_stream();
  make_description();
  EXPECT_DONE(aclrtAllocatorRegister(stream, description));
}
void end_allocator() {
  end_description();
  end_stream();
}
aclError look_up_allocator() {
  aclrtAllocatorDesc found = nullptr;
  aclrtAllocator object = nullptr;
  aclrtAllocatorAllocFunc allocate_function = nullptr;
  aclrtAllocatorFreeFunc free_function = nullptr;
  aclrtAllocatorAllocAdviseFunc advise_function = nullptr;
  aclrtAllocatorGetAddrFromBlockFunc address_function = nullptr;
  return aclrtAllocatorGetByStream(stream, &found, &object, &allocate_function, &free_function,
                                   &advise_function, &address_function);
}

void make_data() {
  data = aclCreateDataBuffer(host.data(), host.size());
  EXPECT_DONE(is_made(data));
}
void end_data() { EXPECT_DONE(aclDestroyDataBuffer(data)); }

constexpr char kProfiles[] = "/tmp";
aclprofConfig* create_profile() {
  uint32_t device = 0;
  return aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, nullptr, ACL_PROF_ACL_API);
}
void begin_profile() {
  EXPECT_DONE(aclprofInit(kProfiles, std::strlen(kProfiles)));
  profile = create_profile();
  EXPECT_DONE(is_made(profile));
}
void end_profile() {
  EXPECT_DONE(aclprofDestroyConfig(profile));
  EXPECT_DONE(aclprofFinalize());
}

void make_buffer() { EXPECT_DONE(aclrtAllocBuf(&buf, 4096)); }
void end_buffer() { EXPECT_DONE(aclrtFreeBuf(buf)); }
void make_chain() {
  make_buffer();
  EXPECT_DONE(aclrtAllocBuf(&second_buf, 4096));
  EXPECT_DONE(aclrtAppendBufChain(buf, second_buf));
}
const auto on_product = as("200i-a2-rc");  // which has them

std::vector<Scenario> scenarios() {
  return {
      // Allocators.
      {"aclrtAllocatorCreateDesc", nothing, [] { return is_made(description = aclrtAllocatorCreateDesc()); },
       end_description},
      {"aclrtAllocatorDestroyDesc", make_description, [] { return aclrtAllocatorDestroyDesc(description); },
       nothing},
      {"aclrtAllocatorSetObjToDesc", make_description,
       [] { return aclrtAllocatorSetObjToDesc(description, &host); }, end_description},
      {"aclrtAllocatorSetAllocFuncToDesc", make_description,
       [] { return aclrtAllocatorSetAllocFuncToDesc(description, give); }, end_description},
      {"aclrtAllocatorSetFreeFuncToDesc", make_description,
       [] { return aclrtAllocatorSetFreeFuncToDesc(description, take); }, end_description},
      {"aclrtAllocatorSetAllocAdviseFuncToDesc", make_description,
       [] { return aclrtAllocatorSetAllocAdviseFuncToDesc(description, give_near); }, end_description},
      {"aclrtAllocatorSetGetAddrFromBlockFuncToDesc", make_description,
       [] { return aclrtAllocatorSetGetAddrFromBlockFuncToDesc(description, where); }, end_description},
      {"aclrtAllocatorRegister",
       [] {
         make_stream();
         make_description();
       },
       [] { return aclrtAllocatorRegister(stream, description); },
       [] {
         EXPECT_DONE(aclrtAllocatorUnregister(stream));
         end_allocator();
       }},
      {"aclrtAllocatorGetByStream", register_allocator, look_up_allocator, end_allocator},
      {"aclrtAllocatorUnregister", register_allocator, [] { return aclrtAllocatorUnregister(stream); },
       end_allocator},

      // Data buffers.
      {"aclCreateDataBuffer", nothing,
       [] { return is_made(data = aclCreateDataBuffer(host.data(), host.size())); }, end_data},
      {"aclDestroyDataBuffer", make_data, [] { return aclDestroyDataBuffer(data); }, nothing},
      {"aclUpdateDataBuffer", make_data, [] { return aclUpdateDataBuffer(data, host.data(), 8); }, end_data},
      {"aclGetDataBufferAddr", make_data, [] { return is_made(aclGetDataBufferAddr(data)); }, end_data},
      {"aclGetDataBufferSize", make_data,
       [] { return aclGetDataBufferSize(data) == host.size() ? done() : kNothing; }, end_data},
      {"aclGetDataBufferSizeV2", make_data,
       [] { return aclGetDataBufferSizeV2(data) == host.size() ? done() : kNothing; }, end_data},

      // Dumps and profiles.
      {"aclmdlInitDump", nothing, [] { return aclmdlInitDump(); }, [] { EXPECT_DONE(aclmdlFinalizeDump()); }},
      {"aclmdlFinalizeDump", [] { EXPECT_DONE(aclmdlInitDump()); }, [] { return aclmdlFinalizeDump(); },
       nothing},
      {"aclmdlSetDump", [] { EXPECT_DONE(aclmdlInitDump()); },
       [] { return aclmdlSetDump("/proc/self/status"); }, [] { EXPECT_DONE(aclmdlFinalizeDump()); }},
      {"aclprofInit", nothing, [] { return aclprofInit(kProfiles, std::strlen(kProfiles)); },
       [] { EXPECT_DONE(aclprofFinalize()); }},
      {"aclprofFinalize", [] { EXPECT_DONE(aclprofInit(kProfiles, std::strlen(kProfiles))); },
       [] { return aclprofFinalize(); }, nothing},
      {"aclprofCreateConfig", nothing, [] { return is_made(profile = create_profile()); },
       [] { EXPECT_DONE(aclprofDestroyConfig(profile)); }},
      {"aclprofDestroyConfig", [] { profile = create_profile(); },
       [] { return aclprofDestroyConfig(profile); }, nothing},
      {"aclprofStart", begin_profile, [] { return aclprofStart(profile); },
       [] {
         EXPECT_DONE(aclprofStop(profile));
         end_profile();
       }},
      {"aclprofStop",
       [] {
         begin_profile();
         EXPECT_DONE(aclprofStart(profile));
       },
       [] { return aclprofStop(profile); }, end_profile},
      {"aclprofCreateStepInfo", nothing, [] { return is_made(step = aclprofCreateStepInfo()); },
       [] { aclprofDestroyStepInfo(step); }},
      {"aclprofDestroyStepInfo", [] { step = aclprofCreateStepInfo(); },
       [] { return aclprofDestroyStepInfo(step), done(); }, nothing},
      {"aclprofGetStepTimestamp",
       [] {
         make_stream();
         step = aclprofCreateStepInfo();
       },
       [] { return aclprofGetStepTimestamp(step, ACL_STEP_START, stream); },
       [] {
         aclprofDestroyStepInfo(step);
         end_stream();
       }},

      // Buffers of queues.
      {"aclrtAllocBuf", nothing, [] { return aclrtAllocBuf(&buf, 4096); }, end_buffer, on_product},
      {"aclrtFreeBuf", make_buffer, [] { return aclrtFreeBuf(buf); }, nothing, on_product},
      {"aclrtFreeBuf of a chain", make_chain, [] { return aclrtFreeBuf(buf); }, nothing, on_product},
      {"aclrtSetBufDataLen", make_buffer, [] { return aclrtSetBufDataLen(buf, 100); }, end_buffer,
       on_product},
      {"aclrtGetBufDataLen", make_buffer,
       [] {
         size_t length = 0;
         return aclrtGetBufDataLen(buf, &length);
       },
       end_buffer, on_product},
      {"aclrtGetBufData", make_buffer,
       [] {
         size_t length = 0;
         return aclrtGetBufData(buf, &address, &length);
       },
       end_buffer, on_product},
      {"aclrtGetBufUserData", make_buffer, [] { return aclrtGetBufUserData(buf, host.data(), 8, 0); },
       end_buffer, on_product},
      {"aclrtSetBufUserData", make_buffer, [] { return aclrtSetBufUserData(buf, host.data(), 8, 0); },
       end_buffer, on_product},
      {"aclrtCopyBufRef", make_buffer, [] { return aclrtCopyBufRef(buf, &second_buf); },
       [] {
         EXPECT_DONE(aclrtFreeBuf(second_buf));
         end_buffer();
       },
       on_product},
      {"aclrtAppendBufChain",
       [] {
         make_buffer();
         EXPECT_DONE(aclrtAllocBuf(&second_buf, 4096));
       },
       [] { return aclrtAppendBufChain(buf, second_buf); }, end_buffer, on_product},
      {"aclrtGetBufChainNum", make_chain,
       [] {
         uint32_t count = 0;
         return aclrtGetBufChainNum(buf, &count);
       },
       end_buffer, on_product},
      {"aclrtGetBufFromChain", make_chain,
       [] {
         aclrtMbuf found = nullptr;
         return aclrtGetBufFromChain(buf, 1, &found);
       },
       end_buffer, on_product},
  };
}

INSTANTIATE_TEST_SUITE_P(Objects, EveryStepTest, in_every_way(scenarios()), name_of_case);

}  // namespace
}  // namespace plat::test
