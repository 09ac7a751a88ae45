#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test-packages.sh FOLDER: installs the Debian packages of FOLDER in a bare root, one after the other, then the wheel, the rpm and the archive, uses
# what each brings, and removes it again, after a look at what is in them. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
folder=$(realpath "$1")
version=$(sed -n 's/^project(Plat VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
# Those for aarch64 too, if they were made.
lintian --fail-on error "$folder"/*_"$version"_*.deb
packaging/paths.sh build/release "$folder"/*_"$version"_*.deb "$folder"/plat-"$version"-*.whl "$folder"/plat-"$version"-*.tar.gz
bare_root "${SUITE:-bookworm}" ca-certificates
mkdir "$root/packages"
python=$(/usr/bin/python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])') # there may be wheels for others too
cp "$folder"/*_"$version"_amd64.deb "$folder"/plat-"$version"-"$python"-*x86_64.whl "$folder"/plat-"$version"-*.x86_64.rpm \
  "$folder"/plat-"$version"-x86_64.tar.gz "$root/packages/"
cp tests/clients/client.c tests/clients/foreign/ascendcl.c "$root/packages/"
in_bare_root "$(cat packaging/use.sh)"
echo "The packages were installed, used and removed."
