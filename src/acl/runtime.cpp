// SPDX-License-Identifier: Apache-2.0
#include "acl/runtime.h"

#include <dlfcn.h>
#include <pthread.h>

#include <atomic>
#include <mutex>

#include "acl/call_gate.h"
#include "device/report.h"
#include "fabric/servers.h"
#include "os/memory.h"
#include "os/process.h"
#include "os/thread_sanitizer.h"
#include "vmm/host_access.h"

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
  inherited->remote_memory->abandon_in_child();
  inherited->streams.boards().abandon_in_child();
  inherited->managed.abandon_in_child();
  device::CallPlaces::forget_others();
  CallGate::reset();
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

namespace {

// In the handler of a fault.
std::optional<vmm::FreedBlock> find_freed(Va va) {
  Runtime* runtime = current.load(std::memory_order_acquire);
  if (runtime == nullptr) return std::nullopt;
  if (!runtime->hosts.is_page_locked(va)) return runtime->heap.history().freed_at(va);
  auto freed = runtime->hosts.history().freed_at(va);
  if (freed) freed->is_page_locked = true;
  return freed;
}

}  // namespace

Runtime::Runtime()
    : node(checked(device::read_config())),
      limits(node.config()),
      streams(stream::read_setting()),
      vmm(node),
      ipc(vmm),
      remote_memory(std::make_unique<fabric::Servers>(node.config())),
      heap(vmm, ipc),
      managed(vmm),
      locator(heap, hosts),
      mover(heap, hosts, locator),
      segments(heap, hosts),
      copies(mover, locator, segments),
      pools(heap) {
  streams.on_stream_state([this](stream::StreamId id, stream::Streams::StreamState state) {
    const auto told = state == stream::Streams::StreamState::Made ? ACL_RT_STREAM_STATE_CREATE_POST
                                                                  : ACL_RT_STREAM_STATE_DESTROY_PRE;
    for (const auto& callback : stream_callbacks.all()) {
      const os::tsan::Watched watched;
      callback.function(handle_of(id), told, callback.argument);
    }
  });
  streams.on_task_failure([this](const stream::StreamTraits& stream, stream::Position task,
                                 const Error& error) {
    exception_callbacks.tell({static_cast<uint32_t>(task), stream::Streams::number_of(stream.id),
                              static_cast<uint32_t>(os::thread_id()),
                              static_cast<uint32_t>(node.logical_id(static_cast<uint32_t>(stream.device))),
                              static_cast<uint32_t>(rules::get(error.rule).code(report::generation()))});
  });
  vmm::explain_host_faults(vmm, find_freed);
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
