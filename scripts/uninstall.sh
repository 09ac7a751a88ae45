#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# uninstall.sh PREFIX: removes what install.sh has installed there, and the folders that are empty then. Other files stay.
set -euo pipefail
prefix=${DESTDIR:-}$1 list=share/plat/installed
if [ ! -f "$prefix/$list" ]; then
  echo "There is no installation in $prefix: $list is not there." >&2
  exit 1
fi
cd "$prefix"
mapfile -t files <"$list"
rm -f -- "${files[@]}"
# From the longest name to the shortest, so that a folder comes after what is in it.
for file in "${files[@]}"; do
  while file=$(dirname "$file") && [ "$file" != . ]; do echo "$file"; done
done | sort -ru | while read -r folder; do rmdir -- "$folder" 2>/dev/null || true; done
cd /
rmdir -- "$prefix" 2>/dev/null || true
