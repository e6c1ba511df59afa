#!/usr/bin/env python3
"""Writes answers.json: what transformers gives for the items and for embeddings, on the weights of
a GGUF file, dequantised (tests/golden/generate.py, which says what the environment needs).

usage: generate.py MODEL.gguf

Per item: log-likelihood of each choice after its context, the choice that it makes, and whether the
choice is what greedy decoding would say. Per text: the first values of the mean and of the last of
its hidden states (after the last norm), at length 1, and their cosine to the first text's.
"""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "golden"))

import torch
import transformers
from generate import Gguf, reference_model, reference_tokenizer

TEXTS = [
    "A cat sat on the mat.",
    "A kitten was sitting on the rug.",
    "The stock market fell by three percent on Monday.",
    "one",
]
KEPT = 16


@torch.no_grad()
def score(model, tokenizer, context, choice):
    """As lm-eval cuts them: the context's tokens are those of the context alone."""
    whole = tokenizer(context + " " + choice)["input_ids"]
    start = len(tokenizer(context)["input_ids"])
    rows = torch.log_softmax(model(torch.tensor([whole])).logits[0].double(), dim=-1)
    picks = [rows[i - 1, whole[i]].item() for i in range(start, len(whole))]
    greedy = all(int(rows[i - 1].argmax()) == whole[i] for i in range(start, len(whole)))
    return {"logprob": round(sum(picks), 5), "is_greedy": greedy, "tokens": len(picks)}


@torch.no_grad()
def states(model, tokenizer, text):
    hidden = model.model(torch.tensor([tokenizer(text)["input_ids"]])).last_hidden_state[0].double()
    pooled = {"mean": hidden.mean(dim=0), "last": hidden[-1]}
    return {name: vector / vector.norm() for name, vector in pooled.items()}


def main():
    gguf = Gguf(sys.argv[1])
    model, tokenizer = reference_model(gguf), reference_tokenizer(gguf)
    items = []
    for line in (HERE / "items.jsonl").read_text().splitlines():
        item = json.loads(line)
        scores = [score(model, tokenizer, item["context"], choice) for choice in item["choices"]]
        best = max(range(len(scores)), key=lambda i: scores[i]["logprob"])
        items.append({"scores": scores, "best": best, "right": best == item["answer"]})
    embeddings, first = [], None
    for text in TEXTS:
        vectors = states(model, tokenizer, text)
        first = first or vectors
        embeddings.append({"text": text} | {
            name: {"values": [round(x, 6) for x in vector[:KEPT].tolist()],
                   "cosine": round(float(vector @ first[name]), 6)}
            for name, vector in vectors.items()})
    answers = {
        "made_with": f"torch {torch.__version__}, transformers {transformers.__version__}, f32",
        "model": Path(sys.argv[1]).name,
        "accuracy": sum(item["right"] for item in items) / len(items)}
    lines = [json.dumps(answers)[:-1] + ', "items": [']
    lines.append(",\n".join(json.dumps(item) for item in items))
    lines.append('], "embeddings": [')
    lines.append(",\n".join(json.dumps(entry) for entry in embeddings) + "]}")
    (HERE / "answers.json").write_text("\n".join(lines) + "\n")
    print(answers)


if __name__ == "__main__":
    main()
