#!/usr/bin/env python3
"""Writes unicode_categories.cc (no argument) or unicode_normal_tables.cc (argument "normal").

Categories are asked of the reference tokenizer's own regular expressions, and decompositions of its
normaliser, because a splitter that disagrees about one code point gives other tokens. Combining
classes come from Python's unicodedata.
Usage: make_unicode_categories.py [normal] > FILE   (needs the Python package `tokenizers`)
"""
import sys
import unicodedata

from code_tables import ranges, show
from tokenizers import Regex, normalizers, pre_tokenizers

POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
BLOCK = 4096
NAMES = {"Lu": r"\p{Lu}", "Ll": r"\p{Ll}", "Lt": r"\p{Lt}", "Lm": r"\p{Lm}", "Lo": r"\p{Lo}",
         "M": r"\p{M}", "N": r"\p{N}", "Nd": r"\p{Nd}", "P": r"\p{P}", "S": r"\p{S}",
         "Cc": r"\p{Cc}", "Cf": r"\p{Cf}",
         "Co": r"\p{Co}", "Mn": r"\p{Mn}", "Han": r"\p{Han}"}


def members(pattern):
    """Code points that the pattern takes; each stands between two that it does not."""
    split = pre_tokenizers.Split(Regex(pattern), behavior="isolated")
    between = "\n" if pattern != NAMES["Cc"] else "a"
    found = []
    for start in range(0, len(POINTS), BLOCK):
        text = between.join(map(chr, POINTS[start:start + BLOCK]))
        found += [ord(p) for p, _ in split.pre_tokenize_str(between + text + between)
                  if len(p) == 1 and p != between]
    return sorted(set(found))


def write_categories():
    print("// Written by make_unicode_categories.py; do not edit.\n// clang-format off")
    print('#include "engine/text/unicode_categories.h"\n')
    print("namespace kantha::text {\nnamespace {\n")
    for name, pattern in NAMES.items():
        show(f"CodeRange k{name}", [[hex(a), hex(b)] for a, b in ranges(members(pattern))])
    print("}  // namespace\n")
    print("std::span<const CodeRange> unicode_category(std::string_view name) {")
    for name in NAMES:
        print(f'  if (name == "{name}") return k{name};')
    print("  return {};\n}\n")
    print("}  // namespace kantha::text")


def write_normal():
    nfd, nfc = normalizers.NFD(), normalizers.NFC()
    hangul = range(0xAC00, 0xAC00 + 11172)
    rows, excluded = [], []
    for c in POINTS:
        whole = nfd.normalize_str(chr(c))
        if c in hangul or whole == chr(c):
            continue
        composed = nfc.normalize_str(chr(c))
        cut = next((i for i in range(len(whole) - 1, 0, -1)
                    if len(nfc.normalize_str(whole[:i])) == len(nfc.normalize_str(whole[i:])) == 1),
                   None)
        if cut is None:
            one_level = [int(x, 16) for x in unicodedata.decomposition(chr(c)).split()]
            rows.append((c, *one_level, 0)[:3])
            excluded += [c] if len(one_level) == 2 else []
            continue
        first, second = nfc.normalize_str(whole[:cut]), nfc.normalize_str(whole[cut:])
        rows.append((c, ord(first), ord(second)))
        if composed != chr(c):
            excluded.append(c)
    classes = []
    for c in POINTS:
        value = unicodedata.combining(chr(c))
        if not value:
            continue
        if classes and classes[-1][1] == c - 1 and classes[-1][2] == value:
            classes[-1][1] = c
        else:
            classes.append([c, c, value])
    print("// Written by make_unicode_categories.py normal; do not edit.\n// clang-format off")
    print('#include "engine/text/unicode_normal_tables.h"\n')
    print("namespace kantha::text {\nnamespace {\n")
    show("Decomposition kDecompositions", [[hex(x) for x in row] for row in rows])
    show("CodeRange kExcluded", [[hex(a), hex(b)] for a, b in ranges(excluded)])
    show("CombiningRange kCombining", [[hex(a), hex(b), str(v)] for a, b, v in classes])
    print("}  // namespace\n")
    print("std::span<const Decomposition> decompositions() { return kDecompositions; }")
    print("std::span<const CodeRange> composition_exclusions() { return kExcluded; }")
    print("std::span<const CombiningRange> combining_ranges() { return kCombining; }")
    print("\n}  // namespace kantha::text")


if sys.argv[1:] == ["normal"]:
    write_normal()
else:
    write_categories()
