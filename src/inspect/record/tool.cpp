// SPDX-License-Identifier: Apache-2.0
// The recorder as an mstx tool: heaps, regions, marks and ranges go into the trace as they are told.
//
// It keeps no books. Domains, heaps and regions get numbers, and a handle is the number; whether a handle
// still lives is for the reader to find out. A domain's handle also says whether its client leaves fields
// unset, because those must not be read.
#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"

#include <atomic>
#include <cstring>
#include <iterator>
#include <string_view>

#include "base/mstx_dialects.h"
#include "inspect/record/recorder.h"
#include "inspect/record/stacks.h"

namespace plat::inspect {
namespace {

constexpr uint64_t kUnsetBit = 1;  // of the handle of a domain that speaks a dialect

uint64_t domain_number(mstxDomainHandle_t domain) { return word(domain) >> 1; }
bool leaves_fields_unset(mstxDomainHandle_t domain) { return (word(domain) & kUnsetBit) != 0; }

template <class Handle>
Handle as_handle(uint64_t number) {
  return reinterpret_cast<Handle>(number);
}

std::string_view bounded_text(const char* text) {
  return text != nullptr ? std::string_view(text, strnlen(text, kTextMax)) : "";
}

// What the program tells while one of its ACL calls is running counts too.
template <class Write>
__attribute__((always_inline)) inline void note(const void* frame, Write&& write_events) {
  ThreadState& state = t_state;
  if (state.busy == Busy::Writing || !start()) return;
  const Writing writing(state);
  write_events(EventHead{.ticks = ticks(), .stack = capture_stack(frame)});
}
#define PLAT_NOTE(body) note(__builtin_frame_address(0), [&](const EventHead& head) body)

void domain_mark(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  PLAT_NOTE({ write<Op::mstxMark>(head, {domain_number(domain), word(stream)}, bounded_text(message)); });
}
void mark(const char* message, aclrtStream stream) { domain_mark(nullptr, message, stream); }

mstxRangeId domain_range_start(mstxDomainHandle_t domain, const char* message, aclrtStream stream) {
  const uint64_t id = next_number();
  PLAT_NOTE({
    write<Op::mstxRangeStart>(head, {domain_number(domain), id, word(stream)}, bounded_text(message));
  });
  return id;
}
mstxRangeId range_start(const char* message, aclrtStream stream) {
  return domain_range_start(nullptr, message, stream);
}
void domain_range_end(mstxDomainHandle_t domain, mstxRangeId id) {
  PLAT_NOTE({ write<Op::mstxRangeEnd>(head, {domain_number(domain), id}); });
}
void range_end(mstxRangeId id) { domain_range_end(nullptr, id); }

mstxDomainHandle_t domain_create(const char* name) {
  uint64_t number = 0;
  uint64_t unset = 0;
  // These clients make their domain anew for every call; it keeps its number, so that readers know a few.
  static std::atomic<uint64_t> numbers[std::size(kMstxDialects)];
  for (size_t i = 0; i < std::size(kMstxDialects); ++i) {
    if (bounded_text(name) != kMstxDialects[i]) continue;
    unset = kUnsetBit;
    number = numbers[i].load(std::memory_order_relaxed);
    if (number != 0) continue;
    const uint64_t fresh = next_number();
    if (numbers[i].compare_exchange_strong(number, fresh, std::memory_order_relaxed)) number = fresh;
  }
  if (number == 0) number = next_number();
  PLAT_NOTE({ write<Op::mstxDomainCreate>(head, {number}, bounded_text(name)); });
  return as_handle<mstxDomainHandle_t>(number << 1 | unset);
}
void domain_destroy(mstxDomainHandle_t domain) {
  PLAT_NOTE({ write<Op::mstxDomainDestroy>(head, {domain_number(domain)}); });
}

// A call that cannot be read at all, as our own broker would tell of it.
void refuse(const EventHead& head, platMstxNoticeCode code, uint64_t value, const char* function) {
  write<Op::mstxNotice>(head, {static_cast<uint64_t>(code), 0, value}, function);
}

// An enumeration of a client in C may hold anything.
template <class Enum>
uint64_t raw(const Enum& value) {
  int32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint64_t>(static_cast<int64_t>(bits));
}

mstxMemHeapHandle_t heap_register(mstxDomainHandle_t domain, const mstxMemHeapDesc_t* desc) {
  const uint64_t heap = next_number();
  bool taken = false;
  PLAT_NOTE({
    if (desc == nullptr || desc->typeSpecificDesc == nullptr) {
      refuse(head, PLAT_MSTX_NOTICE_NULL_ARGUMENT, 0, "mstxMemHeapRegister");
      return;
    }
    const bool unset = leaves_fields_unset(domain);
    const uint64_t usage = unset ? 0 : raw(desc->usage);
    const uint64_t type = unset ? 0 : raw(desc->type);
    taken = true;
    mstxMemVirtualRangeDesc_t range{};
    if (type == MSTX_MEM_TYPE_VIRTUAL_ADDRESS)
      range = *static_cast<const mstxMemVirtualRangeDesc_t*>(desc->typeSpecificDesc);
    write<Op::mstxMemHeapRegister>(
        head, {domain_number(domain), heap, range.deviceId, word(range.ptr), range.size, usage, type});
  });
  return taken ? as_handle<mstxMemHeapHandle_t>(heap) : nullptr;
}
void heap_unregister(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  PLAT_NOTE({ write<Op::mstxMemHeapUnregister>(head, {domain_number(domain), word(heap)}); });
}

void regions_register(mstxDomainHandle_t domain, const mstxMemRegionsRegisterBatch_t* desc) {
  PLAT_NOTE({
    if (desc == nullptr || desc->regionDescArray == nullptr) {
      refuse(head, PLAT_MSTX_NOTICE_NULL_ARGUMENT, 0, "mstxMemRegionsRegister");
      return;
    }
    const bool unset = leaves_fields_unset(domain);
    const uint64_t heap = unset ? 0 : word(desc->heap);
    const uint64_t type = unset ? 0 : raw(desc->regionType);
    mstxMemRegionHandle_t* const out = unset ? nullptr : desc->regionHandleArrayOut;
    const auto* const ranges = static_cast<const mstxMemVirtualRangeDesc_t*>(desc->regionDescArray);
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const uint64_t region = next_number();
      const mstxMemVirtualRangeDesc_t range =
          type == MSTX_MEM_TYPE_VIRTUAL_ADDRESS ? ranges[i] : mstxMemVirtualRangeDesc_t{};
      write<Op::mstxMemRegionsRegister>(
          head, {domain_number(domain), heap, region, range.deviceId, word(range.ptr), range.size, type});
      if (out != nullptr) out[i] = as_handle<mstxMemRegionHandle_t>(region);
    }
  });
}

// A reference as three fields: kind, handle, address.
struct Reference {
  uint64_t type, handle, address;
  explicit Reference(const mstxMemRegionRef_t& ref)
      : type(raw(ref.refType)),
        handle(type == MSTX_MEM_REGION_REF_TYPE_HANDLE ? word(ref.handle) : 0),
        address(type == MSTX_MEM_REGION_REF_TYPE_POINTER ? word(ref.pointer) : 0) {}
};

void regions_unregister(mstxDomainHandle_t domain, const mstxMemRegionsUnregisterBatch_t* desc) {
  PLAT_NOTE({
    if (desc == nullptr || desc->refArray == nullptr) {
      refuse(head, PLAT_MSTX_NOTICE_NULL_ARGUMENT, 0, "mstxMemRegionsUnregister");
      return;
    }
    for (size_t i = 0; i < desc->refCount; ++i) {
      const Reference ref(desc->refArray[i]);
      write<Op::mstxMemRegionsUnregister>(head, {domain_number(domain), ref.type, ref.handle, ref.address});
    }
  });
}
void permissions_assign(mstxDomainHandle_t domain, const mstxMemPermissionsAssignBatch_t* desc) {
  PLAT_NOTE({
    if (desc == nullptr || desc->regionDescArray == nullptr) {
      refuse(head, PLAT_MSTX_NOTICE_NULL_ARGUMENT, 0, "mstxMemPermissionsAssign");
      return;
    }
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const Reference ref(desc->regionDescArray[i].region);
      write<Op::mstxMemPermissionsAssign>(
          head, {domain_number(domain), ref.type, ref.handle, ref.address, desc->regionDescArray[i].flags});
    }
  });
}

// What Plat's broker adds. It checks these before it passes them on.
void heap_name(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap, const char* name) {
  PLAT_NOTE({
    write<Op::platMstxMemHeapName>(head, {domain_number(domain), word(heap)}, bounded_text(name));
  });
}
void heap_reset(mstxDomainHandle_t domain, mstxMemHeapHandle_t heap) {
  PLAT_NOTE({ write<Op::platMstxMemHeapReset>(head, {domain_number(domain), word(heap)}); });
}
void regions_name(mstxDomainHandle_t domain, const platMstxMemRegionsNameBatch_t* desc) {
  PLAT_NOTE({
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const Reference ref(desc->regionNameArray[i].region);
      write<Op::platMstxMemRegionsName>(head, {domain_number(domain), ref.type, ref.handle, ref.address},
                                        bounded_text(desc->regionNameArray[i].name));
    }
  });
}
void regions_resize(mstxDomainHandle_t domain, const platMstxMemRegionsResizeBatch_t* desc) {
  PLAT_NOTE({
    for (size_t i = 0; i < desc->regionCount; ++i) {
      const Reference ref(desc->regionSizeArray[i].region);
      write<Op::platMstxMemRegionsResize>(
          head, {domain_number(domain), ref.type, ref.handle, ref.address, desc->regionSizeArray[i].size});
    }
  });
}
void mark_initialized(mstxDomainHandle_t domain, const platMstxMemInitializedBatch_t* desc) {
  PLAT_NOTE({
    for (size_t i = 0; i < desc->rangeCount; ++i)
      write<Op::platMstxMemMarkInitialized>(head, {domain_number(domain), desc->rangeArray[i].deviceId,
                                                   word(desc->rangeArray[i].ptr), desc->rangeArray[i].size});
  });
}
void replay_begin(const platMstxReplay_t* replay) {
  PLAT_NOTE({ write<Op::mstxReplayBegin>(head, {replay->complete}); });
}
void replay_end(const platMstxReplay_t*) {
  PLAT_NOTE({ write<Op::mstxReplayEnd>(head, {}); });
}
void notice(const platMstxNotice_t* what) {
  PLAT_NOTE({
    write<Op::mstxNotice>(head, {what->code, what->index, what->value}, bounded_text(what->function));
  });
}

// Told by the broker when no call is inside and none will be.
void detach() {
  PLAT_NOTE({ write<Op::mstxDetach>(head, {}); });
  end_late_trace();
}

struct Slot {
  unsigned int id;
  mstxFuncPointer function;
};
template <class Function>
Slot slot(unsigned int id, Function* function) {
  return {id, reinterpret_cast<mstxFuncPointer>(function)};
}

template <size_t Count>
bool fill(mstxGetModuleFuncTableFunc get, mstxFuncModule module, const Slot (&slots)[Count]) {
  mstxFuncTable table = nullptr;
  unsigned int count = 0;
  if (get(module, &table, &count) != MSTX_SUCCESS || table == nullptr) return false;
  for (const Slot& one : slots)
    if (one.id < count && table[one.id] != nullptr) *(table[one.id]) = one.function;
  return true;
}

}  // namespace
}  // namespace plat::inspect

// Called once by the broker, or once by every image that has the header built in.
extern "C" __attribute__((visibility("default"))) int InitInjectionMstx(mstxGetModuleFuncTableFunc get) {
  using namespace plat::inspect;
  if (get == nullptr) return MSTX_FAIL;
  const bool core = fill(get, MSTX_API_MODULE_CORE,
                         {slot(MSTX_API_CORE_MARK_A, mark), slot(MSTX_API_CORE_RANGE_START_A, range_start),
                          slot(MSTX_API_CORE_RANGE_END, range_end)});
  const bool domains = fill(
      get, MSTX_API_MODULE_CORE_DOMAIN,
      {slot(MSTX_API_CORE2_DOMAIN_CREATE_A, domain_create),
       slot(MSTX_API_CORE2_DOMAIN_DESTROY, domain_destroy), slot(MSTX_API_CORE2_DOMAIN_MARK_A, domain_mark),
       slot(MSTX_API_CORE2_DOMAIN_RANGE_START_A, domain_range_start),
       slot(MSTX_API_CORE2_DOMAIN_RANGE_END, domain_range_end)});
  const bool memory = fill(get, MSTX_API_MODULE_CORE_MEM,
                           {slot(MSTX_API_CORE_MEMHEAP_REGISTER, heap_register),
                            slot(MSTX_API_CORE_MEMHEAP_UNREGISTER, heap_unregister),
                            slot(MSTX_API_CORE_MEM_REGIONS_REGISTER, regions_register),
                            slot(MSTX_API_CORE_MEM_REGIONS_UNREGISTER, regions_unregister),
                            slot(MSTX_API_CORE_MEM_PERMISSIONS_ASSIGN, permissions_assign)});
  fill(get, PLAT_MSTX_MODULE,
       {slot(PLAT_MSTX_FUNC_HEAP_NAME, heap_name), slot(PLAT_MSTX_FUNC_HEAP_RESET, heap_reset),
        slot(PLAT_MSTX_FUNC_REGIONS_NAME, regions_name), slot(PLAT_MSTX_FUNC_REGIONS_RESIZE, regions_resize),
        slot(PLAT_MSTX_FUNC_MARK_INITIALIZED, mark_initialized),
        slot(PLAT_MSTX_FUNC_REPLAY_BEGIN, replay_begin), slot(PLAT_MSTX_FUNC_REPLAY_END, replay_end),
        slot(PLAT_MSTX_FUNC_NOTICE, notice), slot(PLAT_MSTX_FUNC_DETACH, detach)});
  return core || domains || memory ? MSTX_SUCCESS : MSTX_FAIL;
}
