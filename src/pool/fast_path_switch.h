// SPDX-License-Identifier: Apache-2.0
// FastPathSwitch: opens and closes the short ways of a pool. They are for small blocks of the thread's cache
// (FastPath) and for large ones out of memory that is there, and they are closed while anything is out of the
// ordinary: a tool listens, several streams use a block, the memory sleeps, or ThreadSanitizer is in the
// program.
#pragma once

#include <atomic>
#include <mutex>

#include "pool/caches.h"
#include "pool/fast_path.h"
#include "pool/reporting.h"

namespace plat::pool {

class FastPathSwitch {
 public:
  FastPathSwitch(Pool& pool, FastPath& path, const plat_pool_options& options, uint32_t tail,
                 Reporting& reporting, Uses& uses, Zones& zones, Caches& caches);

  // Something has changed that decides on it.
  void refresh();
  void close();
  // The first space of the small zone, where the fast path looks for small blocks, and the longest of the
  // large one, where most large blocks are.
  void space_added(Space& space);
  Space* home() const { return home_.load(std::memory_order_acquire); }
  const FastPath& path() const { return path_; }
  // Asked under the lock of a zone, it knows whether a tool was told of any of its addresses: they came, and
  // the path was closed, under the same lock.
  bool is_open_for_large() const { return path_.large.load(std::memory_order_relaxed) != nullptr; }

 private:
  Pool& pool_;
  FastPath& path_;
  const plat_pool_options& options_;
  Reporting& reporting_;
  Uses& uses_;
  Zones& zones_;
  Caches& caches_;
  std::mutex mutex_;  // who looks and who opens or closes is one; taken last
  std::atomic<Space*> home_{nullptr};
};

}  // namespace plat::pool
