#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# parts.sh TARGET... [--within MINUTES TARGET...]: makes one target after the other, goes on after one that fails, and ends with what each
# took. Of those behind --within none begins later than that after the first; one that did not begin is said, and is no success.
set -uo pipefail
cd "$(dirname "$0")/.."
table= failed=0 begun=$SECONDS within=
row() { table+=$(printf '%-16s %5d s  %s' "$@")$'\n'; }
while [ $# -gt 0 ]; do
  if [ "$1" = --within ]; then
    within=$(($2 * 60))
    shift 2
    continue
  fi
  target=$1 started=$SECONDS verdict=passed
  shift
  if [ -n "$within" ] && [ $((started - begun)) -gt "$within" ]; then
    row "$target" 0 "NOT BEGUN: $(((started - begun) / 60)) minutes had passed"
    continue
  fi
  # Each of them starts as if typed by hand.
  env -u MAKEFLAGS -u MAKELEVEL make "$target" || { verdict=FAILED; failed=1; }
  row "$target" $((SECONDS - started)) "$verdict"
  echo "== $target: $verdict after $((SECONDS - started)) s"
done
printf '\n%s%-16s %5d s\n' "$table" all $((SECONDS - begun))
exit $failed
