#!/usr/bin/env bash
# build.sh PRESET: configure (once) and build a preset, quietly when nothing has to be done.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset" -- --quiet
