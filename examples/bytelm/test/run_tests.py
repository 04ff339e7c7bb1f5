#!/usr/bin/env python3
"""run_tests.py BYTELM: the engine on a tiny random model, against an oracle in Python.

No weights are part of this tree; tiny_model.py makes some.
"""

import array
import json
import math
import os
import struct
import subprocess
import sys
import tempfile

from oracle import Oracle
from tiny_model import STREAMS, TOKENS, make_weights, write_model
from wrong_models import wrong_folders

HEADER_BYTES = 40  # Reference.h


def read_trace(path):
    """{name: (shape, values)}"""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    result = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        if entry["dtype"] == "BF16":  # the upper half of an f32
            halves = struct.unpack(f"<{(end - begin) // 2}H", data[begin:end])
            data_of = struct.pack(f"<{len(halves)}I", *(h << 16 for h in halves))
        else:
            data_of = data[begin:end]
        result[name] = entry["shape"], list(struct.unpack(f"<{len(data_of) // 4}f", data_of))
    return result


class Tests:
    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.model = f"{folder}/model"
        self.checks = self.failures = 0

    def expect(self, holds, what):
        self.checks += 1
        if not holds:
            self.failures += 1
            print(f"failed: {what}", file=sys.stderr)

    def run(self, *arguments):
        # A cache of its own: the user's is none of this test's business.
        env = {**os.environ, "DECANT_CACHE_DIR": f"{self.folder}/cache"}
        return subprocess.run([self.program, *arguments], capture_output=True, env=env)

    def judge(self, *arguments):
        run = self.run("judge", "--model", self.model, "--tokens", str(TOKENS), "--json",
                       *arguments)
        self.expect(run.returncode == 0, f"judge {arguments}: {run.stderr.decode()}")
        return json.loads(run.stdout or "{}")

    def refuses(self, words, *arguments, model=None):
        run = self.run(*arguments[:1], "--model", model or self.model, *arguments[1:])
        said = run.stderr.decode()
        self.expect(run.returncode == 2 and words in said,
                    f"{arguments} ended with {run.returncode}, wanted 2 and '{words}': {said}")

    def test_logits(self):
        """A logit is some sums of dozens of f32 products behind each other: with an eps of 6e-8, 3e-6
        of a mean one leaves room for some fifty roundings. A token whose state gives nearly nothing
        loses digits in the norm behind it: a single one may be off by 1e-4 of the largest."""
        file = f"{self.folder}/logits"
        self.judge("--spec", "plain", "--streams", "3", "--reference", file)
        with open(file, "rb") as stored:
            stored.seek(HEADER_BYTES)
            logits = array.array("f", stored.read())
        with open(f"{self.model}/streams.bin", "rb") as streams:
            all_bytes = streams.read()
        self.expect(len(logits) == TOKENS * 3 * 256, "the size of the file of logits")
        for row in (0, 2):
            oracle = Oracle(self.weights)
            worst = largest = differences = sizes = 0
            for token in range(TOKENS):
                exact = oracle.token(all_bytes[row * TOKENS + token])
                at = (token * 3 + row) * 256
                for byte in range(256):
                    difference, size = abs(logits[at + byte] - exact[byte]), abs(exact[byte])
                    worst, largest = max(worst, difference), max(largest, size)
                    differences, sizes = differences + difference, sizes + size
            self.expect(differences < 3e-6 * sizes, f"logits differ by {differences} of {sizes}")
            self.expect(worst < 1e-4 * largest, f"a logit differs by {worst} of {largest}")

    def test_judge(self):
        same = self.judge("--spec", "plain")
        self.expect(same["kl"] == 0 and same["agree"] == 1, "plain against plain")
        # The KL of two distributions whose logits differ by e is about e^2 / 2, and by the bound
        # above e is some 1e-5.
        for spec in ("step-fp32", "replayssm"):
            own = self.judge("--spec", spec, "--set", "window.records=f32")
            self.expect(0 <= own["kl"] < 1e-9 and own["bits_per_element"] == 32,
                        f"{spec}: {own.get('kl')}")
        coarse = self.judge("--set", "window.compensators=0", "--set", "kda:state.codes=int4",
                            "--spec", "0=step-bf16")
        kinds = [layer["bits_per_element"] for layer in coarse["layers"]]
        self.expect(kinds[0] == 16 and 4 < kinds[1] < 9, f"specs by layer: {kinds}")
        self.expect(1e-7 < coarse["kl"] < 1, f"int4: {coarse['kl']}")
        per_stream = coarse["kl_per_stream"]
        self.expect(len(per_stream) == STREAMS and
                    math.isclose(sum(per_stream) / STREAMS, coarse["kl"], rel_tol=1e-9),
                    "the mean of the streams")
        rounded = self.judge("--spec", "step-fp32", "--set", "inputs.type=bf16", "--set",
                             "inputs.output=f16")
        self.expect(1e-9 < rounded["kl"] < 1e-2, f"bf16 inputs: {rounded['kl']}")

    def test_reference_file(self):
        file = f"{self.folder}/reference"
        first = self.judge("--reference", file)
        again = self.judge("--reference", file)
        fewer = self.judge("--reference", file, "--streams", "2")
        self.expect(first["kl"] == again["kl"] > 0, "the same with logits from a file")
        # Products of fewer rows are summed in another order, which turns some codes over.
        self.expect(all(math.isclose(a, b, rel_tol=0.1) for a, b in
                        zip(fewer["kl_per_stream"], first["kl_per_stream"])),
                    "the first streams of a file")
        write_model(f"{self.folder}/other", make_weights(8))
        self.refuses("has the logits of another model", "judge", "--tokens", "80", "--reference",
                     file, model=f"{self.folder}/other")
        self.refuses("is no file of logits", "judge", "--tokens", "80", "--reference",
                     f"{self.model}/streams.bin")

    def test_trace(self):
        """bf16 has 8 bits of significand; f32 gates are as sure as the logits."""
        tokens = 20
        run = self.run("trace", "--model", self.model, "--tokens", str(tokens), "--stream", "3",
                       "-o", f"{self.folder}/traces")
        files = run.stdout.decode().split()
        self.expect([os.path.basename(f) for f in files] ==
                    ["layer0-gdn.safetensors", "layer1-kda.safetensors"], f"files: {files}")
        oracle = Oracle(self.weights)
        with open(f"{self.model}/streams.bin", "rb") as streams:
            for byte in streams.read()[3 * TOKENS:3 * TOKENS + tokens]:
                oracle.token(byte)
        shapes = {"k": [[20, 1, 16], [20, 2, 16]], "v": [[20, 2, 16]] * 2,
                  "g": [[20, 2], [20, 2, 16]], "beta": [[20, 2]] * 2}
        for layer, file in enumerate(files):
            trace = read_trace(file)
            for name, shape in shapes.items():
                self.expect(trace[name][0] == shape[layer], f"{file}: {name}: {trace[name][0]}")
            for name, (_, values) in trace.items():
                bound = 1e-5 if name in ("g", "beta") else 2 ** -8
                exact = [x for token in oracle.seen[layer] for x in token[name]]
                self.expect(len(values) == len(exact) and all(
                    abs(a - b) <= bound * abs(b) + 1e-5 for a, b in zip(values, exact)),
                    f"{file}: the values of {name}")
        self.refuses("--stream: found 16; allowed are 0 to 15", "trace", "--stream", "16",
                     "--tokens", "80", "-o", f"{self.folder}/traces")
        self.refuses("is no folder", "trace", "--tokens", "80", "-o", f"{self.model}/streams.bin")

    def test_generate(self):
        arguments = ("generate", "--model", self.model, "--prompt", "ab", "--bytes", "40")
        texts = [self.run(*arguments, *more).stdout for more in
                 ((), (), ("--seed", "2"), ("--temperature", "0", "--spec", "plain"),
                  ("--temperature", "0", "--spec", "step-fp32"))]
        self.expect(len(texts[0]) == 43 and texts[0][:2] == b"ab", "prompt, 40 bytes, newline")
        self.expect(texts[0] == texts[1] != texts[2], "the seed decides")
        self.expect(texts[3] == texts[4], "f32 states choose the same bytes")

    def test_refusals(self):
        for what, path, words in wrong_folders(f"{self.folder}/wrong", self.weights):
            self.refuses(words, "judge", "--tokens", "80", model=path)
        for words, *arguments in (
                ("--streams: found 17; allowed are 1 to 16", "judge", "--streams", "17"),
                ("--tokens: found 81; allowed are 1 to 80", "judge", "--tokens", "81"),
                ("tokens are judged from 64 on", "judge", "--tokens", "64"),
                ("no layer of this model is '7'", "judge", "--tokens", "80", "--spec",
                 "7=step-bf16"),
                ("found 'gnd' before '='", "judge", "--tokens", "80", "--spec", "gnd=step-bf16"),
                ("step-bf61", "judge", "--tokens", "80", "--spec", "step-bf61"),
                ("window.lenght", "judge", "--tokens", "80", "--set", "window.lenght=3"),
                ("its kernel reads 32 numbers of 'decay' per token; a gdn layer of this model has "
                 "2", "judge", "--tokens", "80", "--spec", "gdn=bytelm-kda", "--set",
                 "gdn:rule=kda"),
                ("\"gpu\"", "judge", "--tokens", "80", "--device", "gpu"),
                ("--prompt: is empty", "generate", "--prompt", ""),
                ("--temperature: found -1", "generate", "--temperature", "-1")):
            self.refuses(words, *arguments)

    def run_all(self):
        self.weights = make_weights()
        write_model(self.model, self.weights)
        for name in dir(self):
            if name.startswith("test_"):
                getattr(self, name)()
        print(f"{self.checks} checks, {self.failures} failed")
        return self.failures != 0


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        sys.exit(Tests(program, folder).run_all())


if __name__ == "__main__":
    main()
