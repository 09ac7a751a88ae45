// SPDX-License-Identifier: Apache-2.0
#include "acl/runtime.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "os/memory.h"
#include "vmm/fault.h"

namespace plat::acl {

namespace detail {

std::atomic<Runtime*> current{nullptr};

namespace {
constinit const std::atomic<uint32_t> kNoRuntimeYet{1};
}

constinit std::atomic<const std::atomic<uint32_t>*> own_process{&kNoRuntimeYet};

}  // namespace detail

using detail::current;
using detail::own_process;

namespace {

bool has_left_parent = false;  // in a child: what it inherited is given up

void leave_parent() {
  Runtime* inherited = current.load(std::memory_order_acquire);
  inherited->node.abandon_in_child();
  inherited->vmm.abandon_in_child();
  has_left_parent = true;
}

// The kernel clears the mark in every child, also in those of _Fork and clone, for which no handler runs.
std::atomic<uint32_t>* make_mark() {
  std::byte* page = os::map_wiped_in_child(sizeof(std::atomic<uint32_t>));
  return page != nullptr ? new (page) std::atomic<uint32_t>(1) : new std::atomic<uint32_t>(1);
}

std::atomic<uint32_t>* mark = nullptr;  // what own_process points to; where the kernel clears nothing we do

std::mutex* creation = new std::mutex;  // replaced in a child: another thread of the parent may have held it

void after_fork_in_child() {
  if (current.load(std::memory_order_acquire) == nullptr) return;
  leave_parent();
  mark->store(0, std::memory_order_release);
}

// A fault plan that waits for a call which is not there would wait for ever.
device::Config checked(device::Config config) {
  Dl_info own{};
  dladdr(reinterpret_cast<const void*>(&restart_in_child), &own);
  void* library = own.dli_fname != nullptr ? dlopen(own.dli_fname, RTLD_NOLOAD | RTLD_LAZY) : nullptr;
  if (library == nullptr) return config;
  for (const fault::Clause& clause : config.faults)
    for (const std::string& call : clause.calls)
      if (!call.ends_with('*') && dlsym(library, call.c_str()) == nullptr)
        config.complaints.push_back(fmt::format("PLAT_FAULT={}: there is no call {}", clause.text, call));
  dlclose(library);
  return config;
}

}  // namespace

Runtime::Runtime()
    : node(checked(device::read_config())),
      streams(stream::read_setting()),
      vmm(node),
      ipc(vmm),
      heap(vmm),
      locator(heap, hosts),
      mover(heap, hosts, locator),
      segments(heap, hosts),
      copies(mover, locator, segments),
      pools(heap) {
  pools.set_free_block(
      [this](Va start, memory::Family by, const char* how) { return free_block(start, by, how); });
  heap.set_reclaim([this](uint32_t bank) { return pools.reclaim(bank, streams); });
  vmm::explain_host_faults(vmm);
}

Result<> Runtime::free_block(Va start, memory::Family by, const char* how) {
  return ipc.free_block(start, [&](share::Importers importers) -> Result<> {
    if (importers == share::Importers::Some) heap.retire(start);
    return heap.free(start, by, how);
  });
}

Runtime& detail::make_runtime() {
  const std::lock_guard lock(*creation);
  if (Runtime* made = current.load(std::memory_order_acquire)) return *made;
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
  (void)registered;
  auto* made = new Runtime;
  mark = make_mark();
  own_process.store(mark, std::memory_order_release);
  current.store(made, std::memory_order_release);
  return *made;
}

void restart_in_child() {
  if (!has_left_parent) leave_parent();
  has_left_parent = false;
  creation = new std::mutex;
  // The old state stays where it is: its locks may be held by threads that do not exist here.
  current.store(nullptr, std::memory_order_release);
  own_process.store(&detail::kNoRuntimeYet, std::memory_order_release);
}

}  // namespace plat::acl
