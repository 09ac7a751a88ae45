#!/usr/bin/env bash
# bench.sh [name...]: build the release preset and run each benchmark program.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh release
for program in build/release/bin/bench_*; do
  [ $# -eq 0 ] || [[ " $* " == *" $(basename "$program" | sed s/^bench_//) "* ]] || continue
  echo "== $(basename "$program")"
  PLAT_QUIET=1 "$program"
done
