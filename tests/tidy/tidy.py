#!/usr/bin/env python3
"""The house rules that a machine can hold, over the tracked source. No compiler, about a second.

Each rule is a function from one file to findings (line, text); `RULES` lists them. Run it alone:
    python3 tests/tidy/tidy.py [FILE…]
"""

import pathlib
import re
import subprocess
import sys

# --- which room may include which (the most specific entry counts; a room always sees itself) -----

BASE = ["base"]
MAY_INCLUDE = {
    "base": [],
    "base/net": ["base"],
    "engine": ["base", "engine"],  # main.cc puts the rooms together
    "engine/api": BASE + ["engine/grammar/wish.h", "engine/dialect"],
    "engine/dialect": BASE + ["engine/grammar/wish.h"],
    "engine/text": BASE,
    "engine/grammar": BASE + ["engine/text/tokenizer.h", "engine/text/vocabulary.h",
                              "engine/text/utf8.h", "engine/text/code_set.h"],
    "engine/cache": BASE,
    "engine/ops": BASE,
    "engine/sched": BASE + ["engine/cache", "engine/grammar"],
    "engine/gateway": BASE + ["engine/sched"],
    "engine/sim": BASE + ["engine/sched", "engine/cache", "engine/gateway"],
    "engine/model": BASE + ["engine/ops", "engine/text/vocabulary.h"],
    "engine/exec": BASE + ["engine/model", "engine/ops", "engine/sched", "engine/cache",
                           "engine/gateway", "engine/grammar"],
    "engine/serve": BASE + ["engine/api", "engine/text", "engine/gateway", "engine/sched",
                            "engine/grammar", "engine/dialect"],
    "noded": ["base", "noded"],
    "noded/api": BASE,
    "operator": ["base", "operator"],
    "operator/kube": BASE,
    "operator/runtime": BASE + ["operator/kube"],
    "operator/serving": BASE + ["operator/kube", "noded/api"],
    "operator/local": BASE + ["operator/serving", "noded/api"],
    "operator/metricsapi": BASE + ["operator/kube"],
    "operator/cluster": BASE + ["operator/kube", "operator/runtime", "operator/serving",
                                "operator/metricsapi", "noded/api"],
    "cli": BASE + ["operator/serving", "operator/local", "operator/kube", "operator/cluster",
                   "noded/api", "engine/sim", "engine/model", "engine/text", "bench/load"],
    "bench/autoscale": BASE + ["engine/sim", "operator/serving"],
    "bench/load": BASE,
}
OUR_ROOTS = ("base/", "engine/", "noded/", "operator/", "cli/", "tests/", "bench/")

# Third-party headers and the only files that may see them.
ONLY_IN = [
    (r"cpprest/|pplx/", r"operator/kube/cpprest_link\.cc"),
    (r"cuda|cublas|nvml|cooperative_groups", r"engine/ops/cuda/.*|engine/exec/device_cuda.*"),
    (r"boost/beast", r"base/net/[^/]+\.cc"),
    (r"prometheus/", r"base/metrics\.cc"),
]

FILE_LINES_MAX = 800
TEST_LINES_MAX = 1200
FUNCTION_LINES_MAX = 70
COLUMNS_MAX = 100

CPP = (".h", ".cc", ".inc", ".cu", ".cuh")
CODE = CPP + (".py", ".sh", ".cmake", ".txt", ".yaml", ".yml", ".json")


class File:
    """One file of the tree: its path from the root and its text."""

    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.lines = text.split("\n")
        self.suffix = pathlib.PurePosixPath(path).suffix
        self.is_cpp = self.suffix in CPP
        self.is_test = path.startswith("tests/")
        if self.is_cpp:
            self.bare = without_comments_and_strings(text)
        else:
            self.bare = without_python_strings(text) if self.suffix == ".py" else text


def without_comments_and_strings(text):
    """The C++ text with comments, string and character contents blanked; line breaks stay."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|R"([^(\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
                       r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)

    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])

    return token.sub(blank, text)


def without_python_strings(text):
    token = re.compile(r'#[^\n]*|"""(?:\\.|[^\\])*?"""|"(?:\\.|[^"\\\n])*"'
                       r"|'(?:\\.|[^'\\\n])*'", re.S)
    return token.sub(lambda m: m[0] if m[0][0] == "#" else re.sub(r"[^\n]", " ", m[0]), text)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


# --- rules ----------------------------------------------------------------------------------------


def includes(file):
    pattern = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
    for number, line in enumerate(file.lines, 1):
        if match := pattern.match(line):
            yield number, match[1], match[2]


def room_of(path):
    """The most specific room of the table that the path stands in."""
    rooms = [room for room in MAY_INCLUDE if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def rule_include_direction(file):
    room = room_of(file.path)
    if not file.is_cpp or room is None:
        return
    for number, _, name in includes(file):
        if not name.startswith(OUR_ROOTS):
            continue
        target_room = room_of(name) or name
        allowed = [room] + MAY_INCLUDE[room]
        inside = any(name == a or name.startswith(a + "/") for a in allowed)
        # base itself does not see base/net, which stands on it.
        if not inside or (room == "base" and target_room == "base/net"):
            yield number, f"{room} may not include {name}; see MAY_INCLUDE in tests/tidy/tidy.py"


def rule_include_from_the_root(file):
    if not file.is_cpp:
        return
    for number, quote, name in includes(file):
        if quote == '"' and not name.startswith(OUR_ROOTS):
            yield number, f"include {name} by its full path from the root"


def rule_third_party_headers(file):
    if not file.is_cpp:
        return
    for number, _, name in includes(file):
        if name.startswith(OUR_ROOTS):
            continue
        for header, place in ONLY_IN:
            if re.match(header, name) and not re.fullmatch(place, file.path):
                yield number, f"{name} may be included only in {place}"


def rule_planners_are_pure(file):
    if not re.match(r"operator/(serving|local)/plan[^/]*\.(h|cc)$", file.path):
        return
    for number, _, name in includes(file):
        if re.search(r"client|store|base/net/|operator/kube|operator/runtime", name):
            yield number, f"a planner takes data and `now` only, not {name}"
    # base/clock.h itself is fine: TimePoint, the type of `now`, is declared there.
    for match in re.finditer(r"\b(Fake|System)?Clock\b|\bsystem_clock\b", file.bare):
        yield line_of(file.bare, match.start()), f"a planner takes `now`, not {match[0]}"


def rule_file_size(file):
    limit = TEST_LINES_MAX if file.is_test else FILE_LINES_MAX
    if file.suffix in CPP + (".py", ".sh") and len(file.lines) - 1 > limit:
        yield limit, f"{len(file.lines) - 1} lines, at most {limit}: split it by topic"


def functions(bare):
    """(first line, last line, opening text) of each function body outside other functions."""
    stack = []  # is this block a function's?
    start, opening, text_begin = 0, "", 0
    bare = re.sub(r"^\s*#.*(\\\n.*)*", lambda m: re.sub(r"[^\n]", " ", m[0]), bare, flags=re.M)
    for match in re.finditer(r"[{};]", bare):
        at, sign = match.start(), match[0]
        before = bare[text_begin:at]
        if sign == "{":
            is_function = not any(stack) and opens_function(before)
            if is_function:
                start = line_of(bare, text_begin + len(before) - len(before.lstrip()))
                opening = " ".join(before.split())
            stack.append(is_function)
        elif sign == "}" and stack:
            if stack.pop():
                yield start, line_of(bare, at), opening
            elif is_initializer(bare, at):
                continue  # b_{2} in a constructor's list: the header goes on
        text_begin = at + 1


def is_initializer(bare, at):
    return re.match(r"\s*[,{(]|\s*$", bare[at + 1:at + 40]) is not None


def opens_function(before):
    text = re.sub(r"\btemplate\s*<[^{};]*?>\s*(?=\w)", "", " ".join(before.split()))
    text = re.sub(r"^(public|private|protected)\s*:\s*", "", text)
    if re.match(r"(inline )?(namespace|class|struct|enum|union|extern|requires|concept)\b", text):
        return False
    return "(" in text and not re.search(r"=\s*$|\($|,$", text)


def rule_function_size(file):
    if not file.is_cpp:
        return
    for first, last, opening in functions(file.bare):
        count = last - first + 1
        if file.is_test:  # the rows of a table of cases are data
            count -= sum(1 for line in file.lines[first:last] if re.match(r"\s+\{.*\},$", line))
        if count > FUNCTION_LINES_MAX:
            yield first, (f"a function of {count} lines, at most {FUNCTION_LINES_MAX}: "
                          f"{opening[:60]}")


def rule_columns(file):
    if file.suffix not in CPP + (".py", ".sh", ""):
        return
    # In tests a long literal (a prompt, a YAML line, a JSON body) may stand as it is.
    lines = file.bare.split("\n") if file.is_test else file.lines
    for number, line in enumerate(lines, 1):
        if lines is not file.lines:
            line = re.sub(r" {8,}", " " * 8, line.rstrip())  # where a literal stood
        if len(line) > COLUMNS_MAX and "http" not in line:
            yield number, f"{len(line)} columns, at most {COLUMNS_MAX}"


def rule_time_and_chance(file):
    if not file.is_cpp or file.path.startswith("base/"):
        return
    banned = [
        (r"\w*_clock::now\b", "take a Clock (base/clock.h)"),
        (r"this_thread::sleep_\w+", "wait with a deadline on something that happens"),
        (r"(?<![\w.:>])(?:::)?(?:u|nano)?sleep\s*\(", "wait with a deadline on something that "
                                                      "happens"),
        (r"(?<![\w.>])(?:std::|::)?s?rand\s*\(", "use base/rng.h"),
        (r"\brandom_device\b", "use base/rng.h"),
        (r"(?<![\w.:>])(?:std::|::)?time\s*\(\s*(?:nullptr|NULL|0|&)", "take a Clock"),
        (r"\b(?:gettimeofday|clock_gettime)\s*\(", "take a Clock"),
    ]
    for pattern, advice in banned:
        for match in re.finditer(pattern, file.bare):
            yield line_of(file.bare, match.start()), f"{match[0].strip()}: {advice}"


def rule_no_detached(file):
    if not file.is_cpp:
        return
    for match in re.finditer(r"\bdetached\b", file.bare):
        yield line_of(file.bare, match.start()), "a spawned coroutine has an owner: net::TaskGroup"


def rule_file_name(file):
    stem = pathlib.PurePosixPath(file.path).stem
    if re.search(r"(^|_)(utils?|helpers?|common|manager|misc)(_|$)", stem):
        yield 1, f"{stem}: name the file after the noun that it makes or keeps"


def rule_pragma_once(file):
    if file.suffix in (".h", ".cuh") and not re.match(r"(//[^\n]*\n|\s)*#pragma once\n", file.text):
        yield 1, "a header begins with #pragma once"


def rule_clean_text(file):
    if "\r" in file.text:
        yield 1, "line ends are LF"
    for number, line in enumerate(file.lines, 1):
        if "\t" in line:
            yield number, "tab"
        if line != line.rstrip() and not line.endswith("\r"):
            yield number, "trailing blanks"
        if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u202a-\u202e\u2066-\u2069]",
                     line):
            yield number, "control character"
    if file.text and not file.text.endswith("\n"):
        yield len(file.lines), "the last line has no end"


def rule_todo(file):
    if file.path.startswith("tests/tidy/") or file.suffix == ".md":
        return
    for number, line in enumerate(file.lines, 1):
        reasoned = re.search(r"TODO\([^)]{3,}\): \S", line)
        if re.search(r"\b(TODO|FIXME|XXX)\b", line) and not reasoned:
            yield number, "finish it, or say why not yet: TODO(reason): what"


def rule_no_private_places(file):
    """Registry hosts and paths of somebody's machine do not belong into the tree."""
    if file.path.startswith("tests/tidy/"):
        return
    for number, line in enumerate(file.lines, 1):
        if match := re.search(r"\b(pypi\.org|pythonhosted|files\.pythonhosted|\.\./shared)\b"
                              r"|(?<![\w./])/(work|root)/\w", line):
            yield number, f"{match[0]}: no registry hosts and no paths of one machine"


RULES = [value for name, value in sorted(globals().items()) if name.startswith("rule_")]


# --- rules over the whole tree --------------------------------------------------------------------


def tree_readmes(files):
    """Every folder with C++ sources has a README.md (the mirrors under tests/ need none)."""
    paths = {f.path for f in files}
    for folder in sorted({f.path.rsplit("/", 1)[0] for f in files if f.is_cpp and not f.is_test}):
        if f"{folder}/README.md" not in paths:
            yield folder, 1, "a folder with sources has a README.md: purpose, types, owner thread"


def tree_sources_are_built(files):
    """Every source file is named in the CMakeLists.txt of its folder or of one above."""
    lists = {f.path: f.text for f in files if f.path.endswith("CMakeLists.txt")}
    for file in files:
        if file.suffix not in (".cc", ".cu"):
            continue
        parts = file.path.split("/")
        for depth in range(len(parts) - 1, -1, -1):
            text = lists.get("/".join(parts[:depth] + ["CMakeLists.txt"]), "")
            name = re.escape("/".join(parts[depth:]))
            if re.search(rf"(?<![\w./-]){name}(?![\w.-])", text):
                break
        else:
            yield file.path, 1, "is in no CMakeLists.txt, so nobody compiles it"


# What cmake/precompiled*.h brings, and the names that come from there. With KANTHA_PCH on no
# compiler misses such an include; `also` are headers of that library that are known to bring it.
def names_of(words):
    return rf"std::(?:ranges::)?(?:{words.replace(' ', '|')})\b"


ASIO = "boost/asio/"
PRECOMPILED = [  # header, names that need it, also
    ("algorithm", names_of("sort stable_sort find find_if any_of all_of none_of min max clamp copy "
                           "fill count_if min_element max_element transform lower_bound "
                           "upper_bound equal reverse"), ()),
    ("chrono", r"std::chrono\b", ()),
    ("functional", names_of("function move_only_function"), ()),
    ("map", names_of("map multimap"), ()),
    ("memory", names_of("unique_ptr shared_ptr weak_ptr make_unique make_shared"), ()),
    ("optional", names_of("optional nullopt"), ()),
    ("span", names_of("span"), ()),
    ("string", names_of("string to_string"), ()),
    ("string_view", names_of("string_view"), ("string",)),
    ("utility", names_of("move pair exchange swap forward"), ()),
    ("vector", names_of("vector"), ()),
    ("fmt/format.h", r"\bfmt::format\b", ("fmt/chrono.h", "fmt/ranges.h")),
    ("nlohmann/json.hpp", r"\bnlohmann::", ("nlohmann/json_fwd.hpp",)),
    (ASIO + "any_io_executor.hpp", r"\bany_io_executor\b",
     (ASIO + "awaitable.hpp", ASIO + "steady_timer.hpp")),
    (ASIO + "awaitable.hpp", r"\bawaitable<", ()),
    (ASIO + "io_context.hpp", r"\bio_context\b", ()),
    (ASIO + "post.hpp", r"\basio::post\b", ()),
    (ASIO + "steady_timer.hpp", r"\bsteady_timer\b", ()),
    (ASIO + "use_awaitable.hpp", r"\buse_awaitable\b", ()),
    ("gmock/gmock.h", r"\b(?:EXPECT_THAT|ASSERT_THAT|MATCHER(?:_P\d?)?)\(", ()),
    ("gtest/gtest.h", r"\b(?:TEST(?:_[FP])?|EXPECT_EQ|EXPECT_TRUE)\(", ("gmock/gmock.h",)),
]


def tree_includes_what_is_precompiled(files):
    """Every file has, itself or through a header of ours, what it names of a precompiled header."""
    direct = {f.path: [name for _, _, name in includes(f)] for f in files if f.is_cpp}
    reached = {}

    def reach(path):
        if path not in reached:
            reached[path] = set(direct.get(path, ()))  # before the descent, which a circle would repeat
            for name in direct.get(path, ()):
                reached[path] |= reach(name)
        return reached[path]

    for file in files:
        if not file.is_cpp:
            continue
        for header, names, also in PRECOMPILED:
            match = re.search(names, file.bare)
            if match and not reach(file.path).intersection((header, *also)):
                yield file.path, line_of(file.bare, match.start()), f"{match[0]} needs #include <{header}>"


TREE_RULES = [tree_readmes, tree_sources_are_built, tree_includes_what_is_precompiled]


# --- running --------------------------------------------------------------------------------------


def source_paths(root):
    """Tracked files and those that are about to be; without git, everything outside build/."""
    command = ["git", "-C", str(root), "ls-files", "-co", "--exclude-standard", "-z"]
    try:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                             check=False)
        found = run.stdout.decode().split("\0")[:-1] if run.returncode == 0 else []
    except FileNotFoundError:
        found = []
    if not found:
        found = [p.relative_to(root).as_posix() for p in root.rglob("*")
                 if p.relative_to(root).parts[0] not in ("build", ".git")]
    return sorted(p for p in found if (root / p).is_file() and not (root / p).is_symlink())


def load(root):
    files = []
    for path in source_paths(root):
        try:
            files.append(File(path, (root / path).read_text(encoding="utf-8")))
        except UnicodeDecodeError:
            continue  # binary: a golden file, a picture
    return files


def is_ours_to_judge(file):
    return file.suffix in CODE + (".md", "") and not re.search(r"^LICENSE|\.supp$|/golden/data/",
                                                               file.path)


def findings(files):
    """Every finding as 'path:line: rule: text', sorted."""
    found = []
    for file in files:
        if not is_ours_to_judge(file):
            continue
        for rule in RULES:
            name = rule.__name__.removeprefix("rule_")
            found += [(file.path, number, name, text) for number, text in rule(file)]
    for rule in TREE_RULES:
        name = rule.__name__.removeprefix("tree_")
        found += [(path, number, name, text) for path, number, text in rule(files)]
    return [f"{path}:{number}: {name}: {text}" for path, number, name, text in sorted(found)]


def main():
    root = pathlib.Path(__file__).resolve().parents[2]
    wanted = set(sys.argv[1:])
    found = [line for line in findings(load(root)) if not wanted or line.split(":")[0] in wanted]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
