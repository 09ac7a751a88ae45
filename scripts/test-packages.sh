#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test-packages.sh FOLDER: installs the Debian packages of FOLDER in a bare root, one after the other, uses what each brings, and removes
# them again. Needs root.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
folder=$(realpath "$1")
lintian --fail-on error "$folder"/*.deb
bare_root "${SUITE:-bookworm}" ca-certificates
mkdir "$root/packages"
cp "$folder"/*.deb "$root/packages/"
cp tests/clients/client.c tests/clients/foreign/ascendcl.c "$root/packages/"
in_bare_root "$(cat packaging/use.sh)"
echo "The packages were installed, used and removed."
