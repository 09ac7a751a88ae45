#include "core/address_table.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace plat::core {
namespace {

TEST(AddressTable, AgreesWithAMap) {
  std::mt19937 random(1);
  AddressTable table;
  std::unordered_map<uint32_t, uint32_t> model;
  for (int i = 0; i < 200000; ++i) {
    const uint32_t key = random() % 3000 * 64;
    const auto found = model.find(key);
    ASSERT_EQ(table.find(key), found == model.end() ? AddressTable::kNone : found->second);
    if (found == model.end()) {
      table.insert(key, static_cast<uint32_t>(i));
      model[key] = static_cast<uint32_t>(i);
    } else {
      ASSERT_EQ(table.remove(key), found->second);
      model.erase(found);
    }
    ASSERT_EQ(table.count(), model.size());
  }
}

TEST(AddressTable, FindsNothingWhenEmpty) {
  AddressTable table;
  EXPECT_EQ(table.find(5), AddressTable::kNone);
  EXPECT_EQ(table.remove(5), AddressTable::kNone);
}

}  // namespace
}  // namespace plat::core
