#!/usr/bin/env bash
# bench.sh [name...]: build the bench preset and run each benchmark program.
set -euo pipefail
cd "$(dirname "$0")/.."
scripts/build.sh bench
for program in build/bench/bin/bench_*; do
  [ $# -eq 0 ] || [[ " $* " == *" $(basename "$program" | sed s/^bench_//) "* ]] || continue
  echo "== $(basename "$program")"
  PLAT_QUIET=1 "$program"
done
