#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# check.sh [--fix]: formatting, the include direction between folders, what headers use and do not include, and licence lines.
set -euo pipefail
cd "$(dirname "$0")/.."
mapfile -t files < <(git ls-files --cached --others --exclude-standard '*.cpp' '*.h' '*.hpp' '*.c')
if [ "${1:-}" = --fix ]; then
  clang-format -i "${files[@]}"
else
  clang-format --dry-run --Werror "${files[@]}"
fi
python3 scripts/check_includes.py
python3 scripts/check_used.py
python3 scripts/spdx.py
