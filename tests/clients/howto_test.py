# SPDX-License-Identifier: Apache-2.0
"""The projects in docs/howto/mocks.md, written out as they stand there and run as they say."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = os.environ["PLAT_BUILD"]
PAGE = (ROOT / "docs/howto/mocks.md").read_text()
CHAPTERS = dict(re.findall(r"^## (.*?)\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S))
FENCE = re.compile(r"^```\w+ (\S+)\n(.*?)^```", re.M | re.S)
CLEAN = {k: v for k, v in os.environ.items() if not k.startswith(("PLAT_", "ASCEND_", "LD_", "PYTHON"))}
# The interpreter that runs this test has pytest.
CLEAN |= {"PATH": f"{os.path.dirname(sys.executable)}:{CLEAN['PATH']}", "PLAT_QUIET": "1"}


@pytest.fixture(scope="session")
def tree(tmp_path_factory):
    prefix = tmp_path_factory.mktemp("install") / "plat"
    subprocess.run(["cmake", "--install", BUILD, "--prefix", prefix], check=True, capture_output=True)
    return prefix


def test_every_chapter_is_a_project():
    assert len(CHAPTERS) == 3 and all("run" in dict(FENCE.findall(text)) for text in CHAPTERS.values())


@pytest.mark.parametrize("chapter", sorted(CHAPTERS))
def test_a_project_runs_as_it_stands(chapter, tree, tmp_path):
    files = dict(FENCE.findall(CHAPTERS[chapter]))
    script = files.pop("run")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    done = subprocess.run(["bash", "-ec", f". '{tree}/set_env.sh'\n{script}"], cwd=tmp_path, text=True, capture_output=True,
                          timeout=300, env=CLEAN)
    assert done.returncode == 0, done.stdout + done.stderr
