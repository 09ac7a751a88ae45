#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench.sh [BASE.json]: build the bench preset and run each benchmark program; ends with one table, compared with an earlier run.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -z "${1:-}" ] || base=$(realpath "$1")
scripts/build.sh bench
exec python3 -B scripts/bench.py build/bench/bin "build/bench/results-$(date +%Y%m%d-%H%M%S).json" ${base:+"$base"}
