#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh PURPOSE...: installs the Debian packages that a purpose needs (demo, python, release, test, tidy, bench, fuzz, browser, fresh, arm64, fabric,
# deb, packages), if any are missing.
# Without root, and on other systems, it says what is missing instead. docs/howto/install.md has the names elsewhere.
set -euo pipefail
cd "$(dirname "$0")/.."
packages=()
for purpose in "$@"; do
  case $purpose in
    demo)   packages+=(g++ cmake ninja-build pkg-config libfmt-dev libexpected-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libdw-dev) ;;
    python) packages+=(python3 python3-dev pybind11-dev) ;;
    release) packages+=(libsqlite3-dev libcpp-httplib-dev) ;; # databases of memscope, plat view --live: what is given away has all of it
    test)   packages+=(ccache git python3-pytest python3-hypothesis python3-numpy libgtest-dev libgmock-dev libbenchmark-dev zsh
                       clang clang-format valgrind libsqlite3-dev libcpp-httplib-dev) ;;
    tidy)   packages+=(clang-tidy) ;;
    bench)  packages+=(ccache libbenchmark-dev) ;;
    fuzz)   packages+=(clang libclang-rt-dev  # and, for the listeners of the fabric daemon:
                       libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libfabric-dev libssl-dev) ;;
    browser)
      packages+=(chromium)
      command -v node >/dev/null && command -v npm >/dev/null || packages+=(nodejs npm) ;; # often here, and not from Debian
    fresh)  packages+=(mmdebstrap git) ;;
    arm64)  packages+=(crossbuild-essential-arm64 qemu-user-static) ;;
    fabric) packages+=(libgrpc++-dev libprotobuf-dev protobuf-compiler protobuf-compiler-grpc libfabric-dev libssl-dev iproute2) ;;
    deb)    packages+=(dpkg-dev) ;; # it knows which package has a library
    packages) packages+=(lintian rpm) ;;
    *) echo "setup.sh: there is no purpose '$purpose'" >&2; exit 2 ;;
  esac
done
if ! command -v dpkg-query >/dev/null; then
  . scripts/present.sh
  missing=() wanted=()
  for package in "${packages[@]}"; do
    if is_present "$package"; then continue; fi
    # A build leaves out what needs these two.
    case " ${missing[*]} ${wanted[*]} " in *" $package "*) continue ;; esac
    case $package in
      libsqlite3-dev | libcpp-httplib-dev) wanted+=("$package") ;;
      *) missing+=("$package") ;;
    esac
  done
  if [ ${#wanted[@]} -gt 0 ]; then echo "Going on without what Debian calls ${wanted[*]}." >&2; fi
  if [ ${#missing[@]} -eq 0 ]; then exit 0; fi
  echo "Plat needs for this what Debian calls: ${missing[*]}" >&2
  echo "docs/howto/install.md has the names of other systems. What lies elsewhere is found by CMAKE_PREFIX_PATH, CPATH and PKG_CONFIG_PATH." >&2
  exit 1
fi
# dpkg-query fails as soon as it does not know one of the packages, which is the case this script is for.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | awk '$2=="installed" {print $1}' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "Plat needs these Debian packages for this; install them as root and try again:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
