#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# install.sh BUILD PREFIX: installs what was built in BUILD, stripped, with its debug files beside it, and a list of it all for
# uninstall.sh. DESTDIR is put before the prefix, as packagers know it.
set -euo pipefail
build=$1 prefix=$2 list=share/plat/installed
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT
PLAT_HOME=$prefix DESTDIR='' cmake --install "$build" --prefix "$stage" >/dev/null
"$(dirname "$0")/strip.sh" "$stage"
mkdir -p "$stage/share/plat"
touch "$stage/$list"
(cd "$stage" && find . ! -type d | sed 's|^\./||' | sort) >"$stage.list"
mv "$stage.list" "$stage/$list"
# What an earlier version had and this one has not shall not stay.
[ ! -f "${DESTDIR:-}$prefix/$list" ] || "$(dirname "$0")/uninstall.sh" "$prefix"
mkdir -p "${DESTDIR:-}$prefix"
chmod 755 "$stage"
cp -a --no-preserve=ownership "$stage/." "${DESTDIR:-}$prefix/"
