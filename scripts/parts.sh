#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# parts.sh TARGET...: makes one target after the other, goes on after one that fails, and ends with what each took.
set -uo pipefail
cd "$(dirname "$0")/.."
table= failed=0 begun=$SECONDS
for target in "$@"; do
  started=$SECONDS verdict=passed
  # Each of them starts as if typed by hand.
  env -u MAKEFLAGS -u MAKELEVEL make "$target" || { verdict=FAILED; failed=1; }
  table+=$(printf '%-16s %5d s  %s' "$target" $((SECONDS - started)) "$verdict")$'\n'
  echo "== $target: $verdict after $((SECONDS - started)) s"
done
printf '\n%s%-16s %5d s\n' "$table" all $((SECONDS - begun))
exit $failed
