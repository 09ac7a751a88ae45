# SPDX-License-Identifier: Apache-2.0
"""scripts/check_used.py finds what a header uses and does not include, and nothing else."""
import pathlib
import sys

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
import check_used  # noqa: E402  (it lies beside check_includes.py, which it uses)

FOLDERS = ["base", "low", "high"]


def missing(text, folder="high"):
    return check_used.missing(text, folder, FOLDERS)


@pytest.mark.parametrize(
    "text, line, name, source",
    [
        ("#pragma once\nstd::atomic<int> count;\n", 2, "std::atomic", "<atomic>"),
        ("#include <atomic>\nstd::mutex lock;\n", 2, "std::mutex", "<mutex>"),
        ("#include <string>\nvoid say(std::string_view text);\n", 2, "std::string_view", "<string_view>"),
        ("#include <vector>\n\nint least = std::min(1, 2);\n", 3, "std::min", "<algorithm>"),
        ("using Time = std::chrono::milliseconds;\n", 1, "std::chrono", "<chrono>"),
        ('#include "base/text.h"\nlow::File file;\n', 2, "low::File", "a header of low/"),
        ("plat::low::File file;\n", 1, "plat::low::File", "a header of low/"),
        ("namespace plat::lower { class File; }\nlow::File file;\n", 2, "low::File", "a header of low/"),
    ],
)
def test_what_a_header_uses_it_includes(text, line, name, source):
    assert missing(text) == [(line, name, source)]


@pytest.mark.parametrize(
    "text",
    [
        "#include <atomic>\nstd::atomic<int> count;\n",
        "#  include <utility>\nstd::tuple_size<int> size;\n",  # of <tuple> too
        "// std::atomic, low::File\nconst char* kText = \"std::mutex low::File\";\n",
        "std::source_location here;\n",  # not in the table
        "mine::std::atomic count;\n",
        '#include "low/file.h"\nlow::File file;\n',
        '#include "low/part/file.h"\nlow::File file;\n',
        "namespace plat::low {\nclass File;\n}\nvoid open(low::File& file);\n",
        "high::Own own;\n",  # of its own folder
        "other::low::File file;\n",
        "int slow = follow::up;\n",
    ],
)
def test_what_is_right_or_of_no_interest(text):
    assert missing(text) == []


def test_each_source_is_said_once_and_in_the_order_of_lines():
    text = "std::mutex one;\nstd::atomic<int> two, three;\nstd::atomic<int> four;\nlow::File file;\n"
    assert missing(text) == [(1, "std::mutex", "<mutex>"), (2, "std::atomic", "<atomic>"), (4, "low::File", "a header of low/")]


def test_all_headers_are_looked_at(tmp_path):
    files = {
        "src/CMakeLists.txt": "foreach(folder low high)\nendforeach()\n",
        "src/low/file.h": "std::mutex lock;\n",
        "src/high/part/deep.h": "low::File file;\n",
        "src/high/body.cpp": "std::mutex lock;\n",  # only headers are read by others
    }
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    assert check_used.check(tmp_path) == [
        "src/high/part/deep.h:1: uses low::File and does not include a header of low/",
        "src/low/file.h:1: uses std::mutex and does not include <mutex>",
    ]


def test_this_house_has_nothing_missing():
    assert check_used.check(SCRIPTS.parent) == []
