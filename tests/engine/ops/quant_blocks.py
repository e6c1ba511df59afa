#!/usr/bin/env python3
"""Writes quant_blocks.json: blocks of every quantised type, as the package gguf reads them.

usage: quant_blocks.py [OUT.json]

Needs gguf==0.19.0 and numpy (nothing of it is needed to run the tests). Per type some blocks of
random bytes with scales of ordinary size, then blocks of one byte throughout and of wholly random
bytes, whose scales may be subnormal, infinite or not a number. "values" are the bits of the f32
results, in hex, eight digits each; a NaN is written as 7fc00000.
"""

import json
import sys
from pathlib import Path

import numpy as np
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type
from gguf.quants import dequantize

TYPES = ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K",
         "IQ4_NL", "IQ4_XS", "MXFP4"]
# Where a block keeps its f16 scales.
SCALES_AT = {"Q4_0": [0], "Q4_1": [0, 2], "Q5_0": [0], "Q5_1": [0, 2], "Q8_0": [0],
             "Q2_K": [80, 82], "Q3_K": [108], "Q4_K": [0, 2], "Q5_K": [0, 2], "Q6_K": [208],
             "IQ4_NL": [0], "IQ4_XS": [0]}


def blocks_of(name, rng):
    elements, size = GGML_QUANT_SIZES[Type[name]]
    ordinary = 2 if elements == 256 else 6
    blocks = rng.integers(0, 256, (ordinary + 5, size), dtype=np.uint8)
    for block in blocks[:ordinary]:
        for at in SCALES_AT.get(name, []):
            block[at : at + 2] = np.array([rng.uniform(-0.1, 0.1)], np.float16).view(np.uint8)
    if name == "MXFP4":
        blocks[:ordinary, 0] = [126, 120, 0, 1, 2, 255]
    blocks[ordinary] = 0
    blocks[ordinary + 1] = 255
    blocks[ordinary + 2] = 0x55
    for at in SCALES_AT.get(name, []):
        # The largest finite f16 with all codes set, and the smallest subnormal with random ones.
        blocks[ordinary + 1, at : at + 2] = [0xFF, 0x7B]
        blocks[ordinary + 3, at : at + 2] = [0x01, 0x80]
    return blocks


def main():
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).with_suffix(".json")
    rng = np.random.default_rng(5)
    lines = []
    for name in TYPES:
        for block in blocks_of(name, rng):
            with np.errstate(all="ignore"):
                values = dequantize(block, Type[name]).astype(np.float32)
            bits = np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))
            text = "".join(f"{x:08x}" for x in bits)
            lines.append(json.dumps({"type": name, "block": block.tobytes().hex(), "values": text}))
    target.write_text("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main()
