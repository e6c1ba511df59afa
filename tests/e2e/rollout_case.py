"""Rollouts in rings of the local world, with copies of scripted_engine.py as builds: what the tests of
them share."""

import json
import pathlib
import sys
import time
import unittest
import zlib

from local_world import World, wait_for
from stream_load import Load

ENGINE = pathlib.Path(__file__).parent / "scripted_engine.py"

SPEC = """\
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata: {{name: rings}}
spec:
  model: {{name: m, source: {{hostPath: m.gguf}}}}
  engine: {{image: {engine}}}
  replicas: {replicas}
  drain: {{timeoutSeconds: 20}}
  rollout:
    rings: {rings}
    bake: {{seconds: 2, minRequests: {min_requests}}}
    gates: {{maxErrorRatio: {errors}, maxTtftP95Ratio: 1.15, maxItlP95Ratio: 1.15{golden}}}
    progressDeadlineSeconds: 12
"""
BREACH_LIMIT_S = 30
RINGS = "[{name: canary, size: 1}, {name: all, size: 100%}]"


class RolloutCase(unittest.TestCase):
    def setUp(self):
        self.world = World(name="rings")
        self.builds = self.world.path / "builds"
        self.builds.mkdir()
        (self.world.path / "m.gguf").write_bytes(b"weights")
        self.load = None

    def tearDown(self):
        if self.load:
            self.load.end()
        self.world.close()

    def build(self, mode):
        path = self.builds / f"engine-{mode}"
        if not path.exists():
            path.write_text(f"#!{sys.executable}\n" + ENGINE.read_text())
            path.chmod(0o755)
        return path

    def apply(self, mode, replicas=2, rings=RINGS, min_requests=150, golden=False, errors=0.02):
        self.golden = golden = golden or getattr(self, "golden", False)
        self.world.write_spec(text=SPEC.format(
            engine=self.build(mode), replicas=replicas, rings=rings, min_requests=min_requests,
            errors=errors,
            golden=", goldenPrompts: {configMap: golden}" if golden else ""))

    def write_golden(self):
        folder = self.world.path / "golden"
        folder.mkdir()
        prompts = [{"prompt": text, "max_tokens": 6,
                    "token_ids": [zlib.crc32(f"{text}/{i}".encode()) % 1000 for i in range(6)]}
                   for text in ("Once upon", "2 + 2 =")]
        (folder / "prompts.json").write_text(json.dumps(
            {"timeout_seconds": 4, "prompts": prompts}))

    def rollout(self):
        return self.world.pods()["items"][0]["status"].get("rollout", {})

    def phase(self):
        return self.rollout().get("phase")

    def start(self, **more):
        self.apply("good", **more)
        self.world.start()
        wait_for(lambda: self.phase() == "Done", 60, "the first good revision")

    def revisions(self):
        return [pod["revision"] for pod in self.world.pods()["items"][0]["status"]["pods"]]

    def roll_back(self, mode, **more):
        """Applies a bad build and waits until it went back; the seconds that it took from its first
        misdeed to the decision, upon which the first pod is told in the same pass."""
        self.apply(mode, **more)
        wait_for(lambda: self.phase() in ("RollingBack", "RolledBack"), 90,
                 lambda: f"{self.rollout()}\n{self.world.output()}")
        seconds = time.time() - float((self.builds / f"{mode}.breach").read_text())
        wait_for(lambda: self.phase() == "RolledBack", 60,
                 lambda: f"{self.rollout()}\n{self.world.output()}")
        print(f"{mode}: back {seconds:.1f} s after its first misdeed", flush=True)
        self.assertLess(seconds, BREACH_LIMIT_S)
        return seconds

    def bad_build(self, mode, message, may_refuse, golden=False, load=None, **more):
        """A bad build is stopped in the first ring and goes back to the first one."""
        self.start(golden=golden, **more)
        before = self.revisions()
        self.load = Load(self.world.port, **(load or {}))
        self.roll_back(mode, **more)
        wait_for(lambda: self.revisions() == before, 60, "both pods run the first revision")
        self.load.end()
        state = self.rollout()
        self.assertIn(message, state["message"])
        self.assertEqual(state["verdict"], "Fail")
        self.assertEqual(self.load.cut, 0, self.load.problems[:3])
        if not may_refuse:
            self.assertEqual(self.load.refused, 0, self.load.problems[:3])
        self.assertGreater(self.load.whole, 50)
        self.assertNotIn("RingPassed", self.world.output())
        print(f"{mode}: {self.load.whole} streams, {self.load.refused} refused, "
              f"{self.load.wrong} with another text", flush=True)
