#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# build.sh PRESET [TARGET...]: configure (once) and build a preset, or some targets of it. Says nothing when nothing has to be done.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
shift
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
if ninja -C "build/$preset" -n "$@" | grep -q 'no work to do'; then exit 0; fi
echo "Building ${*:-everything} ($preset)"
exec ninja -C "build/$preset" "$@"
