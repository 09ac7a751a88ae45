# SPDX-License-Identifier: Apache-2.0
# cmake -DROOT= -DOUTPUT= -DFILES="a;b" -P rule_examples.cmake: a C++ file that holds the texts of tests, from which plat rules takes its
# examples. Names are those below ROOT.
set(rows "")
set(text "")
set(number 0)
foreach(file IN LISTS FILES)
  file(RELATIVE_PATH name ${ROOT} ${file})
  file(READ ${file} content)
  string(APPEND text "constexpr const char* kText${number} = R\"plat-text(${content})plat-text\";\n")
  string(APPEND rows "    {\"${name}\", kText${number}},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "#include \"rules/example.h\"

namespace plat::rules {

namespace {

${text}
constexpr SourceText kSources[] = {
${rows}};

}  // namespace

std::span<const SourceText> test_texts() { return kSources; }

}  // namespace plat::rules
")
