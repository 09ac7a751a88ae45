# SPDX-License-Identifier: Apache-2.0
# cmake -DNM= -DLIBRARY= -DOUTPUT= -P filter.cmake: a C file that defines every function that LIBRARY exports, for a library that
# passes them all on (see plat_install_alias).
execute_process(COMMAND ${NM} -D --defined-only ${LIBRARY} OUTPUT_VARIABLE lines COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL " T [A-Za-z0-9_]+" symbols "${lines}")
set(text "// Made from the names that the library exports. The loader finds the functions in that library; these only let programs link.\n")
foreach(symbol ${symbols})
  string(SUBSTRING "${symbol}" 3 -1 name)
  string(APPEND text "void ${name}(void);\nvoid ${name}(void) { __builtin_trap(); }\n")
endforeach()
file(WRITE ${OUTPUT} "${text}")
