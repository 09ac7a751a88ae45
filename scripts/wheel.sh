#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# wheel.sh PRESET OUTPUT [PYTHON]: builds a preset, for another Python than the system's if one is given, and packs a wheel from it.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1 output=$2 python=${3:-}
settings=()
if [ -n "$python" ]; then
  if [ "$preset" != release ]; then echo "A wheel for another machine is for the Python of its root: say ARCH or PYTHON." >&2; exit 1; fi
  command -v "$python" >/dev/null || { echo "There is no $python." >&2; exit 1; }
  # A folder of its own, so that what else is made here stays for the system's Python.
  build=$preset-$(basename "$python")
  settings=(-B "build/$build" "-DPython_EXECUTABLE=$(command -v "$python")" -DPLAT_FABRIC=OFF)
else
  build=$preset
fi
cmake --preset "$preset" "${settings[@]}" >/dev/null
scripts/build.sh "$build"
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
DESTDIR='' cmake --install "build/$build" --prefix "$stage" >/dev/null
OBJCOPY=$(sed -n 's/^CMAKE_OBJCOPY:FILEPATH=//p' "build/$build/CMakeCache.txt") scripts/strip.sh "$stage" --drop
/usr/bin/python3 -B scripts/wheel.py "$stage" "$output"
