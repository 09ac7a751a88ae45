#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# archives.sh BUILD OUTPUT: packs what was built in BUILD into a tar.gz, and into an rpm where rpmbuild is installed.
set -euo pipefail
mkdir -p "$2"
output=$(realpath "$2")
cd "$1"
generators=(TGZ)
if command -v rpmbuild >/dev/null; then generators+=(RPM); else echo "No rpm: rpmbuild is not installed." >&2; fi
for generator in "${generators[@]}"; do cpack -G "$generator" -B "$output" | grep 'generated\.$' || exit 1; done
rm -rf "$output/_CPack_Packages"
