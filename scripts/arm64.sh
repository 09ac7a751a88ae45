#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# arm64.sh [CTEST ARGUMENT...]: builds for aarch64, and passes the tests in a Debian root of that architecture, whose programs qemu runs:
# all of them are its own, the shell, Python and ctest too. Needs root. Emulation shows what the code does, not in
# which order another processor's memory sees it; tests/model is for that.
set -euo pipefail
cd "$(dirname "$0")/.."
. scripts/bare.sh
root=$PWD/build/arm64-root

# What is mounted and registered here goes with this script.
if [ -z "${PLAT_OWN_MOUNTS:-}" ]; then
  if [ "$(id -u)" -ne 0 ]; then echo "The tests of aarch64 need root, for a root of that architecture." >&2; exit 1; fi
  PLAT_OWN_MOUNTS=1 exec unshare --mount "$0" "$@"
fi

scripts/arm64-root.sh
# What the tests of the preset need. Other tests stay out, and with them what they need:
# - tests/model and tests/interleave play all orders of threads themselves, and no processor has a say in that;
# - clients_*, but for clients_mstx, and the how-tos read sources or call a compiler, which this root has not;
# - pool_tsan_* and inspect_others have programs with ThreadSanitizer, which wants addresses that no emulator has, and valgrind;
# - inspect takes as long as all others together, and one of its planted programs, which is about signals, was once ended by one there;
# - the Python modules, the other examples, the campaigns of tests/soak, the replays of the fuzzers' corpora and what other inspect_* say of
#   a trace take long where each process is emulated, and have nothing of this processor that the tests here have not.
targets=(plat example_seven_steps tests/rules/all tests/process/all tests/clients/mstx/all acl_rt)
targets+=(inspect_foreign inspect_foreign_hook inspect_programs inspect_programs_broker inspect_lookup)
for folder in tests/unit/*/; do targets+=("${folder}all"); done
scripts/build.sh arm64 "${targets[@]}"

binfmt=/proc/sys/fs/binfmt_misc
[ -e $binfmt/register ] || mount -t binfmt_misc none $binfmt
[ -e $binfmt/qemu-aarch64 ] || cat /usr/lib/binfmt.d/qemu-aarch64.conf >$binfmt/register
mkdir -p "$root$PWD"
mount --bind . "$root$PWD"
# What qemu cannot do, each seen to fail: run a program with its owner's rights; take the pages of a mapping away, or clear one in a
# child (it says yes to every advice); start a child whose end raises no signal; filter system calls; say whether a fault was a
# read or a write. A mapping of 64 GiB is more than it has addresses for.
not_here=Environment.OfAProgramWithMoreRightsThanItsCallerIsEmpty:Pages.DiscardedOnesReadZero
not_here+=:Lifecycle.AChildThatNoHandlerSeesIsToldThatItHasNoDevice:PoolInAChild.IsRefusedHoweverTheChildWasMade
not_here+=:Detached.IsNoChildAndRaisesNoSignal:Observing.TakesNoLock:HostFault.ReadOfMappedMemoryIsExplained
not_here+=:HostFault.WriteOfReservedMemoryIsExplained:HostFault.FreedMemorySaysWhoFreedIt
# These reserve TiB, and were ended at the bound below.
not_here+=:Attaching.ALackOfAddressesIsNamed:RuleBroken.DeviceLimits:RuleBroken.OutOfAddresses:RuleBroken.ReserveBeyond:RuleKept.ReserveBeyond
not_here+=:CrossServer.TakesAllMemorySideBySide:PoolTest.LeavesAddressesToOthers:PoolTest.TakesMoreChunksOverTimeThanItHasPlacesFor
# In one run of a hundred memory of the process that was killed is still counted after its end; in none of some three hundred without the
# emulator. Why is not known.
not_here+=:Files.ClosingAllFilesWhileOthersAllocateLeavesNoLock
# These give the window of 8 TiB back after each step, which the emulator takes as if all of it had been reserved.
not_here+=:EveryStepInside.*
# qemu keeps 6 MiB for each GiB of addresses that a program ever reserved, and nothing bounds that: a program of this root that
# has taken more than its share is ended, which fails its test.
bound_memory() {
  local most_kib=$((4 << 20)) pid
  while sleep 1; do
    for pid in $(grep -sH ^RssAnon: /proc/[0-9]*/status | awk -F '[/:[:space:]]+' -v most=$most_kib '$6 > most {print $3}'); do
      [ "/proc/$pid/root" -ef "$root" ] || continue
      echo "Ended for taking more than $((most_kib >> 20)) GiB: $(tr '\0' ' ' <"/proc/$pid/cmdline")" >&2
      kill -KILL "$pid" || true
    done
  done
}
bound_memory &
trap "kill $!" EXIT
in_bare_root 'cd "$1"; export PLAT_CAPACITY=4GiB PLAT_LOCKED_ADDRESSES=4GiB KILLS=100 SEEDS=3 GTEST_FILTER="-$2"; shift 2; exec ctest --preset arm64 "$@"' \
  "$PWD" "$not_here" "$@"
