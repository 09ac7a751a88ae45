// SPDX-License-Identifier: Apache-2.0
#include "visit.h"

#include <pthread.h>

#include <atomic>

namespace plat::acl_python {

namespace {

std::atomic<uint32_t> g_inside{0};
std::atomic<bool> g_over{false};

void await_visits() {
  g_over.store(true);
  const WithoutGil guard;
  for (uint32_t left = g_inside.load(); left != 0; left = g_inside.load()) g_inside.wait(left);
}

}  // namespace

Visit::Visit() {
  g_inside.fetch_add(1);
  welcome_ = !g_over.load();
}

Visit::~Visit() {
  g_inside.fetch_sub(1);
  g_inside.notify_all();
}

void Visit::expect() {
  py::module_::import("atexit").attr("register")(py::cpp_function(await_visits));
  pthread_atfork(nullptr, nullptr, [] { g_inside.store(0); });  // a child has none of these threads
}

}  // namespace plat::acl_python
