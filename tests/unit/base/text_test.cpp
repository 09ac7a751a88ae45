// SPDX-License-Identifier: Apache-2.0
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

TEST(Text, ShowsControlCharactersAsTheirBytes) {
  EXPECT_EQ(visible("a\x1b[2J\n\tb\x7f"), "a\\x1b[2J\\x0a\\x09b\\x7f");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\xc2\\x9b31m");                    // one character that begins a command
  EXPECT_EQ(visible("\xff\xc2"), "\\xff\\xc2");  // no UTF-8
  EXPECT_EQ(visible("gr\xc3\xbc\xc3\x9f \xe2\x96\x88"), "gr\xc3\xbc\xc3\x9f \xe2\x96\x88");
  EXPECT_EQ(visible_lines("a\n\x1b\r\n"), "a\n\\x1b\\x0d\n");
  EXPECT_EQ(visible_json("\"\x7f\xc2\x9b\xc3\xbc\""), "\"\\u007f\\u009b\xc3\xbc\"");
}

}  // namespace
}  // namespace plat
