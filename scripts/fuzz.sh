#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh [SECONDS]: run every libFuzzer target for a while, from its corpus on. What it finds on the way is thrown away.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
scripts/build.sh fuzz fuzzers
found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
for target in build/fuzz/bin/fuzz_*; do
  name=$(basename "$target")
  echo "== $name"
  mkdir "$found/$name"
  corpus=tests/fuzz/corpus/${name#fuzz_}
  [ -d "$corpus" ] || corpus=
  PLAT_NODE=private PLAT_QUIET=1 "$target" -max_total_time="$seconds" -print_final_stats=1 "$found/$name" $corpus
done
