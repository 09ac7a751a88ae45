#!/usr/bin/env bash
# The main job: the seven steps of Ascend virtual memory, on the built-in software device.
set -euo pipefail
cd "$(dirname "$0")/.."
exec build/dev/bin/plat run -- build/dev/bin/example_seven_steps
