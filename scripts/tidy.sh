#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tidy.sh [FOLDER...]: clang-tidy over the sources of src/FOLDER, or over all of them, after a look at their headers, each alone.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/headers.sh "$@"
# Each file by itself, as it is written: not in a batch, and with its own includes alone.
cmake -S . -B build/tidy -G Ninja -DPLAT_UNITY=OFF -DPLAT_PRECOMPILE=OFF -DPLAT_FABRIC=OFF -DPLAT_EXAMPLES=OFF >/dev/null
pattern=$([ $# -gt 0 ] && (IFS='|'; echo "($*)") || echo '[a-z]+')
run-clang-tidy -quiet -p build/tidy -j "$(nproc)" "/src/$pattern/.*\.cpp$" 2>/dev/null
