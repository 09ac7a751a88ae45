// SPDX-License-Identifier: Apache-2.0
// The orders and barriers of a protocol, each by a name, so that a test can make them weaker one at a time:
// the protocol as it is written must hold, and with any one of them weaker it must not.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "model/explorer.h"

namespace plat::model {

class Orders {
 public:
  Order load(const char* name, Order written) { return pick(name, written, Order::acquire); }
  Order store(const char* name, Order written) { return pick(name, written, Order::release); }
  Order change(const char* name, Order written) { return pick(name, written, Order::acq_rel); }
  // Something that is there or is not.
  bool has(const char* name) {
    note({name, Order::relaxed});
    return weak_.name != name;
  }

  struct Weaker {
    std::string name;
    Order order = Order::relaxed;
    bool operator==(const Weaker&) const = default;
  };
  // All that were asked for, each with what may stand in its place.
  std::vector<Weaker> weaker;
  void weaken(const Weaker& which) { weak_ = which; }

 private:
  void note(const Weaker& which) {
    for (const Weaker& known : weaker)
      if (known == which) return;
    weaker.push_back(which);
  }
  Order pick(const char* name, Order written, Order below_seq_cst) {
    if (written == Order::seq_cst) {
      note({name, below_seq_cst});
    } else if (written == Order::acq_rel) {
      note({name, Order::acquire});
      note({name, Order::release});
    } else if (written != Order::relaxed) {
      note({name, Order::relaxed});
    }
    return weak_.name == name ? weak_.order : written;
  }

  Weaker weak_;
};

using Protocol = std::function<std::vector<Program>(Orders&)>;

// A protocol in several scenes holds in all of them as it is written, and each weaker order shows in one.
inline void expect_needs_all_its_orders(const std::vector<Protocol>& scenes) {
  Orders written;
  uint64_t states = 0;
  for (const Protocol& scene : scenes) {
    const Outcome holds = explore([&] { return scene(written); });
    EXPECT_EQ(holds.violation, "");
    states += holds.states;
  }
  ::testing::Test::RecordProperty("states", static_cast<int>(states));
  EXPECT_FALSE(written.weaker.empty());
  const char* const names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
  for (const Orders::Weaker& which : written.weaker) {
    bool shows = false;
    states = 0;
    for (size_t i = 0; i < scenes.size() && !shows; ++i) {
      Orders weak;
      weak.weaken(which);
      const Outcome outcome = explore([&] { return scenes[i](weak); });
      shows = !outcome.violation.empty();
      states += outcome.states;
    }
    EXPECT_TRUE(shows) << "'" << which.name << "' could be " << names[static_cast<int>(which.order)]
                       << " or be left out; looked at " << states << " states";
  }
}

inline void expect_needs_all_its_orders(const Protocol& protocol) {
  expect_needs_all_its_orders(std::vector<Protocol>{protocol});
}

}  // namespace plat::model
