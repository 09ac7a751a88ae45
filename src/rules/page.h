// SPDX-License-Identifier: Apache-2.0
// The book as pages: Markdown for docs/rules, and for plat rules ID.
#pragma once

#include <string>

#include "rules/rules.h"

namespace plat::rules {

// "207001", or both codes with the separator between them; empty for a finding.
std::string codes(const Rule& rule, const char* separator);

// One rule, under its name as a heading of this level.
std::string page(const Rule& rule, int level = 1);

// All rules of a chapter; the name of each is an anchor.
std::string page(const Chapter& chapter);

// All rules in short, with links into the chapters.
std::string index_page();

}  // namespace plat::rules
