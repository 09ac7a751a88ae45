// SPDX-License-Identifier: Apache-2.0
// Decorator: a pool around a pool that passes everything on; each of the others changes one thing.
#pragma once

#include <vector>

#include "pool/resource.h"

namespace plat::pool {

class Decorator : public plat_pool {
 public:
  explicit Decorator(plat_pool* upstream) : upstream_(upstream) {}
  plat_pool_status allocate_otherwise(const Request& request, void** address) override {
    return upstream_->allocate(request, address);
  }
  plat_pool_status release_otherwise(void* address, plat_stream stream) override {
    return upstream_->release(address, stream);
  }
  plat_pool_status use_on(void* address, plat_stream stream) override {
    return upstream_->use_on(address, stream);
  }
  plat_pool_status forget_stream(plat_stream stream) override { return upstream_->forget_stream(stream); }
  plat_pool_status resize(void* address, uint64_t bytes) override {
    return upstream_->resize(address, bytes);
  }
  plat_pool_status usable(const void* address, uint64_t* bytes, uint64_t* with_tail) override {
    return upstream_->usable(address, bytes, with_tail);
  }
  plat_pool_status stats(plat_pool_stats* stats) override { return upstream_->stats(stats); }
  plat_pool_status tag_bytes(uint16_t tag, uint64_t* used, uint64_t* reserved) override {
    return upstream_->tag_bytes(tag, used, reserved);
  }
  plat_pool_status reset_peaks() override { return upstream_->reset_peaks(); }
  plat_pool_status set_limits(uint64_t limit_bytes, uint64_t host_limit_bytes) override {
    return upstream_->set_limits(limit_bytes, host_limit_bytes);
  }
  plat_pool_status owner(const void* address, plat_pool_block* block) override {
    return upstream_->owner(address, block);
  }
  plat_pool_status list(std::vector<plat_pool_block>& blocks) override { return upstream_->list(blocks); }
  plat_pool_status held(std::vector<HeldRange>& ranges) override { return upstream_->held(ranges); }
  plat_pool_status trim(uint64_t keep_bytes) override { return upstream_->trim(keep_bytes); }
  plat_pool_status reset() override { return upstream_->reset(); }
  uint64_t resets() const override { return upstream_->resets(); }
  plat_pool_status set_oom_callback(plat_pool_oom_callback callback, void* user) override {
    return upstream_->set_oom_callback(callback, user);
  }
  plat_pool_status flush_thread() override { return upstream_->flush_thread(); }
  plat_pool_status sleep(uint16_t tag, bool save) override { return upstream_->sleep(tag, save); }
  plat_pool_status wake(uint16_t tag) override { return upstream_->wake(tag); }
  bool on_host(const void* address) override { return upstream_->on_host(address); }
  plat_pool_status name_block(void* address, const char* name) override {
    return upstream_->name_block(address, name);
  }
  plat_pool* base() override { return upstream_->base(); }

 protected:
  plat_pool* const upstream_;
};

}  // namespace plat::pool
