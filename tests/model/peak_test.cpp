// SPDX-License-Identifier: Apache-2.0
// The peak of a pool: src/pool/zones.h and zones.cpp in small. The large zone grows without a look up to the
// limit that it was told; zones beside it always look. The programs are written from these; whoever changes
// one changes the other.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "model/orders.h"

namespace plat::model {
namespace {

constexpr Order kRelaxed = Order::relaxed;

struct Zones {
  Atomic large{4};
  Atomic small{2}, tags{0};  // beside it
  Atomic peak{6};
  Atomic limit{4};  // peak_from_granules of the large zone
  Atomic ended{0};
  uint64_t programs;

  explicit Zones(uint64_t how_many) : programs(how_many) {}
  uint64_t beside() const { return small.load(kRelaxed) + tags.load(kRelaxed); }

  void look(Orders& orders, bool is_large) {
    if (orders.has("the growth before the look")) fence(Order::seq_cst);
    const uint64_t others = beside();
    const uint64_t used = large.load(kRelaxed) + others;
    uint64_t known = peak.load(kRelaxed);
    while (used > known && !peak.compare_exchange(known, used, kRelaxed)) {
    }
    known = std::max(used, known);
    if (!is_large && known - others >= limit.load(kRelaxed)) return;
    limit.store(known - others, kRelaxed);
    if (orders.has("the limit before the second look")) fence(Order::seq_cst);
    const bool grew = orders.has("who grew meanwhile") && beside() > others;
    const bool begun = orders.has("whether the peak begins anew") && peak.load(kRelaxed) < known;
    if (grew || begun) limit.store(0, kRelaxed);
  }
  void grow_large(Orders& orders) {
    const uint64_t now = large.load(kRelaxed) + 1;
    large.store(now, kRelaxed);
    if (now > limit.load(kRelaxed)) look(orders, true);
    end();
  }
  void grow_beside(Orders& orders, Atomic& zone) {
    zone.store(zone.load(kRelaxed) + 1, kRelaxed);
    look(orders, false);
    end();
  }
  void begin_anew(Orders& orders) {
    peak.store(large.load(kRelaxed) + beside(), kRelaxed);
    if (orders.has("the peak before the limit")) fence(Order::seq_cst);
    limit.store(0, kRelaxed);
    end();
  }
  void end() {
    if (ended.fetch_add(1, Order::acq_rel) + 1 < programs) return;
    const uint64_t most = limit.load(kRelaxed);
    expect(most == 0 || most + beside() <= peak.load(kRelaxed),
           "the large zone passes the peak without a look");
  }
};

std::vector<Program> one_beside(Orders& orders) {
  auto w = std::make_shared<Zones>(2);
  return {[w, &orders] { w->grow_large(orders); }, [w, &orders] { w->grow_beside(orders, w->small); }};
}

std::vector<Program> two_beside(Orders& orders) {
  auto w = std::make_shared<Zones>(2);
  return {[w, &orders] { w->grow_beside(orders, w->small); },
          [w, &orders] { w->grow_beside(orders, w->tags); }};
}

std::vector<Program> anew(Orders& orders) {
  auto w = std::make_shared<Zones>(2);
  w->peak = Atomic{10};
  w->limit = Atomic{0};
  return {[w, &orders] { w->grow_large(orders); }, [w, &orders] { w->begin_anew(orders); }};
}

TEST(Model, PeakOfAPool) { expect_needs_all_its_orders({one_beside, two_beside, anew}); }

}  // namespace
}  // namespace plat::model
