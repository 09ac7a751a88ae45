// SPDX-License-Identifier: Apache-2.0
#include "os/environment.h"

#include <stdlib.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace plat::os {

std::optional<std::string> variable(const std::string& name) {
  const char* value = secure_getenv(name.c_str());
  return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

std::vector<std::string> variables_with(std::string_view prefix) {
  std::vector<std::string> names;
  if (environ == nullptr || getauxval(AT_SECURE) != 0) return names;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (text.starts_with(prefix)) names.emplace_back(text.substr(0, text.find('=')));
  }
  return names;
}

}  // namespace plat::os
