# SPDX-License-Identifier: Apache-2.0
"""Scripts as users write them, run as users run them."""
import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parents[3] / "examples/python"
PLAT = os.environ["PLAT_COMMAND"]
# `plat run` and `plat check` must find the modules and the libraries by themselves.
PLAIN = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LD_LIBRARY_PATH", "PLAT_NODE")}
WITH_MODULES = PLAIN | {"PYTHONPATH": os.environ["PYTHONPATH"]}


def run(*command, env=PLAIN):
    return subprocess.run([str(part) for part in command], text=True, capture_output=True, env=env)


# The one between servers wants their daemons, and is a test of its own where there are any.
@pytest.mark.parametrize("script", sorted(path.name for path in EXAMPLES.glob("*.py") if not path.name.startswith("fabric_")))
def test_examples_run_under_plat_run(script, tmp_path):
    done = run(PLAT, "run", "--quiet", "--devices", "1", "--capacity", "256MiB", "--", sys.executable, "-B", EXAMPLES / script)
    assert done.returncode == 0 and "data came back: True" in done.stdout and "False" not in done.stdout, done.stderr


def test_a_pyacl_script_is_clean_under_plat_check():
    done = run(PLAT, "check", "--", sys.executable, "-B", EXAMPLES / "seven_steps.py", env=WITH_MODULES)
    assert done.returncode == 0 and "memory came back: True" in done.stdout, done.stderr
    assert "plat check: 0 errors, 0 warnings" in done.stderr


def test_a_script_that_leaks_is_told_so_by_plat_check(tmp_path):
    script = tmp_path / "leak.py"
    script.write_text("import acl\nacl.init()\nacl.rt.set_device(0)\nacl.rt.malloc(1000, 0)\n")
    done = run(PLAT, "check", "--", sys.executable, "-B", script, env=WITH_MODULES)
    assert done.returncode == 1 and "INSP-Leak-device-block" in done.stderr, done.stderr
