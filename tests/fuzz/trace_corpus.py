# SPDX-License-Identifier: Apache-2.0
"""trace_corpus.py PLAT PROGRAMS: writes the corpus of the trace reader anew, by the recorder as it is.

A file is what a chunk of a trace holds, without the headers: fuzz_trace.cpp puts them around it. To be run when the
encoding changes; trace_corpus_test.py fails until it was. PLAT is the command, PROGRAMS is inspect_programs_broker.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

CORPUS = pathlib.Path(__file__).parent / "corpus" / "trace"
HEADER_BYTES, CHUNK_BYTES, CHUNK_HEADER_BYTES = 4096, 65536, 24

# Between them every group of calls, and a mistake for most kinds of findings.
PLAIN = ["all_given_back", "batch_unset", "dialect_caching_freed", "dialect_mindspore", "growth", "import_key",
         "import_number", "leak_mapping", "media", "order_before_allocation", "order_by_event", "order_host_work",
         "order_reuse", "region_overlap", "s9_read_only", "s11_reused", "s13_outside", "wrong_reference"]
WITH_STACKS = ["freed", "s4_freed_region"]


def content_of(trace):
    """What the first chunk of a trace holds."""
    used = struct.unpack_from("<I", trace, HEADER_BYTES + 4)[0]
    start = HEADER_BYTES + CHUNK_HEADER_BYTES
    return trace[start:start + used]


def trace_of(header, content):
    """A trace with the header of another one and one chunk that holds this."""
    chunk = header[HEADER_BYTES:HEADER_BYTES + 4] + struct.pack("<I", len(content)) + bytes(16) + content
    return header[:HEADER_BYTES] + chunk.ljust(CHUNK_BYTES, b"\0")


def record(plat, programs, name, stacks, folder):
    trace = folder / f"{name}.trace"
    subprocess.run([plat, "record", "--stacks", stacks, "-o", trace, "--", programs, name], check=True,
                   capture_output=True, env={**os.environ, "PLAT_NODE": "trace-corpus", "PLAT_QUIET": "1"})
    return trace.read_bytes()


def without_places(content, plat):
    """Where it was built is nobody's business; names keep their length, and so the bytes around them their meaning."""
    place = str(pathlib.Path(plat).resolve().parents[1]).encode()
    return content.replace(place, b"/" + b"p" * (len(place) - 1))


def main(plat, programs):
    for old in CORPUS.iterdir():
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        for stacks, names in ("none", PLAIN), ("fp", WITH_STACKS):
            for name in names:
                content = content_of(record(plat, programs, name, stacks, pathlib.Path(folder)))
                (CORPUS / name.replace("_", "-")).write_bytes(without_places(content, plat))
    # And some that are not right.
    whole = (CORPUS / "order-reuse").read_bytes()
    (CORPUS / "bad-cut").write_bytes(whole[:len(whole) // 2])
    (CORPUS / "bad-flipped").write_bytes(bytes(byte ^ 0x40 if i % 37 == 36 else byte for i, byte in enumerate(whole)))
    (CORPUS / "bad-empty").write_bytes(b"")


if __name__ == "__main__":
    main(*sys.argv[1:])
