#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# test-browser.sh: the page of plat view in Chromium. Needs Debian's chromium, and Node with npm, which brings puppeteer-core.
set -euo pipefail
cd "$(dirname "$0")/.."
for tool in node npm; do
  command -v $tool >/dev/null || { echo "make test-browser needs $tool (Debian: nodejs npm)" >&2; exit 1; }
done
scripts/build.sh dev plat plat_inspect_recorder inspect_programs_broker inspect_stays example_pool_tensors
[ -d tests/browser/node_modules/puppeteer-core ] || (cd tests/browser && npm install --no-package-lock --no-audit --no-fund --silent)
exec node --test tests/browser/
