# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts that want a bare Debian root, which shows what a new user meets; a machine on which everything is installed cannot.
# Needs root; takes the machine's own apt settings.

# own_sources SUITE: the apt sources of this machine, with that release in the place of its own. Either form of them may be absent.
own_sources() {
  local release
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  { cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null || true; } |
    sed "s/\b$release\b/$1/g"
}

# bare_root SUITE PACKAGE,...: makes one in $root. It is removed when the script ends, or kept with KEEP=1.
bare_root() {
  local settings
  if [ "$(id -u)" -ne 0 ]; then
    echo "A bare root can only be made as root." >&2
    exit 1
  fi
  root=$(mktemp -d /var/tmp/plat-fresh.XXXXXX)
  trap 'if [ -n "${KEEP:-}" ]; then echo "Kept in $root"; else rm -rf --one-file-system "$root"; fi' EXIT
  own_sources "$1" | mmdebstrap --quiet --variant=minbase --include="$2" "$1" "$root" -
  for settings in /etc/apt/apt.conf.d/*; do
    [ -e "$root$settings" ] || cp "$settings" "$root$settings"
  done
  chmod 755 "$root"
}

# in_bare_root SCRIPT ARGUMENT...: runs a shell script in it, with a /proc and a /dev/shm of its own, and $cache, if it is set, at the place
# in which root's ccache looks.
in_bare_root() {
  # Names are looked up as on this machine; it may have changed since the root was made.
  cp -L /etc/resolv.conf /etc/hosts "$root/etc/" 2>/dev/null || true
  cache=${cache:-} unshare --mount --pid --fork --kill-child sh -c '
    set -e
    root=$1 script=$2
    shift 2
    mount --make-rprivate /
    mount --rbind "$root" "$root" # tests make their / private, which only a mount point can be
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o size=50% tmpfs "$root/dev/shm"
    mount -t proc proc "$root/proc"
    if [ -n "$cache" ]; then
      mkdir -p "$root/root/.cache/ccache"
      mount --bind "$cache" "$root/root/.cache/ccache"
    fi
    exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
      chroot "$root" sh -ec "$script" sh "$@"' \
    sh "$root" "$@"
}
