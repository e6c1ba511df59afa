#!/usr/bin/env python3
"""Writes perplexity.json: token ids of perplexity.txt and their log-probabilities by an f32 reference.

usage: make_perplexity.py MODEL.gguf [OUT.json]

Needs the virtual environment of generate.py, whose model (transformers on the dequantised weights)
and tokenizer it uses. The text was written for this test. "ids" are the first 769 tokens of the text;
"logprob" has one figure for each but the first, log_softmax in f64 over f32 logits, of the token
after all before it.
"""

import hashlib
import json
import sys
from pathlib import Path

import torch

from generate import Gguf, reference_model, reference_tokenizer

FOLDER = Path(__file__).resolve().parent
TOKENS = 769


@torch.no_grad()
def main():
    source = Path(sys.argv[1])
    out = Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER / "perplexity.json"
    gguf = Gguf(source)
    text = (FOLDER / "perplexity.txt").read_text(encoding="utf-8")
    ids = reference_tokenizer(gguf)(text, add_special_tokens=False)["input_ids"][:TOKENS]
    if len(ids) != TOKENS:
        sys.exit(f"the text has {len(ids)} tokens, {TOKENS} are wanted")
    logits = reference_model(gguf)(torch.tensor([ids])).logits[0, :-1].double()
    logprobs = torch.log_softmax(logits, dim=-1)
    chosen = logprobs.gather(1, torch.tensor(ids[1:]).unsqueeze(1)).squeeze(1).tolist()
    out.write_text(json.dumps({
        "source": source.name,
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "perplexity": round(float(torch.tensor(chosen).mean().neg().exp()), 6),
        "ids": ids,
        "logprob": [round(value, 6) for value in chosen],
    }) + "\n", encoding="utf-8")
    print(f"{out}: perplexity {torch.tensor(chosen).mean().neg().exp():.4f}")


if __name__ == "__main__":
    main()
