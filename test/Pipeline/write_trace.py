"""Writes a small trace for custom-rule.test.

In:  TOKENS KEY_DIM VALUE_DIM OUT; two value heads share one query/key head.
Out: a safetensors file with q, k, v, e, g and beta, all f32 and always the same.

The erase key e is k with a little noise, at length 1: for |e| = |k| = 1 and beta
in (0, 1) the factor 1 - beta (e . k) stays within (-1, 1], so the state neither
grows nor vanishes and its errors can be compared with its size.
"""

import json
import math
import random
import struct
import sys

VALUE_HEADS = 2


def unit(vector):
    length = math.sqrt(sum(x * x for x in vector))
    return [x / length for x in vector]


def main(tokens, key_dim, value_dim, path):
    rng = random.Random(20)
    normal = lambda n: [rng.gauss(0, 1) for _ in range(n)]
    shapes = {
        "q": [tokens, 1, key_dim],
        "k": [tokens, 1, key_dim],
        "v": [tokens, VALUE_HEADS, value_dim],
        "e": [tokens, VALUE_HEADS, key_dim],
        "g": [tokens, VALUE_HEADS, value_dim],
        "beta": [tokens, VALUE_HEADS],
    }
    data = {name: [] for name in shapes}
    for _ in range(tokens):
        data["q"] += normal(key_dim)
        key = unit(normal(key_dim))
        data["k"] += key
        for _ in range(VALUE_HEADS):
            data["v"] += normal(value_dim)
            noise = unit(normal(key_dim))
            data["e"] += unit([k + 0.3 * n for k, n in zip(key, noise)])
            data["g"] += [-0.3 * rng.random() for _ in range(value_dim)]
            data["beta"].append(0.2 + 0.7 * rng.random())
    header, body = {}, b""
    for name, shape in shapes.items():
        raw = struct.pack(f"<{len(data[name])}f", *data[name])
        span = [len(body), len(body) + len(raw)]
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": span}
        body += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + body)


main(*map(int, sys.argv[1:4]), sys.argv[4])
