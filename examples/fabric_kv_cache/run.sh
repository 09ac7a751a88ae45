#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [BIN]: three servers on this computer, with a role of the example on each. BIN is where plat and the example are.
set -euo pipefail
bin=$(cd "${1:-build/dev/bin}" && pwd)
here=$(mktemp -d /dev/shm/plat-kv-XXXXXX)
export PLAT_PRODUCT=a3 PLAT_DIR=$here PLAT_FABRIC=$here/servers PLAT_DEVICES=1 PLAT_CAPACITY=64MiB PLAT_QUIET=1
export LD_LIBRARY_PATH=$bin/../lib64
# Three ports that nobody listens at, below those that the system gives away.
is_free() { ! (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port=$((10000 + $$ % 7000 * 3))
until is_free $port && is_free $((port + 1)) && is_free $((port + 2)); do port=$((10000 + RANDOM % 7000 * 3)); done
printf '%s 127.0.0.1:%s\n' 0 $port 1 $((port + 1)) 2 $((port + 2)) > "$PLAT_FABRIC"
on() { local server=$1; shift; PLAT_NODE=server$server PLAT_SERVER=$server "$@"; }
clean() {
  for server in 0 1 2; do on $server "$bin/plat" fabric stop > "$here/stopped" || true; done
  rm -r "$here"
}
trap clean EXIT
for server in 0 1 2; do on $server "$bin/plat" fabric start; done
mkfifo "$here/handle" "$here/end"
on 0 "$bin/example_fabric_kv_cache" cache "$here/handle" "$here/end" & cache=$!
on 1 "$bin/example_fabric_kv_cache" prefill "$here/handle"
: > "$here/end"
on 2 "$bin/example_fabric_kv_cache" decode "$here/handle"
: > "$here/end"
wait $cache
