// SPDX-License-Identifier: Apache-2.0
// Functions of Python that are called when ACL starts and ends.

#include "groups.h"
#include "slots.h"

namespace plat::acl_python {

namespace {

struct Init {
  using Function = aclInitCallbackFunc;
  static aclError call(const Registered& entry, const char* config, size_t length, void*) {
    return code_of(entry.function, py::str(config, length), entry.data);
  }
};

struct Finalize {
  using Function = aclFinalizeCallbackFunc;
  static aclError call(const Registered& entry, void*) { return code_of(entry.function, entry.data); }
};

template <class Kind, auto Register>
int add(int32_t type, const py::function& function, const py::object& data) {
  const size_t slot = Slots<Kind>::put({type, function, data});
  const auto in_c = Slots<Kind>::function_of(slot);
  const int ret =
      unlocked([&] { return Register(static_cast<aclRegisterCallbackType>(type), in_c, nullptr); });
  if (ret != ACL_SUCCESS) Slots<Kind>::take(slot);
  return ret;
}

template <class Kind, auto Unregister>
int remove(int32_t type, const py::function& function) {
  const size_t slot = Slots<Kind>::find(type, function);
  const auto in_c = Slots<Kind>::function_of(slot);
  const int ret = unlocked([&] { return Unregister(static_cast<aclRegisterCallbackType>(type), in_c); });
  if (ret == ACL_SUCCESS) Slots<Kind>::take(slot);
  return ret;
}

}  // namespace

void add_start_callbacks(Group& acl) {
  const auto type = "type"_a, function = "func"_a, data = "user_data"_a;
  acl.def(
      "init_callback_register", add<Init, aclInitCallbackRegister>, type, function, data,
      "func(config, user_data) is called inside of the first init with the content of its file; another "
      "result than 0 or None ends init with it. After init it is called at once. type is ACL_REG_TYPE_*.");
  acl.def("init_callback_un_register", remove<Init, aclInitCallbackUnRegister>, type, function,
          "Forgets a function of init_callback_register; 500000 if there is none.");
  acl.def("finalize_callback_register", add<Finalize, aclFinalizeCallbackRegister>, type, function, data,
          "func(user_data) is called inside of finalize, before anything ends; another result than 0 or None "
          "ends the call with it.");
  acl.def("finalize_callback_un_register", remove<Finalize, aclFinalizeCallbackUnRegister>, type, function,
          "Forgets a function of finalize_callback_register; 500000 if there is none.");
}

}  // namespace plat::acl_python
