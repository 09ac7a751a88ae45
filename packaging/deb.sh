#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# deb.sh BUILD OUTPUT: packs what was built in BUILD into Debian packages:
#
#   plat-inspector   the command and the recorder, for machines that have the vendor's libraries
#   plat             the device: libraries, headers, the tree that vendor builds expect
#   python3-plat     the Python modules
#   plat-fabric      the daemon of memory between servers
#
# All of it lies in /usr/lib/plat, which is nobody else's and on no library path, so that a vendor's installation is not disturbed.
set -euo pipefail
cd "$(dirname "$0")/.."
build=$(realpath "$1")
mkdir -p "$2"
output=$(realpath "$2")
home=usr/lib/plat
version=$(sed -n 's/^project(Plat VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
case $(sed -n 's/^set(CMAKE_SYSTEM_PROCESSOR "\(.*\)")/\1/p' "$build"/CMakeFiles/*/CMakeSystem.cmake | head -1) in
  aarch64) arch=arm64 ;;
  *) arch=amd64 ;;
esac
# For a build that was made on another kind of machine: its own tools, and its own libraries to depend on.
OBJCOPY=$(sed -n 's/^CMAKE_OBJCOPY:FILEPATH=//p' "$build/CMakeCache.txt")
export OBJCOPY DEB_HOST_ARCH=$arch
date=$(date -R -d "@${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}")
# Whoever gives packages away puts an address there at which questions are read.
maintainer=${MAINTAINER:-'The Plat developers <plat@example.org>'}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# component NAME PACKAGE: stages a part of the install tree.
component() {
  PLAT_HOME=/$home DESTDIR='' cmake --install "$build" --prefix "$work/$2/$home" --component "$1" >/dev/null
  scripts/strip.sh "$work/$2" --drop
  find "$work/$2" -name '*.so*' -type f -exec chmod 644 {} +
}

# needed PACKAGE [FILE]: the packages that have the system libraries which this one needs, or which that file of it needs. What is opened
# on demand counts for itself alone.
needed() {
  local files
  if [ -n "${2:-}" ]; then
    files=("$work/$1/$home/$2")
    [ -e "${files[0]}" ] || return 0
  else
    mapfile -t files < <(find "$work/$1" -type f \( -name '*.so*' -o -path '*/bin/plat*' \) ! -name libplat_live.so)
  fi
  if [ "$arch" != "$(dpkg --print-architecture)" ]; then
    # The packages of another kind of machine are not installed here to be asked. These are those of Debian 12, which is what its root is.
    readelf -dW "${files[@]}" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u | while read -r library; do
      case $library in
        libc.so.6 | libm.so.6 | ld-linux*) echo 'libc6 (>= 2.36)' ;;
        libstdc++.so.6) echo 'libstdc++6 (>= 12)' ;;
        libgcc_s.so.1) echo libgcc-s1 ;;
        libdw.so.1) echo libdw1 ;;
        libelf.so.1) echo libelf1 ;;
        libz.so.1) echo zlib1g ;;
        libcpp-httplib.so.0.11) echo libcpp-httplib0.11 ;;
        libgrpc++.so.1.51) echo libgrpc++1.51 ;;
        libgrpc.so.29 | libgpr.so.29) echo libgrpc29 ;;
        libprotobuf.so.32) echo libprotobuf32 ;;
        libabsl_*.so.20220623) echo libabsl20220623 ;;
        libfabric.so.1) echo libfabric1 ;;
        libcrypto.so.3 | libssl.so.3) echo libssl3 ;;
        libascendcl.so | libms_tools_ext.so | libplat_*) ;;
        *) echo "deb.sh: which package of $arch has $library?" >&2; exit 1 ;;
      esac
    done | sort -u | paste -sd, | sed 's/,/, /g'
    return
  fi
  mkdir -p "$work/shlibs/debian"
  printf 'Source: plat\n\nPackage: plat\nArchitecture: any\n' >"$work/shlibs/debian/control"
  # Our own libraries are found in a folder of their own; the packages that have them are named by hand.
  # It warns of each of our own libraries, which is of no interest unless it fails.
  (cd "$work/shlibs" && dpkg-shlibdeps -O --ignore-missing-info -l"$work/all" "${files[@]/#/-e}" 2>"$work/shlibs/said") >"$work/shlibs/found" || {
    cat "$work/shlibs/said" >&2
    return 1
  }
  sed -n 's/^shlibs:Depends=//p' "$work/shlibs/found"
}

# pack PACKAGE SECTION DEPENDS SUMMARY DESCRIPTION [RECOMMENDS]
pack() {
  # Each of them needs the C library at least.
  case ", $3" in
    *', libc6'*) ;;
    *) echo "deb.sh: $1 would depend on '$3' alone: its libraries were not found." >&2; exit 1 ;;
  esac
  local root=$work/$1 doc=$work/$1/usr/share/doc/$1
  mkdir -p "$doc" "$root/DEBIAN"
  {
    printf 'Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: plat\n\n'
    printf 'Files: *\nCopyright: 2026 The Plat developers\nLicense: Apache-2.0\n'
    printf ' On Debian systems, the text of the license is in /usr/share/common-licenses/Apache-2.0.\n'
  } >"$doc/copyright"
  printf 'plat (%s) unstable; urgency=medium\n\n  * See CHANGELOG.md in the documentation of plat-inspector.\n\n -- %s  %s\n' \
    "$version" "$maintainer" "$date" | gzip -9n >"$doc/changelog.gz"
  cat >"$root/DEBIAN/control" <<CONTROL
Package: $1
Source: plat
Version: $version
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(du -sk --exclude=DEBIAN "$root" | cut -f1)
Depends: $3
Section: $2
Priority: optional
Description: $4
$(fold -s -w 76 <<<"$5" | sed 's/^/ /; s/ *$//')
CONTROL
  [ -z "${6:-}" ] || sed -i "s/^Section:/Recommends: $6\n&/" "$root/DEBIAN/control"
  (cd "$root" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
  dpkg-deb --build --root-owner-group -Zxz "$root" "$output/$1_${version}_$arch.deb" >/dev/null
  ls -s --block-size=k "$output/$1_${version}_$arch.deb"
}

component inspector plat-inspector
component device plat
mkdir -p "$work/all"
cp -a "$work"/plat*/"$home"/lib64/*.so* "$work/all/"

# What the system has places for goes there.
root=$work/plat-inspector
mkdir -p "$root/usr/bin" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/doc"
ln -s ../lib/plat/bin/plat "$root/usr/bin/plat"
mv "$root/$home/share/bash-completion" "$root/usr/share/"
mv "$root/$home/share/zsh/site-functions/_plat" "$root/usr/share/zsh/vendor-completions/"
if [ -d "$root/$home/share/man" ]; then
  mv "$root/$home/share/man" "$root/usr/share/"
  gzip -9n "$root"/usr/share/man/man1/*.1
fi
mv "$root/$home/share/doc/plat" "$root/usr/share/doc/plat-inspector"
rm -r "$root/$home/share" "$root/usr/share/doc/plat-inspector/LICENSE"
gzip -9n "$root/usr/share/doc/plat-inspector/CHANGELOG.md"
depends=$(needed plat-inspector)
recommended=$(needed plat-inspector lib64/plat/libplat_live.so)
if grep -q '^PLAT_HAS_SQLITE:INTERNAL=ON' "$build/CMakeCache.txt"; then recommended+="${recommended:+, }libsqlite3-0"; fi
pack plat-inspector utils "$depends" 'inspector of device memory for programs that use ACL' \
  'Runs a program and says what it does wrong with the memory of an Ascend NPU: accesses outside of blocks, leaks, missing order of streams. Works over whichever libascendcl.so the program finds, and brings none of its own.' \
  "$recommended"
depends=$(needed plat)
pack plat devel "plat-inspector (= $version), $depends" 'memory system of an Ascend NPU in software' \
  'Gives a plain Linux machine the ACL libraries and headers with the names, values and codes of the vendor, so that programs that reserve, allocate, map and share device memory build and run there. Source /usr/lib/plat/set_env.sh to use it. Nothing is computed on it.'
if grep -q '^PLAT_PYTHON:BOOL=ON' "$build/CMakeCache.txt"; then
  component python python3-plat
  mkdir -p "$work/python3-plat/usr/lib/python3/dist-packages"
  echo "/$home/python/site-packages" >"$work/python3-plat/usr/lib/python3/dist-packages/plat.pth"
  # Python writes what it has compiled beside the modules; that goes when the package goes.
  mkdir -p "$work/python3-plat/DEBIAN"
  printf '#!/bin/sh\nset -e\nif [ "$1" = configure ] && command -v py3compile >/dev/null; then py3compile -p python3-plat /%s; fi\n' \
    "$home/python" >"$work/python3-plat/DEBIAN/postinst"
  printf '#!/bin/sh\nset -e\nif command -v py3clean >/dev/null; then py3clean -p python3-plat; fi\n' >"$work/python3-plat/DEBIAN/prerm"
  chmod 755 "$work"/python3-plat/DEBIAN/*
  # The modules are built for one version of Python.
  python=$(find "$work/python3-plat" -name 'acl.cpython-*' | sed 's/.*cpython-3\([0-9]*\)-.*/\1/')
  depends=$(needed python3-plat)
  pack python3-plat python "plat (= $version), python3 (>= 3.$python), python3 (<< 3.$((python + 1))), $depends" \
    'memory system of an Ascend NPU in software (Python modules)' \
    'The modules acl, as pyACL scripts know it, plat with objects that clean up after themselves and a plugin for pytest, and mstx.' python3-numpy
fi
if grep -q '^PLAT_FABRIC:BOOL=ON' "$build/CMakeCache.txt"; then
  component fabric plat-fabric
  mkdir -p "$work/plat-fabric/usr/lib/systemd"
  mv "$work/plat-fabric/$home/share/systemd/user" "$work/plat-fabric/usr/lib/systemd/"
  sed -i "s|/$home/share/doc/plat/|/usr/share/doc/plat-inspector/|" "$work/plat-fabric/usr/lib/systemd/user/"*
  rm -r "$work/plat-fabric/$home/share"
  depends=$(needed plat-fabric)
  pack plat-fabric utils "plat (= $version), $depends" 'memory system of an Ascend NPU in software (daemon between servers)' \
    'Lets programs of one Plat machine import device memory that programs of another have exported, as handles of type FABRIC do on Atlas A3. Started by the first such call where PLAT_FABRIC is set, by plat fabric start, or by systemd as a unit of the user.'
fi
