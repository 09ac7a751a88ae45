# SPDX-License-Identifier: Apache-2.0
"""The Python modules of an installed tree, and the wheel that is made of them."""
import os
import stat
import subprocess
import zipfile

import pytest

from install_test import CLEAN, HERE, run, sourced
from install_test import tree  # noqa: F401, a fixture

PYTHON_SCRIPT = HERE.parents[1] / "examples/python/seven_steps.py"


def test_a_python_script_runs_after_set_env(tree):
    assert "memory came back: True" in sourced(tree, f"/usr/bin/python3 -B {PYTHON_SCRIPT}")


@pytest.fixture(scope="session")
def site(tree, tmp_path_factory):
    """A folder into which the wheel was unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = run("/usr/bin/python3", "-B", HERE.parents[1] / "scripts/wheel.py", tree, folder).strip()
    assert wheel.endswith(f"-linux_{os.uname().machine}.whl")
    # Unlike shutil, this keeps what may be executed so.
    with zipfile.ZipFile(wheel) as archive:
        for entry in archive.infolist():
            assert stat.S_ISREG(entry.external_attr >> 16), "pip makes nothing else executable"
            os.chmod(archive.extract(entry, folder / "site"), entry.external_attr >> 16)
    return folder / "site"


@pytest.mark.parametrize("module, wanted", [("acl.cpython-313-aarch64-linux-gnu.so", "cp313-cp313-linux_aarch64"),
                                            ("acl.cpython-313t-x86_64-linux-gnu.so", "cp313-cp313t-linux_x86_64"),
                                            ("acl.cpython-311d-x86_64-linux-gnu.so", "does not say for which Python")])
def test_a_wheel_is_for_the_python_of_its_modules(tmp_path, module, wanted):
    (tmp_path / "python/site-packages").mkdir(parents=True)
    (tmp_path / "python/site-packages" / module).touch()
    script = f"import pathlib, wheel; print(wheel.tag_of(pathlib.Path({str(tmp_path)!r})))"
    done = subprocess.run(["/usr/bin/python3", "-B", "-c", script], text=True, capture_output=True, cwd=HERE.parents[1] / "scripts", env=CLEAN)
    assert wanted in done.stdout + done.stderr and "Traceback" not in done.stderr


def test_a_wheel_needs_nothing_but_itself(site):
    assert "memory came back: True" in run("/usr/bin/python3", "-B", PYTHON_SCRIPT, env={"PYTHONPATH": str(site)})


def test_a_wheel_has_the_command(site, tmp_path):
    command = "/usr/bin/python3", "-B", *site.glob("plat-*.data/scripts/plat")
    found = {"PYTHONPATH": str(site)}
    assert "plat" in run(*command, "--version", env=found)
    run("cc", HERE / "client.c", f"-I{site}/plat/include", f"-L{site}/plat/lib64", "-lacl_rt", "-o", tmp_path / "client")
    for how in "run", "check":
        assert "client ran on" in run(*command, how, "--", tmp_path / "client", env=found)


def test_a_wheel_says_what_it_is(site):
    text = next(site.glob("plat-*.dist-info/METADATA")).read_text()
    assert "Requires-Dist: numpy ; extra == 'numpy'" in text and "\n\n# Plat\n" in text
    assert next(site.glob("plat-*.dist-info/LICENSE")).exists()
