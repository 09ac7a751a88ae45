// SPDX-License-Identifier: Apache-2.0
// Functions of Python that are told of tasks that fail, and what they can ask.

#include <map>
#include <optional>

#include "groups.h"
#include "slots.h"
#include "values.h"

namespace plat::acl_python {

namespace {

// What functions are being told of just now, and how many: afterwards the address means nothing.
std::map<uint64_t, size_t>& told() {
  static auto& made = *new std::map<uint64_t, size_t>();
  return made;
}

void tell(const py::object& function, aclrtExceptionInfo* info) {
  const uint64_t number = to_python(info);
  ++told()[number];
  guarded(function, [&] { function(number); });
  if (--told()[number] == 0) told().erase(number);
}

struct Failure {
  using Function = aclrtExceptionInfoCallback;
  static void call(const Registered& entry, aclrtExceptionInfo* info) { tell(entry.function, info); }
};

// The one that is replaced.
py::object& single() {
  static auto& made = *new py::object();
  return made;
}

void tell_single(aclrtExceptionInfo* info) {
  const Visit visit;
  if (!visit.is_welcome()) return;
  const py::gil_scoped_acquire lock;
  if (const py::object function = single()) tell(function, info);
}

int tell_one(const std::optional<py::function>& function) {
  py::object before = std::exchange(single(), function ? py::object(*function) : py::object());
  const int ret = unlocked([&] { return aclrtSetExceptionInfoCallback(function ? tell_single : nullptr); });
  if (ret != ACL_SUCCESS) std::swap(single(), before);
  return ret;
}

int tell_also(const py::function& function) {
  const size_t known = Slots<Failure>::find(0, function);
  const size_t slot = known < kSlots ? known : Slots<Failure>::put({0, function, py::none()});
  const auto in_c = Slots<Failure>::function_of(slot);
  const int ret = unlocked([&] { return aclrtExceptionInfoCallbackRegister(in_c); });
  if (ret != ACL_SUCCESS && known == kSlots) Slots<Failure>::take(slot);
  return ret;
}

int tell_no_more(const py::function& function) {
  const size_t slot = Slots<Failure>::find(0, function);
  const auto in_c = Slots<Failure>::function_of(slot);
  const int ret = unlocked([&] { return aclrtExceptionInfoCallbackUnregister(in_c); });
  if (ret == ACL_SUCCESS) Slots<Failure>::take(slot);
  return ret;
}

template <uint32_t (*Call)(const aclrtExceptionInfo*)>
uint32_t ask(uint64_t info) {
  if (info != 0 && !told().contains(info))
    throw py::value_error(
        std::to_string(info) +
        " is no exception info; one means something while the function runs that was told of it");
  return Call(to_c<const aclrtExceptionInfo*>(info));
}

}  // namespace

void add_exception(Group& rt) {
  const auto callback = "callback"_a, info = "exception_info"_a;
  rt.def(
      "set_exception_info_callback", tell_one, callback,
      "callback(exception_info) is told of each task that fails, in the thread that ran it; it must not call "
      "the device. None takes it away.");
  rt.def("exception_info_callback_register", tell_also, callback, "The same for many functions, each once.");
  rt.def("exception_info_callback_unregister", tell_no_more, callback,
         "Undoes exception_info_callback_register; a function that is not there is fine.");
  rt.def("get_task_id_from_exception_info", ask<aclrtGetTaskIdFromExceptionInfo>, info,
         "Which task of its stream failed, counted from 1.");
  rt.def("get_stream_id_from_exception_info", ask<aclrtGetStreamIdFromExceptionInfo>, info,
         "The number of its stream, as stream_get_id tells it.");
  rt.def("get_thread_id_from_exception_info", ask<aclrtGetThreadIdFromExceptionInfo>, info,
         "The system's number of the thread that ran it.");
  rt.def("get_device_id_from_exception_info", ask<aclrtGetDeviceIdFromExceptionInfo>, info,
         "The id of its device.");
  rt.def("get_error_code_from_exception_info", ask<aclrtGetErrorCodeFromExceptionInfo>, info,
         "The code that whoever waits for the task gets.");
}

}  // namespace plat::acl_python
