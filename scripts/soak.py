#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attacks the library with all campaigns side by side, for some minutes, and adds up what they did.

  scripts/soak.py [--minutes N] [--build DIRECTORY] [--jobs N] [--only NAME,...] [--state FILE] [--totals FILE]
  scripts/soak.py --table [--totals FILE]

Each campaign runs in turns of some seconds, every turn with the next seed; FILE of --state remembers the seeds, so that a later run
goes on where this one ended instead of doing the same again. --totals adds what was done to a file that the repository keeps, and
goes on behind the seeds that it has. Both are written after every turn: a run that is killed loses no more than one.
--table shows the sums of all runs and runs nothing. A violation is said with the command that shows it again, and makes the exit code 1.
"""
import argparse
import concurrent.futures
import itertools
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

TOTALS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "soak" / "totals.json"
MORE_TURNS = {"chaos": 3, "kill": 3, "model": 3}  # in a round; all others have one
TURN_SECONDS = 15
HANG_SECONDS = 1800  # a turn that takes that much longer than it was told to has hung, however busy the machine is
KILLS_AT_ONCE = 100
SKIPPED = 77  # the exit code of a campaign that cannot run here
COUNTS = ("turns", "calls", "kills", "rounds", "violations")


def campaigns(build: pathlib.Path) -> dict[str, list[str]]:
    """The command of each campaign, but for its seed and seconds."""
    found = {p.name[len("soak_"):]: [str(p)] for p in sorted((build / "bin").glob("soak_*")) if os.access(p, os.X_OK)}
    kill = build / "bin" / "process_kill"
    if kill.exists():
        found["kill"] = [str(kill)]
        if subprocess.run(["unshare", "-Urpfm", "--mount-proc", "true"], capture_output=True).returncode == 0:
            found["kill_in_namespaces"] = ["unshare", "-Urpfm", "--mount-proc", str(kill)]
    return found


def run(command: list[str], seconds: float, **variables) -> tuple[int, str, str]:
    """Exit code, output and errors of a command; -1 with a reason if it hangs."""
    try:
        done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, errors="replace",
                              timeout=seconds + HANG_SECONDS)
    except subprocess.TimeoutExpired:
        return -1, "", f"did not end within {seconds + HANG_SECONDS} s"
    return done.returncode, done.stdout, done.stderr


def nothing_done(name: str, seed: int) -> dict:
    return {"campaign": name, "seed": seed, **dict.fromkeys(COUNTS, 0)}


def kill_turn(name: str, command: list[str], seed: int, seconds: float) -> dict:
    """The kill test with as many deaths as fit into the time, told as a campaign tells it."""
    deadline, result = time.monotonic() + seconds, nothing_done(name, seed)
    while not result["kills"] or time.monotonic() < deadline:
        variables = {"KILLS": str(KILLS_AT_ONCE), "SEED": str(seed * 1000 + result["kills"] // KILLS_AT_ONCE)}
        code, output, errors = run(command, seconds, **variables)
        counted = [int(line.split()[0]) for line in output.splitlines() if " calls, " in line]
        if code != 0 or not counted:
            result["violations"] += 1
            result["command"] = " ".join([*(f"{key}={value}" for key, value in variables.items()), *command])
            result["why"] = f"exit code {code}\n{(output + errors)[-4000:]}"
            break
        result["calls"] += sum(counted)
        result["kills"] += KILLS_AT_ONCE
        result["rounds"] += KILLS_AT_ONCE
    return result


def turn(name: str, command: list[str], seed: int, seconds: float) -> dict:
    if name.startswith("kill"):
        return kill_turn(name, command, seed, seconds)
    command = [*command, "--seed", str(seed), "--seconds", str(seconds)]
    result = nothing_done(name, seed)
    code, output, errors = run(command, seconds)
    told = {}
    try:
        told = json.loads(output.strip().splitlines()[-1])
        result.update({key: told[key] for key in COUNTS if key in told})
        result["skipped"] = told.get("skipped") if code == SKIPPED else None
    except (IndexError, ValueError):
        errors += "\nno summary"
    if not result.get("skipped") and (code != 0 or not told):
        result["violations"] = max(1, result["violations"])
        result["command"] = " ".join(command)
        result["why"] = f"exit code {code}\n{errors[-4000:]}"
    return result


def add(sums: dict, result: dict) -> None:
    row = sums.setdefault(result["campaign"], dict.fromkeys(COUNTS, 0))
    for key in COUNTS:
        row[key] += result[key] if key != "turns" else 1
    row["last_seed"] = max(row.get("last_seed", 0), result["seed"])


def table(sums: dict) -> str:
    rows = [("campaign", *COUNTS)] + [(name, *(f"{row[key]:,}" for key in COUNTS)) for name, row in sorted(sums.items())]
    rows.append(("all", *(f"{sum(row[key] for row in sums.values()):,}" for key in COUNTS)))
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join(lines + [f"{name}: {row['note']}" for name, row in sorted(sums.items()) if "note" in row])


def load(path: pathlib.Path) -> dict:
    return json.loads(path.read_text()) if path.exists() else {}


def store(path: pathlib.Path, value: dict) -> None:
    """Whole or not at all, whatever ends this process."""
    beside = path.with_name(path.name + ".new")
    beside.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")
    beside.replace(path)


def turns_of_a_round(names) -> list[str]:
    """Each once, and then again those that have more turns."""
    most = max(MORE_TURNS.values())
    return [name for count in range(most) for name in sorted(names) if count < MORE_TURNS.get(name, 1)]


class Soak:
    """Workers that take turns of campaigns from one row, and what came of them."""

    def __init__(self, commands: dict[str, list[str]], state: pathlib.Path, totals: pathlib.Path | None):
        self.commands, self.state_path, self.totals_path = commands, state, totals
        self.lock = threading.Lock()
        self.seeds = load(state)
        self.sums: dict = {}
        self.failed: list[dict] = []
        self.skipped: dict[str, str] = {}
        self.row = itertools.cycle(turns_of_a_round(commands))
        self.begun = 0
        for name, row in (load(totals) if totals else {}).items():
            self.seeds[name] = max(self.seeds.get(name, 0), row["last_seed"])

    def work(self, seconds: float, deadline: float) -> None:
        while True:
            with self.lock:
                # Short runs still give every campaign a turn.
                if self.begun >= len(self.commands) and time.monotonic() >= deadline:
                    return
                self.begun += 1
                name = next(self.row)
                seed = self.seeds[name] = self.seeds.get(name, 0) + 1
            result = turn(name, self.commands[name], seed, seconds)
            with self.lock:
                self.note(result)

    def note(self, result: dict) -> None:
        if result.get("skipped"):
            self.skipped[result["campaign"]] = result["skipped"]
            return
        add(self.sums, result)
        if result["violations"]:
            self.failed.append(result)
            print(f"VIOLATION: {result['command']}\n{result['why']}", flush=True)
        store(self.state_path, self.seeds)
        if self.totals_path:
            totals = load(self.totals_path)
            add(totals, result)
            store(self.totals_path, totals)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/dev"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--only", default="")
    parser.add_argument("--state", type=pathlib.Path)
    parser.add_argument("--totals", type=pathlib.Path)
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(load(options.totals or TOTALS)))
        return 0

    commands = campaigns(options.build)
    if options.only:
        unknown = set(options.only.split(",")) - commands.keys()
        if unknown:
            sys.exit(f"soak: there is no campaign {', '.join(sorted(unknown))} in {options.build}/bin")
        commands = {name: command for name, command in commands.items() if name in options.only.split(",")}
    if not commands:
        sys.exit(f"soak: there are no campaigns in {options.build}/bin; build them first")
    soak = Soak(commands, options.state or options.build / "soak-seeds.json", options.totals)
    deadline = time.monotonic() + options.minutes * 60
    seconds = min(TURN_SECONDS, max(1, options.minutes * 60 * options.jobs / len(commands)))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done in [pool.submit(soak.work, seconds, deadline) for _ in range(options.jobs)]:
            done.result()
    print(table(soak.sums))
    for name, reason in sorted(soak.skipped.items()):
        print(f"{name} was skipped: {reason}")
    if options.totals:
        print(f"\nall runs, {options.totals}:\n{table(load(options.totals))}\n")
    print(f"{len(soak.failed)} turns with violations" if soak.failed else "no violations")
    return 1 if soak.failed else 0


sys.exit(main())
