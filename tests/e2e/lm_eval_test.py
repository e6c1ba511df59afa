"""What lm-eval's local-completions asks, asked in its own words: the tokenizer's pages, then one
echoed and scored prompt for each choice. A small task of ours has the accuracy that transformers
has on the same weights (lm_eval/answers.json, written by lm_eval/generate.py), and embeddings are
its hidden states. Standard library only; lm_eval/kantha_everyday.yaml runs the same with lm-eval."""

import json
import math
import pathlib
import unittest

from engine_process import Engine, wait_for

FOLDER = pathlib.Path(__file__).resolve().parent / "lm_eval"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
ITEMS = [json.loads(line) for line in (FOLDER / "items.jsonl").read_text().splitlines()]
# Nats of a choice, the worst of all: a sum over its tokens, of activations rounded to 8 bits but
# where a block has large values.
TOLERANCE = 0.45


class LmEval(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.engine = Engine("--max-model-len", "512", "--max-num-seqs", "8").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.engine.__exit__()

    def tearDown(self):
        wait_for(self.engine.is_idle, 60, "idle engine")

    def call(self, method, path, body=None):
        status, _, answer = self.engine.call(method, path, body)
        self.assertEqual(status, 200, answer)
        return json.loads(answer)

    def encode(self, text):
        body = {"prompt": text, "add_special_tokens": False}
        return self.call("POST", "/tokenize", body)["tokens"]

    def score(self, context, choice):
        """As its request and its reading are: the last token is the one that was generated."""
        whole = self.encode(context + " " + choice)
        start = len(self.encode(context))
        reply = self.call("POST", "/v1/completions", {
            "model": self.model, "prompt": [whole], "temperature": 0, "max_tokens": 1,
            "logprobs": 1, "seed": 1234, "echo": True})
        scores = reply["choices"][0]["logprobs"]
        picks = scores["token_logprobs"][start:-1]
        tops = scores["top_logprobs"][start:-1]
        greedy = all(pick == max(top.values()) for pick, top in zip(picks, tops))
        return {"logprob": sum(picks), "is_greedy": greedy, "tokens": len(picks)}

    def test_the_task_has_the_accuracy_of_transformers(self):
        self.model = self.call("GET", "/v1/models")["data"][0]["id"]
        right, same_greedy, worst, choices = 0, 0, 0.0, 0
        for item, answer in zip(ITEMS, ANSWERS["items"], strict=True):
            scores = [self.score(item["context"], choice) for choice in item["choices"]]
            best = max(range(len(scores)), key=lambda i: scores[i]["logprob"])
            right += best == item["answer"]
            for score, reference in zip(scores, answer["scores"], strict=True):
                self.assertEqual(score["tokens"], reference["tokens"])
                worst = max(worst, abs(score["logprob"] - reference["logprob"]))
                same_greedy += score["is_greedy"] == reference["is_greedy"]
                choices += 1
        reference = round(ANSWERS["accuracy"] * len(ITEMS))
        print(f"lm-eval task: {right} of {len(ITEMS)} right, transformers {reference}; "
              f"largest difference of a choice {worst:.3f} nats")
        self.assertLessEqual(abs(right - reference), 1)
        self.assertLess(worst, TOLERANCE)
        self.assertGreaterEqual(same_greedy, choices - 2)

    def test_the_tokenizer_has_its_pages(self):
        info = self.call("GET", "/tokenizer_info")
        self.assertEqual(info["eos_token"], "<|im_end|>")
        self.assertIn("messages", info["chat_template"])
        ids = self.encode(info["eos_token"])
        self.assertEqual(len(ids), 1)
        self.assertEqual(self.call("POST", "/detokenize", {"tokens": ids})["prompt"], "<|im_end|>")

    def test_embeddings_are_the_hidden_states(self):
        texts = [entry["text"] for entry in ANSWERS["embeddings"]]
        for pooling in ("mean", "last"):
            reply = self.call("POST", "/v1/embeddings", {"input": texts, "pooling": pooling})
            vectors = [entry["embedding"] for entry in reply["data"]]
            self.assertEqual([entry["index"] for entry in reply["data"]], list(range(len(texts))))
            for vector, entry in zip(vectors, ANSWERS["embeddings"], strict=True):
                self.assertAlmostEqual(math.hypot(*vector), 1, places=5)
                cosine = sum(a * b for a, b in zip(vector, vectors[0]))
                self.assertAlmostEqual(cosine, entry[pooling]["cosine"], delta=0.02)
                for got, wanted in zip(vector, entry[pooling]["values"]):
                    self.assertAlmostEqual(got, wanted, delta=0.02)

    def test_an_embedding_does_not_depend_on_its_neighbours(self):
        body = {"input": "A cat sat on the mat."}
        alone = self.call("POST", "/v1/embeddings", body)["data"][0]
        texts = ["word " * 200, body["input"], "And another one."]
        crowd = self.call("POST", "/v1/embeddings", {"input": texts})["data"]
        self.assertEqual(crowd[1]["embedding"], alone["embedding"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
