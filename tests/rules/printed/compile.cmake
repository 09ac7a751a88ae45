# SPDX-License-Identifier: Apache-2.0
# cmake -DPROGRAM= -DFOLDER= -DTESTS= -DOUTPUT= -DCOMPILER= -DINCLUDES= -DDEFINITIONS= -P compile.cmake: writes the examples of the
# tests of a folder into a file, and lets the compiler read it.
file(GLOB tests ${TESTS}/${FOLDER}/*_rules_test.cpp ${TESTS}/${FOLDER}/*_programs.cpp)
execute_process(COMMAND ${PROGRAM} ${FOLDER} ${tests} OUTPUT_FILE ${OUTPUT} COMMAND_ERROR_IS_FATAL ANY)
list(TRANSFORM INCLUDES PREPEND -I)
list(TRANSFORM DEFINITIONS PREPEND -D)
execute_process(COMMAND ${COMPILER} -std=c++20 -fsyntax-only -w ${INCLUDES} -I${TESTS} ${DEFINITIONS} ${OUTPUT} RESULT_VARIABLE result)
if(result)
  message(FATAL_ERROR "an example in ${OUTPUT} does not compile")
endif()
