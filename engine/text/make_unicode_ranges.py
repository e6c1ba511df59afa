#!/usr/bin/env python3
"""Writes unicode_ranges.cc: which code points are letters and numbers, and their cases.

Letters and numbers are asked of the reference tokenizer itself (its splitter's tables are Unicode
16), because a splitter that disagrees about one code point gives other tokens. Case is Python's, as
Jinja's own string filters have it.
Usage: make_unicode_ranges.py > unicode_ranges.cc   (needs the Python package `tokenizers`)
"""
from code_tables import ranges, show
from tokenizers import pre_tokenizers

byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False)
POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def joins(before, c):
    """Whether the splitter keeps the code point in one word with what stands before it."""
    return len(byte_level.pre_tokenize_str(before + chr(c))) == 1


def show_ranges(name, points):
    show(f"CodeRange {name}", [[hex(a), hex(b)] for a, b in ranges(points)])


def case_runs(mapping):
    """Runs of equal distance between a code point and its partner, with step 1 or 2."""
    runs = []
    for c, to in sorted(mapping.items()):
        delta = to - c
        if runs:
            last = runs[-1]
            step = c - last[1]
            if last[3] == delta and step in (1, 2) and last[2] in (0, step):
                last[1], last[2] = c, step
                continue
        runs.append([c, c, 0, delta])
    return [[hex(a), hex(b), str(max(s, 1)), str(d)] for a, b, s, d in runs]


def simple(fold):
    pairs = {c: fold(chr(c)) for c in POINTS if c >= 128}
    return {c: ord(s) for c, s in pairs.items() if len(s) == 1 and ord(s) != c}


def special(fold):
    rows = []
    for c in POINTS:
        s = fold(chr(c))
        if c >= 128 and len(s) > 1:
            rows.append([hex(c)] + [hex(ord(x)) for x in s.ljust(3, "\0")])
    return rows


print("// Written by make_unicode_ranges.py; do not edit.")
print('#include "engine/text/unicode_ranges.h"\n')
print("namespace kantha::text {")
print("namespace {\n")
show_ranges("kLetterRanges", [c for c in POINTS if joins("a", c)])
show_ranges("kNumberRanges", [c for c in POINTS if joins("1", c)])
show("CaseRun kUpperRuns", case_runs(simple(str.upper)))
show("CaseRun kLowerRuns", case_runs(simple(str.lower)))
show("CaseRun kTitleRuns", case_runs(simple(str.title)))
show("SpecialCase kUpperSpecials", special(str.upper))
show("SpecialCase kTitleSpecials", special(str.title))
print("}  // namespace\n")
for name, type_name in (("letter_ranges", "CodeRange"), ("number_ranges", "CodeRange"),
                        ("upper_runs", "CaseRun"),
                        ("lower_runs", "CaseRun"), ("title_runs", "CaseRun"),
                        ("upper_specials", "SpecialCase"), ("title_specials", "SpecialCase")):
    constant = "k" + "".join(part.title() for part in name.split("_"))
    print(f"std::span<const {type_name}> {name}() {{ return {constant}; }}")
print("\n}  // namespace kantha::text")
