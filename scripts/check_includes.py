#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the house in order: who may include whom, what of the system, and under which name.

  - A folder of src/ includes only folders that come before it in src/CMakeLists.txt, and of those only what HOUSE says.
  - Parts of inspect/ include only the parts that HOUSE says.
  - Headers of the system and of other libraries stand only where SYSTEM says; os/ may include them all.
  - The namespace of a folder is its name.
  - A name that only one file sees (unnamed namespace, static) stands in one file of a folder: a build compiles several at a time.
  - The README.md of a folder names each of its headers, and no file that is not there.
  - Nothing is allowed that nobody uses: the tables say what is, not what might be.

check_includes.py [ROOT]: prints what is wrong and where, and exits with 1 if anything is.
"""
import pathlib
import re
import sys

# What each folder includes of the others: all of a folder, or one header of it. The public headers (acl/, mstx/, plat/ of include/) are visible to all.
HOUSE = {
    "base": "",
    "os": "base",
    "core": "base",
    "rules": "base",
    "device": "base os core rules",
    "vmm": "base os core rules device",
    "share": "base os rules device vmm",
    "fabric": "base os rules device vmm share",
    "stream": "base os core rules device",
    "malloc": "base os core rules device vmm share stream",
    "copy": "base os core rules device vmm stream malloc",
    "acl": "base os rules device vmm share fabric stream malloc copy",
    "mstx": "base core",
    "pool": "base core",
    "inspect": "",
    "inspect/check": "base rules inspect/model inspect/trace",
    "inspect/export": "base inspect/check inspect/model inspect/trace",
    "inspect/stand_in": "",
    "inspect/sqlite": "",
    "inspect/import": "base inspect/trace",
    "inspect/model": "base rules inspect/trace",
    "inspect/record": "base os/page.h os/signal_chain.h inspect/trace",
    "inspect/report": "inspect/check inspect/export inspect/model inspect/trace",
    "inspect/trace": "",
    "inspect/view": "inspect/check inspect/export",
    "replay": "base inspect/import inspect/model inspect/trace",
    "fabricd": "base os rules device share fabric",
    "cli": "base os rules device fabric mstx inspect/check inspect/export inspect/import inspect/report inspect/trace inspect/view replay",
}

# Headers that are neither ours nor of the language alone. os/ is the storey that asks the system; the storeys above it up to
# acl/ ask os/. The others run in programs that are not ours, or alone, and ask for themselves.
SYSTEM = {
    "base": "csignal fmt/format.h tl/expected.hpp",
    "rules": "fmt/format.h strings.h",
    "device": "fmt/format.h strings.h thread",
    "share": "random",
    "fabric": "filesystem",
    "stream": "cxxabi.h fmt/format.h random thread",
    "malloc": "fmt/format.h",
    "copy": "immintrin.h",
    "acl": "cxxabi.h dlfcn.h pthread.h thread",
    "mstx": "dlfcn.h fcntl.h fmt/format.h pthread.h stdlib.h sys/mman.h sys/stat.h thread unistd.h",
    "pool": "filesystem fmt/format.h pthread.h sched.h sys/mman.h",
    "inspect/check": "cxxabi.h dwarf.h elfutils/libdw.h elfutils/libdwfl.h filesystem fmt/format.h fnmatch.h nlohmann/json.hpp",
    "inspect/export": "fmt/format.h nlohmann/json.hpp sqlite3.h",
    "inspect/sqlite": "dlfcn.h pthread.h sqlite3.h stdarg.h stdio.h string.h",
    "inspect/import": "filesystem fmt/format.h fstream nlohmann/json.hpp sqlite3.h zlib.h",
    "inspect/model": "fmt/format.h",
    "inspect/record": "dlfcn.h errno.h execinfo.h fcntl.h link.h pthread.h signal.h stdlib.h sys/mman.h sys/prctl.h sys/resource.h sys/stat.h "
                      "sys/syscall.h sys/types.h sys/uio.h time.h unistd.h x86intrin.h",
    "inspect/report": "fmt/format.h",
    "inspect/trace": "fcntl.h fmt/format.h sys/stat.h unistd.h",
    "inspect/view": "fmt/format.h zlib.h",
    "replay": "fmt/format.h",
    "fabricd": "fabric.grpc.pb.h fcntl.h fmt/format.h grpcpp/create_channel.h grpcpp/security/credentials.h "
               "grpcpp/security/server_credentials.h grpcpp/server.h grpcpp/server_builder.h grpcpp/support/channel_arguments.h netdb.h "
               "netinet/in.h netinet/tcp.h nlohmann/json.hpp openssl/crypto.h openssl/evp.h openssl/pem.h openssl/x509.h openssl/x509v3.h "
               "poll.h rdma/fabric.h rdma/fi_cm.h rdma/fi_domain.h rdma/fi_endpoint.h rdma/fi_eq.h rdma/fi_errno.h rdma/fi_rma.h signal.h "
               "sys/mman.h sys/socket.h sys/stat.h sys/syscall.h thread tl/expected.hpp unistd.h",
    "cli": "CLI/CLI.hpp csignal dlfcn.h fcntl.h filesystem fmt/format.h fstream httplib.h nlohmann/json.hpp poll.h strings.h sys/ioctl.h "
           "sys/stat.h termios.h thread unistd.h",
}

# Namespaces besides plat::<folder>. "" is plat itself.
NAMESPACES = {"base": {""}, "rules": {""}, "device": {""}, "cli": {"mstx"}}

# The language. Those of its headers that reach into the system (signals, threads, files, numbers that nobody can guess) are not in
# this list: SYSTEM says who may include them.
LANGUAGE = set("""
algorithm any array atomic barrier bit bitset cassert cctype cerrno cfloat charconv chrono cinttypes climits cmath compare concepts
condition_variable coroutine cstdarg cstddef cstdint cstdio cstdlib cstring ctime cwchar deque exception forward_list
functional future initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale map memory memory_resource mutex
new numbers numeric optional ostream queue ranges ratio regex scoped_allocator semaphore set shared_mutex source_location span
sstream stack stdexcept stop_token streambuf string string_view syncstream system_error tuple type_traits typeindex typeinfo
unordered_map unordered_set utility valarray variant vector version
""".split())

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
NAMESPACE = re.compile(r"^\s*(?:inline\s+)?namespace\s+plat(?:::(\w+))?")
NAMED = re.compile(r"(?<![\w/.])((?:[a-z]\w*/)*[a-z]\w*\.(?:h|cpp|inc))\b")  # files, in a README.md
SUFFIXES = {".h", ".hpp", ".inc", ".c", ".cpp", ".in"}

COMMENTS_AND_TEXTS = re.compile(r"""//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+'(?!\w)""", re.DOTALL)
UNNAMED = re.compile(r"^namespace \{", re.MULTILINE)
STATIC = re.compile(r"^(?=(?:static|constexpr) )", re.MULTILINE)
TYPE = re.compile(r"(?:struct|class|union|enum(?: class)?) (?:alignas\([^)]*\) )?(\w+)")


def blank(match):
    """As long as what it stands for, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group(0)) if match.group(0)[0] == "/" else '""' + re.sub(r"[^\n]", " ", match.group(0))[2:]


def declarations(text, start):
    """What is declared from `start` on to the end of the scope: (offset, the text up to its body or value)."""
    depth, head, begin = 0, "", None
    for at in range(start, len(text)):
        character = text[at]
        if depth == 0 and character == "}":
            return
        if depth == 0 and character == ";" and head.strip():
            yield begin, head.strip()
            head, begin = "", None
        elif character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            # The end of a body, or of a value that goes on to a semicolon.
            if depth == 0 and text[at + 1 : at + 2] in ("\n", "") and head.strip():
                yield begin, head.strip()
                head, begin = "", None
        elif depth == 0 and character != ";":
            begin = at if begin is None and not character.isspace() else begin
            head += character


def declared(head):
    """The name that a declaration gives to something, and of a function the types of its parameters, by which others may have the
    same name; None if it adds to what has one."""
    head = re.sub(r"\[\[.*?\]\]|\b(?:__attribute__|alignas)\s*\(\(?[^()]*(?:\([^()]*\))?[^()]*\)?\)|^#.*$", "", head, flags=re.MULTILINE)
    while found := re.match(r"\s*template\s*<(?:[^<>]|<(?:[^<>]|<[^<>]*>)*>)*>", head):
        head = head[found.end() :]
    head = re.split(r"(?<![=!<>])=(?!=)", head)[0].strip() if "operator" not in head else ""
    if found := TYPE.match(head):
        return found.group(1), None
    if found := re.match(r"using (\w+)$", head):
        return found.group(1), None
    found = re.search(r"(?<![\w:~])(\w+)\s*(?:\(|(?:\[[^\]]*\])*$)", head)
    if not found or head.startswith(("using", "friend", "static_assert", "extern", "namespace")):
        return None
    if not found.group(0).endswith("("):
        return found.group(1), None
    parameters = head[found.end() : head.rindex(")")].split(",") if ")" in head else []
    return found.group(1), tuple(re.sub(r"(?<=[\w&*> ])\b\w+$", "", " ".join(one.split())).strip() for one in parameters)


def own_names(path):
    """What only this file sees, as declared() says it, and where each stands first."""
    text = COMMENTS_AND_TEXTS.sub(blank, path.read_text())
    names = {}
    for found in UNNAMED.finditer(text):
        for offset, head in declarations(text, found.end()):
            names.setdefault(declared(head), offset)
    for found in STATIC.finditer(text):
        for offset, head in declarations(text, found.end()):
            names.setdefault(declared(head), offset)
            break
    names.pop(None, None)
    return {one: text.count("\n", 0, offset) + 1 for one, offset in names.items()}


def order(root):
    """The folders of the house, bottom to top."""
    text = (root / "src/CMakeLists.txt").read_text()
    found = re.search(r"foreach\(folder ([^)]*)\)", text)
    return found.group(1).split() if found else []


class House:
    def __init__(self, root, house=None, system=None, namespaces=None):
        self.root = root
        self.order = order(root)
        self.house = {name: set(uses.split()) for name, uses in (HOUSE if house is None else house).items()}
        self.system = {name: set(uses.split()) for name, uses in (SYSTEM if system is None else system).items()}
        self.namespaces = NAMESPACES if namespaces is None else namespaces
        self.used = {"house": set(), "system": set(), "namespaces": set()}
        self.wrong = []

    def room_of(self, path):
        """The entry of the table that a path below src/ belongs to: the folder, or its part."""
        part = "/".join(path.parts[:2])
        return part if part in self.house else path.parts[0]

    def check_include(self, where, room, name):
        if (self.root / "include" / name).exists():
            return
        if (self.root / "src" / name).exists():
            allowed = self.house.get(room, ())
            target = name if name in allowed else self.room_of(pathlib.PurePath(name))
            self.used["house"].add((room, target))
            if target != room and target not in allowed:
                self.wrong.append(f"{where}: {room}/ may not include {name} (HOUSE in scripts/check_includes.py)")
        elif name not in LANGUAGE:
            self.used["system"].add((room, name))
            if room != "os" and name not in self.system.get(room, ()):
                self.wrong.append(f"{where}: {room}/ may not include <{name}>: ask os/, or say so in SYSTEM of scripts/check_includes.py")

    def check_namespace(self, where, folder, name):
        self.used["namespaces"].add((folder, name))
        if name != folder and name not in self.namespaces.get(folder, ()):
            spelled = f"plat::{name}" if name else "plat"
            self.wrong.append(f"{where}: the namespace of {folder}/ is plat::{folder}, not {spelled}")

    def check_file(self, path):
        below = path.relative_to(self.root / "src")
        room = self.room_of(below)
        for number, line in enumerate(path.read_text().splitlines(), 1):
            where = f"{path.relative_to(self.root)}:{number}"
            if found := INCLUDE.match(line):
                self.check_include(where, room, found.group(1))
            elif found := NAMESPACE.match(line):
                self.check_namespace(where, below.parts[0], found.group(1) or "")

    def check_own_names(self):
        seen = {}
        for path in sorted((self.root / "src").rglob("*.cpp")):
            room = self.room_of(path.relative_to(self.root / "src"))
            for (name, parameters), line in own_names(path).items():
                known = seen.setdefault((room, name), [])
                for other, other_line, other_parameters in known:
                    if other != path and (parameters == other_parameters or None in (parameters, other_parameters)):
                        self.wrong.append(f"{path.relative_to(self.root)}:{line}: {name} stands in {other.name}:{other_line} too, and a "
                                          "build may compile both files at once")
                known.append((path, line, parameters))

    def check_readme(self, folder):
        """The door of a folder. What stands in its subfolders may be named, and need not be."""
        place = self.root / "src" / folder
        readme = place / "README.md"
        if not readme.exists():
            self.wrong.append(f"src/{folder}: there is no README.md")
            return
        text = readme.read_text()
        for path in sorted(place.glob("*.h")):
            if not re.search(rf"(?<![\w/]){re.escape(path.name)}", text):
                self.wrong.append(f"src/{folder}/README.md: {path.name} is not named")
        inside = {path.name for path in place.rglob("*") if path.is_file()}
        for name in sorted(set(NAMED.findall(text))):
            below = [self.root / "src" / name, self.root / "include" / name]
            known = name in inside or any(name in uses for uses in self.system.values()) or any(path.exists() for path in below)
            if not known and not any((self.root / "include").rglob(name)):
                self.wrong.append(f"src/{folder}/README.md: there is no {name}")

    def check_tables(self):
        for folder in self.order:
            if folder not in self.house:
                self.wrong.append(f"src/CMakeLists.txt: {folder}/ is not in HOUSE of scripts/check_includes.py")
        for room, uses in self.house.items():
            folder = room.split("/")[0]
            if folder not in self.order:
                self.wrong.append(f"HOUSE: there is no {room}/")
                continue
            for target in uses:
                above = target.split("/")[0]
                if above != folder and above not in self.order[: self.order.index(folder)]:
                    self.wrong.append(f"HOUSE: {room}/ uses {target}/, which does not come before it in src/CMakeLists.txt")
        for name, table in (("HOUSE", self.house), ("SYSTEM", self.system), ("NAMESPACES", self.namespaces)):
            for room, allowed in table.items():
                for target in sorted(allowed):
                    if (room, target) not in self.used[name.lower()]:
                        self.wrong.append(f"{name}: {room}/ is allowed {target or 'plat'} and does not use it; take it out")

    def check(self):
        for path in sorted((self.root / "src").rglob("*")):
            if path.is_file() and path.suffix in SUFFIXES:
                self.check_file(path)
        self.check_own_names()
        for folder in self.order:
            self.check_readme(folder)
        self.check_tables()
        return self.wrong


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    wrong = House(root).check()
    print("\n".join(wrong) if wrong else "the house: ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
