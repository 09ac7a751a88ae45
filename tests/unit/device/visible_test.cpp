// SPDX-License-Identifier: Apache-2.0
// The list of visible devices, item by item, as the vendor's runtime reads it.
#include "device/visible.h"

#include <gtest/gtest.h>

namespace plat::device {
namespace {

using Devices = std::vector<uint32_t>;

Devices seen(std::string_view text) {
  const Visible visible = parse_visible(text, 8);
  EXPECT_EQ(visible.problem, "") << text;
  return visible.devices;
}

TEST(VisibleDevices, TheListEndsAtTheFirstItemThatIsNoDevice) {
  EXPECT_EQ(seen("0,1,2,3,4,5,6,7"), (Devices{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(seen("1, 2,3"), (Devices{1}));
  EXPECT_EQ(seen("1,3,8"), (Devices{1, 3}));
  EXPECT_EQ(seen("1,3,8,2"), (Devices{1, 3}));  // what comes after the end is not looked at
  EXPECT_EQ(seen("2,,3"), (Devices{2}));
  EXPECT_EQ(seen("2,"), (Devices{2}));
  EXPECT_EQ(seen("2,+3"), (Devices{2}));
  EXPECT_EQ(seen("2,-3"), (Devices{2}));
  EXPECT_EQ(seen("2,3x"), (Devices{2}));
  EXPECT_EQ(seen("2,3000000000"), (Devices{2}));
  EXPECT_EQ(seen("007"), (Devices{7}));
}

TEST(VisibleDevices, OnlyTheFirst128CharactersCount) {
  EXPECT_EQ(seen(std::string(127, '0') + "3"), (Devices{3}));
  EXPECT_EQ(seen(std::string(128, '0') + "3"), (Devices{0}));
}

TEST(VisibleDevices, AListThatDoesNotAscendIsNoList) {
  for (const char* text : {"3,1", "1,1", "0,1,2,2", "0,5,4,6", "0,1,2,3,4,5,6,0"}) {
    const Visible visible = parse_visible(text, 8);
    EXPECT_TRUE(visible.devices.empty()) << text;
    EXPECT_NE(visible.problem, "") << text;
  }
  // The list is full before the wrong one comes.
  EXPECT_EQ(parse_visible("0,1,0", 2).devices, (Devices{0, 1}));
}

TEST(VisibleDevices, AListWithoutDevicesIsNoList) {
  for (const char* text : {"", "x", " 1", ",1", "8", "-1", "1"})
    EXPECT_NE(parse_visible(text, 1).problem, "") << text;
}

}  // namespace
}  // namespace plat::device
