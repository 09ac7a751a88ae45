#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh PREFIX: removes what install.sh has installed there, and the folders that it has made, if they are empty then. Other files and
# folders stay.
set -euo pipefail
prefix=${DESTDIR:-}$1 list=share/plat/installed
if [ ! -f "$prefix/$list" ]; then
  echo "There is no installation in $prefix: $list is not there." >&2
  exit 1
fi
cd "$prefix"
mapfile -t files < <(grep -v '/$' "$list")
# Backwards, so that a folder comes after what is in it, and the prefix last.
mapfile -t folders < <(grep '/$' "$list" | LC_ALL=C sort -r)
rm -f -- "${files[@]}"
cd /
for folder in "${folders[@]}"; do rmdir -- "$prefix/$folder" 2>/dev/null || true; done
