#!/usr/bin/env bash
# fuzz.sh [SECONDS]: run every libFuzzer target for a while.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-60}
scripts/build.sh fuzz
for target in build/fuzz/bin/fuzz_*; do
  echo "== $(basename "$target")"
  PLAT_NODE=private PLAT_QUIET=1 "$target" -max_total_time="$seconds" -print_final_stats=1
done
