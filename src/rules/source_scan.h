// SPDX-License-Identifier: Apache-2.0
// Finding one's way in the text of a C++ file that clang-format has laid out: brackets, definitions, words.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plat::rules {

// Where the bracket at `open` closes; npos if it does not. Texts, characters and comments are passed over.
size_t closing(std::string_view text, size_t open);

// Names before an opening bracket: what is called, made or declared there. In order, each once.
std::vector<std::string> called_names(std::string_view text);

// Where a name stands as a whole word, from a place on; npos if nowhere.
size_t find_word(std::string_view text, std::string_view name, size_t from = 0);

struct Definition {
  std::string comment;    // the lines above it, as one
  std::string_view body;  // between its braces; of a constant all of it; of a mere declaration nothing
};
// Of a function, type or constant that begins at the left margin, of a member function, or of a lambda with a
// name.
std::optional<Definition> find_definition(std::string_view text, std::string_view name);

std::vector<std::string> lines_of(std::string_view text);

}  // namespace plat::rules
