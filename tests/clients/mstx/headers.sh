#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh INCLUDE_DIR: the mstx headers compile without a warning in every language and form that they promise, in
# several files of one program, next to an acl.h that declares the stream type too, before or after.
set -euo pipefail
include=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >one.c <<'C'
#include "mstx/ms_tools_ext_mem.h"
typedef void *aclrtStream;
extern int two(void);
extern int three(void);
int main(void) {
  mstxMemRegionRef_t ref;
  uint64_t id = 1;
  ref.pointer = &ref;
  mstxMarkA("x", NULL);
  mstxGetToolId(&id);
  return (int)id + (ref.pointer == NULL) + (globalDomain != NULL) + two() + three();
}
C
cat >two.c <<'C'
typedef void *aclrtStream;
#include "mstx/ms_tools_ext.h"
#include "mstx/ms_tools_ext_mem.h"
extern int two(void);
int two(void) {
  aclrtStream stream = NULL;
  return mstxRangeStartA("x", stream) != 0;
}
C
cat >three.cpp <<'C'
#include "plat/mstx_ext.h"
extern "C" int three();
extern "C" int three() {
  return mstxDomainCreateA("x") != nullptr || platMstxRemember(1) != PLAT_MSTX_NO_BROKER ||
         PLAT_MSTX_MODULE == MSTX_API_MODULE_CORE;
}
C
cat >tool.c <<'C'
#define MSTX_NO_IMPL
#include "plat/mstx_ext.h"
int InitInjectionMstx(mstxGetModuleFuncTableFunc get);
int InitInjectionMstx(mstxGetModuleFuncTableFunc get) {
  mstxFuncTable table;
  unsigned int count;
  return get(PLAT_MSTX_MODULE, &table, &count);
}
C
# The real acl.h, where there is one, on either side.
acl=""
[ -f "$include/acl/acl.h" ] && acl=yes

warnings="-Wall -Wextra -Wpedantic -Wshadow -Wmissing-declarations -Werror -I$include"
for compiler in "gcc g++" "clang clang++"; do
  set -- $compiler
  command -v "$1" >/dev/null || continue
  for form in "" -DMSTX_DISABLE; do
    for c in c99 c11; do
      "$1" -std=$c $warnings -Wmissing-prototypes $form -c one.c two.c tool.c
      if [ -n "$acl" ]; then
        printf '#include "acl/acl.h"\n#include "mstx/ms_tools_ext.h"\n' >before.c
        printf '#include "mstx/ms_tools_ext.h"\n#include "acl/acl.h"\n' >after.c
        "$1" -std=$c $warnings $form -fsyntax-only before.c after.c
      fi
      for cxx in c++11 c++20; do
        "$2" -std=$cxx $warnings -Wold-style-cast $form -c three.cpp
        "$2" one.o two.o three.o -ldl -o program
        ./program || { echo "$compiler $form $c $cxx: the program failed"; exit 1; }
      done
    done
  done
done
# The detail headers are not doors.
for header in mstx_types mstx_impl mstx_impl_core mstx_init_defs; do
  if echo "#include \"mstx/mstx_detail/$header.h\"" | gcc -I"$include" -fsyntax-only -x c - 2>/dev/null; then
    echo "mstx_detail/$header.h can be included directly"
    exit 1
  fi
done
# The example of the documentation.
sed -n '/^```c$/,/^```$/p' "$include/../docs/howto/mstx.md" | sed '/^```/d' >example.c
[ -s example.c ]
gcc -std=c99 -Wall -Wextra -Wpedantic -Werror -I"$include" -c example.c
echo "headers: ok"
