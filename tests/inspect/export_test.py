# SPDX-License-Identifier: Apache-2.0
"""plat export: the files that other tools open, and what is not written."""
import json
import os
import pickle
import pickletools

import pytest

from command import run
from wire import fields

PROGRAM = os.environ["PLAT_PROGRAM"]
STACKS_PROGRAM = os.environ["PLAT_STACKS_PROGRAM"]
POOL_PROGRAM = os.environ["PLAT_POOL_PROGRAM"]
FORMATS = ["folded", "speedscope", "snapshot", "heaptrack", "perfetto"]


def record(folder, *program, stacks="fp"):
    trace = folder / "run.trace"
    done = run("record", "-o", trace, "--stacks", stacks, "--", *program)
    assert done.returncode == 0, done.stderr
    return trace


def export(form, trace, *options):
    """The bytes of the file."""
    file = trace.parent / f"out.{form}"
    done = run("export", form, trace, "-o", file, *options)
    assert done.returncode == 0 and done.stdout == "", done.stderr
    return file.read_bytes()


def report_of(trace):
    return json.loads(run("report", "--json", trace).stdout)[0]


def weights(folded):
    return {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in folded.decode().splitlines()}


def test_folded_stacks_weigh_what_the_report_says(tmp_path):
    trace = record(tmp_path, PROGRAM, "peak")
    report = report_of(trace)
    assert sum(weights(export("folded", trace)).values()) == report["peak_bytes"]
    allocated = weights(export("folded", trace, "--of", "allocated", "--by", "count"))
    assert sum(allocated.values()) == report["kinds"]["device block"]["made"] == 2
    assert all(stack.startswith("main (main.cpp:") for stack in allocated)


def test_speedscope_has_every_flame_graph(tmp_path):
    trace = record(tmp_path, PROGRAM, "growth")
    file = json.loads(export("speedscope", trace))
    sums = {profile["name"]: sum(profile["weights"]) for profile in file["profiles"]}
    assert sums["live at the peak, bytes"] == report_of(trace)["peak_bytes"] == 6 * 4096
    assert sums["allocated, blocks"] == 6
    for profile in file["profiles"]:
        assert len(profile["samples"]) == len(profile["weights"]) and profile["endValue"] == sums[profile["name"]]
        assert all(frame < len(file["shared"]["frames"]) for sample in profile["samples"] for frame in sample)


def test_frames_of_plat_are_hidden(tmp_path):
    trace = record(tmp_path, STACKS_PROGRAM, stacks="unwind")
    shown = export("folded", trace, "--hide", "libother*")
    assert b"stack_program.cpp" in shown and b"/pool/" not in shown and b"plat_pool_alloc" not in shown and b"other_allocate" not in shown
    assert b"other_allocate" in export("folded", trace, "--all-frames")


SNAPSHOT_PROGRAMS = [[PROGRAM, name] for name in (
    "peak", "growth", "s3_neighbour", "s10_left", "s13_many_mappings", "order_by_event")] + [[POOL_PROGRAM]]
# Those that the readers of snapshots know.
OPCODES = set("""PROTO FRAME EMPTY_DICT EMPTY_LIST EMPTY_TUPLE TUPLE TUPLE1 TUPLE2 TUPLE3 LIST DICT MARK APPEND APPENDS SETITEM
    SETITEMS BINGET LONG_BINGET BINPUT LONG_BINPUT MEMOIZE BININT BININT1 BININT2 LONG1 BINFLOAT SHORT_BINUNICODE BINUNICODE
    NEWTRUE NEWFALSE NONE STOP""".split())


def go_backwards(snapshot):
    """As the viewers do: from the segments at the end to the empty start, with their conditions."""
    for device, entries in enumerate(snapshot["device_traces"]):
        segments = {s["address"]: s for s in snapshot["segments"] if s["device"] == device}
        size = {address: s["total_size"] for address, s in segments.items()}
        stream = {address: s["stream"] for address, s in segments.items()}
        blocks = {b["address"]: [b["size"], b["state"]] for s in segments.values() for b in s["blocks"]}
        for entry in reversed(entries):
            address, action = entry["addr"], entry["action"]
            if action == "segment_free":
                assert all(address + entry["size"] <= a or a + size[a] <= address for a in size)
                size[address], stream[address] = entry["size"], entry["stream"]
                continue
            assert size[address] == entry["size"] and stream[address] == entry["stream"]
            if action == "free_completed":
                assert address not in blocks
                blocks[address] = [entry["size"], "active_pending_free"]
            elif action == "free_requested":
                assert blocks[address] == [entry["size"], "active_pending_free"]
                blocks[address][1] = "active_allocated"
            elif action == "alloc":
                assert blocks.pop(address) == [entry["size"], "active_allocated"]
            else:
                assert action == "segment_alloc" and address not in blocks
                del size[address], stream[address]
        assert not size and not blocks


@pytest.mark.parametrize("program", SNAPSHOT_PROGRAMS, ids=lambda p: p[-1].rsplit("/", 1)[-1])
def test_a_snapshot_can_be_gone_through_backwards_and_replayed(tmp_path, program):
    trace = record(tmp_path, *program)
    content = export("snapshot", trace)
    assert {opcode.name for opcode, _, _ in pickletools.genops(content)} <= OPCODES
    snapshot = pickle.loads(content)
    go_backwards(snapshot)
    of_trace, of_snapshot = (json.loads(run("replay", "--json", file).stdout)[0] for file in (trace, tmp_path / "out.snapshot"))
    for key in "events", "peak_live_bytes", "smallest_device_bytes":
        assert of_trace[key] == of_snapshot[key], key
    frames = [frame for entries in snapshot["device_traces"] for entry in entries for frame in entry["frames"]]
    assert frames and all(set(frame) == {"name", "filename", "line"} for frame in frames)


def test_a_snapshot_has_what_was_left(tmp_path):
    snapshot = pickle.loads(export("snapshot", record(tmp_path, PROGRAM, "s10_left")))
    assert [segment["total_size"] for segment in snapshot["segments"]] == [256]  # the region, not the block under it
    (block,) = snapshot["segments"][0]["blocks"]
    assert block["state"] == "active_allocated" and any("main" in frame["name"] for frame in block["frames"])


@pytest.mark.parametrize("name", ["peak", "growth", "s10_left", "s13_many_mappings"])
def test_heaptrack_s_totals_are_those_of_the_report(tmp_path, name):
    trace = record(tmp_path, PROGRAM, name)
    counts, sizes, live, peak = {"s": 0, "i": 0, "t": 0}, [], 0, 0
    for line in export("heaptrack", trace).decode().splitlines():
        letter, rest = line.split(" ", 1)
        numbers = [int(n, 16) for n in rest.split()] if letter in "ita+-" else []
        if letter == "i":
            assert all(n <= counts["s"] for n in numbers[1:4])
        elif letter == "t":
            assert 1 <= numbers[0] <= counts["i"] and numbers[1] <= counts["t"]
        elif letter == "a":
            assert 1 <= numbers[1] <= counts["t"]
            sizes.append(numbers[0])
        elif letter in "+-":
            live += sizes[numbers[0]] if letter == "+" else -sizes[numbers[0]]
            peak = max(peak, live)
        if letter in counts:
            counts[letter] += 1
    report = report_of(trace)
    assert (peak, live) == (report["peak_bytes"], report["live_bytes"])


@pytest.mark.parametrize("form", FORMATS)
def test_what_cannot_be_read_leaves_no_file(tmp_path, form):
    whole = record(tmp_path, PROGRAM, "peak").read_bytes()
    file = tmp_path / "out"
    for content in [b"", whole[:100], whole[:4096 + 100], b"no trace at all" * 1000]:
        (tmp_path / "bad.trace").write_bytes(content)
        done = run("export", form, tmp_path / "bad.trace", "-o", file)
        assert done.returncode == 2 and "bad.trace: " in done.stderr, done.stderr
        assert not file.exists()
        file.write_text("from before")
        assert run("export", form, tmp_path / "bad.trace", "-o", file).returncode == 2
        assert file.read_text() == "from before"
        file.unlink()


def test_wrong_requests_are_refused(tmp_path):
    trace = record(tmp_path, PROGRAM, "peak")
    before = trace.read_bytes()
    assert run("export", "folded", trace, "-o", trace).returncode == 2 and trace.read_bytes() == before
    assert run("export", "folded", trace, "-o", "/no/such/folder/f").returncode == 2
    assert run("export", "folded", trace).returncode == 2
    assert run("export", "nothing", trace, "-o", tmp_path / "f").returncode == 2
    assert run("export", "folded", "/no/such/trace", "-o", tmp_path / "f").returncode == 2
    assert not (tmp_path / "f").exists()


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Perfetto:
    """A trace of Perfetto: tracks by uuid, events in their order."""

    def __init__(self, data):
        packets = [fields(packet) for packet in fields(data)[1]]
        assert all(packet[10] == [1] for packet in packets), "one sequence"
        assert packets[0][13] == [1], "it starts anew"
        self.interned = {}  # by table and number
        for table, entries in fields(packets[0][12][0]).items():
            for entry in map(fields, entries):
                assert self.interned.setdefault((table, entry[1][0]), entry) is entry, "a number means one thing"
        self.tracks = {}
        for packet in packets:
            for descriptor in packet.get(60, []):
                track = fields(descriptor)
                assert track[1][0] not in self.tracks, "a track is described once"
                self.tracks[track[1][0]] = track
        assert all(packet[13] == [2] for packet in packets if 11 in packet), "what was interned before is needed"
        self.events = [(packet[8][0], fields(packet[11][0])) for packet in packets if 11 in packet]
        assert [time for time, _ in self.events] == sorted(time for time, _ in self.events)

    def text(self, table, number):
        return self.interned[table, number][2][0].decode()

    def category(self, event):
        return self.text(1, event[3][0]) if 3 in event else ""

    def title(self, event):
        return self.text(2, event[10][0])

    def frames(self, event):
        """Function, file and line, outermost first."""
        found = [self.interned[6, frame] for frame in self.interned[7, event[56][0]][2]]
        return [(self.text(5, frame[2][0]), self.text(18, frame[5][0]), frame[6][0]) for frame in found]

    def annotations(self, event):
        said = {self.text(3, one[1][0]): one for one in map(fields, event.get(4, []))}
        return {name: self.text(29, one[17][0]) if 17 in one else (one.get(3) or one.get(7))[0] for name, one in said.items()}

    def name(self, event):
        return self.tracks[event[11][0]].get(2, [b""])[0].decode()

    def slices(self, name):
        return [event for _, event in self.events if event[9] == [BEGIN] and self.name(event) == name]


def test_perfetto_slices_nest_and_counters_end_where_the_report_does(tmp_path):
    trace = record(tmp_path, POOL_PROGRAM)
    made, report = Perfetto(export("perfetto", trace)), report_of(trace)
    depth, values, most = {}, {}, {}
    for _, event in made.events:
        [track], [kind] = event[11], event[9]
        assert track in made.tracks
        if kind in (BEGIN, END):
            depth[track] = depth.get(track, 0) + (1 if kind == BEGIN else -1)
            assert 0 <= depth[track] <= 1, "lives are on lanes of their own"
        elif kind == COUNTER:
            values[made.name(event)] = event[30][0]
            most[made.name(event)] = max(most.get(made.name(event), 0), event[30][0])
    assert values["device memory in use"] == report["live_bytes"]
    assert most["device memory in use"] == report["peak_bytes"]
    assert most["pool 'plat_pool_tensors' in use"] <= most["pool 'plat_pool_tensors' taken from the device"]
    assert all(count == 0 for count in depth.values()), "everything was given back"


def test_perfetto_blocks_have_stacks_bytes_and_flows(tmp_path):
    trace = record(tmp_path, PROGRAM, "order_by_event")
    made = Perfetto(export("perfetto", trace))
    blocks = made.slices("device memory")
    assert blocks and sum(made.annotations(block)["bytes"] for block in blocks) > 0
    for block in blocks:
        assert made.frames(block)[0][0].startswith("main"), "outermost first"
        assert all(file.endswith((".cpp", ".h")) and line > 0 for _, file, line in made.frames(block))
    born = {flow for block in blocks for flow in block[47]}
    copies = [event for _, event in made.events if made.category(event) == "copy"]
    assert copies and {flow for copy in copies for flow in copy.get(47, [])} & born
    assert {made.name(event) for event in copies} >= {made.tracks[event[11][0]].get(2, [b""])[0].decode() for event in copies}
    ended = {flow for _, event in made.events for flow in event.get(48, [])}
    assert ended <= born | {flow for block in made.slices("blocks of pool ''") for flow in block[47]}


def test_perfetto_has_marks_and_ranges(tmp_path):
    made = Perfetto(export("perfetto", record(tmp_path, PROGRAM, "growth")))
    marks = [event for _, event in made.events if event[9] == [INSTANT] and made.category(event) == "mstx"]
    assert [made.title(mark) for mark in marks] == ["step"] * 6
    assert all(4 in made.tracks[mark[11][0]] for mark in marks), "on the track of their thread"


def test_perfetto_says_each_word_once(tmp_path):
    data = export("perfetto", record(tmp_path, PROGRAM, "growth"))
    made = Perfetto(data)
    assert len(made.slices("device memory")) == 6
    texts = [entry[2][0] for (table, _), entry in made.interned.items() if table in (1, 2, 3, 5, 18, 29)]
    for word in b"mstx", b"step", b"device block", b"leak_programs.cpp":
        assert len([text for text in texts if word in text]) == data.count(word) == 1, word
