# SPDX-License-Identifier: Apache-2.0
# Runs in a bare root, in which /packages holds the packages: installs them, uses them as a user would, removes them. See
# scripts/test-packages.sh.
say() { echo "== $*"; }
expect() { # expect TEXT COMMAND...: it must say so
  wanted=$1
  shift
  said=$("$@" 2>&1) || true
  case $said in
    *"$wanted"*) ;;
    *) echo "'$*' should say '$wanted', but said:"; echo "$said"; exit 1 ;;
  esac
}
cd /packages
export PLAT_QUIET=1
find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /packages -o -path /var -o -path /etc \) -prune -o -print | sort >/tmp/before
apt-get update -qq

say plat-inspector alone
apt-get install -qq -y --no-install-recommends ./plat-inspector_*.deb >/dev/null
[ -z "$(find / -xdev -name 'libascendcl*')" ]
expect VMM-Map-offset-zero plat rules VMM-Map-offset-zero
expect "The package 'plat' has it" plat run -- true
[ -s /usr/share/man/man1/plat-check.1.gz ] || find /etc/dpkg -type f -exec grep -l 'path-exclude=/usr/share/man' {} + >/dev/null

say plat-inspector over a foreign library
apt-get install -qq -y --no-install-recommends gcc libc6-dev >/dev/null
mkdir -p /tmp/foreign
cc -shared -fPIC -Wl,-soname,libascendcl.so ascendcl.c -o /tmp/foreign/libascendcl.so
cat >/tmp/program.c <<'PROGRAM'
int aclInit(const char*);
int aclrtSetDevice(int);
int aclFinalize(void);
int main(void) { return aclInit(0) || aclrtSetDevice(0) || aclFinalize(); }
PROGRAM
cc /tmp/program.c -L/tmp/foreign -lascendcl -o /tmp/program
LD_LIBRARY_PATH=/tmp/foreign plat check -- /tmp/program
LD_LIBRARY_PATH=/tmp/foreign plat record -o /tmp/run.trace -- /tmp/program
expect 'run.trace' ls /tmp/run.trace

say plat
apt-get install -qq -y --no-install-recommends ./plat_*.deb >/dev/null
(
  . /usr/lib/plat/set_env.sh # sh is dash here
  cc client.c -I"$ASCEND_HOME_PATH/include" -L"$NPU_HOST_LIB" -lascendcl -o /tmp/client
  expect 'client ran on Ascend910B3' /tmp/client
)
expect 'client ran on Ascend910B3' plat run --devices 1 --capacity 1GiB -- /tmp/client
expect 'client ran on Ascend910B3' plat check -- /tmp/client
plat record -o /tmp/client.trace -- /tmp/client
expect 'libsqlite3.so.0: cannot open shared object file' plat export memscope /tmp/client.trace -o /tmp/memscope_dump_1.db
apt-get install -qq -y --no-install-recommends libsqlite3-0 >/dev/null
plat export memscope /tmp/client.trace -o /tmp/memscope_dump_1.db
expect 'SQLite format 3' head -c 15 /tmp/memscope_dump_1.db

say plat-fabric
expect 'the package plat-fabric has it' plat fabric start
expect 'the package plat-fabric has it' plat fabric init --keys /tmp/keys 0=127.0.0.1:7100
apt-get install -qq -y --no-install-recommends ./plat-fabric_*.deb >/dev/null
unit='/usr/lib/systemd/user/plat-fabric@.service'
[ -x "$(sed -n 's/^ExecStart="\(.*\)" serve$/\1/p' "$unit")" ]
[ -r "$(sed -n 's|^Documentation=file://||p' "$unit")" ]
printf '0 127.0.0.1:7100\n1 127.0.0.1:7101\n' >/tmp/servers
export PLAT_PRODUCT=a3 PLAT_FABRIC=/tmp/servers
expect 'server 0 (node first)' env PLAT_SERVER=0 plat fabric start --node first
expect 'server 1 (node second)' env PLAT_SERVER=1 plat fabric start --node second
expect 'server 0' plat fabric status --node first
expect stopped plat fabric stop --node first
expect stopped plat fabric stop --node second
unset PLAT_PRODUCT PLAT_FABRIC

say python3-plat
apt-get install -qq -y --no-install-recommends ./python3-plat_*.deb >/dev/null
cat >/tmp/script.py <<'SCRIPT'
import acl
assert acl.init() == 0 and acl.rt.set_device(0) == 0
address, code = acl.rt.malloc(1 << 20, 0)
assert code == 0 and acl.rt.free(address) == 0
print("a script ran on", acl.get_soc_name())
SCRIPT
expect 'a script ran on Ascend910B3' python3 /tmp/script.py
expect 'Pool' python3 -c 'import mstx, plat; print(plat.Pool)'

say removal of the packages
apt-get purge -qq -y --autoremove plat-inspector plat plat-fabric python3-plat libsqlite3-0 >/dev/null
apt-get install -qq -y --no-install-recommends libdw1 libstdc++6 >/dev/null # all that the wheel wants of the system

say the wheel, in an environment of its own
apt-get install -qq -y --no-install-recommends python3-venv >/dev/null
python3 -m venv /tmp/venv
/tmp/venv/bin/pip install -q --no-index /packages/plat-*.whl
expect 'a script ran on Ascend910B3' /tmp/venv/bin/python /tmp/script.py
expect 'client ran on Ascend910B3' /tmp/venv/bin/plat run --devices 1 -- /tmp/client
expect 'plat' /tmp/venv/bin/pip show plat
/tmp/venv/bin/pip uninstall -q -y plat
[ -z "$(find /tmp/venv -name 'libascendcl*' -o -name 'acl.cpython*')" ]
apt-get purge -qq -y --autoremove python3-venv >/dev/null

say the rpm
apt-get install -qq -y --no-install-recommends rpm >/dev/null
# What it depends on are packages of Debian here, which rpm does not know.
rpm --dbpath /tmp/rpm -i --nodeps /packages/plat-*.rpm
expect 'client ran on Ascend910B3' /usr/lib/plat/bin/plat run --devices 1 -- /tmp/client
# What its files need is what it asks for; what is opened only where it is there, is no requirement.
rpm --dbpath /tmp/rpm -ql plat | while read -r file; do
  if [ -f "$file" ] && [ ! -L "$file" ] && [ "${file##*/}" != libplat_live.so ]; then readelf -dW "$file" 2>/dev/null || true; fi
done | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u >/tmp/rpm-needs
while read -r library; do
  case $library in
    libc.so.6 | libm.so.6 | ld-linux*) echo glibc ;;
    libgcc_s.so.1) echo libgcc ;;
    libstdc++.so.6) echo libstdc++ ;;
    libdw.so.1) echo elfutils-libs ;;
    libz.so.1) echo zlib ;;
    *) [ -e "/usr/lib/plat/lib64/$library" ] || echo "the package of $library" ;;
  esac
done </tmp/rpm-needs | sort -u >/tmp/rpm-wanted
rpm --dbpath /tmp/rpm -q --requires plat | grep -v '^rpmlib(' | sort -u >/tmp/rpm-asked
diff /tmp/rpm-asked /tmp/rpm-wanted
rpm --dbpath /tmp/rpm -e plat
apt-get purge -qq -y --autoremove rpm >/dev/null

say the archive
tar -xzf /packages/plat-*.tar.gz -C /opt
tree=$(echo /opt/plat-*)  # one folder, with the version in its name
(
  . "$tree/set_env.sh"
  [ "$(command -v plat)" = "$tree/bin/plat" ]
  cc client.c -I"$ASCEND_HOME_PATH/include" -L"$NPU_HOST_LIB" -lascendcl -o /tmp/client
  expect 'client ran on Ascend910B3' /tmp/client
  expect 'client ran on Ascend910B3' plat check -- /tmp/client
)
rm -r "$tree"

say what is left
apt-get purge -qq -y --autoremove gcc libc6-dev >/dev/null
find / -xdev \( -path /proc -o -path /dev -o -path /sys -o -path /tmp -o -path /packages -o -path /var -o -path /etc \) -prune -o -print | sort >/tmp/after
left=$(comm -13 /tmp/before /tmp/after | grep -i plat || true)
if [ -n "$left" ]; then
  echo "The packages left behind:"
  echo "$left"
  exit 1
fi
