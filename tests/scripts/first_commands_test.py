"""scripts/setup, up and test with stand-ins for the tools that they call."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import textwrap
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ScriptTest(unittest.TestCase):
    """A small tree with our scripts, and a folder of stand-ins that is first in PATH."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.tree = pathlib.Path(temporary.name) / "tree with blanks"
        self.tools = pathlib.Path(temporary.name) / "tools"
        self.calls = pathlib.Path(temporary.name) / "calls"
        self.tools.mkdir()
        (self.tree / "scripts").mkdir(parents=True)
        for name in ("setup", "up", "test", "stage.sh"):
            shutil.copy(ROOT / "scripts" / name, self.tree / "scripts" / name)
        self.write(self.tree / "scripts" / "fetch-model", 'echo "fetch-model" >>"$CALLS"')
        self.tool("dpkg-query", 'shift 3; printf "%s installed\\n" "$@"')
        self.tool("cmake", 'mkdir -p "build/$2"; touch "build/$2/build.ninja"')
        self.tool("ninja", "")
        self.write(self.tree / "build/release/bin/kantha",
                   'printf "[%s]" "$@" >>"$CALLS"; echo " in ${PWD##*/}" >>"$CALLS"; exit 7')

    @staticmethod
    def write(path, body):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/bash\n" + body + "\n")
        path.chmod(0o755)

    def tool(self, name, body):
        self.write(self.tools / name, f'echo "{name} $*" >>"$CALLS"\n' + textwrap.dedent(body))

    def run_script(self, name, *arguments, cwd=None):
        self.calls.write_text("")
        env = dict(os.environ, PATH=f"{self.tools}:{os.environ['PATH']}", CALLS=str(self.calls))
        return subprocess.run([str(self.tree / "scripts" / name), *arguments], env=env, text=True,
                              cwd=cwd or self.tree, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)

    def seen(self, word):
        return [line for line in self.calls.read_text().splitlines() if word in line]


class SetupTest(ScriptTest):
    def test_nothing_missing_says_nothing(self):
        run = self.run_script("setup", "build", "test")
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_root_installs_what_is_missing_and_nothing_else(self):
        self.tool("dpkg-query", 'shift 3; printf "%s installed\\n" "$@" | grep -v -e ^ninja-build')
        self.tool("id", "echo 0")
        self.tool("apt-get", "")
        run = self.run_script("setup", "build")
        self.assertEqual(run.returncode, 0, run.stdout)
        install = self.seen("apt-get")[-1]
        self.assertRegex(install, r"install --no-install-recommends ninja-build$")

    def test_without_root_and_sudo_the_packages_are_named(self):
        self.tool("dpkg-query", 'shift 3; printf "%s installed\\n" "$@" | grep -v -e ^lld-19')
        self.tool("id", "echo 1000")
        for name in ("bash", "env", "grep", "sed"):
            os.symlink(shutil.which(name), self.tools / name)
        env = {"PATH": str(self.tools), "CALLS": str(self.calls)}
        run = subprocess.run([str(self.tree / "scripts" / "setup")], env=env, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.assertEqual(run.returncode, 1, run.stdout)
        self.assertIn("apt-get install lld-19\n", run.stdout)

    def test_a_package_known_but_removed_counts_as_missing(self):
        self.tool("dpkg-query", 'shift 3; printf "%s installed\\n" "$@" | sed "s/^cmake .*/cmake '
                                'config-files/"')
        self.tool("id", "echo 0")
        self.tool("apt-get", "")
        self.run_script("setup", "build")
        self.assertRegex(self.seen("apt-get")[-1], r"recommends cmake$")


class UpTest(ScriptTest):
    def test_it_builds_fetches_and_becomes_kantha(self):
        run = self.run_script("up", "--prompt", "two words", cwd=self.tools)
        self.assertEqual(run.returncode, 7, run.stdout)
        self.assertEqual(self.seen("cmake --"), ["cmake --preset release"])
        self.assertEqual(self.seen("ninja -C"),
                         ["ninja -C build/release kantha kantha-noded kantha-engine"])
        self.assertEqual(self.seen("fetch-model"), ["fetch-model"])
        self.assertEqual(self.seen("[up]"), [f"[up][-f][{self.tree}/examples/smollm2.yaml]"
                                             "[--prompt][two words] in tools"])

    def test_a_second_start_configures_nothing_and_says_nothing(self):
        self.run_script("up")
        run = self.run_script("up")
        self.assertEqual(run.stdout, "")
        self.assertEqual(self.seen("cmake --"), [])

    def test_a_file_of_ones_own_replaces_the_example(self):
        for option in (["-f", "my.yaml"], ["--file=my.yaml"], ["-fmy.yaml"]):
            self.run_script("up", *option)
            self.assertEqual(len(self.seen("[up]")), 1)
            self.assertNotIn("smollm2", self.seen("[up]")[0])

    def test_a_failed_build_shows_the_end_of_its_log_and_stops(self):
        self.tool("ninja", 'seq 100; echo "x.cc:1: error: no"; exit 3')
        run = self.run_script("up")
        self.assertEqual(run.returncode, 3)
        self.assertIn("building release: failed", run.stdout)
        self.assertIn("x.cc:1: error: no", run.stdout)
        self.assertNotIn("\n50\n", run.stdout)
        self.assertEqual(self.seen("fetch-model"), [])


class TestTest(ScriptTest):
    """scripts/test; the stand-in ctest fails what its folder's `bad` file names."""

    def setUp(self):
        super().setUp()
        self.tool("ctest", """
            names="alpha_test beta_test"
            case $* in
              *"-N"*) for n in $names; do
                 [ $n != "$STARTS" ] || echo "1:  KANTHA_BIN_DIR=/x/bin"
                 echo "  Test  #1: $n"; done; exit ;;
              *"$BAD"*) echo "50% tests passed, 1 tests failed out of 2"; echo
                 printf 'The following tests FAILED:\\n\\t  2 - beta_test (Failed)\\n'; exit 8 ;;
            esac
            echo "100% tests passed, 0 tests failed out of 2"
            """)
        self.tool("ninja", 'case $* in *targets*) printf "alpha_test: phony\\nx: phony\\n" ;; esac')
        for name in ("BAD", "STARTS"):
            os.environ[name] = "nothing"
            self.addCleanup(os.environ.pop, name)

    def test_all_presets_are_summed_up_in_the_last_line(self):
        run = self.run_script("test")
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertEqual(run.stdout.splitlines()[-1], "100% tests passed, 0 tests failed out of 6")
        for preset in ("dev", "tsan"):
            self.assertEqual(self.seen(f"ninja -C build/{preset} alpha"),
                             [f"ninja -C build/{preset} alpha_test"], "only what it will run")
        self.assertTrue(self.seen("build/dev -N -L ^(slow|script)$"))
        self.assertTrue(self.seen("build/asan-ubsan -N -LE ^(slow|script)$"))

    def test_programs_are_built_for_tests_that_start_them_and_are_not_built(self):
        for name, targets in (("beta_test", "alpha_test kantha_programs"),
                              ("alpha_test", "alpha_test")):
            os.environ["STARTS"] = name
            self.run_script("test", "quick")
            self.assertEqual(self.seen("ninja -C build/dev alpha"),
                             [f"ninja -C build/dev {targets}"])

    def test_quick_is_the_dev_build_alone(self):
        run = self.run_script("test", "quick")
        self.assertEqual(run.stdout.splitlines()[-1], "100% tests passed, 0 tests failed out of 2")
        self.assertEqual(self.seen("tsan"), [])
        self.assertEqual(self.seen("slow"), [], "all of them")

    def test_a_failure_under_one_preset_fails_the_whole_and_is_named(self):
        os.environ["BAD"] = "build/asan-ubsan"
        run = self.run_script("test")
        self.assertEqual(run.returncode, 1)
        self.assertIn("failed under asan-ubsan: beta_test", run.stdout)
        self.assertEqual(run.stdout.splitlines()[-1], "83% tests passed, 1 tests failed out of 6")

    def test_a_build_that_fails_is_never_a_success(self):
        self.tool("ninja", 'case $* in *build/tsan*alpha*) exit 1 ;; *targets*) '
                           'echo "alpha_test: phony" ;; esac')
        run = self.run_script("test")
        self.assertEqual(run.returncode, 1)
        self.assertIn("could not build or run tsan", run.stdout)

    def test_a_filter_reaches_ctest(self):
        self.run_script("test", "quick", "--filter", "al.*")
        self.assertTrue(self.seen("-R al.*"))

    def test_no_test_at_all_is_a_failure(self):
        self.tool("ctest", "")
        self.assertEqual(self.run_script("test", "quick").returncode, 1)


if __name__ == "__main__":
    unittest.main()
