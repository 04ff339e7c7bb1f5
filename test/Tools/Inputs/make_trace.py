"""Usage: make_trace.py FILE [--zeros] NAME:DTYPE:SHAPE...

Writes a safetensors file, for instance with `q:BF16:4,2,128`. Its values are
the same every time: normal ones, for `beta` in 0..1 and for `g` a logarithm of
a decay between 0.5 and 1.
"""
import json
import random
import struct
import sys
from math import prod

BYTES = {"F32": 4, "BF16": 2}
path, arguments = sys.argv[1], sys.argv[2:]
zeros = "--zeros" in arguments
random.seed(1)


def value(name):
    if zeros:
        return 0.0
    if name == "beta":
        return random.random()
    if name == "g":
        return -0.7 * random.random()
    return random.gauss(0, 1)


header, data = {}, b""
for tensor in arguments:
    if tensor == "--zeros":
        continue
    name, dtype, shape = tensor.split(":")
    shape = [int(size) for size in shape.split(",")]
    # The upper half of a float is a bfloat.
    part = b"".join(struct.pack("<f", value(name))[4 - BYTES[dtype]:] for _ in range(prod(shape)))
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(part)]}
    data += part
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + data)
