# SPDX-License-Identifier: Apache-2.0
# The few helpers that every folder's CMakeLists.txt uses.

# fmt is compiled into each library: a name such as libfmt.so.9 differs between systems, and programs that bring their own would
# get ours.
add_library(plat_fmt STATIC ${PROJECT_SOURCE_DIR}/src/base/fmt.cpp)
target_include_directories(plat_fmt PUBLIC $<TARGET_PROPERTY:fmt::fmt-header-only,INTERFACE_INCLUDE_DIRECTORIES>)
target_compile_options(plat_fmt PRIVATE -fPIC -g1)

# A developer's debugger wants the paths of the sources; what is installed elsewhere shall not name the place where it was built.
if(NOT PLAT_TESTS)
  set(PLAT_PATH_MAP -ffile-prefix-map=${PROJECT_SOURCE_DIR}=/usr/src/plat)
  cmake_path(IS_PREFIX PROJECT_SOURCE_DIR ${CMAKE_BINARY_DIR} inside)
  if(NOT inside)
    list(APPEND PLAT_PATH_MAP -ffile-prefix-map=${CMAKE_BINARY_DIR}=/usr/src/plat/build)
  endif()
  target_compile_options(plat_fmt PRIVATE ${PLAT_PATH_MAP})
endif()

add_library(plat_options INTERFACE)
target_compile_options(plat_options INTERFACE -Wall -Wextra -Wpedantic -Wshadow
                       $<$<COMPILE_LANGUAGE:CXX>:-Woverloaded-virtual$<SEMICOLON>-Wnon-virtual-dtor> -fno-omit-frame-pointer -fPIC -g1 ${PLAT_PATH_MAP})
target_include_directories(plat_options INTERFACE ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(plat_options INTERFACE plat_fmt tl::expected Threads::Threads ${CMAKE_DL_LIBS})
target_compile_definitions(plat_options INTERFACE _GNU_SOURCE)
if(PLAT_SANITIZE)
  target_compile_options(plat_options INTERFACE $<$<NOT:$<BOOL:$<TARGET_PROPERTY:PLAT_UNSANITIZED>>>:-fsanitize=${PLAT_SANITIZE}>
                         -fno-sanitize-recover=all)
  # The address sanitizer and the processor find the first three too, and GCC takes twice as long to compile with them. Enum
  # arguments come from C clients, who may pass any integer: checking them is this library's job.
  if(PLAT_SANITIZE MATCHES undefined)
    target_compile_options(plat_options INTERFACE -fno-sanitize=null,object-size,vptr,enum)
  endif()
  # GCC is done in three quarters of the time where it calls a function for each check instead of writing it out.
  if(PLAT_SANITIZE MATCHES address AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    target_compile_options(plat_options INTERFACE "SHELL:--param asan-instrumentation-with-call-threshold=0")
  endif()
  target_link_options(plat_options INTERFACE -fsanitize=${PLAT_SANITIZE})
endif()
if(PLAT_COVERAGE)
  target_compile_options(plat_options INTERFACE --coverage)
  target_link_options(plat_options INTERFACE --coverage)
endif()

# Headers that nearly every file includes are parsed once for all of src/ (base/precompiled.h) and once more, with GoogleTest, for the
# tests. A precompiled header serves only files that are compiled with the same options, hence -fPIC for programs too.
# Clang notes in one when the headers were last changed, which ccache does not look at: of what it kept, Clang refuses one that was made
# from the same headers installed again.
if(CCACHE AND CMAKE_CXX_COMPILER_ID MATCHES Clang)
  target_compile_options(plat_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
endif()
# plat_precompile(target...): these targets use the precompiled headers of src/.
function(plat_precompile)
  if(NOT PLAT_PRECOMPILE)
    return()
  endif()
  foreach(target ${ARGN})
    if(target STREQUAL plat_base)
      target_precompile_headers(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:<base/precompiled.h$<ANGLE-R>>)
    else()
      target_precompile_headers(${target} REUSE_FROM plat_base)
    endif()
  endforeach()
endfunction()

# plat_one_thread(target...): these targets run in one thread, where ThreadSanitizer finds nothing and takes its time: twice as long to
# compile, many times as long to run. They do without it, and without the headers that were precompiled with it.
function(plat_one_thread)
  if(PLAT_SANITIZE STREQUAL thread)
    foreach(target ${ARGN})
      set_target_properties(${target} PROPERTIES PLAT_UNSANITIZED ON DISABLE_PRECOMPILE_HEADERS ON)
    endforeach()
  endif()
endfunction()

# plat_gather(variable header): moves the sources of the list that include one of these headers to its front, which makes them one batch: a
# large header behind them is parsed once, and what it defines is compiled once.
function(plat_gather variable header)
  set(front "")
  set(back "")
  foreach(source ${${variable}})
    file(STRINGS ${source} found REGEX "^#include [<\"](${header})[>\"]" LIMIT_COUNT 1)
    if(found)
      list(APPEND front ${source})
    else()
      list(APPEND back ${source})
    endif()
  endforeach()
  set(${variable} ${front} ${back} PARENT_SCOPE)
endfunction()

# plat_folder(name dependency...): one static library from the sources of src/<name>.
function(plat_folder name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cpp)
  if(NOT sources)
    add_library(plat_${name} INTERFACE)
    target_link_libraries(plat_${name} INTERFACE plat_options ${ARGN})
    return()
  endif()
  add_library(plat_${name} STATIC ${sources})
  target_link_libraries(plat_${name} PUBLIC plat_options ${ARGN})
  plat_precompile(plat_${name})
endfunction()

# plat_patience(variable seconds): how long a test may take; an emulated machine is given more.
function(plat_patience variable seconds)
  if(CMAKE_CROSSCOMPILING)
    math(EXPR seconds "${seconds} * 10")
  endif()
  set(${variable} ${seconds} PARENT_SCOPE)
endfunction()

# plat_test(name SOURCES file... LIBS library... [LABELS label...] [TIMEOUT s] [LONG]): one GoogleTest program. LONG: the test's own code
# is what takes the time when it runs.
function(plat_test name)
  cmake_parse_arguments(T "LONG" "TIMEOUT" "SOURCES;LIBS;LABELS;ENV" ${ARGN})
  add_executable(${name} ${T_SOURCES})
  if(NOT T_LONG)
    # An assertion is a page of code that runs once: optimising it as what is tested takes as long again as all else of a build.
    target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Og>)
    # Its temporaries are most of what a sanitizer watches in a test, and none outlives its line.
    if(PLAT_SANITIZE MATCHES address)
      target_compile_options(${name} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize-address-use-after-scope>)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE plat_options ${T_LIBS} GTest::gtest_main)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  if(PLAT_PRECOMPILE AND NOT "${T_SOURCES}" MATCHES "\\.c(;|$)")  # C has no precompiled header to take over
    target_precompile_headers(${name} REUSE_FROM plat_test_support)
  endif()
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  plat_patience(T_TIMEOUT ${T_TIMEOUT})
  add_test(NAME ${name} COMMAND ${name})
  # Each test program is a machine of its own, so that tests can run side by side.
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} LABELS "${T_LABELS}"
                       ENVIRONMENT "PLAT_NODE=test-${name};PLAT_QUIET=1;${T_ENV}")
endfunction()

# plat_unit_tests(name library...): every *_test.cpp of the calling folder, in one program unit_<name>.
function(plat_unit_tests name)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*_test.cpp)
  if(sources)
    plat_test(unit_${name} SOURCES ${sources} LIBS ${ARGN})
  endif()
endfunction()

# plat_pytest(name file [TIMEOUT s] [ENV variable=value...]): one file of Python tests. Python is the system's, because that is
# the one that has the packages of scripts/setup.sh.
# The variable has a name of its own: PLAT_PYTHON is the option, which find_program() would take for an answer.
find_program(PLAT_PYTHON3 python3 HINTS /usr/bin)
function(plat_pytest name file)
  cmake_parse_arguments(T "" "TIMEOUT" "ENV" ${ARGN})
  if(NOT T_TIMEOUT)
    set(T_TIMEOUT 900)
  endif()
  plat_patience(T_TIMEOUT ${T_TIMEOUT})
  add_test(NAME ${name} COMMAND ${PLAT_PYTHON3} -B -m pytest -q -rs -p no:cacheprovider ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${T_TIMEOUT} ENVIRONMENT "PLAT_QUIET=1;${T_ENV}")
endfunction()
