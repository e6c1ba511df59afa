#!/usr/bin/env python3
"""Writes tokenizer_vectors.json: strings and their ids, as the reference tokenizer gives them.

The reference is Hugging Face's `tokenizers` over the vocabulary and merges of the test model's
file, with the pre-tokenizers that the "smollm" rules stand for: digits one by one, then the GPT-2
pattern. "plain" has no special tokens; in "special" their names are found in the text. "words" has,
for the other rules, the lengths in bytes of the words that their published patterns cut.
Usage: make_vectors.py model.gguf > tokenizer_vectors.json
(needs the Python packages `gguf` and `tokenizers`)
"""
import json
import random
import sys

from gguf import GGUFReader
from tokenizers import AddedToken, Regex, Tokenizer, models, pre_tokenizers

reader = GGUFReader(sys.argv[1])


def field(name):
    return reader.fields["tokenizer.ggml." + name].contents()


def build(with_special):
    tokens = field("tokens")
    tokenizer = Tokenizer(models.BPE(vocab={t: i for i, t in enumerate(tokens)},
                                     merges=[tuple(m.split(" ")) for m in field("merges")]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Digits(individual_digits=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False)])
    if with_special:
        tokenizer.add_special_tokens([AddedToken(t, special=True, normalized=False)
                                      for t, kind in zip(tokens, field("token_type")) if kind == 3])
    return tokenizer


WRITTEN = [
    "", " ", "  ", "   ", "\n", "\n\n", "\t", "\r\n", "a", " a", "a ", "a  ", "hello", "Hello, world!",
    "a       b", "a\t\tb", "a \n b", "a\n\n\nb", "  lead", "trail   ", "trail\n", "trail \n ", "\n\n  x",
    "line one\r\nline two\r\n\r\nline four", "tab\tseparated\tvalues\t\t", "\x0b\x0c mixed \x0b",
    "0", "1", "42", "123", "1234567890", "3.14159", "1,000,000", "a1b22c333", "  12  345 ", "2026-11-29",
    "١٢٣", "४५६", "①②③", "½ cup", "x²+y³", "Ⅷ", "１２３", "٣.١٤", "1 ½", "v1.2.3-rc4", "0x1F600",
    "don't", "DON'T", "I'm you're he's we've they'll she'd", "I'M YOU'RE HE'S WE'VE THEY'LL SHE'D",
    "'s", "'S", "''s", "'sun", "'tis", "'re'ved'll", "it’s", "rock 'n' roll", "o'clock", "'", "''", "' s",
    "l'été", "can 't", "x'd'm't",
    "你好，世界！", "今日はいい天気ですね。", "안녕하세요 세계", "中文 English 混合 テスト", "漢字かな交じり文123",
    "𠀀𠀁𠀂", "ไทยภาษา", "नमस्ते दुनिया", "مرحبا بالعالم", "שלום עולם", "Привет, мир!", "Γειά σου Κόσμε",
    "Ελληνικά ΟΔΟΣ", "ÄÖÜ äöü ß ẞ", "naïve café", "cafe\u0301 nai\u0308ve", "e\u0301\u0302\u0303\u0304",
    "a\u0300 \u0301b", "\u0301", " \u0301", "Z͑ͫ̓ͪ̂ͫ̽͏̴̙̤̞͉͚̯̞̠͍A̴̵̜̰͔ͫ͗͢L", "ﬁ ﬂ ﬀ",
    "😀", "😀😃😄", "hi 😀 there", "👨‍👩‍👧‍👦", "👩🏽‍💻 coding", "🏳️‍🌈", "🇩🇪🇫🇷", "❤️", "☺☹", "👍🏿👍🏻",
    "1️⃣2️⃣", "🤷🏼‍♀️...", "\U0001F9D1\u200D\U0001F680",
    "a\u00a0b", "\u00a0", "\u00a0\u00a0a", " \u00a0 ", "a\u2028b", "a\u2029b\u2028", "a\u200bb", "a\u200cb\u200dc",
    "\ufeffBOM", "a\u3000b", "\u3000\u3000段落", "a\u2003b\u2009c", "a\u0085b", "a\u1680b", "\u180e", "a\u202f1",
    "a\u00adb", "\u2060word\u2060", "\u200e\u200fmarks", "\u0000nul\u0000", "\x01\x02\x03\x04\x05", "\x1b[31mred\x1b[0m",
    "\x1c\x1d\x1e\x1f", "\x7f\x80\x9f", "\ufffd\ufffe", "\ue000\uf8ff", "\U0010FFFF", "\U000E0041",
    "def f(x):\n    return x + 1\n", "for (int i = 0; i < n; ++i) {\n\tsum += a[i];\n}\n",
    "if (a && b || !c) { return *p->q; }", "#include <vector>\n\nint main() { return 0; }\n",
    "SELECT * FROM t WHERE a='b' AND c>=10;", "<div class=\"x\">&amp;</div>", "{\"a\": [1, 2.5, null, true]}",
    "https://example.org/a/b?c=d&e=%20f#g", "user@example.org", "C:\\Users\\me\\file.txt", "/usr/bin/env python3",
    "x = y ** 2 // 3 % 4", "```python\nprint('hi')\n```", "| a | b |\n|---|---|\n| 1 | 2 |", "- [ ] todo\n- [x] done",
    "\\frac{a}{b} \\sum_{i=0}^{n}", "$x^2$", "a_b_c __init__ _x_", "camelCaseWord PascalCase SCREAMING_SNAKE",
    "snake_case123abc", "...", "…", "!!!???", "--- *** ===", "a-b--c---d", "(((())))", "[]{}<>", "\"quoted\" 'single'",
    "“curly” ‘quotes’", "«guillemets»", "„unten“", "100%", "$5.00", "€10", "£3", "¥500", "#hashtag @mention", "a/b\\c|d",
    "~`^", "±×÷≠≤≥∞", "→←↑↓", "∀x∈ℝ: x²≥0", "αβγ", "ℕℤℚ", "™®©", "°C", "№1",
    "The quick brown fox jumps over the lazy dog.", "THE QUICK BROWN FOX", "What is the capital of France?",
    "Supercalifragilisticexpialidocious", "antidisestablishmentarianism", "Donaudampfschifffahrtsgesellschaft",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "abababababababababab", "_" * 70, "=" * 65, "-" * 33, " " * 40, "\n" * 20,
    "\t" * 9, " \n" * 8, "\n " * 8, "ha" * 30, "!" * 17, "0" * 12, "é" * 9, "中" * 9, "😀" * 5,
    "a " * 12, " a" * 12,
    "word\n\n\n\nword", "end.  Start", "end.\nStart", "  indented\n    more\n\tmixed \t x", "x\n\t\n\ty", "a \u3000 b",
    "1 2 3", "1  2   3", "a1 b2  c3", "3 apples, 4 pears", "  7", "\n8", "\t9\t", "5\n\n6", "10 000", "1e-5", "-1", "+49 30 123456",
    "é1é", "１a", "中1文2", "ⅣV", "x½y", "1's", "5'd", "\n's", " 's", "a's's", "s's", "S'S",
    "<|im_end|>", "<|im_start|>user\nhi<|im_end|>\n", "<|endoftext|>", "<repo_name>x<file_sep>y", "<|im_end|", "<|im_end|>>",
    "<<|im_end|>>", "a<|im_end|>b", "1<|im_end|>2 ", "  <|im_start|>  ", "<|im_start|><|im_start|>", "<|im_st<|im_start|>art|>",
    "<reponame><repo_name>", "<gh_stars>100", "<empty_output>", "x <|im_end|> y", "<|IM_END|>", "< |im_end| >", "\n<|im_end|>\n\n",
    "don<|im_end|>'t", "12<|im_start|>34",
]

POOLS = [
    "abcdefghij ", "ABC abc 012 ", " \t\n\r\u00a0", "0123456789 .,", "'stmdrevl ", "aé中😀 \u0301", "!?.,;:-_()[] ",
    "абвгд ёЖ", "あいうアイウ漢字", "\u200b\u200c\u200d\ufe0f👩💻🏽", "=_-*#~ \n",
]


def random_texts():
    draw = random.Random(20261129)
    texts = []
    for pool in POOLS:
        for _ in range(5):
            texts.append("".join(draw.choice(pool) for _ in range(draw.randint(3, 30))))
    for _ in range(15):
        texts.append("".join(draw.choice("".join(POOLS)) for _ in range(draw.randint(10, 60))))
    for limit in (0x250, 0x3000, 0xD800, 0x10FFFF):
        for _ in range(6):
            points = (draw.randint(1, limit) for _ in range(draw.randint(4, 16)))
            texts.append("".join(chr(c) for c in points if not 0xD800 <= c < 0xE000))
    return texts


GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,%d}|"
         r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
RULES = {
    "gpt-2": [GPT2],
    "default": [r"[\p{P}$+<=>^~|]+", GPT2, r"\p{N}+", r"[0-9][0-9][0-9]"],
    "llama-bpe": [LLAMA % 3],
    "qwen2": [LLAMA % 1],
}


def word_lengths(patterns, text):
    steps = [pre_tokenizers.Split(Regex(p), behavior="isolated") for p in patterns]
    words = pre_tokenizers.Sequence(steps).pre_tokenize_str(text)
    return [len(word.encode()) for word, _ in words]


plain, special = build(False), build(True)
texts = WRITTEN + random_texts()
out = {"plain": [[t, plain.encode(t, add_special_tokens=False).ids] for t in texts],
       "special": [[t, special.encode(t, add_special_tokens=False).ids] for t in WRITTEN if "<" in t]}
print('{"plain": [')
print(",\n".join(json.dumps(row, separators=(",", ":")) for row in out["plain"]))
print('], "special": [')
print(",\n".join(json.dumps(row, separators=(",", ":")) for row in out["special"]))
print('], "words": [')
rows = [[name, t, word_lengths(patterns, t)]
        for t in texts[::2] for name, patterns in RULES.items()]
print(",\n".join(json.dumps(row, separators=(",", ":")) for row in rows))
print("]}")
