#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# arm64-root.sh: makes build/arm64-root, a Debian root of aarch64 with all that a build for that architecture wants and its tests run
# with, unless it is there. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
root=$PWD/build/arm64-root
packages=libc6-dev,libstdc++-12-dev,libfmt-dev,libexpected-dev,libcli11-dev,nlohmann-json3-dev,zlib1g-dev,libdw-dev
packages+=,libsqlite3-dev,libcpp-httplib-dev,libgrpc++-dev,libprotobuf-dev,libfabric-dev,libssl-dev
packages+=,binutils,libgtest-dev,libgmock-dev,python3-dev,pybind11-dev,python3-pytest,python3-hypothesis,python3-numpy,cmake,procps,util-linux
# What is in every Debian, and comes by itself only into one that is set up.
packages+=,base-files,base-passwd,bash,coreutils,dash,diffutils,findutils,grep,gzip,hostname,libc-bin,mawk,sed

if [ "$(cat "$root.packages" 2>/dev/null)" = "$packages" ]; then exit 0; fi
if [ "$(id -u)" -ne 0 ]; then echo "A root of aarch64 can only be made as root." >&2; exit 1; fi
echo "Making a Debian root of aarch64 in $root"
rm -rf --one-file-system "$root"
mkdir -p build
# Packages are unpacked and not set up: nothing that runs there needs that.
own_sources bookworm | mmdebstrap --quiet --variant=extract --architectures=arm64 --include="$packages" bookworm "$root" -
cp "$root/usr/share/base-passwd/passwd.master" "$root/etc/passwd"
cp "$root/usr/share/base-passwd/group.master" "$root/etc/group"
# Absolute links would lead the compiler to this machine's libraries.
find "$root" -path '*/lib/*' -name '*.so*' -type l -lname '/*' | while read -r link; do
  ln -sfrn "$root$(readlink "$link")" "$link"
done
echo "$packages" >"$root.packages"
