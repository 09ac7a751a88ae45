// All rules in one list: those of the device, which a call can break, and those of the inspector.
#pragma once

#include <string>
#include <vector>

namespace plat::cli {

struct RuleEntry {
  std::string name;
  std::string sentence, cause, fix;
  std::string severity;         // error, warning or off, unless the user chose another
  bool can_be_relaxed = false;  // of the device's rules
  bool is_finding = false;      // of plat check; it has no code
  int code = 0;
  int code_950 = 0;
  std::string page;  // in Markdown

  // "207001", or "207001/107000" with another separator; empty for a finding.
  std::string codes(const char* separator) const;
};

const std::vector<RuleEntry>& rule_book();

}  // namespace plat::cli
