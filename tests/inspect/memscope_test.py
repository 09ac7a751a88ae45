# SPDX-License-Identifier: Apache-2.0
"""plat export memscope: the database, by the conditions that its viewer imposes."""
import json
import os
import re
import sqlite3

from command import hiding, run

PROGRAM = os.environ["PLAT_PROGRAM"]
POOL_PROGRAM = os.environ["PLAT_POOL_PROGRAM"]
COLUMNS = ["ID", "Event", "Event Type", "Name", "Timestamp(ns)", "Process Id", "Thread Id", "Device Id", "Ptr", "Attr",
           "Call Stack(Python)", "Call Stack(C)"]


def rows_of(tmp_path, *program):
    """The rows as dictionaries, attributes unpacked, and the report of the same trace."""
    trace, file = tmp_path / "run.trace", tmp_path / "memscope_dump_20260101.db"
    assert run("record", "-o", trace, "--", *program).returncode == 0
    done = run("export", "memscope", trace, "-o", file)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    database = sqlite3.connect(file)
    assert [column[1] for column in database.execute('PRAGMA table_info("memscope_dump")')] == COLUMNS
    rows = [dict(zip(COLUMNS, row)) for row in database.execute("SELECT * FROM memscope_dump ORDER BY ID")]
    for row in rows:
        row["Attr"] = json.loads(row["Attr"])
        assert all(isinstance(value, str) for value in row["Attr"].values())
    # The viewer writes tables of its own into it.
    database.execute("CREATE TABLE memory_block (id INTEGER)")
    database.commit()
    database.close()
    return rows, json.loads(run("report", "--json", trace).stdout)[0]


def test_every_block_comes_once_and_goes_at_most_once(tmp_path):
    rows, report = rows_of(tmp_path, POOL_PROGRAM)
    times = [row["Timestamp(ns)"] for row in rows]
    assert min(times) > 0 and max(times) > min(times) and times == sorted(times)
    live, ids, held, most = {}, set(), 0, 0
    for row in rows:
        key, attr = (row["Ptr"], row["Event Type"]), row["Attr"]
        if row["Event"] == "MALLOC":
            assert key not in live, "a second one at a live address would be dropped"
            assert re.fullmatch(r"0x[0-9a-f]+", row["Ptr"]) and int(attr["size"]) > 0
            assert attr["owner"].split("@")[0] == row["Event Type"]
            assert attr["allocation_id"] not in ids and attr["allocation_id"] != "0"
            live[key] = attr
            ids.add(attr["allocation_id"])
        elif row["Event"] == "FREE":
            assert live.pop(key)["allocation_id"] == attr["allocation_id"]
        if row["Event Type"] == "HAL":
            held += int(attr["size"]) * {"MALLOC": 1, "FREE": -1}[row["Event"]]
            assert int(attr["used"]) == held
            most = max(most, held)
    assert most == report["peak_bytes"] and held == report["live_bytes"]
    kinds = {row["Event Type"] for row in rows if row["Event"] == "MALLOC"}
    assert {"HAL", "PTA", "HOST_PINNED"} >= kinds >= {"HAL", "PTA"}


def test_copies_are_accesses_of_their_block(tmp_path):
    rows, _ = rows_of(tmp_path, PROGRAM, "order_by_event")
    blocks = {row["Attr"]["allocation_id"]: row for row in rows if row["Event"] == "MALLOC"}
    accesses = [row for row in rows if row["Event"] == "ACCESS"]
    assert accesses
    for access in accesses:
        block = blocks[access["Attr"]["allocation_id"]]
        assert access["Ptr"] == block["Ptr"] and access["Timestamp(ns)"] >= block["Timestamp(ns)"]
        assert access["Event Type"] in ("READ", "WRITE")
    assert any("main" in row["Call Stack(C)"] for row in blocks.values())


def test_marks_keep_their_quotes(tmp_path):
    rows, _ = rows_of(tmp_path, PROGRAM, "growth")
    assert [row["Name"] for row in rows if row["Event Type"] == "Mark"] == ['"step"'] * 6


def test_a_name_that_the_viewer_does_not_open_is_said(tmp_path):
    trace = tmp_path / "run.trace"
    assert run("record", "-o", trace, "--", PROGRAM, "peak").returncode == 0
    for name, opened in {"run.db": False, "memscope_dump_.db": False, "memscope_dump_1.txt": False, "a_memscope_dump_1.db": False,
                         "memscope_dump_1.db": True, "leaks_dump_20260101.db": True}.items():
        done = run("export", "memscope", trace, "-o", tmp_path / name)
        assert done.returncode == 0 and ("opens it only under" in done.stderr) != opened and (tmp_path / name).exists(), name


# And the way back.

def test_where_sqlite_is_not_installed_the_command_works_and_says_so(tmp_path):
    trace, known = tmp_path / "run.trace", tmp_path / "memscope_dump_1.db"
    assert run("record", "-o", trace, "--", PROGRAM, "peak").returncode == 0
    assert run("export", "memscope", trace, "-o", known).returncode == 0
    hidden = hiding(tmp_path, "libsqlite3.so.0")
    done = run("export", "memscope", trace, "-o", tmp_path / "memscope_dump_2.db", env=hidden)
    assert done.returncode == 2 and "libsqlite3.so.0" in done.stderr and "sqlite-libs" in done.stderr
    assert not (tmp_path / "memscope_dump_2.db").exists()
    done = run("report", known, env=hidden)
    assert done.returncode == 2 and "libsqlite3.so.0" in done.stderr
    assert run("report", trace, env=hidden).returncode == 0


def database(path, rows, table="memscope_dump", columns=COLUMNS):
    """One as msmemscope writes it. Each row: event, type, time, device, address, attributes, C stack."""
    made = sqlite3.connect(path)
    made.execute(f"CREATE TABLE {table} ({', '.join(json.dumps(column) for column in columns)})")
    for number, (event, kind, time, device, address, attributes, stack) in enumerate(rows, 1):
        values = dict(zip(COLUMNS, [number, event, kind, attributes.pop("name", "N/A"), time, 77, 78, device, hex(address),
                                    json.dumps({key: str(value) for key, value in attributes.items()}), "", stack]))
        made.execute(f"INSERT INTO {table} VALUES ({', '.join('?' * len(columns))})", [values[column] for column in columns])
    made.commit()
    made.close()
    return path


MIB = 1 << 20
PRODUCTION = [
    ("MALLOC", "HAL", 1000, "0", 0x100000000, {"size": 64 * MIB}, ""),
    ("MALLOC", "PTA", 2000, "0", 0x100000000, {"size": 8 * MIB, "owner": "PTA@weight"}, "load(model.py:12)\nmain(train.py:3)\n"),
    ("MALLOC", "HAL", 3000, "0", 0x200000000, {"size": 16 * MIB}, "hcclAlloc\n"),
    ("MSTX", "Mark", 3500, "N/A", 0, {"name": '"step"'}, ""),
    ("MALLOC", "PTA", 4000, "0", 0x101000000, {"size": 2 * MIB}, "forward(model.py:40)\n"),
    ("ACCESS", "READ", 4500, "0", 0x101000000, {"size": 2 * MIB}, ""),
    ("FREE", "PTA", 5000, "0", 0x101000000, {"size": 2 * MIB}, ""),
    ("FREE", "PTA", 6000, "0", 0x102000000, {"size": 4 * MIB}, ""),  # allocated before the recording began
    ("MALLOC", "HOST_PINNED", 7000, "cpu", 0x7f0000000000, {"size": MIB}, ""),
]


def test_a_database_is_reported(tmp_path):
    file = database(tmp_path / "memscope_dump_1.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION])
    done = run("report", "--json", file)
    assert done.returncode == 0, done.stderr
    (report,) = json.loads(done.stdout)
    assert (report["pid"], report["peak_bytes"], report["live_bytes"]) == (77, 80 * MIB, 80 * MIB)
    assert report["kinds"]["region"] == {"made": 3, "left": 1, "left_bytes": 8 * MIB, "peak_bytes": 14 * MIB}
    assert report["kinds"]["host block"]["left_bytes"] == MIB and report["duration_ns"] == 6000
    assert [mark["text"] for mark in report["marks"]] == ["step"]
    weight = next(owner for owner in report["at_end"] if owner["owner"] == "PTA")
    assert [frame["text"] for frame in weight["site"]["stack"]] == ["load at model.py:12", "main at train.py:3"]
    text = run("report", file).stdout
    assert "Process 77: " in text and "forward at model.py:40" in text


def test_a_database_is_replayed(tmp_path):
    file = database(tmp_path / "memscope_dump_1.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION])
    (row,) = json.loads(run("replay", "--json", "--device", "1GiB", file).stdout)
    # Blocks of the pool, and what nobody divides: 8 + 4 + 16, and 2 for a while.
    assert row["completed"] and row["peak_live_bytes"] == 30 * MIB and row["device_bytes"] == 1 << 30
    assert row["left_bytes"] == (1 << 30) - row["peak_reserved_bytes"] > 0
    done = run("replay", "--device", "20MiB", "--compare", file)
    assert done.returncode == 1 and done.stdout.count("out of memory") == 4 and " left " in done.stdout.splitlines()[0]


def test_what_was_exported_is_read_back(tmp_path):
    trace, file = tmp_path / "run.trace", tmp_path / "memscope_dump_1.db"
    assert run("record", "-o", trace, "--", POOL_PROGRAM).returncode == 0
    assert run("export", "memscope", trace, "-o", file).returncode == 0
    before = json.loads(run("report", "--json", trace).stdout)[0]
    after = json.loads(run("report", "--json", file).stdout)[0]
    for key in "pid", "peak_bytes", "live_bytes":
        assert after[key] == before[key], key
    for key in "made", "left_bytes", "peak_bytes":
        assert after["kinds"]["region"][key] == before["kinds"]["region"][key], key
    rows = [json.loads(run("replay", "--json", path).stdout)[0] for path in (trace, file)]
    assert rows[0]["peak_live_bytes"] == rows[1]["peak_live_bytes"] and rows[0]["events"] == rows[1]["events"]
    # And on: the page, the difference to the trace itself, another export.
    assert run("view", "--no-open", "-o", tmp_path / "p.html", file).returncode == 0
    assert run("report", "--diff", trace, file).returncode == 0
    assert run("export", "heaptrack", file, "-o", tmp_path / "h").returncode == 0


def test_an_old_database_without_stacks_is_read(tmp_path):
    rows = [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION]
    file = database(tmp_path / "leaks_dump_1.db", rows, "leaks_dump", COLUMNS[:10])
    assert json.loads(run("report", "--json", file).stdout)[0]["peak_bytes"] == 80 * MIB


def test_a_database_of_pools_alone_counts_what_they_handed_out(tmp_path):
    rows = [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION if row[1] != "HAL"]
    file = database(tmp_path / "memscope_dump_1.db", rows)
    report = json.loads(run("report", "--json", file).stdout)[0]
    assert report["mstx_only"] and report["peak_bytes"] == 14 * MIB


def test_a_database_with_a_log_beside_it_is_read(tmp_path):
    file = database(tmp_path / "memscope_dump_1.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION])
    made = sqlite3.connect(file)
    assert made.execute("PRAGMA journal_mode=WAL").fetchone() == ("wal",)
    made.close()
    assert json.loads(run("report", "--json", file).stdout)[0]["peak_bytes"] == 80 * MIB


def test_what_is_no_such_database_is_refused_and_nothing_written(tmp_path):
    good = database(tmp_path / "good.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION])
    bad = {
        "other.db": None,
        "columns.db": None,
        "empty.db": None,
        "cut.db": good.read_bytes()[:5000],
        "magic.db": b"SQLite format 3\0",
        "nothing.db": b"",
        "damaged.db": good.read_bytes()[:4096] + b"\xff" * 4096,
    }
    sqlite3.connect(tmp_path / "other.db").execute("CREATE TABLE cats (name)").connection.close()
    database(tmp_path / "columns.db", [], columns=COLUMNS[:9])
    database(tmp_path / "empty.db", [])
    page = tmp_path / "page.html"
    for name, content in bad.items():
        if content is not None:
            (tmp_path / name).write_bytes(content)
        for command in (["report"], ["replay"], ["view", "--no-open", "-o", page], ["export", "heaptrack", "-o", page]):
            done = run(*command, tmp_path / name)
            assert done.returncode == 2 and done.stdout == "" and name in done.stderr, (name, command, done)
            assert done.stderr.count("\n") == 1 and not page.exists(), done.stderr
    assert "no 'Attr'" in run("report", tmp_path / "columns.db").stderr
    assert "memscope_dump" in run("report", tmp_path / "other.db").stderr


def test_damaged_databases_are_read_or_refused(tmp_path):
    """As a user sees it; unit_inspect damages them in all places."""
    good = database(tmp_path / "good.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION]).read_bytes()
    file = tmp_path / "bad.db"
    codes = []
    for at in range(16, len(good), len(good) // 12):
        file.write_bytes(good[:at] + b"\xff" * 7 + good[at + 7:])
        done = run("replay", "--json", file)
        codes.append(done.returncode)
        assert (done.returncode == 0) == (done.stderr == ""), done.stderr
    assert set(codes) == {0, 2}


def test_a_database_that_is_cut_off_is_refused_and_nothing_written(tmp_path):
    good = database(tmp_path / "good.db", [list(row[:5]) + [dict(row[5]), row[6]] for row in PRODUCTION]).read_bytes()
    file, made = tmp_path / "cut.db", tmp_path / "made"
    file.write_bytes(good[:-4096])  # whole pages, as a full disk leaves them
    for command in ["report"], ["replay"], ["view", "--no-open", "-o", made], ["export", "snapshot", "-o", made]:
        done = run(*command, file)
        assert (done.returncode, done.stdout) == (2, "") and not made.exists(), command
        assert f"cut.db: is a database that is cut off: {len(good) - 4096} bytes of {len(good)}\n" in done.stderr, done.stderr


def test_nothing_in_a_database_runs(tmp_path):
    file = tmp_path / "memscope_dump_1.db"
    made = sqlite3.connect(file)
    made.execute("CREATE VIEW memscope_dump AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i AS ID FROM n")
    made.commit()
    made.close()
    assert "without a table" in run("report", file).stderr
