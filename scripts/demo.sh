#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The seven steps of Ascend virtual memory, on a machine of their own: what others hold does not change the account.
set -euo pipefail
cd "$(dirname "$0")/.."
exec build/demo/bin/plat run --devices 1 -- build/demo/bin/example_seven_steps
