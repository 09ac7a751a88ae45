#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.sh BUILD PREFIX: installs what was built in BUILD, stripped, with its debug files beside it, and a list of it all for
# uninstall.sh. DESTDIR is put before the prefix, as packagers know it.
set -euo pipefail
build=$1 prefix=$2 list=share/plat/installed
place=${DESTDIR:-}$prefix
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/stage
PLAT_HOME=$prefix DESTDIR='' cmake --install "$build" --prefix "$stage" >/dev/null
"$(dirname "$0")/strip.sh" "$stage"
mkdir -p "$stage/share/plat"
# What an earlier version had and this one has not shall not stay.
touch "$work/made"
if [ -f "$place/$list" ]; then
  grep '/$' "$place/$list" >"$work/made" || true
  "$(dirname "$0")/uninstall.sh" "$prefix"
fi
# The list ends with the folders that are made here, each with a slash behind it, / being the prefix: whoever removes the files may remove
# these, and no others.
(cd "$stage" && find . ! -type d -printf '%P\n' && echo "$list") | sort >"$work/list"
(cd "$stage" && find . -type d -printf '%P/\n') | sort | while read -r folder; do
  if [ ! -d "$place/$folder" ] || grep -qxF -- "$folder" "$work/made"; then echo "$folder"; fi
done >>"$work/list"
mv "$work/list" "$stage/$list"
chmod 644 "$stage/$list"
mkdir -p "$place"
# A folder that is there already stays as it is, also where a link leads to it.
(cd "$stage" && tar -cf - -- *) | tar -C "$place" -xf - --no-same-owner --no-overwrite-dir --keep-directory-symlink
