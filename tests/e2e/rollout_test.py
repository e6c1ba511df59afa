"""Rings in the local world: bad builds are stopped in the first ring and go back by themselves, no
stream is cut, and a good build passes. rollout_builds_test.py has more kinds of bad builds.

  KANTHA_ROLLOUTS=20   how many good and bad builds, in turn, one world rolls out (default 2)
"""

import os
import unittest

from local_world import wait_for
from rollout_case import RolloutCase
from stream_load import Load


class RolloutTest(RolloutCase):
    def test_a_good_build_passes_and_cuts_nothing(self):
        self.start()
        self.load = Load(self.world.port)
        self.apply("good2")
        wait_for(lambda: "RolloutDone" in self.world.output(), 120,
                 lambda: f"{self.rollout()}\n{self.world.output()}")
        self.load.end()
        self.assertEqual(len(set(self.revisions())), 1)
        self.assertEqual((self.load.cut, self.load.refused), (0, 0), self.load.problems[:3])
        self.assertIn("RingPassed: ring canary", self.world.output())

    def test_crashes_at_start(self):
        # A pod that never was ready knows no peers, and takes connections of the shared socket.
        self.bad_build("crash_at_start", "fails", may_refuse=False)

    def test_wrong_tokens(self):
        self.write_golden()
        self.bad_build("wrong", "golden prompt 1: expected [", may_refuse=False, golden=True)

    def test_hangs(self):
        self.write_golden()
        self.bad_build("hang", "golden prompt 1: ", may_refuse=True, golden=True)

    def test_one_rollout_after_another_under_load(self):
        self.start()
        self.load = Load(self.world.port)
        count = int(os.environ.get("KANTHA_ROLLOUTS", "2"))
        for number in range(count):
            with self.subTest(number=number):
                if number % 2 == 1:
                    good = self.revisions()
                    self.roll_back(f"slow{number}")
                    wait_for(lambda good=good: self.revisions() == good, 60, "all pods went back")
                else:
                    self.apply(f"good{number + 2}")
                    wait_for(lambda: self.phase() == "Done" and len(set(self.revisions())) == 1 and
                             self.world.pods()["items"][0]["spec"]["engine"]["image"].endswith(
                                 f"good{number + 2}"), 120,
                             lambda: f"{self.rollout()}\n{self.world.output()}")
        self.load.end()
        print(f"{count} rollouts, {self.load.whole} streams: {self.load.cut} cut, "
              f"{self.load.refused} refused", flush=True)
        self.assertEqual((self.load.cut, self.load.refused), (0, 0), self.load.problems[:3])

    def test_without_rings_a_crash_loop_goes_back(self):
        self.start(rings="[]")
        self.apply("crash_at_start", rings="[]")
        wait_for(lambda: self.phase() == "RolledBack", 60, self.world.output)

    def test_what_failed_is_remembered_over_a_restart_of_the_world(self):
        self.start()
        good = self.revisions()
        self.apply("crash_at_start")
        wait_for(lambda: self.phase() == "RolledBack", 60, self.world.output)
        self.assertEqual(self.world.stop(), 0)
        self.world.lines.clear()
        self.world.start()
        wait_for(lambda: self.revisions() == good, 60, "the good revision is back")
        self.assertEqual(self.phase(), "RolledBack")

    def test_verbs(self):
        self.start(min_requests=1000)
        self.apply("good2", min_requests=1000)
        wait_for(lambda: self.phase() == "Baking", 60, self.world.output)
        run = self.world.run
        self.assertEqual(run("rollout", "pause", "rings").returncode, 0)
        status = run("rollout", "status", "rings").stdout
        self.assertIn("held, Paused", status)
        self.assertIn("*canary (1)*", status)
        self.assertEqual(run("rollout", "resume", "rings").returncode, 0)
        self.assertEqual(run("rollout", "promote", "rings").returncode, 0)
        wait_for(lambda: self.rollout().get("ring") == "all", 60, self.world.output)
        wait_for(lambda: self.phase() == "Baking", 60, self.world.output)
        self.assertEqual(run("rollout", "abort", "rings").returncode, 0)
        watched = run("rollout", "status", "rings", "--watch", timeout_s=90)
        self.assertEqual(watched.returncode, 0, watched.stderr)
        self.assertIn("RolledBack", watched.stdout)
        again = run("rollout", "abort", "rings")
        self.assertEqual(again.returncode, 1)
        self.assertIn("nothing to abort", again.stderr)
        self.assertIn("last good", run("rollout", "history", "rings").stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
