# SPDX-License-Identifier: Apache-2.0
"""scripts/check_includes.py finds each kind of violation: a small house, whole, and then with one thing wrong."""
import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/check_includes.py"
spec = importlib.util.spec_from_file_location("check_includes", SCRIPT)
check_includes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(check_includes)

TREE = {
    "src/CMakeLists.txt": "foreach(folder base os low high)\n  add_subdirectory(${folder})\nendforeach()\n",
    "include/acl/acl.h": "",
    "src/base/text.h": "#include <string>\nnamespace plat {}\n",
    "src/os/file.cpp": "#include <unistd.h>\nnamespace plat::os {}\n",
    "src/low/low.h": '#include "base/text.h"\n#include "acl/acl.h"\nnamespace plat::low {}\n',
    "src/high/high.cpp": '#include "low/low.h"\n#include <dlfcn.h>\nnamespace plat::high {}\n',
    "src/high/record/hook.c": '#include "high/trace/event.h"\n',
    "src/high/trace/event.h": "",
    "src/base/README.md": "text.h   text\n",
    "src/os/README.md": "file.cpp\n",
    "src/low/README.md": "low.h, over `base/text.h`, <dlfcn.h> and acl.h\n",
    "src/high/README.md": "high.cpp; event.h is in trace/\n",
}
HOUSE = {"base": "", "os": "", "low": "base", "high": "low", "high/record": "high/trace", "high/trace": ""}
SYSTEM = {"high": "dlfcn.h"}
NAMESPACES = {"base": {""}}


@pytest.fixture
def look(tmp_path):
    """Writes the house with changes (a path and lines that are added to it) and looks at it."""

    def run(changes=None, house=None, system=None, namespaces=None):
        for path, text in TREE.items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        for path, text in (changes or {}).items():
            file = tmp_path / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(TREE.get(path, "") + text)
        return check_includes.House(tmp_path, house or HOUSE, system or SYSTEM, namespaces or NAMESPACES).check()

    return run


def test_a_house_in_order(look):
    assert look() == []


@pytest.mark.parametrize(
    "path, text, said",
    [
        ("src/low/low.h", '#include "high/trace/event.h"\n', "src/low/low.h:4: low/ may not include high/trace/event.h"),
        ("src/high/high.cpp", '#include "base/text.h"\n', "src/high/high.cpp:4: high/ may not include base/text.h"),
        ("src/high/high.cpp", "#include <base/text.h>\n", "may not include base/text.h"),
        ("src/high/record/hook.c", '#include "low/low.h"\n', "src/high/record/hook.c:2: high/record/ may not include low/low.h"),
        ("src/low/low.h", "#include <unistd.h>\n", "low/ may not include <unistd.h>"),
        ("src/low/low.h", "#  include <csignal>\n", "low/ may not include <csignal>"),
        ("src/low/low.h", "#include <thread>\n", "low/ may not include <thread>"),
        ("src/low/low.h", "#include <filesystem>\n", "low/ may not include <filesystem>"),
        ("src/low/table.inc", "#include <fcntl.h>\n", "src/low/table.inc:1: low/ may not include <fcntl.h>"),
        ("src/low/page.cpp.in", "#include <fcntl.h>\n", "src/low/page.cpp.in:1: low/ may not include <fcntl.h>"),
        ("src/low/low.h", "namespace plat::other {}\n", "the namespace of low/ is plat::low, not plat::other"),
        ("src/low/low.h", "namespace plat {}\n", "the namespace of low/ is plat::low, not plat"),
    ],
)
def test_what_a_file_must_not_do(look, path, text, said):
    wrong = look({path: text})
    assert len(wrong) == 1 and said in wrong[0]


@pytest.mark.parametrize(
    "tables, said",
    [
        ({"house": {**HOUSE, "low": "base os"}}, "HOUSE: low/ is allowed os and does not use it"),
        ({"system": {**SYSTEM, "low": "fcntl.h"}}, "SYSTEM: low/ is allowed fcntl.h and does not use it"),
        ({"namespaces": {**NAMESPACES, "low": {"old"}}}, "NAMESPACES: low/ is allowed old and does not use it"),
    ],
)
def test_nothing_is_allowed_that_nobody_uses(look, tables, said):
    wrong = look(**tables)
    assert len(wrong) == 1 and said in wrong[0]


def test_the_order_is_that_of_cmake(look):
    upward = look({"src/low/low.h": '#include "high/trace/event.h"\n'}, house={**HOUSE, "low": "base high/trace"})
    assert len(upward) == 1 and "low/ uses high/trace/, which does not come before it" in upward[0]


def test_one_header_of_a_folder_may_be_allowed_alone(look):
    one = {**HOUSE, "high/record": "base/text.h high/trace"}
    assert look({"src/high/record/hook.c": '#include "base/text.h"\n'}, house=one) == []
    unused = look({"src/high/record/hook.c": ""}, house=one)
    assert len(unused) == 1 and "high/record/ is allowed base/text.h and does not use it" in unused[0]
    other = look({"src/base/other.h": "", "src/base/README.md": "other.h\n",
                  "src/high/record/hook.c": '#include "base/text.h"\n#include "base/other.h"\n'}, house=one)
    assert len(other) == 1 and "high/record/ may not include base/other.h" in other[0]


def test_every_folder_is_in_the_table(look):
    unknown = look(house={name: uses for name, uses in HOUSE.items() if name != "os"})
    assert len(unknown) == 1 and "os/ is not in HOUSE" in unknown[0]
    gone = look(house={**HOUSE, "attic": ""})
    assert len(gone) == 1 and "there is no attic/" in gone[0]


FIRST = """namespace plat::low {
namespace {
// A comment with a } and "a quote.
constexpr const char* kText = "a text with { in it";
struct Pair {
  int one, two;
};
template <class T, class U = std::pair<T, int>>
int sum(const Pair& pair, T more) {
  int local = 1;
  return pair.one + local;
}
std::atomic<bool> begun{false};
}  // namespace
static int count(int of) { return of; }
int told(int of) { return of; }
}  // namespace plat::low
"""


@pytest.mark.parametrize(
    "second, said",
    [
        ("namespace {\nint kText[3];\n}\n", ["src/low/second.cpp:2: kText stands in first.cpp:4 too"]),
        ("namespace {\nclass Pair;\n}\n", ["src/low/second.cpp:2: Pair stands in first.cpp:5 too"]),
        ("namespace {\n\n[[nodiscard]] int sum(const Pair& p, T m) {\n  return 1;\n}\n}\n", ["src/low/second.cpp:3: sum stands in first.cpp:8 too"]),
        ("namespace {\nvoid begun();\n}\n", ["src/low/second.cpp:2: begun stands in first.cpp:13 too"]),
        ("namespace {\nint count(int other) {\n  return 2;\n}\n}\n", ["src/low/second.cpp:2: count stands in first.cpp:15 too"]),
        ("static constexpr int kText = 1;\n", ["src/low/second.cpp:1: kText stands in first.cpp:4 too"]),
        # Names inside something, with other parameters, of every file, or in a comment.
        ("namespace {\nstruct Other {\n  int begun;\n};\n}\n", []),
        ("namespace {\nint sum(const Pair& pair) {\n  const int begun = 1;\n  return begun;\n}\n}\n", []),
        ("namespace {\nint told = 1;\n// int begun;\n}\n", []),
    ],
)
def test_a_name_that_two_files_have_for_themselves(look, second, said):
    files = {"src/low/first.cpp": FIRST, "src/low/second.cpp": second, "src/base/third.cpp": second}
    assert [line.split(" too,")[0] + " too" for line in look(files)] == said


def test_this_house_is_in_order():
    assert check_includes.House(SCRIPT.parents[1]).check() == []


@pytest.mark.parametrize(
    "path, text, said",
    [
        ("src/low/more.h", "", "src/low/README.md: more.h is not named"),
        ("src/base/README.md", "old.h    what was there once\n", "src/base/README.md: there is no old.h"),
        ("src/high/README.md", "see `low/old.cpp`\n", "src/high/README.md: there is no low/old.cpp"),
        ("src/high/trace/more.h", "", None),
    ],
)
def test_the_door_of_a_folder_names_what_is_behind_it(look, path, text, said):
    wrong = look({path: text})
    assert (len(wrong) == 1 and said in wrong[0]) if said else wrong == []


def test_every_folder_has_a_door(look, tmp_path):
    assert look() == []
    (tmp_path / "src/low/README.md").unlink()
    assert check_includes.House(tmp_path, HOUSE, SYSTEM, NAMESPACES).check() == ["src/low: there is no README.md"]
