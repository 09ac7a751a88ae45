// SPDX-License-Identifier: Apache-2.0
#include "acl/call_gate.h"

#include <string_view>

#include "os/barrier.h"
#include "os/never_destroyed.h"

namespace plat::acl {

namespace {

constexpr std::chrono::microseconds kLookAgain{100};

os::NeverDestroyed<CallGate> g_gate;

}  // namespace

bool goes_on_while_locked(const char* function) {
  const std::string_view name(function);
  const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
  if (name.empty() || has("SnapShot") || has("ProcessReport") || has("AppLog")) return true;
  // These hand something out that lives on.
  if (has("ExportKey") || has("IpcGetEventHandle")) return false;
  return has("Get") || has("Query") || has("Peek") || has("CanAccess") || has("CheckMemType");
}

CallGate& CallGate::instance() { return g_gate.get(); }

void CallGate::reset() {
  g_gate.renew();
  closed_.store(false, std::memory_order_relaxed);
}

void CallGate::pass(const report::CallScope& scope, const char* function) {
  if (scope.is_nested() || goes_on_while_locked(function)) return;
  // Announced again after each wait, and then it looks again: the gate may have been closed meanwhile.
  while (is_closed()) {
    const report::CallScope waiting("");
    std::unique_lock lock(mutex_);
    if (owner_ == std::this_thread::get_id()) return;
    opened_.wait(lock, [] { return !is_closed(); });
  }
}

bool CallGate::can_close() {
#if defined(__SANITIZE_THREAD__)
  return true;
#else
  return os::has_process_barrier();
#endif
}

bool CallGate::close(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& settle) {
  {
    const std::lock_guard lock(mutex_);
    owner_ = std::this_thread::get_id();
    closed_.store(true, std::memory_order_seq_cst);
  }
#if defined(__SANITIZE_THREAD__)
  const bool told = true;  // each call has a barrier of its own
#else
  const bool told = os::process_barrier();
#endif
  const auto is_quiet = [] {
    return !device::CallPlaces::any_other(
        [](const char* function) { return !goes_on_while_locked(function); });
  };
  // Once no thread is inside, nothing new comes; what was given until then is settled after that.
  while (told && settle()) {
    if (is_quiet()) {
      if (settle()) return true;
      break;
    }
    if (std::chrono::steady_clock::now() >= deadline) break;
    std::this_thread::sleep_for(kLookAgain);
  }
  open();
  return false;
}

void CallGate::open() {
  {
    const std::lock_guard lock(mutex_);
    owner_ = {};
    closed_.store(false, std::memory_order_seq_cst);
  }
  opened_.notify_all();
}

}  // namespace plat::acl
