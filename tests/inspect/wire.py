# SPDX-License-Identifier: Apache-2.0
"""Messages of protobuf as dictionaries: a list of values for each field."""


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def fields(data):
    message, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            assert key & 7 == 2, "a wire type that nobody writes"
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        message.setdefault(key >> 3, []).append(value)
    return message
