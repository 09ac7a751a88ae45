// SPDX-License-Identifier: Apache-2.0
// rules_printed FOLDER FILE...: a C++ file that includes these tests, and behind them has a function for
// every example of the book that was taken from tests of this folder, as plat rules ID prints it.
#include <cstdio>
#include <string>

#include "rules/example.h"

namespace {

void write(const plat::rules::Rule& rule, const char* side, const plat::rules::Example& example) {
  if (example.text.empty()) return;
  std::string name = std::string(rule.name) + "_" + side;
  for (char& c : name)
    if (c == '-') c = '_';
  // Messages of the compiler say which example it is.
  std::printf("auto %s() {\n#line 1 \"%s, %s\"\n%s}\n", name.c_str(), rule.name, side, example.text.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  const bool of_findings = argc > 1 && std::string(argv[1]) == "inspect";
  std::printf("#include <cassert>\n#include <cstring>\n");
  for (int i = 2; i < argc; ++i) std::printf("#include \"%s\"\n", argv[i]);
  std::printf("namespace %s {\nnamespace {\n", of_findings ? "programs" : "plat::rule_test");
  for (const plat::rules::Rule& rule : plat::rules::all()) {
    if (rule.is_finding() != of_findings) continue;
    const plat::rules::Examples both = plat::rules::examples(rule);
    write(rule, "wrong", both.wrong);
    write(rule, "right", both.right);
  }
  std::printf("}\n}\n");
}
