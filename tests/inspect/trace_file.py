# SPDX-License-Identifier: Apache-2.0
"""The events of a trace, as src/inspect/trace/format.h, fields.inc and ops.inc tell how they lie there."""
import os
import pathlib
import re
import struct

TABLES = pathlib.Path(os.environ["PLAT_SOURCE"]) / "src/inspect/trace"
KINDS = dict(re.findall(r"^PLAT_(?:FIELD|TEXT)\((\w+), (\w+)\)", (TABLES / "fields.inc").read_text(), re.M))
OPS = [(name, [KINDS[field] for field in re.findall(r"\w+", fields)])
       for name, fields in re.findall(r"^PLAT_OP\(\w+, (\w+)([^)]*)\)", (TABLES / "ops.inc").read_text(), re.M)]


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def text(self):
        size = self.varint()
        self.at += size
        return self.data[self.at - size:self.at].decode()


def events(path):
    """(name of the call, result, the fields that are numbers, text), chunk after chunk; addresses and handles are left out."""
    data = pathlib.Path(path).read_bytes()
    for start in range(4096, len(data), 65536):
        used = struct.unpack_from("<I", data, start + 4)[0]
        chunk = Bytes(data[start + 24:start + 24 + used])
        while chunk.at < used:
            name, fields = OPS[chunk.byte()]
            flags = chunk.byte()
            chunk.varint()  # time
            result = chunk.varint() if flags & 1 else 0
            if flags & 2:
                chunk.varint()  # stack
            numbers, text = [], None
            for field in fields:
                if field == "Text":
                    text = chunk.text()
                elif field == "Frames":
                    for _ in range(chunk.varint()):
                        chunk.varint()
                else:
                    value = chunk.varint()
                    if field == "Number":
                        numbers.append(value)
            yield name, result >> 1 ^ -(result & 1), tuple(numbers), text
