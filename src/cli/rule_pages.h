// SPDX-License-Identifier: Apache-2.0
// The pages of docs/rules: one for each chapter, and an index.
#pragma once

#include <string>

namespace plat::cli {

// Writes them into a directory, and removes pages of chapters that are no longer in the book. Says what went
// wrong.
bool write_rule_pages(const std::string& directory);

}  // namespace plat::cli
