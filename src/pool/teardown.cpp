// The end of a pool: everything goes back to the device, live blocks included. What the device refuses is
// asked for twice; the rest is lost to this process, and said.
#include <fmt/format.h>

#include "base/text.h"
#include "pool/address_budget.h"
#include "pool/pool_impl.h"

namespace plat::pool {

namespace {

template <class Call>
bool twice(Call&& call) {
  return call() || call();
}

}  // namespace

void Pool::close_page(void* address, void* page) {
  if (address != nullptr && !twice([&] { return source_->unmap_page(address) == Got::kYes; })) return;
  if (page == nullptr || twice([&] { return source_->destroy_page(page); })) held_bytes_ -= kPageBytes;
}

void Pool::close_space(Space& space) {
  tool_.heap_removed(space.tool_heap);
  if (!source_->has_pages()) {
    if (twice([&] { return source_->destroy_block(space.chunk_base); })) held_bytes_ -= space.chunk_bytes;
    return;
  }
  for (uint64_t page = 0; page < space.bytes / kPageBytes; ++page)
    if (space.pages[page] != nullptr) close_page(space.base + page * kPageBytes, space.pages[page]);
  if (twice([&] { return source_->unreserve(space.base); })) AddressBudget::give(space.bytes);
}

plat_pool_status Pool::close() {
  if (closed_) return PLAT_POOL_OK;
  closed_ = true;
  front.key = UINT64_MAX;
  front.plain = nullptr;
  if (id_ != 0) forget_pool(*this);
  plat_pool_status status = PLAT_POOL_OK;
  for_companions([&](Pool& companion) {
    if (const auto closed = companion.close(); closed != PLAT_POOL_OK) status = closed;
    delete &companion;
  });
  forget_shared();
  for (auto& [zone, saved] : saved_)
    for (const auto& page : saved->pages)
      if (page.handle != nullptr)
        close_page(page.mapped ? zone->page_address(page.index) : nullptr, page.handle);
  for (auto& zone : zones_)
    for (auto& space : zone->spaces())
      if (!space->gone) close_space(*space);
  for (void* page : bank_) close_page(nullptr, page);
  for (const auto& [base, bytes] : refused_chunks_)
    if (twice([&, start = base] { return source_->destroy_block(start); })) held_bytes_ -= bytes;
  if (held_bytes_ == 0) return status;
  return report(PLAT_POOL_DEVICE, fmt::format("pool {}: is gone, but the device did not take {} back: {}",
                                              name_, format_bytes(held_bytes_), source_->error()));
}

Pool::~Pool() { close(); }

}  // namespace plat::pool
