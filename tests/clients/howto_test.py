# SPDX-License-Identifier: Apache-2.0
"""The projects in docs/howto/mocks.md and the homes in docs/howto/install.md, written out as they stand there and run as they say."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["PLAT_BUILD"]
FENCE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.M | re.S)
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PLAT_", "ASCEND_", "LD_", "PYTHON"))}
# The interpreter that runs this test has pytest.
CLEAN |= {"PATH": f"{os.path.dirname(sys.executable)}:{CLEAN['PATH']}", "PLAT_QUIET": "1"}


def chapters(page, level, below=""):
    """{title: text} of a page's chapters with headings of that level, all of them or those below a heading."""
    text = (ROOT / "docs/howto" / page).read_text()
    text = re.search(rf"^{re.escape(below)}\n(.*?)(?=^## |\Z)", text, re.M | re.S).group(1) if below else text
    return {f"{page}: {title}": body for title, body in re.findall(rf"^{level} (.*?)\n(.*?)(?=^##+ |\Z)", text, re.M | re.S)}


MOCKS, HOMES = chapters("mocks.md", "##"), chapters("install.md", "###", "## Four homes")
CHAPTERS = MOCKS | HOMES
CONTAINER = "install.md: A container image"  # for which something must run containers


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("install") / "plat"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    return prefix


def test_every_chapter_is_a_project():
    assert len(MOCKS) == 3 and len(HOMES) == 4
    assert [title for title, text in CHAPTERS.items() if "run" not in dict(FENCE.findall(text))] == [CONTAINER]


@pytest.mark.parametrize("chapter", sorted(CHAPTERS.keys() - {CONTAINER}))
def test_a_project_runs_as_it_stands(chapter, tree, tmp_path):
    files = dict(FENCE.findall(CHAPTERS[chapter]))
    script = files.pop("run")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(["bash", "-ec", f". '{tree}/set_env.sh'\n{script}"], cwd=tmp_path, text=True, capture_output=True,
                          timeout=300, env=CLEAN)
    assert done.returncode == 0, done.stdout + done.stderr
