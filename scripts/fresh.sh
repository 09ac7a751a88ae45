#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# fresh.sh [--suite NAME] [--cached] TARGET...: makes a bare Debian root with nothing but make and git in it, clones the committed tree into
# it and runs `make TARGET` there for each target. With --cached what this machine has compiled is not compiled again: ccache's folder is
# this machine's, ccache is in the root from the start, and the clone lies where this tree does, whose name is in what is compiled.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
suite=bookworm
clone=/plat
while :; do
  case ${1:-} in
    --suite) suite=$2; shift 2 ;;
    --cached) cache=$(ccache --get-config=cache_dir) clone=$PWD; shift ;;
    *) break ;;
  esac
done
[ $# -gt 0 ] || set -- demo test
seconds() { date +%s; }

started=$(seconds)
bare_root "$suite" make,git,ca-certificates${cache:+,ccache}
git clone --quiet --no-hardlinks . "$root$clone"
echo "bare $suite root: $(($(seconds) - started)) s, $(git -C "$root$clone" log -1 --format='%h %s')"
for target in "$@"; do
  started=$(seconds)
  in_bare_root 'cd "$1"; exec make "$2"' "$clone" "$target"
  echo "make $target in a bare $suite root: $(($(seconds) - started)) s"
done
