#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# headers.sh [FOLDER...]: each header of src/FOLDER, or of src/ and include/, compiles by itself: whoever includes it needs nothing before it.
set -euo pipefail
cd "$(dirname "$0")/.."
if [ $# -eq 0 ]; then places=(include src); else places=("${@/#/src/}"); fi
# Parts of a header say themselves which one to include. The daemon's name what tidy.sh has made from its protocol.
find "${places[@]}" -name '*.h' ! -path '*detail/*' -print0 |
  xargs -0 -P "$(nproc)" -I{} sh -c 'echo "#include \"{}\"" |
    ${CXX:-clang++} -std=c++20 -D_GNU_SOURCE -I. -Iinclude -Isrc -isystem build/tidy/src/fabricd -fsyntax-only -Wall -Wextra -Wno-unused -x c++ - || exit 1' ||
  { echo "A header does not compile by itself." >&2; exit 1; }
