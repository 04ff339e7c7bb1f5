"""Usage: make_trace.py FILE NAME:DTYPE:SHAPE...

Writes a safetensors file of zeros, for instance `q:BF16:4,2,128`.
"""
import json
import struct
import sys
from math import prod

BYTES = {"F32": 4, "BF16": 2, "F16": 2}
header, offset = {}, 0
for tensor in sys.argv[2:]:
    name, dtype, shape = tensor.split(":")
    shape = [int(size) for size in shape.split(",")]
    end = offset + prod(shape) * BYTES[dtype]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, end]}
    offset = end
text = json.dumps(header).encode()
text += b" " * (-len(text) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + bytes(offset))
