#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# paths.sh BUILD PACKAGE...: fails if anything in a package (deb, wheel, tar.gz), or in what `make install` installs from BUILD, names the folder in
# which it was built; debug files too.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
shift
looked=$(mktemp -d)
trap 'rm -rf "$looked"' EXIT
for package in "$@"; do
  mkdir "$looked/$(basename "$package")"
  case $package in
    *.deb) dpkg-deb -R "$package" "$looked/$(basename "$package")" ;;
    *.whl) python3 -m zipfile -e "$package" "$looked/$(basename "$package")" ;;
    *.tar.gz) tar -xzf "$package" -C "$looked/$(basename "$package")" ;;
    *) echo "paths.sh: what is $package?" >&2; exit 2 ;;
  esac
done
DESTDIR='' scripts/install.sh "$build" "$looked/installed"
# What is compressed says nothing as it is.
find "$looked" -name '*.gz' -type f -exec gunzip {} +
find "$looked/installed" -name '*.debug' -type f -exec objcopy --decompress-debug-sections {} \;
count=$(find "$looked/installed" -name '*.debug' -type f | wc -l)
[ "$count" -gt 0 ] || { echo "paths.sh: nothing was installed with debug files." >&2; exit 1; }
if LC_ALL=C grep -rlaP "(?<![\w./-])\Q$PWD\E(?![\w-])" "$looked" | sed "s|^$looked/||"; then
  echo "These name the folder in which they were built, $PWD." >&2
  exit 1
fi
echo "Of $# packages and an installation with $count debug files none names $PWD."
