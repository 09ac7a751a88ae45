#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# strip.sh TREE [--drop]: takes the debug sections out of every program and library of an installed tree. They go to a folder .debug
# beside each, where debuggers and `plat check` look for them, or nowhere with --drop.
set -euo pipefail
objcopy=${OBJCOPY:-objcopy} # another one for another kind of machine
find "$1" -type f \( -path '*/bin/*' -o -name '*.so' -o -name '*.so.*' \) ! -path '*/.debug/*' | while read -r file; do
  [ "$(head -c 4 "$file" | tr -d '\0')" = $'\x7fELF' ] || continue
  if readelf -SW "$file" | grep '\.gnu_debuglink' >/dev/null; then continue; fi
  if [ "${2:-}" = --drop ]; then
    "$objcopy" --strip-unneeded --remove-section=.comment "$file"
    continue
  fi
  folder=$(dirname "$file")/.debug
  debug=$folder/$(basename "$file").debug
  mkdir -p "$folder"
  "$objcopy" --only-keep-debug --compress-debug-sections "$file" "$debug"
  chmod 644 "$debug"
  "$objcopy" --strip-unneeded --add-gnu-debuglink="$debug" "$file"
done
