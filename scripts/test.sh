#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test.sh [PRESET...]: build and run the tests of each preset (dev, asan, tsan); without arguments, the checks and all three.
# PLAT_NO_SKIPS names presets in which a test that was skipped is a failure, unless tests/may_skip.txt names it.
set -euo pipefail
cd "$(dirname "$0")/.."
# One sanitizer report must end the test that made it; TSan cannot follow fork-heavy death tests of other tools.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:handle_segv=1}
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}
export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1:atexit_sleep_ms=50}
run() {
  echo "== $1"
  scripts/build.sh "$1"
  ctest --preset "$1"
  case " ${PLAT_NO_SKIPS:-} " in *" $1 "*) scripts/skips.py "$1" ;; esac
}
if [ $# -eq 0 ]; then
  scripts/check.sh
  set -- dev asan tsan
fi
for preset in "$@"; do run "$preset"; done
