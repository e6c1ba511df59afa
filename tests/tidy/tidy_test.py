"""Each rule of tidy.py fails on a snippet that breaks it, and the tree breaks none."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tidy  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def function_of(lines, head="int f() {"):
    return head + "\n" + "  g();\n" * (lines - 2) + "}\n"


LONG = function_of(71)

# rule, path, text that breaks it
BAD = [
    ("include_direction", "engine/sched/a.cc", '#include "engine/exec/sampler.h"\n'),
    ("include_direction", "engine/api/a.cc", '#include "engine/text/tokenizer.h"\n'),
    ("include_direction", "engine/model/a.cc", '#include "engine/text/tokenizer.h"\n'),
    ("include_direction", "engine/serve/a.cc", '#include "engine/exec/engine_thread.h"\n'),
    ("include_direction", "engine/main.cc", '#include "noded/api/pod_state.h"\n'),
    ("include_direction", "noded/gateway/a.cc", '#include "operator/serving/types.h"\n'),
    ("include_direction", "noded/api/a.cc", '#include "noded/gateway/route.h"\n'),
    ("include_direction", "operator/kube/a.cc", '#include "operator/serving/types.h"\n'),
    ("include_direction", "operator/serving/a.cc", '#include "noded/gateway/route.h"\n'),
    ("include_direction", "base/a.cc", '#include "engine/ops/tensor.h"\n'),
    ("include_direction", "base/a.cc", '#include "base/net/http.h"\n'),
    ("include_from_the_root", "base/a.cc", '#include "log.h"\n'),
    ("third_party_headers", "operator/kube/watch.cc", "#include <cpprest/http_client.h>\n"),
    ("third_party_headers", "engine/exec/forward.cc", "#include <cuda_runtime.h>\n"),
    ("third_party_headers", "base/net/http.h", "#include <boost/beast/http.hpp>\n"),
    ("third_party_headers", "noded/gateway/a.cc", "#include <boost/beast/http.hpp>\n"),
    ("third_party_headers", "engine/serve/a.cc", "#include <prometheus/counter.h>\n"),
    ("planners_are_pure", "operator/serving/plan_scale.cc", "Plan plan(const Clock& c);\n"),
    ("planners_are_pure", "operator/serving/plan.h", '#include "operator/kube/client.h"\n'),
    ("file_size", "base/a.cc", "int x;\n" * 801),
    ("file_size", "tests/base/a_test.cc", "int x;\n" * 1201),
    ("function_size", "base/a.cc", LONG),
    ("function_size", "tests/a_test.cc", function_of(71, "TEST(A, B) {")),
    ("function_size", "base/a.cc", "const Case cases[] = {};\n" +
     function_of(72).replace("g();", "{1, 2},")),
    ("function_size", "base/a.cc", "namespace a {\n" + LONG + "}\n"),
    ("function_size", "base/a.h", "class A {\n public:\n" + LONG + "};\n"),
    ("function_size", "base/a.cc", function_of(71, "A::A(int b)\n    : b_{b}, c_(2) {")),
    ("function_size", "base/a.cc", function_of(71, "template <class T>\nstd::vector<T> f(T t) {")),
    ("function_size", "base/a.cc", "const char* q = \"}\";\n" + LONG),
    ("function_size", "base/a.cc", "int f() {\n" + "  if (x) {\n  }\n" * 35 + "}\n"),
    ("columns", "base/a.cc", "// " + "x" * 98 + "\n"),
    ("columns", "base/a.cc", 'f("' + "x" * 98 + '");\n'),
    ("columns", "scripts/up", "#!/bin/bash\n# " + "x" * 99 + "\n"),
    ("time_and_chance", "engine/a.cc", "auto t = std::chrono::steady_clock::now();\n"),
    ("time_and_chance", "engine/a.cc", "using C = Clock; auto t = system_clock::now();\n"),
    ("time_and_chance", "tests/a_test.cc", "std::this_thread::sleep_for(1s);\n"),
    ("time_and_chance", "noded/a.cc", "  ::usleep(10);\n"),
    ("time_and_chance", "noded/a.cc", "  int x = rand();\n"),
    ("time_and_chance", "noded/a.cc", "  int x = std::rand();\n"),
    ("time_and_chance", "noded/a.cc", "std::random_device device;\n"),
    ("time_and_chance", "noded/a.cc", "auto t = std::time(nullptr);\n"),
    ("no_detached", "noded/a.cc", "co_spawn(executor, work(), asio::detached);\n"),
    ("file_name", "engine/api/string_utils.h", "#pragma once\n"),
    ("file_name", "engine/api/manager.cc", ""),
    ("pragma_once", "base/a.h", "#ifndef A_H\n#define A_H\n#endif\n"),
    ("clean_text", "base/a.cc", "\tint x;\n"),
    ("clean_text", "base/a.cc", "int x; \n"),
    ("clean_text", "base/a.cc", "int x;"),
    ("clean_text", "base/a.cc", "int x;\r\n"),
    ("clean_text", "README.md", "a\x1bb\n"),
    ("clean_text", "base/a.cc", "int a\u202eb;\n"),
    ("todo", "base/a.cc", "// TODO make it work\n"),
    ("todo", "base/a.cc", "// FIXME\n"),
    ("no_private_places", "scripts/x", "curl https://" + "py" + "pi.org/simple\n"),
    ("no_private_places", "docs/x.md", "see /ro" + "ot/notes\n"),
]

# rule, path, text that looks a little like breaking it
GOOD = [
    ("include_direction", "engine/model/a.cc", '#include "engine/text/vocabulary.h"\n'),
    ("include_direction", "engine/main.cc", '#include "engine/serve/server.h"\n'),
    ("include_direction", "operator/serving/a.cc", '#include "noded/api/pod_state.h"\n'),
    ("include_direction", "engine/serve/a.cc", '#include "base/net/http.h"\n'),
    ("include_direction", "tests/engine/a_test.cc", '#include "operator/serving/types.h"\n'),
    ("third_party_headers", "base/net/http_server.cc", "#include <boost/beast/http.hpp>\n"),
    ("third_party_headers", "engine/exec/device_cuda.cc", "#include <cuda_runtime.h>\n"),
    ("planners_are_pure", "operator/serving/plan.h", '#include "base/clock.h"\nTimePoint now;\n'),
    ("clean_text", "tests/a_test.py", "family = '\U0001f469\u200d\U0001f467'\n"),
    ("file_size", "base/a.cc", "int x;\n" * 800),
    ("function_size", "base/a.cc", function_of(70)),
    ("function_size", "base/a.cc", (function_of(40) + "\n") * 3),
    ("function_size", "base/a.h", "class A {\n" + "  int f(int);\n" * 100 + "};\n"),
    ("function_size", "base/a.cc", "const Table kTable = {\n" + "  {f(1)},\n" * 100 + "};\n"),
    ("function_size", "base/a.cc", "enum class A {\n" + "  kB,\n" * 100 + "};\n"),
    ("function_size", "tests/a_test.cc", "TEST(A, B) {\n  const Case cases[] = {\n" +
     "      {1, 2},\n" * 100 + "  };\n}\n"),
    ("include_from_the_root", "bench/a.cc", '#include "bench/kernels/probes.h"\n'),
    ("columns", "tests/a_test.py", "x = '" + "x" * 98 + "'\n"),
    ("columns", "base/a.cc", "// " + "é" * 97 + "\n"),
    ("columns", "tests/a_test.cc", 'f("' + "x" * 98 + '");\n'),
    ("time_and_chance", "base/clock.cc", "auto t = std::chrono::steady_clock::now();\n"),
    ("time_and_chance", "engine/a.cc", "// steady_clock::now() is only for base/\n"),
    ("time_and_chance", "engine/a.cc", "co_await net::sleep_for(delay);\n"),
    ("time_and_chance", "engine/a.cc", "auto strand(operand()); clock.wall_time(x);\n"),
    ("no_detached", "noded/a.cc", 'log_info("child detached");  // detached\n'),
    ("file_name", "engine/api/commonmark.cc", ""),
    ("pragma_once", "base/a.h", "// About a.\n#pragma once\n"),
    ("todo", "base/a.cc", "// TODO(needs Boost 1.80's channels): use them\n"),
    ("no_private_places", "docs/x.md", "built in build/work/x and ~/.cache\n"),
]


def findings_of(rule, path, text):
    function = getattr(tidy, "rule_" + rule)
    return list(function(tidy.File(path, text)))


class RuleTest(unittest.TestCase):
    def test_each_bad_snippet_is_found(self):
        for rule, path, text in BAD:
            with self.subTest(rule=rule, path=path, text=text[:80]):
                self.assertTrue(findings_of(rule, path, text))

    def test_each_good_snippet_passes(self):
        for rule, path, text in GOOD:
            with self.subTest(rule=rule, path=path, text=text[:80]):
                self.assertEqual(findings_of(rule, path, text), [])

    def test_every_rule_has_a_bad_snippet(self):
        shown = {"rule_" + rule for rule, _, _ in BAD}
        self.assertEqual(shown, {rule.__name__ for rule in tidy.RULES})

    def test_a_finding_names_the_line(self):
        found = findings_of("clean_text", "base/a.cc", "int x;\nint y; \n")
        self.assertEqual(found, [(2, "trailing blanks")])

    def test_functions_are_found_where_they_begin_and_end(self):
        text = ("namespace a {\nint one() {\n  return 1;\n}\n\nclass B {\n  B() : x_{1}, y_(2) {\n"
                "    if (x_) {\n    }\n  }\n};\n}\n")
        spans = [(first, last) for first, last, _ in tidy.functions(text)]
        self.assertIn((2, 4), spans)
        self.assertIn((7, 10), [(min(first, 7), last) for first, last in spans if last == 10])


class TreeRuleTest(unittest.TestCase):
    def test_a_folder_without_a_readme_is_found(self):
        files = [tidy.File("engine/api/a.cc", ""), tidy.File("tests/engine/a_test.cc", "")]
        self.assertEqual([f[0] for f in tidy.tree_readmes(files)], ["engine/api"])
        files.append(tidy.File("engine/api/README.md", "# api\n"))
        self.assertEqual(list(tidy.tree_readmes(files)), [])

    def test_a_source_that_nobody_builds_is_found(self):
        files = [tidy.File("base/log.cc", ""), tidy.File("base/net/http.cc", ""),
                 tidy.File("base/CMakeLists.txt", "kantha_library(x SOURCES blog.cc net/http.cc)")]
        self.assertEqual([f[0] for f in tidy.tree_sources_are_built(files)], ["base/log.cc"])

    def test_what_is_precompiled_is_included_all_the_same(self):
        def found(text, header=""):
            files = [tidy.File("base/a.cc", text), tidy.File("base/b.h", header)]
            return [f[1:] for f in tidy.tree_includes_what_is_precompiled(files)]

        uses = "\nstd::vector<int> x;  // std::map\n"
        self.assertEqual(found(uses), [(2, "std::vector needs #include <vector>")])
        self.assertEqual(found("#include <vector>" + uses), [])
        self.assertEqual(found('#include "base/b.h"' + uses, "#include <vector>\n"), [])
        self.assertEqual(found('#include "base/b.h"' + uses, '#include "base/a.cc"\n'),
                         [(2, "std::vector needs #include <vector>")])


class TreeTest(unittest.TestCase):
    def test_the_tree_follows_every_rule(self):
        found = tidy.findings(tidy.load(ROOT))
        self.assertEqual(found, [], "\n" + "\n".join(found))


if __name__ == "__main__":
    unittest.main()
