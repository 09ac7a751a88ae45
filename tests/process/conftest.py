# SPDX-License-Identifier: Apache-2.0
"""What the tests of the plat command share: the command, a machine of each test's own, processes that hold memory."""
import json
import os
import subprocess

import pytest

PLAT = os.environ["PLAT_COMMAND"]
HOLDER = os.environ["PLAT_HOLDER"]
MIB = 1 << 20


class Machine:
    """A machine that only this test knows, and the processes that the test starts on it."""

    def __init__(self, node):
        self.node = node
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(("PLAT_", "ASCEND_"))}
        self.environment |= {"PLAT_NODE": node, "PLAT_QUIET": "1"}
        self.processes = []

    def plat(self, *arguments, **extra):
        environment = self.environment | extra.pop("env", {})
        for name in extra.pop("without", ()):
            environment.pop(name, None)
        return subprocess.run([PLAT, *arguments], env=environment, text=True, capture_output=True, timeout=60, **extra)

    def info(self, *arguments):
        done = self.plat("info", "--json", *arguments)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def hold(self, device, mib):
        process = subprocess.Popen([PLAT, "run", "--", HOLDER, str(device), str(mib)], env=self.environment, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.processes.append(process)
        assert process.stdout.readline() == "ready\n"
        return process

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.plat("clean", "--node", self.node)


@pytest.fixture
def machine(request):
    made = Machine(f"test-cli-{os.getpid()}-{abs(hash(request.node.name)) % 10000}")
    yield made
    made.close()
