"""Every test that docs/behaviours.md names exists, and no behaviour there is without one."""

import ast
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "behaviours.md"
CPP = re.compile(r"^(?:TEST|TEST_F|TEST_P)\((\w+),\s*(\w+)\)", re.M)


def cpp_tests():
    return {f"{suite}.{case}" for path in (ROOT / "tests").rglob("*.cc")
            for suite, case in CPP.findall(path.read_text())}


def python_tests():
    names = set()
    for path in (ROOT / "tests" / "e2e").glob("*_test.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef):
                names |= {f"{path.stem.removesuffix('_test')}.{node.name}.{part.name}"
                          for part in node.body
                          if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef)}
    return names


def rows():
    """(section, cells) of the page's tables, without their heads."""
    section = ""
    for line in PAGE.read_text().splitlines():
        if line.startswith("## "):
            section = line[3:]
        elif line.startswith("| ") and not line.startswith(("| behaviour", "| there")):
            yield section, [cell.strip() for cell in line.strip("|").split("|")]


class Behaviours(unittest.TestCase):
    def test_every_named_test_exists(self):
        known = cpp_tests() | python_tests()
        for section, (behaviour, tests) in rows():
            if section.startswith("Different"):
                continue
            with self.subTest(behaviour):
                named = re.findall(r"`([\w.]+)`", tests)
                self.assertTrue(named, "a behaviour without a test")
                self.assertEqual(sorted(set(named) - known), [])

    def test_what_differs_says_why(self):
        differing = [cells for section, cells in rows() if section.startswith("Different")]
        self.assertGreater(len(differing), 5)
        for there, here in differing:
            self.assertGreater(len(here), 3, there)


if __name__ == "__main__":
    unittest.main()
