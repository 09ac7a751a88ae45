# SPDX-License-Identifier: Apache-2.0
"""What is left of Plat's own pool: blocks that never came back, and nothing else."""
import os

import pytest

from command import rules_of, run

PROGRAM = os.environ["PLAT_PROGRAM"]


@pytest.mark.parametrize("how, found", [
    ("left", ["INSP-Leak-region"]),
    ("freed", []),
    ("reset", []),
    ("arena", []),
    ("torch", []),
    ("torch_left", ["INSP-Leak-region"]),
])
def test_a_block_that_is_left_is_the_only_leak(how, found):
    done = run("check", "--json", "--", PROGRAM, how)
    assert rules_of(done) == found, done.stdout + done.stderr
    assert done.returncode == (1 if found else 0), done.stderr
