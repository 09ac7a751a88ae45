# SPDX-License-Identifier: Apache-2.0
"""The corpus of the trace reader is of today's encoding: what was recorded is read to its end, and means what it meant."""
import json
import os
import pathlib
import subprocess

import pytest

import trace_corpus

PLAT = os.environ["PLAT_COMMAND"]
RECORDED = sorted(path for path in trace_corpus.CORPUS.iterdir() if not path.name.startswith("bad-"))


@pytest.fixture(scope="module")
def header(tmp_path_factory):
    return trace_corpus.record(PLAT, os.environ["PLAT_PROGRAMS"], "s0_inside", "none", tmp_path_factory.mktemp("t"))


def test_there_are_all(header):
    names = {name.replace("_", "-") for name in trace_corpus.PLAIN + trace_corpus.WITH_STACKS}
    assert {path.name for path in RECORDED} == names


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.name)
def test_is_read_to_its_end(path, header, tmp_path):
    trace = tmp_path / "trace"
    trace.write_bytes(trace_corpus.trace_of(header, path.read_bytes()))
    done = subprocess.run([PLAT, "check", trace], capture_output=True, text=True, timeout=60)
    assert done.returncode in (0, 1) and "damaged" not in done.stdout, done.stdout + done.stderr
    report = json.loads(subprocess.run([PLAT, "report", "--json", trace], capture_output=True, text=True, timeout=60).stdout)
    assert report[0]["complete"] and report[0]["events"] > 5


def test_finds_what_was_planted(header, tmp_path):
    trace = tmp_path / "trace"
    for name, rule in [("order-reuse", "INSP-Order-reuse"), ("s9-read-only", "INSP-Access-permission")]:
        trace.write_bytes(trace_corpus.trace_of(header, (trace_corpus.CORPUS / name).read_bytes()))
        assert rule in subprocess.run([PLAT, "check", trace], capture_output=True, text=True, timeout=60).stdout
