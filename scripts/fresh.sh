#!/usr/bin/env bash
# fresh.sh [--suite NAME] TARGET...: makes a bare Debian root with nothing but make and git in it, clones the committed tree into it and
# runs `make TARGET` there for each target. It shows what a new user meets; a machine on which everything is installed
# cannot. Needs root; takes the machine's own apt settings. The root is removed at the end, or kept with KEEP=1.
set -euo pipefail
cd "$(dirname "$0")/.."
suite=bookworm
if [ "${1:-}" = --suite ]; then suite=$2; shift 2; fi
[ $# -gt 0 ] || set -- demo test
if [ "$(id -u)" -ne 0 ]; then
  echo "A bare root can only be made as root." >&2
  exit 1
fi
root=$(mktemp -d /var/tmp/plat-fresh.XXXXXX)
remove() { if [ -n "${KEEP:-}" ]; then echo "Kept in $root"; else rm -rf --one-file-system "$root"; fi; }
trap remove EXIT
seconds() { date +%s; }

started=$(seconds)
# The sources of this machine, with the release that was asked for in the place of its own. Either form of them may be absent.
release=$(. /etc/os-release && echo "$VERSION_CODENAME")
{ cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
  sed "s/\b$release\b/$suite/g" >"$root.sources"
mmdebstrap --quiet --variant=minbase --include=make,git,ca-certificates "$suite" "$root" - <"$root.sources"
for settings in /etc/apt/apt.conf.d/*; do
  [ -e "$root$settings" ] || cp "$settings" "$root$settings"
done
rm "$root.sources"
chmod 755 "$root"
git clone --quiet --no-hardlinks . "$root/plat"
echo "bare $suite root: $(($(seconds) - started)) s, $(git -C "$root/plat" log -1 --format='%h %s')"

inside='
mount -t proc proc /proc
mount -t tmpfs -o size=50% tmpfs /dev/shm
cd /plat
exec make "$1"'
for target in "$@"; do
  started=$(seconds)
  # Names are looked up as on this machine; it may have changed since the root was made.
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
  unshare --mount --pid --fork --kill-child sh -c '
    set -e
    mount --make-rprivate /
    mount --rbind /dev "$1/dev"
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 chroot "$1" sh -ec "$2" sh "$3"' \
    sh "$root" "$inside" "$target"
  echo "make $target in a bare $suite root: $(($(seconds) - started)) s"
done
