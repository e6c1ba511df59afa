"""Writes a GGUF file of the llama architecture as a Hugging Face folder in bf16.

  gguf_to_hf.py MODEL.gguf FOLDER

Runs in vLLM's environment: needs torch, gguf, safetensors and tokenizers.
"""

import json
import pathlib
import sys

import gguf
import numpy as np
import safetensors.torch
import tokenizers
import torch

OUTER = {"token_embd.weight": "model.embed_tokens.weight", "output_norm.weight":
         "model.norm.weight", "output.weight": "lm_head.weight"}
INNER = {"attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
         "attn_q": "self_attn.q_proj", "attn_k": "self_attn.k_proj", "attn_v": "self_attn.v_proj",
         "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
         "ffn_down": "mlp.down_proj"}
CONTROL_TOKEN = 3


class Source:
    def __init__(self, path):
        self.reader = gguf.GGUFReader(path)
        architecture = self.key("general.architecture")
        if architecture != "llama":
            sys.exit(f"{path}: architecture {architecture}, only llama can be converted")

    def key(self, name, default=None):
        field = self.reader.fields.get(name)
        return field.contents() if field else default

    def llama(self, name, default=None):
        return self.key("llama." + name, default)


def split_pairs(weights, heads):
    """GGUF keeps the two halves of a rotary pair side by side; Hugging Face keeps them apart."""
    rows, columns = weights.shape
    pairs = weights.reshape(heads, rows // heads // 2, 2, columns)
    return pairs.swapaxes(1, 2).reshape(rows, columns)


def tensors(source):
    heads = {"attn_q": source.llama("attention.head_count"),
             "attn_k": source.llama("attention.head_count_kv")}
    out = {}
    for tensor in source.reader.tensors:
        weights = gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        name = OUTER.get(tensor.name)
        if name is None:
            _, layer, kind, _ = tensor.name.split(".")
            name = f"model.layers.{layer}.{INNER[kind]}.weight"
            if kind in heads:
                weights = split_pairs(weights, heads[kind])
        out[name] = torch.from_numpy(np.ascontiguousarray(weights)).to(torch.bfloat16)
    return out


def config(source, is_tied):
    width, heads = source.llama("embedding_length"), source.llama("attention.head_count")
    return {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": width,
        "intermediate_size": source.llama("feed_forward_length"),
        "num_hidden_layers": source.llama("block_count"), "num_attention_heads": heads,
        "num_key_value_heads": source.llama("attention.head_count_kv"), "head_dim": width // heads,
        "vocab_size": len(source.key("tokenizer.ggml.tokens")),
        "max_position_embeddings": source.llama("context_length"),
        "rms_norm_eps": float(source.llama("attention.layer_norm_rms_epsilon")),
        "rope_theta": float(source.llama("rope.freq_base", 10000.0)), "hidden_act": "silu",
        "tie_word_embeddings": is_tied, "torch_dtype": "bfloat16", "attention_bias": False,
        "mlp_bias": False, "bos_token_id": source.key("tokenizer.ggml.bos_token_id"),
        "eos_token_id": source.key("tokenizer.ggml.eos_token_id")}


def write_tokenizer(source, folder):
    """The byte-level BPE of the file. Its splitting is SmolLM's: digits alone, then as GPT-2."""
    tokens = source.key("tokenizer.ggml.tokens")
    merges = [tuple(line.split(" ")) for line in source.key("tokenizer.ggml.merges")]
    vocabulary = {token: i for i, token in enumerate(tokens)}
    made = tokenizers.Tokenizer(tokenizers.models.BPE(vocab=vocabulary, merges=merges))
    split = tokenizers.pre_tokenizers
    made.pre_tokenizer = split.Sequence([split.Digits(individual_digits=True),
                                         split.ByteLevel(add_prefix_space=False)])
    made.decoder = tokenizers.decoders.ByteLevel()
    kinds = source.key("tokenizer.ggml.token_type")
    made.add_special_tokens([tokenizers.AddedToken(token, special=True, normalized=False)
                             for token, kind in zip(tokens, kinds) if kind == CONTROL_TOKEN])
    made.save(str(folder / "tokenizer.json"))
    settings = {"tokenizer_class": "PreTrainedTokenizerFast",
                "chat_template": source.key("tokenizer.chat_template"),
                "clean_up_tokenization_spaces": False}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding")):
        number = source.key(f"tokenizer.ggml.{key}_token_id")
        if number is not None:
            settings[name] = tokens[number]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))


def main(model, target):
    source, folder = Source(model), pathlib.Path(target)
    folder.mkdir(parents=True)
    weights = tensors(source)
    safetensors.torch.save_file(weights, str(folder / "model.safetensors"), {"format": "pt"})
    (folder / "config.json").write_text(
        json.dumps(config(source, "lm_head.weight" not in weights), indent=1))
    write_tokenizer(source, folder)


if __name__ == "__main__":
    main(*sys.argv[1:])
