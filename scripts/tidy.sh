#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh [FOLDER...]: clang-tidy over the sources of src/FOLDER, or over all of them.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset dev -DCMAKE_EXPORT_COMPILE_COMMANDS=ON >/dev/null
pattern=$([ $# -gt 0 ] && (IFS='|'; echo "($*)") || echo '[a-z]+')
run-clang-tidy -quiet -p build/dev -j "$(nproc)" "/src/$pattern/[^/]*\.cpp$" 2>/dev/null
