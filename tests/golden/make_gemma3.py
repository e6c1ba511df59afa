#!/usr/bin/env python3
"""Writes gemma3.json: log-probabilities of an f32 reference on gemma-3-270m's dequantised weights.

    make_gemma3.py gemma-3-270m-q4_k_m.gguf

Needs what generate.py needs. Per prompt: "ids" (BOS and 95 tokens of running text, found by longest
match: what matters is that they are the same for both sides), and for each of the last 48 positions
"best" (the reference's best next token), "logprob" of it and "gap" to the second best.
"""

import json
import os
import sys

import numpy as np
import torch
import transformers
from gguf import GGUFReader
from gguf.quants import dequantize
from prompts import PROMPTS

PROMPT_COUNT = 20
LENGTH = 96
STEPS = 48
PARTS = {
    "attn_norm": "input_layernorm", "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm", "attn_k_norm": "self_attn.k_norm",
    "post_attention_norm": "post_attention_layernorm", "ffn_norm": "pre_feedforward_layernorm",
    "post_ffw_norm": "post_feedforward_layernorm", "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj", "ffn_down": "mlp.down_proj",
}


def reference(reader):
    def key(name, default=None):
        field = reader.fields.get("gemma3." + name)
        return field.contents() if field else default
    state = {}
    for tensor in reader.tensors:
        value = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if "norm" in tensor.name:
            value = value - np.float32(1)
        if tensor.name == "token_embd.weight":
            name = "model.embed_tokens.weight"
        elif tensor.name == "output_norm.weight":
            name = "model.norm.weight"
        else:
            _, layer, part, _ = tensor.name.split(".")
            name = f"model.layers.{layer}.{PARTS[part]}.weight"
        state[name] = torch.from_numpy(np.ascontiguousarray(value))
    vocabulary, width = state["model.embed_tokens.weight"].shape
    config = transformers.Gemma3TextConfig(
        vocab_size=vocabulary, hidden_size=width, num_hidden_layers=key("block_count"),
        intermediate_size=key("feed_forward_length"), head_dim=key("attention.key_length"),
        num_attention_heads=key("attention.head_count"),
        num_key_value_heads=key("attention.head_count_kv"),
        query_pre_attn_scalar=key("attention.key_length"),
        max_position_embeddings=key("context_length"),
        rms_norm_eps=key("attention.layer_norm_rms_epsilon"),
        sliding_window=key("attention.sliding_window"),
        rope_parameters={
            "full_attention": {"rope_type": "default", "rope_theta": key("rope.freq_base")},
            "sliding_attention": {"rope_type": "default",
                                  "rope_theta": key("rope.freq_base_swa", 10000.0)}})
    config._attn_implementation = "eager"
    model = transformers.Gemma3ForCausalLM(config).float().eval()
    missing = model.load_state_dict(state, strict=False)
    assert not missing.unexpected_keys and set(missing.missing_keys) <= {"lm_head.weight"}, missing
    model.tie_weights()
    return model


def longest_match(text, tokens):
    text = text.replace(" ", "\u2581")
    ids, at = [], 0
    while at < len(text):
        size = next(n for n in range(min(24, len(text) - at), 0, -1) if text[at:at + n] in tokens)
        ids.append(tokens[text[at:at + size]])
        at += size
    return ids


def main():
    torch.set_num_threads(1)
    reader = GGUFReader(sys.argv[1])
    model = reference(reader)
    names = reader.fields["tokenizer.ggml.tokens"].contents()
    bos = reader.fields["tokenizer.ggml.bos_token_id"].contents()
    tokens = {name: i for i, name in reversed(list(enumerate(names)))}
    running = " ".join(text for _, text in PROMPTS if isinstance(text, str))
    ids = longest_match(running, tokens)
    step = max(1, (len(ids) - LENGTH) // PROMPT_COUNT)
    prompts = []
    for i in range(PROMPT_COUNT):
        prompt = [bos] + ids[i * step:i * step + LENGTH - 1]
        with torch.no_grad():
            hidden = model.model(torch.tensor([prompt])).last_hidden_state[:, -STEPS:]
            logprobs = torch.log_softmax(model.lm_head(hidden)[0].double(), dim=-1)
        top = torch.topk(logprobs, 2, dim=-1)
        prompts.append({
            "ids": prompt, "best": top.indices[:, 0].tolist(),
            "logprob": [round(v, 6) for v in top.values[:, 0].tolist()],
            "gap": [round(v, 5) for v in (top.values[:, 0] - top.values[:, 1]).tolist()]})
        print(i, "mean logprob", float(top.values[:, 0].mean()))
    out = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gemma3.json")
    lines = [json.dumps(prompt, separators=(",", ":")) for prompt in prompts]
    text = '{"prompts":[' + ",".join(lines) + "]}"
    wrapped, line = [], ""
    for piece in text.replace(",", ",\0").split("\0"):
        if len(line) + len(piece) > 98:
            wrapped.append(line)
            line = ""
        line += piece
    with open(out, "w") as file:
        file.write("\n".join(wrapped + [line]) + "\n")


if __name__ == "__main__":
    main()
