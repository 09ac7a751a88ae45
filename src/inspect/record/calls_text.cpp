// SPDX-License-Identifier: Apache-2.0
// Calls whose arguments do not fit the table: keys, which are text, handles that say where memory comes from,
// and host work, which is told when it runs.
#include <new>
#include <string_view>

#include "base/fabric_origin.h"
#include "inspect/record/hook.h"

namespace plat::inspect {
namespace {

std::string_view text_of(const char* text) { return text != nullptr ? text : ""; }

// A call that is written in its own way.
template <Op op, When when, class Call, class Fields>
int observe_text(const void* frame, Call&& call, Fields&& fields) {
  ThreadState& state = t_state;
  if (state.busy != Busy::No || !start()) return call();
  state.busy = Busy::InCall;
  EventHead head{.ticks = ticks()};
  head.result = call();
  if constexpr (when == When::After) head.ticks = ticks();
  {
    const Writing writing(state);
    head.stack = capture_stack(frame);
    fields(head);
  }
  state.busy = Busy::No;
  return head.result;
}

// Host work that was queued: runs the program's function and says first that its turn has come. What the
// function calls is recorded, also when a thread that waits for the stream runs it.
struct HostWork {
  void (*function)(void*);
  void* argument;
  uint64_t number;
};

void run_host_work(void* pointer) {
  const HostWork work = *static_cast<HostWork*>(pointer);
  tell_after(pointer);
  tell_after(&g_work_done);
  delete static_cast<HostWork*>(pointer);
  const Unguarded unguarded;
  if (start()) {
    const Writing writing(t_state);
    write<Op::HostWork>({.ticks = ticks()}, {work.number});
  }
  work.function(work.argument);
  tell_before(&g_work_done);
  if (start()) {
    const Writing writing(t_state);
    write<Op::HostWorkEnd>({.ticks = ticks()}, {work.number});
  }
}

template <Op op, class Call>
int observe_work(const void* frame, void (*function)(void*), void* argument, aclrtStream stream,
                 Call&& call) {
  auto* const work =
      function != nullptr ? new (std::nothrow) HostWork{function, argument, next_number()} : nullptr;
  if (work == nullptr) return call(function, argument);  // the device knows what to say to that
  const uint64_t number = work->number;                  // it may have run before the call returns
  tell_before(work);
  const int result = observe<op, When::Before>(
      frame, [&] { return call(run_host_work, work); },
      [&](int) {
        return std::array<uint64_t, 2>{number, word(stream)};
      });
  if (result != 0) delete work;
  return result;
}

}  // namespace
}  // namespace plat::inspect

using plat::inspect::kNotThere;
using plat::inspect::Next;
using plat::inspect::Op;
using plat::inspect::When;
using plat::inspect::word;
using plat::inspect::write;

extern "C" ACL_FUNC_VISIBILITY aclError aclrtMemImportFromShareableHandleV2(void* shareable,
                                                                            aclrtMemSharedHandleType type,
                                                                            uint64_t flags,
                                                                            aclrtDrvMemHandle* handle) {
  static constinit Next<decltype(&aclrtMemImportFromShareableHandleV2)> next{
      "aclrtMemImportFromShareableHandleV2"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_text<Op::aclrtMemImportFromShareableHandleV2, When::After>(
      __builtin_frame_address(0), [&] { return target(shareable, type, flags, handle); },
      [&](const auto& head) {
        const bool made = head.result == 0 && handle != nullptr;
        if (made && type == ACL_MEM_SHARE_HANDLE_TYPE_FABRIC)
          if (const auto server = plat::server_of_fabric_handle(shareable))
            write<Op::Origin>({.ticks = head.ticks}, {*server});
        write<Op::aclrtMemImportFromShareableHandleV2>(head, {made ? word(*handle) : 0, word(type)});
      });
}

extern "C" ACL_FUNC_VISIBILITY aclError aclrtIpcMemGetExportKey(void* p, size_t n, char* key, size_t len,
                                                                uint64_t flags) {
  static constinit Next<decltype(&aclrtIpcMemGetExportKey)> next{"aclrtIpcMemGetExportKey"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_text<Op::aclrtIpcMemGetExportKey, When::After>(
      __builtin_frame_address(0), [&] { return target(p, n, key, len, flags); },
      [&](const auto& head) {
        write<Op::aclrtIpcMemGetExportKey>(head, {word(p), n},
                                           head.result == 0 ? plat::inspect::text_of(key) : "");
      });
}

extern "C" ACL_FUNC_VISIBILITY aclError aclrtIpcMemImportByKey(void** p, const char* key, uint64_t flags) {
  static constinit Next<decltype(&aclrtIpcMemImportByKey)> next{"aclrtIpcMemImportByKey"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_text<Op::aclrtIpcMemImportByKey, When::After>(
      __builtin_frame_address(0), [&] { return target(p, key, flags); },
      [&](const auto& head) {
        write<Op::aclrtIpcMemImportByKey>(head, {head.result == 0 && p != nullptr ? word(*p) : 0},
                                          plat::inspect::text_of(key));
      });
}

extern "C" ACL_FUNC_VISIBILITY aclError aclrtIpcMemClose(const char* key) {
  static constinit Next<decltype(&aclrtIpcMemClose)> next{"aclrtIpcMemClose"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_text<Op::aclrtIpcMemClose, When::Before>(
      __builtin_frame_address(0), [&] { return target(key); },
      [&](const auto& head) { write<Op::aclrtIpcMemClose>(head, {}, plat::inspect::text_of(key)); });
}

extern "C" ACL_FUNC_VISIBILITY aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn,
                                                            void* args) {
  static constinit Next<decltype(&aclrtLaunchHostFunc)> next{"aclrtLaunchHostFunc"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_work<Op::aclrtLaunchHostFunc>(
      __builtin_frame_address(0), fn, args, stream,
      [&](aclrtHostFunc function, void* argument) { return target(stream, function, argument); });
}

extern "C" ACL_FUNC_VISIBILITY aclError aclrtLaunchCallback(aclrtCallback fn, void* data,
                                                            aclrtCallbackBlockType block,
                                                            aclrtStream stream) {
  static constinit Next<decltype(&aclrtLaunchCallback)> next{"aclrtLaunchCallback"};
  const auto target = next.get();
  if (target == nullptr) return kNotThere;
  return plat::inspect::observe_work<Op::aclrtLaunchCallback>(
      __builtin_frame_address(0), fn, data, stream,
      [&](aclrtCallback function, void* argument) { return target(function, argument, block, stream); });
}
