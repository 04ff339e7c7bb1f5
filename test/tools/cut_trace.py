#!/usr/bin/env python3
"""Cuts the first tokens out of a trace.

In: a safetensors file whose tensors all have tokens as their first axis.
Out: a safetensors file with the first TOKENS rows of each tensor, bit by bit.

usage: cut_trace.py TRACE TOKENS OUT
"""
import json
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    return header, data


def cut(header, data, tokens):
    new_header, pieces, at = {}, [], 0
    for name in sorted(header):
        begin, end = header[name]["data_offsets"]
        rows = header[name]["shape"][0]
        if tokens > rows:
            sys.exit(f"{name} has {rows} tokens, {tokens} were asked for")
        size = (end - begin) // rows * tokens
        pieces.append(data[begin : begin + size])
        new_header[name] = {
            "dtype": header[name]["dtype"],
            "shape": [tokens] + header[name]["shape"][1:],
            "data_offsets": [at, at + size],
        }
        at += size
    return new_header, b"".join(pieces)


def write(path, header, data):
    text = json.dumps(header, separators=(",", ":")).encode()
    # The format aligns the data to 8 bytes by blanks after the header.
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    header, data = read(sys.argv[1])
    write(sys.argv[3], *cut(header, data, int(sys.argv[2])))


if __name__ == "__main__":
    main()
