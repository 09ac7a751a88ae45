#include "acl/runtime.h"

#include <pthread.h>

#include <atomic>
#include <mutex>

#include "vmm/fault.h"

namespace plat::acl {

namespace {

std::atomic<Runtime*> current{nullptr};
std::atomic<bool> stale_child{false};
std::mutex* creation = new std::mutex;  // replaced in a child: another thread of the parent may have held it

void after_fork_in_child() {
  Runtime* inherited = current.load(std::memory_order_acquire);
  if (inherited == nullptr) return;
  inherited->node.abandon_in_child();
  stale_child.store(true, std::memory_order_release);
}

}  // namespace

Runtime::Runtime()
    : node(device::read_config()),
      vmm(node),
      ipc(vmm),
      heap(vmm),
      locator(heap, hosts),
      mover(heap, locator),
      copies(mover, locator),
      pools(heap) {
  heap.set_reclaim([this](uint32_t bank) { return pools.reclaim(bank, stream::Runtime::instance()); });
  vmm::explain_host_faults(vmm);
}

Runtime& runtime() {
  if (Runtime* made = current.load(std::memory_order_acquire)) [[likely]]
    return *made;
  const std::lock_guard lock(*creation);
  if (Runtime* made = current.load(std::memory_order_acquire)) return *made;
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
  (void)registered;
  auto* made = new Runtime;
  current.store(made, std::memory_order_release);
  return *made;
}

bool is_stale_child() { return stale_child.load(std::memory_order_acquire); }

void restart_in_child() {
  creation = new std::mutex;
  // The old state stays where it is: its locks may be held by threads that do not exist here.
  current.store(nullptr, std::memory_order_release);
  stale_child.store(false, std::memory_order_release);
}

}  // namespace plat::acl
