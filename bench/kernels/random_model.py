#!/usr/bin/env python3
"""Writes a GGUF file of a llama model with random weights, for benches and load tests.

usage: random_model.py TYPE MEGABYTES OUT.gguf      such as  random_model.py Q4_K 512 q4_k.gguf

All matrices have the type. The weights are one megabyte of random blocks over and over, with scales
of a size that keeps activations ordinary; nothing that the model says means anything. Needs nothing
but Python.
"""

import random
import struct
import sys

WIDTH, HEADS, KV_HEADS, FFN, VOCABULARY = 2048, 32, 8, 5632, 32000

# ggml's number, columns and bytes of a block, and where its f16 scales lie with the number that
# each is multiplied with at most.
TYPES = {
    "F32": (0, 1, 4, []), "F16": (1, 1, 2, []), "BF16": (30, 1, 2, []),
    "Q4_0": (2, 32, 18, [(0, 8)]), "Q4_1": (3, 32, 20, [(0, 15), (2, 2)]),
    "Q5_0": (6, 32, 22, [(0, 16)]), "Q5_1": (7, 32, 24, [(0, 31), (2, 2)]),
    "Q8_0": (8, 32, 34, [(0, 128)]), "Q2_K": (10, 256, 84, [(80, 45), (82, 30)]),
    "Q3_K": (11, 256, 110, [(108, 128)]), "Q4_K": (12, 256, 144, [(0, 945), (2, 126)]),
    "Q5_K": (13, 256, 176, [(0, 1953), (2, 126)]), "Q6_K": (14, 256, 210, [(208, 4096)]),
    "IQ4_NL": (20, 32, 18, [(0, 127)]), "IQ4_XS": (23, 256, 136, [(0, 4064)]),
    "MXFP4": (39, 32, 17, []),
}
REACH = 1 / 32  # of a weight


def chunk(name):
    """About a megabyte of blocks."""
    _, _, size, scales = TYPES[name]
    source = random.Random(1)
    count = (1 << 20) // size
    if name in ("F32", "F16", "BF16"):
        values = [source.uniform(-REACH, REACH) for _ in range(count)]
        if name == "BF16":
            return b"".join(struct.pack("<f", x)[2:] for x in values)
        return struct.pack(f"<{count}{'f' if name == 'F32' else 'e'}", *values)
    blocks = bytearray(source.randbytes(count * size))
    for i in range(count):
        for at, levels in scales:
            struct.pack_into("<e", blocks, i * size + at, REACH / levels)
        if name == "MXFP4":
            blocks[i * size] = 119
    return bytes(blocks)


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def pair(key, kind, value):
    return text(key) + struct.pack("<I", kind) + value


def u32(key, value):
    return pair(key, 4, struct.pack("<I", value))


def texts(key, values):
    return pair(key, 9, struct.pack("<IQ", 8, len(values)) + b"".join(text(v) for v in values))


def i32s(key, values):
    return pair(key, 9, struct.pack(f"<IQ{len(values)}i", 5, len(values), *values))


def byte_alphabet():
    """Byte-level BPE's letters: printable bytes are themselves, the others from U+0100 on."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in plain]
    return [chr(b) if b in plain else chr(256 + others.index(b)) for b in range(256)]


def metadata(name, layers):
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *byte_alphabet(), "ab"]
    tokens += [f"~{i}~" for i in range(VOCABULARY - len(tokens))]
    types = [3, 3, 3] + [1] * (VOCABULARY - 3)
    arch = "llama."
    return [
        pair("general.architecture", 8, text("llama")),
        pair("general.name", 8, text(f"Random {name}")),
        u32(arch + "block_count", layers), u32(arch + "context_length", 4096),
        u32(arch + "embedding_length", WIDTH), u32(arch + "feed_forward_length", FFN),
        u32(arch + "attention.head_count", HEADS), u32(arch + "attention.head_count_kv", KV_HEADS),
        pair(arch + "attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
        pair(arch + "rope.freq_base", 6, struct.pack("<f", 10000.0)),
        pair("tokenizer.ggml.model", 8, text("gpt2")),
        pair("tokenizer.ggml.pre", 8, text("smollm")),
        texts("tokenizer.ggml.tokens", tokens), i32s("tokenizer.ggml.token_type", types),
        texts("tokenizer.ggml.merges", ["a b"]),
        u32("tokenizer.ggml.bos_token_id", 1), u32("tokenizer.ggml.eos_token_id", 2),
    ]


def shapes(layers):
    """(name, rows or None for a norm, columns) in the file's order."""
    yield "token_embd.weight", VOCABULARY, WIDTH
    for i in range(layers):
        blk = f"blk.{i}."
        yield blk + "attn_norm.weight", None, WIDTH
        yield blk + "attn_q.weight", WIDTH, WIDTH
        yield blk + "attn_k.weight", WIDTH // HEADS * KV_HEADS, WIDTH
        yield blk + "attn_v.weight", WIDTH // HEADS * KV_HEADS, WIDTH
        yield blk + "attn_output.weight", WIDTH, WIDTH
        yield blk + "ffn_norm.weight", None, WIDTH
        yield blk + "ffn_gate.weight", FFN, WIDTH
        yield blk + "ffn_up.weight", FFN, WIDTH
        yield blk + "ffn_down.weight", WIDTH, FFN
    yield "output_norm.weight", None, WIDTH


def tensor_bytes(name, rows, cols):
    _, columns, size, _ = TYPES["F32" if rows is None else name]
    return (rows or 1) * cols // columns * size


def whole_size(name, layers):
    return sum(tensor_bytes(name, rows, cols) for _, rows, cols in shapes(layers))


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in TYPES:
        sys.exit(f"{__doc__}\nTYPE is one of {' '.join(TYPES)}")
    name, wanted, path = sys.argv[1], int(sys.argv[2]) * 10**6, sys.argv[3]
    layers = 1
    while whole_size(name, layers) < wanted:
        layers += 1
    header, offset = [], 0
    for tensor, rows, cols in shapes(layers):
        dims = [cols] if rows is None else [cols, rows]
        kind = 0 if rows is None else TYPES[name][0]
        place = struct.pack(f"<I{len(dims)}QIQ", len(dims), *dims, kind, offset)
        header.append(text(tensor) + place)
        offset += -(-tensor_bytes(name, rows, cols) // 32) * 32
    pairs = metadata(name, layers)
    head = struct.pack("<IIQQ", 0x46554747, 3, len(header), len(pairs)) + b"".join(pairs + header)
    norm, weights = struct.pack("<f", 1.0) * WIDTH, chunk(name)
    with open(path, "wb") as out:
        out.write(head + bytes(-len(head) % 32))
        for _, rows, cols in shapes(layers):
            size = tensor_bytes(name, rows, cols)
            source = norm if rows is None else weights
            for _ in range(size // len(source)):
                out.write(source)
            out.write(source[: size % len(source)] + bytes(-size % 32))
    print(f"{path}: {layers} layers, {whole_size(name, layers) / 1e6:.0f} MB of {name}")


if __name__ == "__main__":
    main()
