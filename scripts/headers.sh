#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh [FOLDER...]: each header of src/FOLDER, or of src/ and include/, compiles by itself: whoever includes it needs nothing before it.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then places=(include src); else places=("${@/#/src/}"); fi
# Parts of a header say themselves which one to include. The daemon's name what is made from its protocol.
find "${places[@]}" -name '*.h' ! -path '*detail/*' ! -path 'src/fabricd/*' -print0 |
  xargs -0 -P "$(nproc)" -I{} sh -c 'echo "#include \"{}\"" |
    ${CXX:-clang++} -std=c++20 -D_GNU_SOURCE -DFMT_HEADER_ONLY -I. -Iinclude -Isrc -fsyntax-only -Wall -Wextra -Wno-unused -x c++ - || exit 1' ||
  { echo "A header does not compile by itself." >&2; exit 1; }
