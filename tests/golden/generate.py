#!/usr/bin/env python3
"""Writes smollm2.json: prompts, greedy continuations and log-probabilities of an f32 reference.

usage: generate.py MODEL.gguf [OUT.json [PROMPTS]]

With PROMPTS only so many of them, evenly chosen: smollm2_q4_k_m.json and the like are made of files
that kantha-fake-requantise writes, with 4.

Needs a virtual environment with
    pip install torch==2.15.0 transformers==5.24.0 gguf==0.19.0 tokenizers==0.23.3 numpy==2.4.6 jinja2==3.1.6
(nothing of it is needed to run the tests). The weights are dequantised from
the GGUF file, so that the reference computes with the very numbers that the engine reads. Takes about
two minutes on two cores. Rerun it only to add prompts; a change of the figures of an existing prompt is
a finding, not a refresh.

Per prompt: "text" (rendered when it was a chat), "prompt" (token ids), "greedy" (48 ids), and for each
of the 48 positions "logprob" (of the greedy id; log_softmax in f64 over f32 logits) and "gap" (to the
second best id, in nats).
"""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

from prompts import PROMPTS

STEPS = 48
CONTROL = 3  # tokenizer.ggml.token_type of control tokens

LAYER_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
OUTER_NAMES = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}


class Gguf:
    """Keys and dequantised tensors of a GGUF file."""

    def __init__(self, path):
        self.reader = GGUFReader(path)

    def key(self, name, default=None):
        field = self.reader.fields.get(name)
        return default if field is None else field.contents()

    def tensors(self):
        for tensor in self.reader.tensors:
            yield tensor.name, dequantize(tensor.data, tensor.tensor_type).astype(np.float32)


def halves_from_neighbours(weight, heads):
    """Rows of q or k from rotary pairs (2i, 2i + 1), as in GGUF, to pairs (i, i + half)."""
    rows, cols = weight.shape
    pairs = weight.reshape(heads, rows // heads // 2, 2, cols)
    return pairs.swapaxes(1, 2).reshape(rows, cols)


def reference_model(gguf):
    heads = gguf.key("llama.attention.head_count")
    kv_heads = gguf.key("llama.attention.head_count_kv")
    state = {}
    for name, weight in gguf.tensors():
        if name in OUTER_NAMES:
            target = OUTER_NAMES[name]
        else:
            _, layer, part, _ = name.split(".")
            target = f"model.layers.{layer}.{LAYER_NAMES[part]}.weight"
            if part == "attn_q":
                weight = halves_from_neighbours(weight, heads)
            if part == "attn_k":
                weight = halves_from_neighbours(weight, kv_heads)
        state[target] = torch.from_numpy(np.ascontiguousarray(weight))
    width = gguf.key("llama.embedding_length")
    tied = "lm_head.weight" not in state
    config = transformers.LlamaConfig(
        hidden_size=width,
        intermediate_size=gguf.key("llama.feed_forward_length"),
        num_hidden_layers=gguf.key("llama.block_count"),
        num_attention_heads=heads,
        num_key_value_heads=kv_heads,
        head_dim=width // heads,
        vocab_size=len(gguf.key("tokenizer.ggml.tokens")),
        max_position_embeddings=gguf.key("llama.context_length"),
        rms_norm_eps=float(gguf.key("llama.attention.layer_norm_rms_epsilon")),
        rope_parameters={"rope_type": "default", "rope_theta": float(gguf.key("llama.rope.freq_base"))},
        hidden_act="silu",
        tie_word_embeddings=tied,
        attention_bias=False,
        mlp_bias=False,
    )
    config._attn_implementation = "eager"
    model = transformers.LlamaForCausalLM(config).to(torch.float32).eval()
    missing, unexpected = model.load_state_dict(state, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        sys.exit(f"tensors do not fit: missing {missing}, unexpected {unexpected}")
    if tied:
        model.tie_weights()
    return model


def reference_tokenizer(gguf):
    tokens, merges = gguf.key("tokenizer.ggml.tokens"), gguf.key("tokenizer.ggml.merges")
    types = gguf.key("tokenizer.ggml.token_type")
    ranks = {token: i for i, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=ranks, merges=[tuple(m.split(" ")) for m in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True),
         pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(
        [AddedToken(t, special=True, normalized=False)
         for t, kind in zip(tokens, types) if kind == CONTROL]
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, chat_template=gguf.key("tokenizer.chat_template")
    )


@torch.no_grad()
def golden(model, ids):
    """48 greedy ids, then one pass over all of it for the figures."""
    greedy, past, feed = [], None, torch.tensor([ids])
    for _ in range(STEPS):
        out = model(feed, past_key_values=past, use_cache=True)
        past = out.past_key_values
        greedy.append(int(out.logits[0, -1].argmax()))
        feed = torch.tensor([[greedy[-1]]])
    logits = model(torch.tensor([ids + greedy[:-1]])).logits[0, len(ids) - 1 :].double()
    logprobs = torch.log_softmax(logits, dim=-1)
    best = torch.topk(logprobs, 2, dim=-1)
    if best.indices[:, 0].tolist() != greedy:
        sys.exit("the reference disagrees with itself between cached and whole passes: change the prompt")
    gaps = best.values[:, 0] - best.values[:, 1]
    return greedy, best.values[:, 0].tolist(), gaps.tolist()


def main():
    source = Path(sys.argv[1])
    target = Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("smollm2.json")
    gguf = Gguf(source)
    model, tokenizer = reference_model(gguf), reference_tokenizer(gguf)
    entries = []
    count = int(sys.argv[3]) if len(sys.argv) > 3 else len(PROMPTS)
    for name, prompt in PROMPTS[:: len(PROMPTS) // count][:count]:
        text = prompt
        if not isinstance(prompt, str):
            text = tokenizer.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        ids = tokenizer(text)["input_ids"]
        greedy, logprobs, gaps = golden(model, ids)
        entries.append(
            {
                "name": name,
                "text": text,
                "prompt": ids,
                "greedy": greedy,
                "logprob": [round(x, 6) for x in logprobs],
                "gap": [round(x, 5) for x in gaps],
            }
        )
        print(f"{name}: {len(ids)} ids -> {tokenizer.decode(greedy)!r}", flush=True)
    head = {
        "model": source.name,
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}, f32, eager attention",
    }
    lines = ",\n".join(json.dumps(e, ensure_ascii=False, separators=(",", ":")) for e in entries)
    target.write_text(json.dumps(head, indent=0)[:-2] + ',\n"entries": [\n' + lines + "\n]\n}\n")


if __name__ == "__main__":
    main()
