#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""man.py OUTPUT COMMAND...: writes plat.1 and a manual page for each subcommand into OUTPUT, from the help texts of plat, which COMMAND runs."""
import pathlib
import re
import subprocess
import sys


def helped(plat, *command):
    # Whole texts are wanted, whatever the terminal; no setting of this machine may show in them.
    return subprocess.run([*plat, *command, "--help"], check=True, capture_output=True, text=True, env={}).stdout


def escape(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def verbatim(lines):
    return [".nf"] + [escape(line) for line in lines] + [".fi"]


def entries(lines):
    """(what to type, meaning) of each line of a list; a meaning may stand on the lines below."""
    found = []
    for line in lines:
        match = re.match(r"  (\S.*?)(?:  +(\S.*))?$", line)
        if match:
            found.append([match.group(1), match.group(2) or ""])
        elif line.strip() and found:
            found[-1][1] = (found[-1][1] + " " + line.strip()).strip()
    return found


def parts(text):
    """The summary, the usage lines, {heading: lines} of the lists, and what follows them."""
    lines = text.rstrip().split("\n")
    first = next(i for i, line in enumerate(lines) if line.startswith("Usage:"))
    usage, lists, rest, heading = [], {}, [], None
    for line in lines[first:]:
        if line.startswith("Usage:") or (not lists and not rest and line.startswith("       ")):
            usage.append(line[7:].strip())
        elif re.fullmatch(r"(Positionals|Options|Subcommands):", line):
            heading = lists.setdefault(line[:-1], [])
        elif heading is not None and (line.startswith("  ") or not line.strip()):
            heading.append(line)
        elif line.strip() or rest:
            heading = None
            rest.append(line)
    return " ".join(lines[:first]).strip(), usage, lists, rest


def page(name, text, version, see):
    summary, usage, lists, rest = parts(text)
    out = [f'.TH {escape(name.upper())} 1 "" "plat {version}" "Plat"', ".SH NAME", f"{escape(name)} \\- {escape(summary.rstrip('.'))}",
           ".SH SYNOPSIS", *verbatim(usage)]
    titles = {"Positionals": "ARGUMENTS", "Options": "OPTIONS", "Subcommands": "COMMANDS"}
    for heading, lines in lists.items():
        out.append(f".SH {titles[heading]}")
        for term, meaning in entries(lines):
            out += [".TP", f".B {escape(term)}", escape(meaning)]
    if "Examples:" in rest:
        at = rest.index("Examples:")
        rest, examples = rest[:at], rest[at + 1:]
    else:
        examples = []
    if any(line.strip() for line in rest):
        out += [".SH DESCRIPTION", *verbatim(rest)]
    if examples:
        out += [".SH EXAMPLES", *verbatim(examples)]
    out += [".SH SEE ALSO", ", ".join(f"\\fB{escape(other)}\\fR(1)" for other in see if other != name)]
    return "\n".join(out) + "\n"


def main(output, *plat):
    output = pathlib.Path(output)
    output.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([*plat, "--version"], check=True, capture_output=True, text=True).stdout.split()[1]
    top = helped(plat)
    commands = [term for term, _ in entries(parts(top)[2]["Subcommands"])]
    see = ["plat"] + [f"plat-{command}" for command in commands]
    (output / "plat.1").write_text(page("plat", top, version, see))
    for command in commands:
        (output / f"plat-{command}.1").write_text(page(f"plat-{command}", helped(plat, command), version, see))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
