// SPDX-License-Identifier: Apache-2.0
// The body of a test as a reader of the book sees it: plain calls, without the words of the test framework.
#pragma once

#include <string>
#include <string_view>

namespace plat::rules {

// Up to the first empty line; where it breaks a rule, whose name is given, up to that statement. The line
// where the statement ends is marked.
std::string lay_out(std::string_view body, std::string_view broken_rule);

// The function, type, alias or constant that this line defines at the left margin; empty if it defines none.
std::string defined_name(std::string_view line);

}  // namespace plat::rules
