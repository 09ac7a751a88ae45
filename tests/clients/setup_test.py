# SPDX-License-Identifier: Apache-2.0
"""What scripts/setup.sh says on a system that is no Debian: one whose commands are links to ours, less dpkg-query."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOLS = ("bash", "cat", "dirname", "c++", "cc", "cmake", "ninja", "pkg-config")


@pytest.fixture
def setup(tmp_path):
    for tool in TOOLS:
        (tmp_path / tool).symlink_to(shutil.which(tool))

    def run(*purposes, without=(), **environment):
        for tool in without:
            (tmp_path / tool).unlink()
        return subprocess.run(["bash", ROOT / "scripts/setup.sh", *purposes], text=True, capture_output=True,
                              env={"PATH": str(tmp_path)} | environment)

    return run


def test_what_is_here_is_not_asked_for(setup):
    done = setup("demo")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_what_is_missing_is_named_alone(setup):
    done = setup("demo", without=["ninja", "pkg-config"])
    assert done.returncode == 1 and "calls: ninja-build pkg-config libdw-dev\n" in done.stderr  # which pkg-config would have found
    assert "docs/howto/install.md" in done.stderr


def test_what_a_build_leaves_out_stops_nothing(setup):
    done = setup("release", PKG_CONFIG_LIBDIR="/nowhere")
    assert done.returncode == 0 and "Going on without what Debian calls libcpp-httplib-dev.\n" == done.stderr


def test_a_library_in_a_place_of_its_own_is_found(setup, tmp_path):
    (tmp_path / "mine/lib/pkgconfig").mkdir(parents=True)
    (tmp_path / "mine/lib/pkgconfig/libdw.pc").write_text("Name: libdw\nDescription: mine\nVersion: 1\n")
    nowhere = {"PKG_CONFIG_LIBDIR": "/nowhere"}
    assert "calls: libdw-dev\n" in setup("demo", **nowhere).stderr
    assert setup("demo", **nowhere, CMAKE_PREFIX_PATH=f"/elsewhere:{tmp_path}/mine").returncode == 0


@pytest.mark.parametrize("purpose", "demo python release test tidy bench fuzz browser fresh arm64 fabric deb packages".split())
def test_every_purpose_has_an_answer(setup, purpose):
    done = setup(purpose)
    assert done.returncode in (0, 1) and "command not found" not in done.stderr and "Traceback" not in done.stderr
