#!/usr/bin/env bash
# Installs the Debian packages that building and testing need, if any are missing.
set -euo pipefail
packages=(g++ cmake ninja-build ccache git python3 python3-dev python3-pytest python3-hypothesis python3-numpy pybind11-dev
          libfmt-dev libexpected-dev libcli11-dev nlohmann-json3-dev zlib1g-dev libdw-dev
          libgtest-dev libgmock-dev libbenchmark-dev zsh clang libclang-rt-14-dev clang-format clang-tidy valgrind pkg-config)
# dpkg-query fails as soon as it does not know one of the packages, which is the case this script is for.
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "${packages[@]}" 2>/dev/null | awk '$2=="installed" {print $1}' || true)
missing=()
for package in "${packages[@]}"; do
  grep -qx -- "$package" <<<"$installed" || missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
if [ "$(id -u)" -ne 0 ]; then
  echo "Plat needs these Debian packages; install them as root and try again:" >&2
  echo "  apt-get install ${missing[*]}" >&2
  exit 1
fi
echo "Installing ${missing[*]}"
export DEBIAN_FRONTEND=noninteractive
apt-get update -qq
apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
