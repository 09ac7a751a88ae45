#include "acl/runtime.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "vmm/fault.h"

namespace plat::acl {

namespace detail {

std::atomic<Runtime*> current{nullptr};
std::atomic<bool> stale_child{false};

}  // namespace detail

using detail::current;
using detail::stale_child;

namespace {

std::mutex* creation = new std::mutex;  // replaced in a child: another thread of the parent may have held it

void after_fork_in_child() {
  Runtime* inherited = current.load(std::memory_order_acquire);
  if (inherited == nullptr) return;
  inherited->node.abandon_in_child();
  inherited->vmm.abandon_in_child();
  stale_child.store(true, std::memory_order_release);
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
      vmm(node),
      ipc(vmm),
      heap(vmm),
      locator(heap, hosts),
      mover(heap, locator),
      segments(heap, hosts),
      copies(mover, locator, segments),
      pools(heap) {
  pools.set_free_block(
      [this](Va start, memory::Family by, const char* how) { return free_block(start, by, how); });
  heap.set_reclaim([this](uint32_t bank) { return pools.reclaim(bank, stream::Runtime::instance()); });
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
  current.store(made, std::memory_order_release);
  return *made;
}

void restart_in_child() {
  creation = new std::mutex;
  // The old state stays where it is: its locks may be held by threads that do not exist here.
  current.store(nullptr, std::memory_order_release);
  stale_child.store(false, std::memory_order_release);
}

}  // namespace plat::acl
