// SPDX-License-Identifier: Apache-2.0
// Functions of Python that are told when devices and streams come and go, each by a name.

#include <map>

#include "groups.h"
#include "values.h"
#include "visit.h"

namespace plat::acl_python {

namespace {

struct Named {
  std::string name;
  py::object function;
  py::object data;
};

// What is registered, by a number that the library carries: one that was taken away meanwhile is called no
// more. Looked at with the interpreter's lock.
std::map<uint64_t, Named>& registered() {
  static auto& made = *new std::map<uint64_t, Named>();
  return made;
}
uint64_t g_last = 0;

// `call(function, data)` with what stands behind the number.
template <class Call>
void visit(void* number, Call&& call) {
  const Visit visit;
  if (!visit.is_welcome()) return;
  const py::gil_scoped_acquire lock;
  const auto found = registered().find(to_python(number));
  if (found == registered().end()) return;
  const Named entry = found->second;
  call(entry.function, entry.data);
}

struct DeviceState {
  static constexpr auto set = aclrtRegDeviceStateCallback;
  static void call(int32_t device, aclrtDeviceState state, void* number) {
    visit(number, [&](const py::object& function, const py::object& data) {
      guarded(function, [&] { function(device, static_cast<int>(state), data); });
    });
  }
};

struct StreamState {
  static constexpr auto set = aclrtRegStreamStateCallback;
  static void call(aclrtStream stream, aclrtStreamState state, void* number) {
    visit(number, [&](const py::object& function, const py::object& data) {
      guarded(function, [&] { function(to_python(stream), static_cast<int>(state), data); });
    });
  }
};

struct TaskAbort {
  static constexpr auto set = aclrtSetDeviceTaskAbortCallback;
  static int32_t call(int32_t device, aclrtDeviceTaskAbortStage stage, uint32_t timeout, void* number) {
    int32_t code = ACL_SUCCESS;
    visit(number, [&](const py::object& function, const py::object& data) {
      code = code_of(function, device, static_cast<int>(stage), timeout, data);
    });
    return code;
  }
};

// The same name may stand for one function of each kind.
template <class Kind>
std::map<std::string, uint64_t>& numbers() {
  static auto& made = *new std::map<std::string, uint64_t>();
  return made;
}

template <class Kind>
int take_away(const std::string& name) {
  const int ret = unlocked([&] { return Kind::set(name.c_str(), nullptr, nullptr); });
  if (ret != ACL_SUCCESS) return ret;
  const auto found = numbers<Kind>().find(name);
  if (found == numbers<Kind>().end()) return ret;
  const Named gone = std::move(registered()[found->second]);
  registered().erase(found->second);
  numbers<Kind>().erase(found);
  return ret;
}

template <class Kind>
int set(const std::string& text, const std::optional<py::function>& function, const py::object& data) {
  const std::string name = text_of(text, "reg_name");
  if (!function) return take_away<Kind>(name);
  const uint64_t number = ++g_last;
  registered().emplace(number, Named{name, *function, data});
  const int ret = unlocked([&] { return Kind::set(name.c_str(), Kind::call, to_c<void*>(number)); });
  if (ret == ACL_SUCCESS)
    numbers<Kind>()[name] = number;
  else
    registered().erase(number);
  return ret;
}

}  // namespace

void add_state_callbacks(Group& rt) {
  const auto name = "reg_name"_a, callback = "callback"_a, args = "args"_a;
  rt.def("reg_device_state_callback", set<DeviceState>, name, callback, args,
         "callback(device_id, state, args) is told before and after each set_device and reset_device that "
         "succeeds, with ACL_RT_DEVICE_STATE_*; None takes the one of that name away.");
  rt.def("reg_stream_state_callback", set<StreamState>, name, callback, args,
         "callback(stream, state, args) is told after each stream is made and before it goes, with "
         "ACL_RT_STREAM_STATE_*; None takes the one of that name away.");
  rt.def(
      "set_device_task_abort_callback", set<TaskAbort>, name, callback, args,
      "callback(device_id, stage, timeout, args) is told before and after device_task_abort; another result "
      "than 0 or None ends that call. None takes the one of that name away.");
}

}  // namespace plat::acl_python
