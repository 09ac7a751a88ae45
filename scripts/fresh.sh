#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fresh.sh [--suite NAME] TARGET...: makes a bare Debian root with nothing but make and git in it, clones the committed tree into it and
# runs `make TARGET` there for each target.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
suite=bookworm
if [ "${1:-}" = --suite ]; then suite=$2; shift 2; fi
[ $# -gt 0 ] || set -- demo test
seconds() { date +%s; }

started=$(seconds)
bare_root "$suite" make,git,ca-certificates
git clone --quiet --no-hardlinks . "$root/plat"
echo "bare $suite root: $(($(seconds) - started)) s, $(git -C "$root/plat" log -1 --format='%h %s')"
for target in "$@"; do
  started=$(seconds)
  in_bare_root 'cd /plat; exec make "$1"' "$target"
  echo "make $target in a bare $suite root: $(($(seconds) - started)) s"
done
