#include "base/text.h"

#include <gtest/gtest.h>

namespace plat {
namespace {

TEST(FormatBytes, UsesTheLargestUnitThatFits) {
  EXPECT_EQ(format_bytes(0), "0 bytes");
  EXPECT_EQ(format_bytes(1023), "1023 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(2097152), "2 MiB");
  EXPECT_EQ(format_bytes(UINT64_MAX), "16 EiB");
}

TEST(ParseBytes, ReadsUnitsInAnyCase) {
  EXPECT_EQ(parse_bytes("64GiB"), 64ull << 30);
  EXPECT_EQ(parse_bytes(" 2 m "), 2ull << 20);
  EXPECT_EQ(parse_bytes("4096"), 4096u);
  EXPECT_EQ(parse_bytes("7b"), 7u);
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "GiB", "-1", "1.5G", "1Q", "1GiBs", "17179869184GiB", "99999999999999999999"})
    EXPECT_FALSE(parse_bytes(text)) << text;
}

TEST(ParseNumber, WantsTheWholeText) {
  EXPECT_EQ(parse_number("12"), 12u);
  EXPECT_FALSE(parse_number("12 "));
  EXPECT_FALSE(parse_number(""));
}

TEST(JsonString, EscapesQuotesAndControls) { EXPECT_EQ(json_string("a\"b\\\n"), "\"a\\\"b\\\\\\u000a\""); }

TEST(JsonString, ReplacesWhatIsNotUtf8) {
  EXPECT_EQ(json_string("\xff"), "\"\xEF\xBF\xBD\"");
  EXPECT_EQ(json_string("\xC3\xA9"), "\"\xC3\xA9\"");
}

}  // namespace
}  // namespace plat
