# SPDX-License-Identifier: Apache-2.0
"""The headers, the library and docs/calls.md speak of the same calls."""
import os
import pathlib
import re
import sys

SOURCE = pathlib.Path(os.environ["PLAT_SOURCE"])
LIBRARY = os.environ["PLAT_LIBRARY"]
sys.path.insert(0, str(SOURCE / "scripts"))

import calls  # noqa: E402


def test_the_headers_were_understood():
    text = "".join(path.read_text() for path in (SOURCE / "include" / "acl").rglob("*.h"))
    assert {"aclInit", "aclrtMapMem", "aclrtGetSocName", "aclGetRecentErrMsg", "aclAppLog"} <= calls.declared()
    # The macro's own two definitions and their guard aside, each mention is a declaration.
    assert sum(len(c) for _, _, c in calls.headers()) == text.count("\nACL_FUNC_VISIBILITY")


def test_every_exported_call_is_declared():
    assert calls.exported(LIBRARY) - calls.declared() == set()


def test_every_declared_call_is_exported():
    assert calls.declared() - calls.exported(LIBRARY) == set()


def test_what_is_said_to_be_left_out_is_left_out():
    """When this fails, a call was built: take its line away from scripts/calls_out.txt; 'make docs' does."""
    names = [name for _, group in calls.left_out() for name in group]
    assert set(names) & (calls.exported(LIBRARY) | calls.declared()) == set()
    assert len(names) == len(set(names)) and all(re.fullmatch(r"acl\w+", name) for name in names)
    assert all(len(reason) > 10 for reason, _ in calls.left_out())


def test_a_call_that_gets_built_loses_its_line(tmp_path, monkeypatch):
    table = tmp_path / "out.txt"
    table.write_text("# about\n\n: A reason of some length.\naclOne\naclTwo\n")
    monkeypatch.setattr(calls, "OUT", table)
    calls.forget_built({"aclOne", "aclThree"})
    assert calls.left_out() == [("A reason of some length.", ["aclTwo"])]


def test_the_table_of_calls_tells_the_truth():
    """When this fails, a call was added or built: run 'make docs' and commit docs/calls.md."""
    assert (SOURCE / "docs" / "calls.md").read_text() == calls.page(LIBRARY)
