# SPDX-License-Identifier: Apache-2.0
"""The plat command, from outside: what it prints, what it leaves behind, how it ends."""
import json
import os
import pathlib
import signal
import subprocess

import pytest

from conftest import HOLDER, MIB, PLAT

SHELL = "/bin/sh"


def control_files(machine):
    directory = pathlib.Path(machine.info()["directory"])
    return sorted(p.name for p in directory.glob(machine.node + "-*"))


# info


def test_info_shows_idle_devices_and_creates_nothing(machine):
    seen = machine.info()
    assert seen["software_device"] is True
    assert [d["device"] for d in seen["devices"]] == list(range(8))
    assert all(d["state"] == "idle" and d["soc_name"] == "Ascend910B3" for d in seen["devices"])
    assert seen["devices"][0]["capacity_bytes"] == 64 << 30
    assert control_files(machine) == []
    assert "no NPU" in machine.plat("info").stdout


def test_info_shows_a_live_holder(machine):
    holder = machine.hold(1, 6)
    device = machine.info()["devices"][1]
    assert device["state"] == "live"
    assert device["free_bytes"] == device["capacity_bytes"] - 6 * MIB
    assert device["holders"] == [
        {"pid": holder.pid, "name": os.path.basename(HOLDER)[:15], "bytes": 6 * MIB, "shared_bytes": 0, "blocks": 1}]
    assert f"pid {holder.pid}" in machine.plat("info").stdout


def test_info_forgets_a_killed_holder(machine):
    holder = machine.hold(0, 4)
    other = machine.hold(0, 2)
    holder.kill()
    holder.wait()
    device = machine.info()["devices"][0]
    assert [h["pid"] for h in device["holders"]] == [other.pid]
    assert device["free_bytes"] == device["capacity_bytes"] - 2 * MIB
    # Nobody has called in since: it is still to be taken back, and looking does not do that.
    assert device["dead_bytes"] == 4 * MIB
    assert machine.info()["devices"][0]["dead_bytes"] == 4 * MIB


def test_info_calls_a_device_idle_when_its_last_process_was_killed(machine):
    holder = machine.hold(0, 4)
    holder.kill()
    holder.wait()
    device = machine.info()["devices"][0]
    assert device["state"] == "idle" and device["holders"] == []
    assert device["free_bytes"] == device["capacity_bytes"]


def test_info_takes_no_process_slot(machine):
    machine.hold(0, 2)
    for _ in range(3):
        machine.info()
    assert len(machine.info()["devices"][0]["holders"]) == 1


def test_info_looks_at_a_stopped_process(machine):
    holder = machine.hold(0, 2)
    holder.send_signal(signal.SIGSTOP)
    assert machine.info()["devices"][0]["holders"][0]["pid"] == holder.pid


def test_verify_finds_the_books_right(machine):
    machine.hold(0, 8)
    done = machine.plat("info", "--verify")
    assert done.returncode == 0 and "the books are right" in done.stdout


def test_verify_finds_a_wrong_count(machine):
    machine.hold(0, 8)
    directory = pathlib.Path(machine.info()["directory"])
    path = directory / f"{machine.node}-dev0"
    data = bytearray(path.read_bytes())
    capacity_pages = (64 << 30) // (2 * MIB)
    at = data.find((capacity_pages - 4).to_bytes(4, "little"), 0, 192)
    assert at > 0, "the count of free pages stands in the header"
    with path.open("r+b") as file:
        file.seek(at)
        file.write((capacity_pages - 5).to_bytes(4, "little"))
    done = machine.plat("info", "--verify")
    assert done.returncode == 1 and "the books are wrong" in done.stdout


def test_verify_fails_where_the_books_cannot_be_read(machine):
    machine.hold(0, 8)
    os.truncate(pathlib.Path(machine.info()["directory"]) / f"{machine.node}-dev0", 4096)
    done = machine.plat("info", "--verify")
    assert done.returncode == 1 and "damaged" in done.stdout


def test_info_survives_rubbish_in_place_of_a_control_file(machine):
    machine.hold(0, 2)
    directory = pathlib.Path(machine.info()["directory"])
    rubbish = directory / f"{machine.node}-dev1"
    rubbish.write_bytes(os.urandom(8192))
    rubbish.chmod(0o600)
    assert machine.info()["devices"][1]["state"] == "idle"


def test_info_names_other_machines(machine):
    machine.hold(0, 2)
    done = machine.plat("info", "--json", without=["PLAT_NODE"])
    assert machine.node in json.loads(done.stdout)["other_machines"]


# run


@pytest.mark.parametrize("own_machine", [[], ["--devices", "2"]])
@pytest.mark.parametrize("code", [0, 1, 42, 255])
def test_run_passes_the_exit_code_on(machine, own_machine, code):
    done = machine.plat("run", *own_machine, "--", SHELL, "-c", f"exit {code}", without=["PLAT_NODE"])
    assert done.returncode == code


@pytest.mark.parametrize("own_machine", [[], ["--devices", "2"]])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGKILL", "SIGSEGV"])
def test_run_ends_by_the_signal_that_ended_the_program(machine, own_machine, name):
    number = getattr(signal, name)
    done = machine.plat("run", *own_machine, "--", SHELL, "-c", f"kill -{number} $$", without=["PLAT_NODE"])
    assert done.returncode == -number


def test_run_passes_signals_on_to_the_program(machine):
    script = "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"
    process = subprocess.Popen([PLAT, "run", "--devices", "1", "--", SHELL, "-c", script], text=True,
                               stdout=subprocess.PIPE, env={k: v for k, v in machine.environment.items() if k != "PLAT_NODE"})
    assert process.stdout.readline() == "ready\n"
    process.terminate()
    assert process.wait(30) == 7


@pytest.mark.parametrize("code, command", [
    (3, [SHELL, "-c", "exit 3"]),
    (0, ["sleep", "0.2"]),
    (0, ["grep", "-q", "^SigIgn:.*[13579bdf]....$", "/proc/self/status"]),  # the program inherits that choice as it was
])
def test_run_ends_though_its_parent_ignores_children(machine, code, command):
    """With SIGCHLD ignored the kernel sends no signal, and throws the exit code away."""
    done = machine.plat("run", "--devices", "1", "--", *command, without=["PLAT_NODE"],
                        preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert done.returncode == code


def test_an_empty_name_in_a_file_is_none(machine, tmp_path):
    file = tmp_path / "plat.conf"
    file.write_text("devices = 1\nnode =\n")
    done = machine.plat("run", "--config", str(file), "--", SHELL, "-c", "echo $PLAT_NODE", without=["PLAT_NODE"])
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("run-")


def test_run_sets_the_environment(machine):
    done = machine.plat("run", "--host-access", "allow", "--rule", "VMM-Map-whole-handle=error", "--rule",
                        "VMM-Map-page-flag=warning", "--seed", "7", "--visible", "2,3", "--", "env")
    variables = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert variables["PLAT_HOST_ACCESS"] == "allow"
    assert variables["PLAT_RULES"] == "VMM-Map-whole-handle=error,VMM-Map-page-flag=warning"
    assert variables["PLAT_SEED"] == "7" and variables["PLAT_NODE"] == machine.node
    assert variables["ASCEND_RT_VISIBLE_DEVICES"] == "2,3"
    home = variables["ASCEND_HOME_PATH"]
    assert variables["LD_LIBRARY_PATH"].split(":")[0] == home + "/lib64"
    assert os.path.exists(home + "/lib64/libascendcl.so")


def test_run_hands_arguments_over_as_they_are(machine):
    strange = ["--capacity", "[a,b]", "", "-x", "--", "a b"]
    done = machine.plat("run", "--", "printf", "<%s>", *strange)
    assert done.stdout == "".join(f"<{s}>" for s in strange)


def test_run_with_device_options_makes_a_machine_and_removes_it(machine):
    script = f'echo $PLAT_NODE; {PLAT} run -- {HOLDER} 1 512 </dev/null; {PLAT} info --json'
    done = machine.plat("run", "--devices", "2", "--capacity", "512MiB", "--", SHELL, "-c", script, without=["PLAT_NODE"])
    node, ready, rest = done.stdout.split("\n", 2)
    namespace = os.stat("/proc/self/ns/pid").st_ino
    assert node.startswith("run-") and node.endswith(f"-{namespace}") and ready == "ready"
    seen = json.loads(rest)
    assert seen["node"] == node and [d["capacity_bytes"] for d in seen["devices"]] == [512 * MIB] * 2
    assert list(pathlib.Path(seen["directory"]).glob(node + "-*")) == []


def test_run_respects_a_machine_that_was_named(machine):
    done = machine.plat("run", "--devices", "2", "--", SHELL, "-c", "echo $PLAT_NODE")
    assert done.stdout.strip() == machine.node


def test_run_says_like_a_shell_that_there_is_no_program(machine):
    for options in [], ["--devices", "2"]:
        done = machine.plat("run", *options, "--", "/nowhere/at-all", without=["PLAT_NODE"])
        assert done.returncode == 127 and "/nowhere/at-all" in done.stderr


def test_run_reads_a_file_and_options_come_before_it(machine, tmp_path):
    file = tmp_path / "plat.conf"
    file.write_text("devices = 3   # a comment\ncapacity = 1GiB\n")
    done = machine.plat("run", "--config", str(file), "--capacity", "2GiB", "--", PLAT, "info", "--json",
                        without=["PLAT_NODE"])
    devices = json.loads(done.stdout)["devices"]
    assert [d["capacity_bytes"] for d in devices] == [2 << 30] * 3


def test_settings_lists_every_setting(machine):
    done = machine.plat("run", "--settings")
    for name in ("PLAT_PRODUCT", "PLAT_CAPACITY", "PLAT_HOST_ACCESS", "PLAT_RULES", "ASCEND_RT_VISIBLE_DEVICES", "PLAT_INSPECT_DEPTH",
                 "PLAT_MSTX_REMEMBER", "PLAT_POOL_TORCH"):
        assert name in done.stdout


def test_the_seed_of_streams_is_told_where_the_log_is(machine, tmp_path):
    def told(*options):
        return machine.plat("run", "--streams", "seeded:5", *options, "--", HOLDER, "0", "2", stdin=subprocess.DEVNULL).stderr
    assert "plat: streams are interleaved by seed 5 (PLAT_STREAMS=seeded:5 repeats this run)" in told()
    assert told("--log", "off") == ""
    assert told("--log-file", tmp_path / "log") == "" and "by seed 5" in (tmp_path / "log").read_text()
    assert "by seed 5" in json.loads(told("--log-format", "json"))["text"]


# asked wrongly


@pytest.mark.parametrize("arguments, taught", [
    (["run"], "after the options"),
    (["run", "./a.out"], "go after '--'"),
    (["run", "--capacity", "3", "--", "true"], "--capacity 3: not a whole number of 2 MiB"),
    (["run", "--product", "a9", "--", "true"], "there are a2, a3"),
    (["run", "--devices", "0", "--", "true"], "between 1 and 64"),
    (["run", "--rule", "VMM-Map-offset-zero=off", "--", "true"], "cannot be relaxed"),
    (["run", "--rule", "INSP-Leak-stream=off", "--", "true"], "--suppressions"),
    (["run", "--no-such", "--", "true"], "plat run --help"),
    (["info", "--node", "a/b"], "letters, digits"),
    (["inform"], "plat --help"),
])
def test_bad_options_teach(machine, arguments, taught):
    done = machine.plat(*arguments)
    assert done.returncode == 2, done
    assert taught in done.stderr


def test_help_of_every_command_has_examples(machine):
    assert "info" in machine.plat("--help").stdout
    for command in "info", "run", "rules", "clean":
        done = machine.plat(command, "--help")
        assert done.returncode == 0 and "Examples:" in done.stdout


def test_version_says_that_it_is_software(machine):
    assert "software device" in machine.plat("--version").stdout


# rules


def test_rules_lists_the_book_and_shows_one_rule(machine):
    book = json.loads(machine.plat("rules", "--json").stdout)
    assert len(book) > 50
    page = machine.plat("rules", "vmm-map-offset-ZERO").stdout
    assert "VMM-Map-offset-zero" in page and "107000" in page
    listed = machine.plat("rules").stdout
    assert all(rule["id"] in listed for rule in book)


def test_rules_can_be_asked_by_code_and_by_beginning(machine):
    assert "VMM-Reserve-largest" in machine.plat("rules", "207001").stdout
    by_beginning = machine.plat("rules", "VMM-Unmap").stdout
    assert "VMM-Unmap-idle" in by_beginning and "VMM-Map-" not in by_beginning


def test_rules_are_listed_by_chapter(machine):
    lines = machine.plat("rules").stdout.splitlines()
    chapter_of = {}
    for line in lines:
        if line and line[0].isupper() and "-" not in line.split()[0]:
            chapter = line
        chapter_of[line.split(" ")[0]] = chapter
    assert chapter_of["VMM-Map-offset-zero"] == "Virtual memory"
    assert chapter_of["INSP-Leak-stream"].startswith("Found: ")
    assert len(set(chapter_of.values())) < 20


def test_an_unknown_rule_gets_the_nearest_ones(machine):
    done = machine.plat("rules", "VMM-Map-ofset-zer")
    assert done.returncode == 1 and "did you mean VMM-Map-offset-zero" in done.stderr
    done = machine.plat("rules", "no-such-rule")
    assert done.returncode == 1 and "did you mean" not in done.stderr and "plat rules" in done.stderr


def test_the_pages_in_docs_are_those_of_the_book(machine, tmp_path):
    """When this fails, a rule was changed: run 'make docs' and commit the pages."""
    assert machine.plat("rules", "--markdown", str(tmp_path)).returncode == 0
    committed = pathlib.Path(os.environ["PLAT_SOURCE"], "docs", "rules")
    assert {p.name: p.read_text() for p in committed.iterdir()} == {p.name: p.read_text() for p in tmp_path.iterdir()}


def test_markdown_removes_pages_of_chapters_that_are_gone(machine, tmp_path):
    machine.plat("rules", "--markdown", str(tmp_path))
    (tmp_path / "gone.md").write_text((tmp_path / "vmm.md").read_text())
    (tmp_path / "notes.md").write_text("my own\n")
    machine.plat("rules", "--markdown", str(tmp_path))
    assert not (tmp_path / "gone.md").exists() and (tmp_path / "notes.md").exists()


# clean


def test_clean_removes_what_nobody_uses_and_leaves_the_living_alone(machine):
    holder = machine.hold(0, 2)
    gone = machine.hold(1, 2)
    gone.kill()
    gone.wait()
    assert len(control_files(machine)) == 2
    done = machine.plat("clean", "--dry-run", "--node", machine.node)
    assert "would remove" in done.stdout and len(control_files(machine)) == 2
    done = machine.plat("clean", "--node", machine.node)
    assert done.returncode == 0 and "in use, kept" in done.stdout
    assert control_files(machine) == [f"{machine.node}-dev0"]
    assert machine.info()["devices"][0]["holders"][0]["pid"] == holder.pid


# faults


def test_run_faults_add_up_and_say_so(machine, tmp_path):
    plan = tmp_path / "plan.txt"
    plan.write_text("# never\naclrtMapMem, nth=1000, kill\n")
    done = machine.plat("run", "--fault", f"@{plan}", "--fault", "aclrtMallocPhysical, nth=1, fail=207001", "--",
                        HOLDER, "0", "2")
    assert done.returncode == 3  # as the program ends when it gets no memory
    assert "clause 2 of the fault plan, 'aclrtMallocPhysical, nth=1, fail=207001', fired at call 1" in done.stderr


def test_run_prints_the_seed_of_chance(machine):
    done = machine.plat("run", "--fault", "any, chance=1, fail=507899", "--", HOLDER, "0", "2")
    seed = done.stderr.split("PLAT_SEED=")[1].split()[0]
    again = machine.plat("run", "--seed", seed, "--fault", "any, chance=1, fail=507899", "--", HOLDER, "0", "2")
    assert f"seed {seed} " in again.stderr


def test_run_kills_by_plan(machine):
    done = machine.plat("run", "--fault", "aclrtMallocPhysical, nth=1, kill", "--", HOLDER, "0", "2")
    assert done.returncode in (-signal.SIGKILL, 128 + signal.SIGKILL)


def test_run_refuses_a_plan_that_makes_no_sense(machine):
    done = machine.plat("run", "--fault", "malloc, sometimes", "--", HOLDER, "0", "2")
    assert done.returncode == 2
    assert "--fault malloc, sometimes: 'sometimes' is not understood" in done.stderr


# replay


def test_replay_tells_what_a_trace_needs(machine, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("".join(f"a,{i},{3 * MIB},0,{i}\n" for i in range(8)) + "f,3,0,0,9\n")
    (row,) = json.loads(machine.plat("replay", "--json", trace).stdout)
    assert row["completed"] and row["events"] == 9 and row["peak_live_bytes"] == 24 * MIB
    assert 24 * MIB < row["smallest_device_bytes"] <= row["peak_reserved_bytes"] <= 28 * MIB
    policies = [r["policy"] for r in json.loads(machine.plat("replay", "--compare", "--json", trace).stdout)]
    assert policies == ["pool", "best-fit", "buddy", "page-run"]
    assert control_files(machine) == []


def test_replay_names_the_event_that_does_not_fit(machine, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text(f"a,1,{3 * MIB},0,0\na,2,{3 * MIB},0,1\n")
    done = machine.plat("replay", "--device", "4MiB", trace)
    assert done.returncode == 1
    assert "out of memory at event 1 (line 2)" in done.stdout


def test_replay_says_what_is_wrong_with_a_file(machine, tmp_path):
    trace = tmp_path / "trace.csv"
    trace.write_text("a,1,100,0,0\nnonsense\n")
    for arguments, complaint in (((trace,), "trace.csv: line 2"), ((tmp_path / "none",), "cannot be opened"),
                                 (("--device", "much", trace), "no size"), ((), "trace is required")):
        done = machine.plat("replay", *arguments)
        assert done.returncode == 2 and complaint in done.stderr, done.stderr
