#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py FOLDER RESULTS [BASE]: runs every bench_* program of FOLDER, shows what each prints, and ends with one table: measured, target,
verdict. The values go to the file RESULTS; with BASE, the RESULTS of an earlier run, the table compares with it."""
import json
import os
import pathlib
import re
import subprocess
import sys

NUMBER = r"[\d.]+(?:e[+-]?\d+)?"
TARGET = rf"(?P<target>{NUMBER})\s+(?:ok|MISSED)"
# The forms of rows that the programs print: a name, a value that is better when it is smaller, perhaps a unit and a target. A row without a
# target has no goal, which it may say by "-".
FORMS = [re.compile(form) for form in (
    rf"(?P<name>\S.*?)\s+(?P<value>{NUMBER})\s+\[{NUMBER}\.\.{NUMBER}\]\s+(?P<unit>[a-zA-Z%]\S*)(?:\s+{TARGET})?",
    rf"(?P<name>\S+)\s+{NUMBER} ns\s+(?P<value>{NUMBER}) (?P<unit>ns)\s+\d+(?: \(target (?P<target>{NUMBER})\))?$",
    rf"(?P<name>\S.*?)\s+{NUMBER} ns\s+{NUMBER} ns\s+(?:ratio\s+)?(?P<value>{NUMBER})(?:\s+\[{NUMBER}\.\.{NUMBER}\]\s+{TARGET})?",
    rf"(?P<name>\S.*?)\s+ratio\s+(?P<value>{NUMBER})",
    rf"(?P<name>\S.{{45}}) +{NUMBER} +(?P<value>{NUMBER})(?: +{NUMBER})?$")]
EVENT = re.compile(rf"(?P<value>{NUMBER}) (?P<unit>bytes|ns) an event(?: \(target (?P<target>{NUMBER})\))?")
SLOWER = 1.15  # what differs by less is noise


def rows(program, line):
    """(name, {value, unit, target}) of each measurement of a line."""
    events = list(EVENT.finditer(line))
    if events:
        found = [(line[:events[0].start()].strip() + ", " + event["unit"], event) for event in events]
    else:
        match = next(filter(None, (form.match(line) for form in FORMS)), None)
        found = [(match["name"].strip(), match)] if match else []
    for name, match in found:
        parts = match.groupdict()
        yield f"{program}: {name}", {"value": float(parts["value"]), "unit": parts.get("unit") or "x",
                                     "target": float(parts["target"]) if parts.get("target") else None}


def measure(folder):
    results, failed = {}, []
    for program in sorted(folder.glob("bench_*")):
        if not os.access(program, os.X_OK) or program.is_dir():
            continue
        print(f"== {program.name}", flush=True)
        running = subprocess.Popen([program], stdout=subprocess.PIPE, text=True, env=os.environ | {"PLAT_QUIET": "1"})
        for line in running.stdout:
            print(line, end="", flush=True)
            results.update(rows(program.name.removeprefix("bench_"), line.rstrip()))
        if running.wait() != 0:
            failed.append(program.name)
    return results, failed


def verdict(result, before):
    said = []
    if result["target"] is not None:
        said.append("ok" if result["value"] <= result["target"] else "MISSED")
    if before and before["value"] > 0:
        change = result["value"] / before["value"]
        said.append(f"{change:.2f} x before" + (", SLOWER" if change > SLOWER else ""))
    return ", ".join(said)


def table(results, base):
    print(f"\n{'':<66} {'measured':>10} {'':<6} {'target':>8} {'before':>10}  verdict")
    for name, result in results.items():
        before = base.get(name)
        print(f"{name:<66} {result['value']:>10.4g} {result['unit']:<6} {'-' if result['target'] is None else result['target']:>8} "
              f"{'' if before is None else format(before['value'], '.4g'):>10}  {verdict(result, before)}".rstrip())
    for name in base.keys() - results.keys():
        print(f"{name}: not measured this time")


def main(folder, output, base=None):
    earlier = json.loads(pathlib.Path(base).read_text()) if base else {}  # a file that is not there is told before the work
    results, failed = measure(pathlib.Path(folder))
    pathlib.Path(output).write_text(json.dumps(results, indent=1) + "\n")
    table(results, earlier)
    print(f"\nKept in {output}; compare with it later: make bench BASE={output}")
    if failed:
        sys.exit(f"These did not end well: {', '.join(failed)}")


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
