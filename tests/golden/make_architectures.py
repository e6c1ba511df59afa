#!/usr/bin/env python3
"""Writes architectures.json: tiny random models of every architecture and what they compute.

    make_architectures.py --llama-cpp DIR [--only NAME]

Each case has a config.json, the GGUF keys that llama.cpp's converter makes of it (DIR is its source
tree, as in the vendor folder of PyPI's llama-cpp-python), a recipe for every tensor, and the logits
of transformers' f32 model. Weights follow from tensor names (weights() below, and the test's own
version): multiples of a power of two with 7 bits, so that F32, F16 and BF16 hold the same numbers.
Made with torch 2.15.0, transformers 5.24.0 and llama-cpp-python 0.3.36.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

VOCABULARY = 48
BASE = dict(vocab_size=VOCABULARY, hidden_size=32, intermediate_size=48, num_hidden_layers=3,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64,
            rms_norm_eps=1e-5, tie_word_embeddings=False, bos_token_id=1, eos_token_id=2,
            pad_token_id=0)
LONG = [1.0, 1.5, 2.0, 4.0]
SHORT = [1.0, 1.1, 1.25, 1.5]


def rope(kind, **more):
    return {"rope_type": kind, "rope_theta": 10000.0, **more}


# name, transformers' model type, changes to BASE, and what the test needs to know:
#   context  positions that are served, where not all; sequences are no longer then
#   gguf     False where llama.cpp's converter leaves out what the model does
CASES = [
    ("llama", "llama", {}, {}),
    ("llama tied with biases", "llama", dict(attention_bias=True, tie_word_embeddings=True), {}),
    ("llama linear", "llama", dict(rope_parameters=rope("linear", factor=4.0)), {}),
    ("llama 3", "llama", dict(head_dim=16, rope_parameters=rope(
        "llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0,
        original_max_position_embeddings=16)), {}),
    ("llama yarn", "llama", dict(head_dim=16, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=16)), {}),
    ("mistral", "mistral", dict(sliding_window=None), {}),
    ("mistral window", "mistral", dict(sliding_window=7), {"gguf": False}),
    ("mistral 3", "ministral3", dict(head_dim=16, rope_parameters=rope(
        "yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=32.0, beta_slow=1.0,
        mscale=1.0, mscale_all_dim=1.0, llama_4_scaling_beta=0.5)), {}),
    ("qwen2", "qwen2", {}, {}),
    ("qwen2 window", "qwen2", dict(use_sliding_window=True, sliding_window=7,
                                   max_window_layers=1), {"gguf": False}),
    ("qwen3", "qwen3", dict(head_dim=16, tie_word_embeddings=True), {}),
    ("gemma2", "gemma2", dict(head_dim=16, sliding_window=7, query_pre_attn_scalar=16,
                              attn_logit_softcapping=2.0, final_logit_softcapping=8.0,
                              tie_word_embeddings=True), {}),
    ("gemma3", "gemma3_text", dict(head_dim=16, sliding_window=7, query_pre_attn_scalar=16,
                                   num_hidden_layers=7, tie_word_embeddings=True,
                                   rope_parameters={
                                       "full_attention": {"rope_type": "linear", "factor": 8.0,
                                                          "rope_theta": 1000000.0},
                                       "sliding_attention": {"rope_type": "default",
                                                             "rope_theta": 10000.0}}), {}),
    ("phi3", "phi3", dict(original_max_position_embeddings=64), {}),
    ("phi3 part", "phi3", dict(num_attention_heads=2, num_key_value_heads=1,
                               original_max_position_embeddings=64,
                               rope_parameters=rope("default", partial_rotary_factor=0.75)), {}),
    ("phi3 long", "phi3", dict(original_max_position_embeddings=16, rope_parameters=rope(
        "longrope", short_factor=SHORT, long_factor=LONG,
        original_max_position_embeddings=16)), {}),
    ("phi3 short", "phi3", dict(original_max_position_embeddings=16, rope_parameters=rope(
        "longrope", short_factor=SHORT, long_factor=LONG,
        original_max_position_embeddings=16)), {"context": 16}),
    ("granite", "granite", dict(embedding_multiplier=3.0, residual_multiplier=0.5,
                                attention_multiplier=0.25, logits_scaling=2.0,
                                tie_word_embeddings=True), {}),
    ("olmo2", "olmo2", {}, {}),
    ("smollm3", "smollm3", dict(num_hidden_layers=5, tie_word_embeddings=True), {}),
]

# Parts of a layer: Hugging Face's name, GGUF's. A norm's second name where there are four norms.
PARTS = {
    "input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v", "self_attn.qkv_proj": "attn_qkv",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "post_attention_layernorm": "ffn_norm",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.gate_up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
WHOLE = {"model.embed_tokens.weight": "token_embd.weight", "lm_head.weight": "output.weight",
         "model.norm.weight": "output_norm.weight"}


def name_hash(name):
    value = 0xcbf29ce484222325
    for byte in name.encode():
        value = (value ^ byte) * 0x100000001b3 % 2**64
    return value


def weights(name, shape, unit, center):
    """k · unit + center with k in [-127, 127] from splitmix64 of (name, index)."""
    count = int(np.prod(shape))
    x = np.arange(1, count + 1, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
    x = x + np.uint64(name_hash(name))
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xbf58476d1ce4e5b9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94d049bb133111eb)
    x = x ^ (x >> np.uint64(31))
    k = (x >> np.uint64(33)) % np.uint64(255)
    return (k.astype(np.float32) - 127) * np.float32(unit) + np.float32(center)


def recipe(name, shape, adds_one):
    """unit and center of a tensor's values as Hugging Face has them."""
    if "norm" in name:
        return 1 / 128, 0.0 if adds_one else 1.0
    if name.endswith(".bias"):
        return 1 / 256, 0.0
    return (1 / 128, 0.0) if "embed_tokens" in name else (1 / 256, 0.0)


def gguf_name(name, has_four_norms):
    if name in WHOLE:
        return WHOLE[name]
    _, _, layer, rest = name.split(".", 3)
    part, kind = rest.rsplit(".", 1)
    if has_four_norms and part == "post_attention_layernorm":
        return f"blk.{layer}.post_attention_norm.{kind}"
    return f"blk.{layer}.{PARTS[part]}.{kind}"


def turned(values, heads):
    """Rows of each head from halves to neighbours."""
    return (values.reshape(heads, 2, -1, *values.shape[1:]).swapaxes(1, 2).reshape(values.shape))


def make_model(kind, changes):
    config = transformers.AutoConfig.for_model(kind, **{**BASE, **changes})
    config._attn_implementation = "eager"
    model = transformers.AutoModelForCausalLM.from_config(config).float().eval()
    adds_one = kind.startswith("gemma")
    tensors = []
    state = {}
    for name, value in model.state_dict().items():
        if name == "lm_head.weight" and config.tie_word_embeddings:
            continue
        unit, center = recipe(name, value.shape, adds_one)
        flat = weights(name, value.shape, unit, center)
        state[name] = torch.from_numpy(flat.reshape(tuple(value.shape)))
        tensors.append({"hf": name, "shape": list(value.shape), "unit": unit, "center": center})
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and set(missing.missing_keys) <= {"lm_head.weight"}, missing
    model.tie_weights()
    return config, model, tensors, state


def convert(llama_cpp, folder):
    """The keys and tensors that llama.cpp's converter makes of a folder."""
    sys.path[:0] = [llama_cpp, os.path.join(llama_cpp, "gguf-py")]
    import gguf
    from conversion import get_model_class
    from conversion.base import ModelBase
    config = ModelBase.load_hparams(pathlib.Path(folder), False)
    model_class = get_model_class(config["architectures"][0])
    model_class.set_vocab = lambda self: None
    out = os.path.join(folder, "out.gguf")
    writer = model_class(pathlib.Path(folder), gguf.LlamaFileType.ALL_F32, pathlib.Path(out))
    writer.write()
    reader = gguf.GGUFReader(out)
    keys = {}
    for field in reader.fields.values():
        if field.name.startswith(("general.", "tokenizer.", "GGUF.")):
            continue
        kinds = [kind.name for kind in field.types]
        keys[field.name] = [kinds, field.contents()]
    architecture = reader.fields["general.architecture"].contents()
    return architecture, keys, {t.name: np.array(t.data) for t in reader.tensors}


def write_folder(folder, config, state):
    save_file({name: value.contiguous() for name, value in state.items()},
              os.path.join(folder, "model.safetensors"))
    with open(os.path.join(folder, "config.json"), "w") as file:
        json.dump(config, file)
    with open(os.path.join(folder, "tokenizer.json"), "w") as file:
        vocabulary = {f"t{i}": i for i in range(VOCABULARY)}
        json.dump({"model": {"vocab": vocabulary}, "added_tokens": []}, file)


def with_gguf(case, config, tensors, state, llama_cpp, kind):
    with tempfile.TemporaryDirectory(prefix="kantha-golden-") as folder:
        write_folder(folder, case["config"], state)
        architecture, keys, converted = convert(llama_cpp, folder)
    turns = architecture in ("llama", "granite", "smollm3", "mistral3")
    four = any("post_feedforward" in t["hf"] for t in tensors)
    for tensor in tensors:
        values = state[tensor["hf"]].numpy()
        tensor["gguf"] = gguf_name(tensor["hf"], four)
        if turns and ("q_proj" in tensor["hf"] or "k_proj" in tensor["hf"]):
            heads = (config.num_attention_heads if "q_proj" in tensor["hf"]
                     else config.num_key_value_heads)
            tensor["turned"] = heads
            values = turned(values, heads)
        if kind.startswith("gemma") and "norm" in tensor["hf"]:
            tensor["add"] = 1
            values = values + np.float32(1)
        theirs = converted.pop(tensor["gguf"])
        assert np.array_equal(theirs.reshape(values.shape), values), tensor
    for name, values in converted.items():
        tensors.append({"gguf": name, "values": [float(v) for v in values.reshape(-1)]})
    case["gguf"] = {"architecture": architecture, "keys": keys}


def make_case(name, kind, changes, needs, llama_cpp):
    config, model, tensors, state = make_model(kind, changes)
    saved = json.loads(config.to_json_string(use_diff=False))
    saved["architectures"] = [type(model).__name__]
    drop = ("_name_or_path", "transformers_version", "id2label", "label2id", "problem_type")
    case = {"name": name, "config": {k: v for k, v in saved.items()
                                     if k not in drop and v is not None}}
    if "final_logit_softcapping" in saved and saved["final_logit_softcapping"] is None:
        case["config"]["final_logit_softcapping"] = None
    if needs.get("gguf", True):
        with_gguf(case, config, tensors, state, llama_cpp, kind)
    case["context"] = needs.get("context", 0)
    case["tensors"] = tensors
    length = case["context"] or 24
    case["prompts"] = []
    for seed in range(2):
        ids = [int(v) for v in (weights(f"prompt {seed}", [length], 1, 127) % VOCABULARY)]
        with torch.no_grad():
            logits = model(torch.tensor([ids])).logits[0].numpy()
        rows = [0, 5, length // 2 - 1, length - 2, length - 1]
        case["prompts"].append({"ids": ids, "rows": rows, "logits": [
            [float(f"{v:.6g}") for v in logits[row]] for row in rows]})
        print(f"{name:24} prompt {seed}: logits {logits.min():.3f} … {logits.max():.3f}")
    return case


def dump(value, columns=98):
    """Compact JSON in lines of at most so many columns."""
    lines, line = [], ""
    for chunk in json.JSONEncoder(separators=(",", ":")).iterencode(value):
        for piece in ([chunk] if chunk.startswith('"') else chunk.replace(",", ",\0").split("\0")):
            if len(line) + len(piece) > columns:
                lines.append(line)
                line = ""
            line += piece
    return "\n".join(lines + [line]) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--llama-cpp", required=True)
    parser.add_argument("--only")
    args = parser.parse_args()
    cases = [make_case(*case, args.llama_cpp) for case in CASES if args.only in (None, case[0])]
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "architectures.json")
    with open(out if not args.only else "/dev/null", "w") as file:
        file.write(dump({"cases": cases}))


if __name__ == "__main__":
    main()
