# SPDX-License-Identifier: Apache-2.0
"""Every call has a test in which each of its steps fails once."""
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(os.environ["PLAT_SOURCE"]) / "scripts"))

import calls  # noqa: E402

# Tests of other names, or the reason why there is none.
ELSEWHERE = {
    "aclInit": "EveryStep.OfOpeningADevice",
    **dict.fromkeys(["aclrtGetTaskIdFromExceptionInfo", "aclrtGetStreamIdFromExceptionInfo", "aclrtGetThreadIdFromExceptionInfo",
                     "aclrtGetDeviceIdFromExceptionInfo", "aclrtGetErrorCodeFromExceptionInfo"],
                    "reads a number of a record that a callback of the client's was given, and makes no step"),
}


def test_every_call_has_a_fault_at_every_step():
    """When this fails, a call was added: give it a scenario in tests/process/every_step_*_test.cpp."""
    listed = subprocess.run([os.environ["PLAT_EVERY_STEP"], "--gtest_list_tests"], capture_output=True, text=True, check=True).stdout
    tested = {re.match(r"[A-Za-z0-9]+(_mpi_dvpp_[a-z]+)?", name)[0] for name in re.findall(r"^  ChangesNothingOrEverything/(\w+)", listed, re.M)}
    exported = calls.exported(os.environ["PLAT_LIBRARY"])
    assert len(exported) > 250
    assert exported - tested - set(ELSEWHERE) == set()
    assert tested & set(ELSEWHERE) == set() and tested - exported == set()
    for name, test in ELSEWHERE.items():
        suite, dot, case = test.partition(".")
        assert not dot or re.search(rf"^{suite}\.\n(  .*\n)*  {case}$", listed, re.M), (name, test)
