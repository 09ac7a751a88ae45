# SPDX-License-Identifier: Apache-2.0
"""What plat check says to programs with planted mistakes, and to programs without."""
import functools
import json
import os
import re
import subprocess

import pytest

from command import PLAT, rules_of, run, told_by
from expected import BUDGETS, DETAILS, ENDINGS, EXPECTED, KEPT, OPTIONS, SHOWN

PROGRAMS = os.environ["PLAT_PROGRAMS"].split(":")


def check(program, name, *options):
    done = run("check", "--json", *options, "--", program, name)
    return done, [told for told in told_by(done) if "rule" in told]


# The book as plat prints it, so that a rule that is added here is asked for below.
BOOK = {rule["id"]: rule for rule in json.loads(run("rules", "--json", "INSP-").stdout)}
WARNINGS = {name for name, rule in BOOK.items() if rule["severity"] == "warning"} | {"COPY-Peer-access"}


def test_every_rule_is_broken_once_and_kept_once():
    broken = {rule for rules in EXPECTED.values() for rule in rules if rule.startswith("INSP-")}
    assert broken | BUDGETS == set(BOOK)
    assert set(KEPT) | BUDGETS == set(BOOK)
    assert all(EXPECTED[program] == [] for program in KEPT.values())
    assert all(rule in EXPECTED[broken] for rule, (broken, _) in SHOWN.items())


def test_every_program_has_an_expectation():
    names = subprocess.run([PROGRAMS[0]], capture_output=True, text=True, check=True).stdout.split()
    # use_test.py is about these: one that does not end, one that leaves no trace, one with odd names.
    others = {"waits", "takes_all_numbers_and_the_name", "names_that_command"}
    assert sorted(set(names) - others) == sorted(EXPECTED)


# AddressSanitizer stops the program at a mistake that reaches the host's own memory, before it can be told from a trace.
SANITIZED = os.environ.get("PLAT_SANITIZE", "")
SEEN_BY_ASAN = {"host_past_end"} if "address" in SANITIZED else set()


def settings_of(name):
    if "thread" in SANITIZED and any(rule.startswith("INSP-Order-") for rule in EXPECTED[name]):
        return {"PLAT_STREAMS": "seeded:1"}  # work that is not ordered is a race; one thread at a time runs it
    return {}


def alone(program, name):
    """What is told, how plat check ended, and all that was written."""
    done = run("check", "--json", *OPTIONS.get(name, []), "--", program, name, env={**os.environ, **settings_of(name)})
    return told_by(done), done.returncode, done.stderr + done.stdout


ALONE = {"killed", "killed_at_work", "execs"}  # a script sees them end otherwise, or does not know them again


@functools.cache
def together(program, options):
    """All programs with these options, run by one script under one plat check: what is told of each, how it ended, and all that
    was written. A process with AddressSanitizer takes longer to start than a planted program to run."""
    names = [name for name in sorted(set(EXPECTED) - SEEN_BY_ASAN) if tuple(OPTIONS.get(name, [])) == options
             and name not in ALONE]
    calls = [" ".join([*(f"{key}={value}" for key, value in settings_of(name).items()), program, name]) for name in names]
    script = "\n".join(f"{call}; echo ended {name} $?" for call, name in zip(calls, names))
    done = run("check", "--json", *options, "--", "sh", "-c", script)
    ended = {name: int(code) for name, code in re.findall(r"^ended (\S+) (\d+)$", done.stdout, re.MULTILINE)}
    told = {name: [] for name in names}
    for line in done.stdout.splitlines():
        if line.startswith("{"):
            finding = json.loads(line)
            if "rule" in finding:
                told[finding["program"].split()[-1]].append(finding)
    return told, ended, done.stderr


@pytest.mark.parametrize("program", PROGRAMS, ids=["direct", "broker"])
@pytest.mark.parametrize("name", sorted(set(EXPECTED) - SEEN_BY_ASAN))
def test_findings(program, name):
    if "address" in SANITIZED and name not in ALONE:
        of_all, ended, written = together(program, tuple(OPTIONS.get(name, [])))
        findings = of_all[name]
        assert ended[name] == 0, written
    else:
        told, code, written = alone(program, name)
        findings = [finding for finding in told if "rule" in finding]
        assert code == (1 if set(EXPECTED[name]) - WARNINGS else ENDINGS.get(name, 0)), written
    assert sorted(f["rule"] for f in findings) == sorted(EXPECTED[name]), written
    assert "planted wrongly" not in written
    assert "damaged" not in written
    if name in DETAILS:
        assert [re.sub("0x[0-9a-f]{4,}", "*", f["detail"]) for f in findings] == [DETAILS[name]]
    for finding in findings:
        assert finding["hint"] and finding["detail"] and finding["count"] >= 1


def test_text_names_the_block_and_both_sites():
    done = run("check", "--", PROGRAMS[0], "freed")
    assert done.returncode == 1
    assert "INSP-Access-freed" in done.stderr
    assert "allocated by aclrtMalloc" in done.stderr and "given back by aclrtFree" in done.stderr
    # The lines of the program itself, although its helpers are inlined there, and nothing of what runs a program.
    assert done.stderr.count("memory_programs.cpp") >= 3
    assert "__libc_start" not in done.stderr and "_start in" not in done.stderr


def test_calls_of_the_mstx_header_are_named_by_who_makes_them():
    done = run("check", "--", PROGRAMS[0], "s4_freed_region")
    assert "allocated by mstxMemRegionsRegister" in done.stderr
    assert "pool_programs.cpp" in done.stderr and "mstx_impl" not in done.stderr


def test_leaks_are_grouped_by_stack():
    _, findings = check(PROGRAMS[0], "leak_device_block")
    assert findings[0]["count"] == 3 and findings[0]["bytes_together"] == 3 * 4096


def test_exit_codes():
    assert run("check", "--error-exitcode", 42, "--", PROGRAMS[0], "freed").returncode == 42
    assert run("check", "--strict", "--", PROGRAMS[0], "rule_teardown").returncode == 1
    assert run("check", "--", PROGRAMS[0], "no_such_program").returncode == 98
    assert run("check", "--", "/no/such/file").returncode == 127
    assert run("check").returncode == 2
    assert run("check", "/no/such/trace").returncode == 2


def test_a_program_without_acl_is_no_error():
    done = run("check", "--", "/bin/true")
    assert done.returncode == 0 and "no ACL or mstx call" in done.stderr


def test_options_turn_checks_off():
    for name, option in [("s12_unwritten", "--no-unwritten"), ("leak_stream", "--no-leaks"), ("leak_device_block", "--no-leaks"),
                         ("rule_teardown", "--no-warnings")]:
        done, findings = check(PROGRAMS[0], name, option)
        assert findings == [] and done.returncode == 0


def test_advice_is_given_when_asked_for():
    for name in "rule_async_aligned", "rule_block_start", "rule_block_room":
        _, findings = check(PROGRAMS[0], name)
        assert findings == []


def failed_calls(name, *options):
    done = run("check", "--json", *options, "--", PROGRAMS[0], name)
    assert done.returncode == 0, done.stderr
    return [told for told in told_by(done) if "failed_call" in told]


def test_failed_calls_are_listed_and_change_nothing():
    (call,) = failed_calls("fails_for_good", "--strict")
    assert (call["failed_call"], call["count"]) == ("aclrtMalloc", 3) and call["result"] != 0
    assert "memory_programs.cpp" in call["site"]["stack"][0]["text"]
    assert "failed: aclrtMalloc returned" in run("check", "--", PROGRAMS[0], "fails_for_good").stderr
    assert failed_calls("fails_for_good", "--no-failed-calls") == []


def test_failed_calls_name_the_rule():
    watched, other = failed_calls("refused", "--strict")
    assert (watched["failed_call"], watched["broken_rule"], watched["count"]) == ("aclrtMapMem", "VMM-Map-offset-zero", 3)
    assert watched["detail"].startswith("offset: ") and "4096" in watched["detail"] and watched["hint"]
    # One that the recorder does not watch: all that is known is what the device said, and where.
    assert (other["failed_call"], other["count"], other["site"]["call"]) == ("aclrtGetMemInfo", 1, "aclrtGetMemInfo")
    assert other["broken_rule"] and other["result"] != 0
    for call in watched, other:
        assert "heard_programs.cpp" in call["site"]["stack"][0]["text"]
    text = run("check", "--", PROGRAMS[0], "refused").stderr
    assert "failed: aclrtMapMem returned 507899: VMM-Map-offset-zero: offset: " in text.replace(str(watched["result"]), "507899")
    assert "[3 times]" in text and "4 calls returned an error" in text
    assert failed_calls("refused_nothing") == []


def test_probes_are_listed_when_asked_for():
    assert failed_calls("probes") == []
    calls = failed_calls("probes", "--pedantic")
    assert [(call["failed_call"], call["count"]) for call in calls] == [("aclrtGetDevice", 1), ("aclInit", 1)]


def test_what_the_device_warns_of_is_a_warning():
    done, (finding,) = check(PROGRAMS[0], "warned_of")
    assert done.returncode == 0 and (finding["severity"], finding["count"]) == ("warning", 1)
    assert finding["site"]["call"] == "aclrtMemcpy" and "heard_programs.cpp" in finding["site"]["stack"][0]["text"]
    assert check(PROGRAMS[0], "warned_of", "--strict")[0].returncode == 1
    assert check(PROGRAMS[0], "warned_of", "--no-warnings")[1] == []


def test_what_the_device_warns_of_can_be_suppressed(tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("COPY-Peer-access *heard_programs.cpp*\n")
    done = run("check", "--strict", "--suppressions", known, "--", PROGRAMS[0], "warned_of")
    assert done.returncode == 0 and "1 suppressed" in done.stderr


def test_calls_that_are_made_again_with_success_are_listed_when_asked_for():
    assert failed_calls("fails_and_asks_again") == []
    (call,) = failed_calls("fails_and_asks_again", "--pedantic")
    assert call["count"] == 3


def test_budgets():
    _, findings = check(PROGRAMS[0], "peak", "--max-peak", "4MiB")
    assert [f["rule"] for f in findings] == ["INSP-Budget-peak"]
    _, findings = check(PROGRAMS[0], "peak", "--max-peak", "6MiB", "--max-live", "0")
    assert findings == []
    _, findings = check(PROGRAMS[0], "leak_without_reset", "--no-leaks", "--max-live", "0")
    assert [f["rule"] for f in findings] == ["INSP-Budget-live"]


def test_suppressions(tmp_path):
    known = tmp_path / "known.txt"
    known.write_text("INSP-Leak-device-block *main.cpp:*\nINSP-Free-twice\n")
    done = run("check", "--suppressions", known, "--", PROGRAMS[0], "leak_device_block")
    assert done.returncode == 0 and "1 suppressed" in done.stderr
    assert "covered nothing: INSP-Free-twice" in done.stderr
    known.write_text("INSP-No-such-rule\n")
    assert run("check", "--suppressions", known, "--", PROGRAMS[0], "s0_inside").returncode == 2


def test_forms_for_ci(tmp_path):
    import xml.etree.ElementTree as xml
    run("check", "--junit", tmp_path / "j.xml", "--sarif", tmp_path / "s.json", "--", PROGRAMS[0], "leak_mapping")
    suite = xml.parse(tmp_path / "j.xml").getroot()
    assert suite.get("failures") == "3" and len(suite.findall("testcase/failure")) == 3
    names = [case.get("name") for case in suite.findall("testcase")]
    assert len(set(names)) == 3 and all(re.fullmatch(r"INSP-Leak-[a-z]+ at .*:\d+", name) for name in names)
    sarif = json.loads((tmp_path / "s.json").read_text())
    results = sarif["runs"][0]["results"]
    assert sorted(r["ruleId"] for r in results) == EXPECTED["leak_mapping"]
    assert results[0]["locations"][0]["physicalLocation"]["region"]["startLine"] > 0


@pytest.mark.parametrize("stacks", ["fp", "unwind", "none"])
def test_record_then_check_and_report(tmp_path, stacks):
    trace = tmp_path / "t"
    done = run("record", "-o", trace, "--stacks", stacks, "--", PROGRAMS[0], "past_end")
    assert done.returncode == 0, done.stderr
    done = run("check", "--json", trace)
    assert done.returncode == 1
    finding = told_by(done)[0]
    assert finding["rule"] == "INSP-Access-past-end"
    assert bool(finding["site"]["stack"]) == (stacks != "none")
    report = json.loads(run("report", "--json", trace).stdout)[0]
    assert report["peak_bytes"] == 4096 and report["live_bytes"] == 0 and report["complete"]
    assert report["kinds"]["device block"]["made"] == 1
    assert report["at_peak"][0]["live_bytes"] == 4096
    assert "Who held it at the peak" in run("report", trace).stdout
    live = json.loads(run("top", "--once", "--json", trace).stdout)
    assert live["process"]["events"] == report["events"]
    assert live["process"]["at_end"] == report["at_end"] == []
    assert "Who holds it now\n  nobody" in run("top", "--once", trace).stdout
    # Recording again replaces the trace, but nothing that is none.
    assert run("record", "-o", trace, "--", PROGRAMS[0], "s0_inside").returncode == 0
    trace.write_text("mine")
    assert run("record", "-o", trace, "--", PROGRAMS[0], "s0_inside").returncode == 2
    assert trace.read_text() == "mine"


def test_fragmentation_is_reported(tmp_path):
    trace = tmp_path / "t"
    run("record", "-o", trace, "--", PROGRAMS[0], "s10_left")
    report = json.loads(run("report", "--json", trace).stdout)[0]
    heap = report["fragmentation_at_end"][0]
    assert heap["bytes"] == 4096 and heap["used_bytes"] == 256 and heap["largest_free_bytes"] == 4096 - 256


def test_a_killed_program_leaves_a_readable_trace(tmp_path):
    trace = tmp_path / "t"
    assert run("record", "-o", trace, "--", PROGRAMS[0], "killed").returncode == -9
    done = run("check", "--json", trace)
    assert rules_of(done) == ["INSP-Access-past-end"]


def test_a_forked_child_has_a_trace_of_its_own(tmp_path):
    trace = tmp_path / "t"
    run("record", "-o", trace, "--", PROGRAMS[0], "forks")
    assert len(list(tmp_path.iterdir())) == 2
    assert run("check", trace).returncode == 0
    child = next(path for path in tmp_path.iterdir() if path != trace)
    assert run("check", child).returncode == 1


@pytest.mark.skipif("PLAT_DIALECTS" not in os.environ, reason="valgrind does not go together with a sanitizer or an emulator")
def test_unset_fields_of_clients_are_not_read(tmp_path):
    library = os.path.join(os.path.dirname(os.path.dirname(PLAT)), "lib64", "libplat_inspect.so")
    trace = tmp_path / "t"
    done = subprocess.run(["valgrind", "-q", "--error-exitcode=9", os.environ["PLAT_DIALECTS"]], capture_output=True,
                          text=True, timeout=300,
                          env={**os.environ, "LD_PRELOAD": library, "PLAT_INSPECT_TRACE": str(trace)})
    assert done.returncode == 0, done.stderr
    done = run("check", "--json", trace)
    assert set(rules_of(done)) == {"INSP-Mstx-heap-unallocated"}  # the workspace of that program is not device memory


def test_calls_that_are_looked_up_at_run_time_are_seen():
    device = os.path.join(os.path.dirname(os.path.dirname(PLAT)), "lib64", "libascendcl.so")
    for library in "libascendcl.so", device:
        done = run("check", "--json", "--", os.environ["PLAT_LOOKUP"], library)
        assert rules_of(done) == ["INSP-Leak-device-block"], done.stderr


@pytest.mark.parametrize("rounds", [1, 7, 40, 200, 1000])
def test_a_trace_of_threads_that_were_killed_is_right_to_its_end(tmp_path, rounds):
    trace = tmp_path / "t"
    done = run("record", "-o", trace, "--", PROGRAMS[0], "killed_at_work",
               env={**os.environ, "PLANTED_ROUNDS": str(rounds)})
    assert done.returncode == -9
    done = run("check", trace)
    assert done.returncode == 0 and "damaged" not in done.stdout, done.stdout
    report = json.loads(run("report", "--json", trace).stdout)[0]
    assert not report["complete"] and report["events"] > 5 * rounds


def test_threads_that_come_and_go_share_the_file(tmp_path):
    trace = tmp_path / "t"
    assert run("record", "-o", trace, "--", PROGRAMS[0], "threads_end").returncode == 0
    assert trace.stat().st_size <= 4096 + 16 * 65536  # of 64 threads never more than four lived at once
