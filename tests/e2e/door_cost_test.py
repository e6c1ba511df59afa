"""What the door costs, with bounds that a busy machine keeps and a door five times as dear does not.
The figures themselves: bench/noded/door_cost.py with a release build."""

import pathlib
import sys
import unittest

from local_world import BIN

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "bench" / "noded"))
import door_cost  # noqa: E402 - it is no part of the tests' folder


class DoorCost(unittest.TestCase):
    def test_first_token_and_tokens(self):
        with door_cost.Pod(BIN) as pod:
            p50, p99, own = door_cost.first_token(pod, rounds=3, requests=100)
            costs = [door_cost.token_us(pod, streams=16, tokens=100) for _ in range(3)]
        print(f"first token {door_cost.spread(own)} ms, and at the door {door_cost.spread(p50)} ms "
              f"more at p50, {door_cost.spread(p99)} ms at p99; {door_cost.spread(costs, 1)} us of "
              "CPU a token")
        self.assertLess(min(p50), 0.3)
        self.assertLess(min(costs), 50)

    def test_streams_that_wait_and_a_daemon_that_does_nothing(self):
        with door_cost.Pod(BIN) as pod:
            idle = min(door_cost.idle_share(pod, 1) for _ in range(2))
            whole, more, busy = door_cost.idle_streams(pod, count=400, seconds=1)
        print(f"idle {idle * 100:.2f} % of a core; 400 streams: {whole:.0f} MiB, {more:.0f} of them "
              f"for the streams, {busy * 100:.2f} % of a core")
        self.assertLess(idle, 0.01)
        self.assertLess(more, 30)
        self.assertLess(busy, 0.02)

    def test_refusals(self):
        with door_cost.keyed_pod(BIN) as pod:
            rates = [door_cost.refusals(pod, 2000) for _ in range(3)]
        print(f"refusals: {door_cost.spread([cpu for _, cpu in rates], 0)} a second of CPU")
        self.assertGreater(max(cpu for _, cpu in rates), 15_000)


if __name__ == "__main__":
    unittest.main(verbosity=2)
