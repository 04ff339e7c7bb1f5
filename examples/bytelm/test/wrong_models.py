"""Model folders with one mistake each, and what bytelm must say of it."""

import copy
import json
import os
import struct

from tiny_model import data_of, header_of, split, write_file, write_model

MANY = "blocks.0.mix.conv"


def wrong_files(weights):
    """{what: (bytes of bytelm-0.safetensors, words of the message)}"""
    part = split(weights)[0]
    header, data = header_of(part), data_of(part)

    def changed(name, **fields):
        other = copy.deepcopy(header)
        for field, value in fields.items():
            if value is None:
                del other[name][field]
            else:
                other[name][field] = value
        return other

    def file(header, data=data):
        text = header if isinstance(header, bytes) else json.dumps(header).encode()
        return struct.pack("<Q", len(text)) + text + data

    good = file(header)
    begin, end = header[MANY]["data_offsets"]
    head = "bytelm-0.safetensors: "
    conv = head + f"tensor '{MANY}': "
    nan = bytearray(data)
    nan[begin + 2:begin + 4] = struct.pack("<e", float("nan"))
    return {
        "empty": (b"", head + "has 0 bytes"),
        "length beyond the file": (good[:100], head + "says that its header has"),
        "a text": (b"# bytelm\nweights\n", head + "says that its header has"),
        "cut data": (good[:-10], head + "tensor 'blocks.0.mix."),
        "data behind": (good + b"12", head + "its last tensor ends at byte"),
        "no JSON": (file(b'{"emb": '), head + "the header is not JSON"),
        "a list": (file(b'[1, 2]'), head + "the header is [1,2]"),
        "a tensor that is a number": (file({**header, MANY: 3}), conv + "is 3"),
        "no dtype": (file(changed(MANY, dtype=None)), conv + "field 'dtype' is missing"),
        "another dtype": (file(changed(MANY, dtype="F32")), conv + 'dtype is "F32"'),
        "no shape": (file(changed(MANY, shape=None)), conv + "field 'shape' is missing"),
        "a negative shape": (file(changed(MANY, shape=[-64, 1, 4])),
                             conv + "'shape' is [-64,1,4]; allowed is a list of integers"),
        "a shape beyond memory": (file(changed(MANY, shape=[2 ** 47, 2 ** 47])),
                                  conv + "shape [140737488355328, 140737488355328] is beyond"),
        "one offset": (file(changed(MANY, data_offsets=[begin])), conv + "data_offsets are ["),
        "offsets turned round": (file(changed(MANY, data_offsets=[end, begin])),
                                 conv + f"data_offsets are [{end}, {begin}]"),
        "offsets of another size": (file(changed(MANY, data_offsets=[begin, end + 2])),
                                    conv + f"data_offsets [{begin}, {end + 2}] span"),
        "an overlap": (file(changed(MANY, data_offsets=[begin - 4, end - 4])),
                       head + f"tensor '{MANY}' starts at byte {begin - 4} of the data"),
        "another shape": (file(changed(MANY, shape=[32, 2, 4])),
                          head + f"tensor '{MANY}' has shape [32, 2, 4]; this model needs "
                          "[64, 1, 4]"),
        "not a number": (file(header, bytes(nan)), conv + "element 1 is infinite or NaN"),
    }


def wrong_folders(folder, weights):
    """Yields (what, the path of a model, words of the message)."""
    for i, (what, (content, words)) in enumerate(wrong_files(weights).items()):
        path = f"{folder}/file{i}"
        write_model(path, weights)
        with open(f"{path}/bytelm-0.safetensors", "wb") as file:
            file.write(content)
        yield what, path, words

    def without(name):
        return {n: w for n, w in weights.items() if n != name}

    stranger = {**weights, "blocks.9.n3.weight": ([2], [0.5, 0.5])}
    both = {**weights, "blocks.0.mix.f1.weight": weights["blocks.1.mix.f1.weight"]}
    rows = {**weights, "blocks.1.mix.qkv.weight": ([90, 24], [0.0] * 90 * 24)}
    for i, (what, changed, words) in enumerate((
            ("a missing tensor", without("nf.weight"), "tensor 'nf.weight' is missing"),
            ("a missing layer kind", without("blocks.1.mix.f1.weight"),
             "layer 'blocks.1.mix' has neither 'a.weight' nor 'f1.weight'"),
            ("a layer of two kinds", both, "layer 'blocks.0.mix' has both"),
            ("a tensor too many", stranger, "tensor 'blocks.9.n3.weight' is not one of this"),
            ("rows that fit no heads", rows, "'blocks.1.mix.qkv.weight' has 90 rows"))):
        write_model(f"{folder}/model{i}", changed)
        yield what, f"{folder}/model{i}", words

    os.makedirs(f"{folder}/nothing")
    yield "an empty folder", f"{folder}/nothing", "nothing: has no file bytelm-*.safetensors"
    yield "no folder", f"{folder}/absent", "absent: is not a folder that can be read"
    write_model(f"{folder}/twice", weights)
    part = split(weights)[0]
    write_file(f"{folder}/twice/bytelm-2.safetensors", header_of(part), data_of(part))
    yield "a tensor in two files", f"{folder}/twice", "is in "
    write_model(f"{folder}/streams", weights)
    with open(f"{folder}/streams/streams.bin", "ab") as file:
        file.write(b"x")
    yield "streams of unequal length", f"{folder}/streams", "has 1281 bytes; allowed is a multiple"
