# SPDX-License-Identifier: Apache-2.0
"""What a page of plat view carries: the same that web/trace.js reads."""
import base64
import json
import re
import struct
import zlib

TYPES = {"u8": "B", "u16": "H", "i16": "h", "u32": "I", "f64": "d"}


def data_of(page):
    """One dictionary for each trace; columns are lists under their names, such as "life.size"."""
    traces = []
    for packed in re.findall(r'<script class="data" type="text/plain">([^<]*)</script>', page):
        traces.append(unpack(base64.b64decode(packed, validate=True)))
    return traces


def unpack(packed):
    raw = zlib.decompress(packed)
    length = struct.unpack_from("<I", raw)[0]
    trace = json.loads(raw[8:8 + length])
    for name, column in trace.pop("columns").items():
        assert (8 + length + column["at"]) % 8 == 0, "typed arrays begin at multiples of their element"
        trace[name] = list(struct.unpack_from(f"<{column['count']}{TYPES[column['type']]}", raw, 8 + length + column["at"]))
    return trace


def lives_of(trace, kind):
    """Places in the list of those of a kind."""
    return [i for i, number in enumerate(trace["life.kind"]) if trace["kinds"][number] == kind]
