"""A model of a few KB with random weights, as a folder that `bytelm --model` reads.

Two blocks, one GDN (1 key head, 2 value heads) and one KDA (2 heads), of the least dim that a spec
allows. Weights are rounded to F16 here already, so that the oracle has exactly what the file has.
"""

import json
import os
import random
import struct

WIDTH, HIDDEN, DIM, LOW = 24, 20, 16, 8
STREAMS, TOKENS = 16, 80


def half(values):
    return list(struct.unpack(f"<{len(values)}e", struct.pack(f"<{len(values)}e", *values)))


def make_weights(seed=7):
    """{name: (shape, flat list of values)}"""
    draw = random.Random(seed)
    weights = {}

    def add(name, shape, mean=0.0, spread=None):
        count = 1
        for size in shape:
            count *= size
        spread = 1.5 / shape[-1] ** 0.5 if spread is None else spread
        weights[name] = (shape, half([draw.gauss(mean, spread) for _ in range(count)]))

    add("emb.weight", [256, WIDTH], spread=1)
    add("head.weight", [256, WIDTH])
    add("nf.weight", [WIDTH], 1, 0.1)
    for block, (keys, values) in enumerate(((1, 2), (2, 2))):
        name, mix = f"blocks.{block}.", f"blocks.{block}.mix."
        qkv = 2 * keys * DIM + values * DIM
        add(name + "n1.weight", [WIDTH], 1, 0.1)
        add(name + "n2.weight", [WIDTH], 1, 0.1)
        add(name + "up.weight", [2 * HIDDEN, WIDTH])
        add(name + "down.weight", [WIDTH, HIDDEN])
        add(mix + "qkv.weight", [qkv, WIDTH])
        add(mix + "conv", [qkv, 1, 4], spread=0.5)
        add(mix + "z.weight", [values * DIM, WIDTH])
        add(mix + "b.weight", [values, WIDTH])
        add(mix + "out.weight", [WIDTH, values * DIM])
        add(mix + "A_log", [values], -1, 0.3)
        add(mix + "onorm.weight", [DIM], 1, 0.1)
        if block == 0:
            add(mix + "a.weight", [values, WIDTH])
            add(mix + "dt_bias", [values], -1, 0.5)
        else:
            add(mix + "f1.weight", [LOW, WIDTH])
            add(mix + "f2.weight", [values * DIM, LOW])
            add(mix + "dt_bias", [values * DIM], -1, 0.5)
    return weights


def header_of(weights):
    header, at = {}, 0
    for name, (shape, values) in weights.items():
        header[name] = {"dtype": "F16", "shape": shape,
                        "data_offsets": [at, at + 2 * len(values)]}
        at += 2 * len(values)
    return header


def data_of(weights):
    return b"".join(struct.pack(f"<{len(v)}e", *v) for _, v in weights.values())


def write_file(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def split(weights):
    """In two files, as large models are."""
    names = list(weights)
    return [{n: weights[n] for n in part} for part in (names[:11], names[11:])]


def write_model(folder, weights):
    os.makedirs(folder, exist_ok=True)
    for i, part in enumerate(split(weights)):
        write_file(f"{folder}/bytelm-{i}.safetensors", header_of(part), data_of(part))
    draw = random.Random(11)
    with open(f"{folder}/streams.bin", "wb") as file:
        file.write(bytes(draw.randrange(256) for _ in range(STREAMS * TOKENS)))
