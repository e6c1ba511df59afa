#!/usr/bin/env python3
"""Writes encoding_digests.json: what the reference tokenizer makes of generated texts.

The reference is Hugging Face's `tokenizers` over the vocabularies of GGUF files. The texts are those
of generated_texts.h, number by number; of every 100 the first 8 digits of the SHA-256 of their ids
are kept.
Usage: make_encoding_digests.py MODEL.gguf GEMMA3.gguf FOLDER > encoding_digests.json
       make_encoding_digests.py MODEL.gguf GEMMA3.gguf FOLDER NAME FROM TO   prints texts and ids
MODEL is the test model, GEMMA3 what scripts/fetch-gemma3 prints, FOLDER what
scripts/fetch-vocabularies prints (needs the Python packages `gguf` and `tokenizers`)
"""
import hashlib
import json
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, models, normalizers, pre_tokenizers

COUNT = 20_000
GROUP = 100
MASK = (1 << 64) - 1
WORDS = ["the", "Hello", "world", "don't", "WE'LL", "camelCase", "HTTPServer", "naïve", "Straße",
         "x", "I", "of", "__init__", "foo_bar", "été", "Москва", "中文", "こんにちは", "한국어", "नमस्ते",
         "ไทย", "شكرا", "def f(x):", "return", "https://a.b/c?d=e", "</s>", "\u2581", "e\u0301"]
BLANKS = [" ", " ", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", " \n", "\u00a0", "\u3000"]
SIGNS = [".", ",", "!", "?!", "...", "(", ")", "->", "==", "{}", "'", '"', "$", "€", "…", "👩‍👧"]
RANGES = [(0xA1, 0x200), (0x370, 0x100), (0x400, 0x100), (0x5D0, 0x1A), (0x900, 0x80),
          (0x2000, 0x300), (0x3040, 0xC0), (0x4E00, 0x5000), (0xAC00, 0x2BA0), (0x1F300, 0x400)]


class GeneratedText:
    """As in generated_texts.h."""

    def __init__(self, number):
        self.state = (number * 0xD1342543DE82EF95 + 1) & MASK

    def below(self, limit):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        mixed = (self.state ^ (self.state >> 30)) * 0xBF58476D1CE4E5B9 & MASK
        mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EB & MASK
        return (mixed ^ (mixed >> 31)) % limit

    def part(self):
        kind = self.below(100)
        if kind < 40:
            return WORDS[self.below(len(WORDS))]
        if kind < 62:
            return BLANKS[self.below(len(BLANKS))]
        if kind < 70:
            return str(self.below(10_000_000))
        if kind < 80:
            return SIGNS[self.below(len(SIGNS))]
        if kind < 90:
            first, count = RANGES[self.below(len(RANGES))]
            return chr(first + self.below(count))
        return chr(0x20 + self.below(95))

    def make(self):
        return "".join(self.part() for _ in range(1 + self.below(24)))


def fields(path):
    reader = GGUFReader(path)
    return lambda name: reader.fields["tokenizer.ggml." + name].contents()


def byte_level(path):
    """SmolLM2: digits one by one, then GPT-2's words."""
    field = fields(path)
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(field("tokens"))},
                                     merges=[tuple(m.split(" ")) for m in field("merges")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    return tokenizer


def characters(path):
    """Gemma: merges over characters, blanks as signs, bytes for the rest."""
    field = fields(path)
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(field("tokens"))},
                                     merges=[split_merge(m) for m in field("merges")],
                                     unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "\u2581")
    return tokenizer


def split_merge(merge):
    blank = merge.index(" ", 1)
    return merge[:blank], merge[blank + 1:]


def scores(path):
    """Llama 2: each pair that makes a token is a merge, the best score first."""
    return by_scores(fields(path), [normalizers.Prepend("\u2581"),
                                    normalizers.Replace(" ", "\u2581")])


def gemma3(path):
    """The same without a blank in front, after tokens that are taken wherever they stand."""
    field = fields(path)
    tokenizer = by_scores(field, [normalizers.Replace(" ", "\u2581")])
    tokenizer.add_tokens([AddedToken(token, normalized=False)
                          for token, kind in zip(field("tokens"), field("token_type")) if kind == 4])
    return tokenizer


def by_scores(field, steps):
    tokens, kinds = field("tokens"), field("token_type")
    vocab = {t: i for i, t in enumerate(tokens)}
    merges = []
    for token, score, kind in zip(tokens, field("scores"), kinds):
        if kind != 1:
            continue
        local = [(token[:i], token[i:]) for i in range(1, len(token))
                 if token[:i] in vocab and token[i:] in vocab]
        local.sort(key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
        merges += [(pair, score) for pair in local]
    merges.sort(key=lambda row: row[1], reverse=True)
    tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=[pair for pair, _ in merges],
                                     unk_token="<unk>", byte_fallback=True, fuse_unk=True))
    tokenizer.normalizer = normalizers.Sequence(steps)
    return tokenizer


def unigram(path):
    """XLM-RoBERTa: the most likely tokens, after SentencePiece's map of characters."""
    field = fields(path)
    kinds = field("token_type")
    vocab = [(t if kind in (1, 2) else f"\u0000{i}", s)
             for i, (t, s, kind) in enumerate(zip(field("tokens"), field("scores"), kinds))]
    tokenizer = Tokenizer(models.Unigram(vocab, unk_id=kinds.index(2), byte_fallback=False))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Precompiled(bytes(field("precompiled_charsmap"))),
        normalizers.Strip(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always", split=False)
    return tokenizer


def main():
    model, gemma, folder = sys.argv[1:4]
    made = {"smollm2": lambda: byte_level(model),
            "gemma-3": lambda: gemma3(gemma),
            "gemma-4": lambda: characters(folder + "/gemma-4.gguf"),
            "llama-spm": lambda: scores(folder + "/llama-spm.gguf"),
            "nomic-bert-moe": lambda: unigram(folder + "/nomic-bert-moe.gguf")}
    if len(sys.argv) == 7:
        tokenizer = made[sys.argv[4]]()
        for number in range(int(sys.argv[5]), int(sys.argv[6])):
            text = GeneratedText(number).make()
            encoding = tokenizer.encode(text, add_special_tokens=False)
            print(json.dumps(text, ensure_ascii=False), *encoding.ids)
        return
    out = {}
    for name, make in made.items():
        tokenizer = make()
        digests = []
        for start in range(0, COUNT, GROUP):
            lines = ""
            for number in range(start, start + GROUP):
                ids = tokenizer.encode(GeneratedText(number).make(), add_special_tokens=False).ids
                lines += " ".join(map(str, ids)) + "\n"
            digests.append(hashlib.sha256(lines.encode()).hexdigest()[:8])
        out[name] = " ".join(digests)
    print("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in out.items()) + "\n}")


main()
