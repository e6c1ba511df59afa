"""The official openai package for Node, unpatched, against a real engine: runs
tests/e2e/openai_node/suite.mjs with node's own test runner, each of its cases as one of ours.
Skipped aloud where there is no node or npm."""

import os
import pathlib
import re
import subprocess
import sys
import unittest

from engine_process import MODEL, Engine, wait_for

HERE = pathlib.Path(__file__).resolve().parent
SCRIPT = HERE.parents[1] / "scripts" / "client-node"
CASES_MIN = 55


class OpenAiNode(unittest.TestCase):
    def test_suite(self):
        packages = subprocess.run([SCRIPT], stdout=subprocess.PIPE, text=True)
        if packages.returncode == 3:
            self.skipTest("SKIPPED: no node or npm to run the openai-node suite with")
        self.assertEqual(packages.returncode, 0, "scripts/client-node")
        with Engine("--max-model-len", "1024", "--max-num-seqs", "16") as engine:
            host, port = engine.address
            environment = os.environ | {
                "KANTHA_BASE_URL": f"http://{host}:{port}/v1",
                "KANTHA_MODEL": pathlib.Path(MODEL).stem,
                "KANTHA_NODE_PACKAGES": packages.stdout.strip()}
            run = subprocess.run(
                ["node", "--test", "--test-reporter=tap", str(HERE / "openai_node" / "suite.mjs")],
                env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                timeout=300)
            self.assertEqual(run.returncode, 0, run.stdout[-20000:])
            wait_for(engine.is_idle, 10, "idle engine")
        passed = int(re.search(r"^# pass (\d+)$", run.stdout, re.MULTILINE).group(1))
        print(f"openai-node: {passed} cases passed", file=sys.stderr)
        self.assertGreaterEqual(passed, CASES_MIN)


if __name__ == "__main__":
    unittest.main(verbosity=2)
