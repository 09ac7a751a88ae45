# SPDX-License-Identifier: Apache-2.0
"""plat view --live: the page of a program that runs, who may look, and when it ends."""
import http.client
import os
import pathlib
import re
import subprocess
import urllib.parse

import pytest

from command import PLAT, hiding
from page import unpack

PROGRAM = os.environ["PLAT_PROGRAM"]


class Served:
    """A recorded program that waits for its stdin, and a server that shows it."""

    def __init__(self, tmp_path):
        self.program = subprocess.Popen([PLAT, "record", "-o", str(tmp_path / "run.trace"), "--", PROGRAM],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = int(self.program.stdout.readline())
        self.server = subprocess.Popen([PLAT, "view", "--live", "--pid", str(self.pid)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, text=True)
        address = urllib.parse.urlsplit(self.server.stdout.readline().strip())
        self.port, self.token = address.port, urllib.parse.parse_qs(address.query)["token"][0]
        assert address.hostname == "127.0.0.1" and len(self.token) == 32

    def ask(self, path, token=None, last=0, **headers):
        """Status and body."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request("GET", f"{path}?token={self.token if token is None else token}{'&last=1' if last else ''}", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def step(self, word="more"):
        self.program.stdin.write(f"{word}\n")
        self.program.stdin.flush()
        assert self.program.stdout.readline() == "done\n"

    def finish(self):
        self.program.stdin.close()
        self.program.wait(60)


@pytest.fixture
def served(tmp_path):
    one = Served(tmp_path)
    yield one
    one.program.stdin.close()
    one.program.wait(60)
    one.server.terminate()
    one.server.wait(60)


def test_the_page_and_its_data_are_served(served):
    status, page = served.ask("/")
    assert status == 200 and b"platFollow" in page and served.token.encode() in page
    status, data = served.ask("/data")
    assert status == 200 and unpack(data)["process"]["pid"] == served.pid


def test_who_has_no_token_or_comes_by_another_name_is_refused(served):
    for path in ["/", "/data", "/events", "/nothing"]:
        for token in ["", "0" * 32, served.token[:-1], served.token + "0"]:
            status, body = served.ask(path, token)
            assert status == 403 and served.token.encode() not in body
        status, body = served.ask(path, Host="evil.example")
        assert status == 403 and served.token.encode() not in body
        assert served.ask(path, Host=f"127.0.0.1.evil.example:{served.port}")[0] == 403
    assert served.ask("/nothing")[0] == 404
    assert served.ask("/data", Host=f"localhost:{served.port}")[0] == 200


def events_of(served):
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=60)
    connection.request("GET", f"/events?token={served.token}")
    answer = connection.getresponse()
    assert answer.status == 200 and answer.getheader("Content-Type") == "text/event-stream"
    while line := answer.readline().decode():
        if line.startswith("event: "):
            yield line[7:].strip()


def test_pages_hear_of_more_and_of_the_end_and_the_server_ends_with_its_program(served):
    events = events_of(served)
    assert next(events) == "more"  # what there was at the beginning
    before = unpack(served.ask("/data")[1])["process"]["events"]
    served.step()
    assert next(events) == "more"
    assert unpack(served.ask("/data")[1])["process"]["events"] > before
    served.finish()
    assert list(events)[-1] == "end"
    assert served.server.wait(60) == 0


def test_findings_come_while_the_program_runs_and_leaks_at_its_end(served):
    events = events_of(served)
    assert next(events) == "more"
    assert unpack(served.ask("/data")[1])["findings"] == []
    served.step("wrong")
    rules = []
    while rules != ["INSP-Access-past-end"]:  # what comes after it lets it settle
        served.step()
        assert next(events) == "more"
        rules = [finding["rule"] for finding in unpack(served.ask("/data")[1])["findings"]]
        assert rules in ([], ["INSP-Access-past-end"])
    served.finish()
    assert "end" in events  # and no further: the last is there to be fetched for a while
    data = unpack(served.ask("/data")[1])
    assert sorted(finding["rule"] for finding in data["findings"]) == ["INSP-Access-past-end"] + ["INSP-Leak-device-block"] * 2
    (mistake,) = [finding for finding in data["findings"] if finding["rule"] == "INSP-Access-past-end"]
    assert len(mistake["lives"]) == 1 and data["process"]["judged"]


def test_a_question_from_before_the_end_is_not_taken_for_the_last(served):
    events = events_of(served)
    assert next(events) == "more"
    served.finish()
    assert "end" in events
    assert served.ask("/data")[0] == 200  # as if it had been on its way
    with pytest.raises(subprocess.TimeoutExpired):
        served.server.wait(1)
    assert served.ask("/data", last=1)[0] == 200
    assert served.server.wait(60) == 0


def test_where_the_http_library_is_not_installed_the_command_works_and_says_so(served, tmp_path):
    libraries = subprocess.run(["ldd", pathlib.Path(PLAT).parents[1] / "lib64/plat/libplat_live.so"], capture_output=True, text=True,
                               check=True).stdout
    (library,) = re.findall(r"libcpp-httplib\.so\S*(?= =>)", libraries)
    hidden = hiding(tmp_path, library)
    done = subprocess.run([PLAT, "view", "--live", "--pid", str(served.pid)], capture_output=True, text=True, timeout=60, env=hidden)
    assert done.returncode == 1 and "needs cpp-httplib" in done.stderr and library in done.stderr
    assert subprocess.run([PLAT, "view", "--help"], capture_output=True, timeout=60, env=hidden).returncode == 0


def test_a_process_that_is_not_there_is_refused(tmp_path):
    gone = subprocess.Popen(["true"])
    gone.wait()
    done = subprocess.run([PLAT, "view", "--live", "--pid", str(gone.pid)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and f"cannot show pid {gone.pid}" in done.stderr
    assert subprocess.run([PLAT, "view", "--live"], capture_output=True, timeout=60).returncode == 2
    assert subprocess.run([PLAT, "view", "--pid", "1"], capture_output=True, timeout=60).returncode == 2
