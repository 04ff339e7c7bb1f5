"""Writes the ```mlir blocks of .td files as one module per block.

In:  an output file and .td files.
Out: the blocks, each behind a comment with its file and line, split by
     "// -----" as decant-opt --split-input-file expects. Fails when an op has no
     example, so that the manual stays complete.
"""

import pathlib
import re
import sys

OP = re.compile(r'^def \w+ : Decant_Op<"(\w+)"')
DEF = re.compile(r"^def ")


def examples(path):
    """Yields (line number, text) of each block and collects the ops without one."""
    blocks, missing = [], []
    op, found, block = None, True, None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if DEF.match(line):
            if not found:
                missing.append(op)
            match = OP.match(line)
            op, found = (match.group(1), False) if match else (None, True)
        if line.strip() == "```mlir":
            block = (number, [])
        elif line.strip() == "```" and block:
            blocks.append((block[0], "\n".join(block[1])))
            found = found or f"decant.{op}" in "\n".join(block[1])
            block = None
        elif block:
            block[1].append(line)
    if not found:
        missing.append(op)
    return blocks, missing


def main(output, *files):
    chunks, without = [], []
    for name in files:
        path = pathlib.Path(name)
        blocks, missing = examples(path)
        without += [f"{path.name}: decant.{op}" for op in missing]
        chunks += [f"// {path.name}:{line}\n{text}\n" for line, text in blocks]
    if without:
        sys.exit("ops whose description has no example of them: " + ", ".join(without))
    pathlib.Path(output).write_text("\n// -----\n".join(chunks))
    print(f"{len(chunks)} examples")


main(*sys.argv[1:])
