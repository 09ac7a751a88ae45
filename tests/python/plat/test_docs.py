# SPDX-License-Identifier: Apache-2.0
"""The page about Python, as a user runs it: every snippet by itself, in a folder of its own."""
import pathlib
import re
import subprocess
import sys

import pytest

PAGE = next(parent / "docs" / "howto" / "python.md" for parent in pathlib.Path(__file__).resolve().parents
            if (parent / "docs" / "howto" / "python.md").exists())
SNIPPETS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)


@pytest.mark.parametrize("number", range(len(SNIPPETS)))
def test_a_snippet_runs_and_prints_what_it_says(number, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SNIPPETS[number])
    done = subprocess.run([sys.executable, "-B", script.name], cwd=tmp_path, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0 and "Traceback" not in done.stderr, done.stderr
    for words in re.findall(r"^# (.*?)(?: \.\.\.)?$", SNIPPETS[number], re.M):
        assert words in done.stdout.replace(f"{tmp_path}/", "")


def test_every_name_that_the_page_mentions_exists():
    import plat
    names = re.findall(r"`(?:with )?plat\.(\w+)", PAGE.read_text())
    assert names and all(hasattr(plat, name) for name in names), names
    for name in re.findall(r"`pool\.(\w+)", PAGE.read_text()):
        assert hasattr(plat.Pool, name), name
