"""Bad builds in the local world that no golden prompt finds: each is stopped in the first ring, by what
its pods answer or do not, and goes back by itself within half a minute of its first misdeed."""

import unittest

from rollout_case import RolloutCase


class RolloutBuildsTest(RolloutCase):
    def test_crashes_after_some_requests(self):
        self.bad_build("crash_after", "", may_refuse=False, min_requests=1000, load={"clients": 12})

    def test_slow(self):
        self.bad_build("slow", "ratio", may_refuse=False)

    def test_fails_one_request_in_fifty(self):
        # Against what a service has that never fails, so that a few thousand requests are enough.
        self.bad_build("errors", "requests failed", may_refuse=True, errors=0.002,
                       min_requests=1000, load={"clients": 20, "tokens": 2})

    def test_leaks_kv_blocks(self):
        self.bad_build("leak", "KV blocks are not given back", may_refuse=False)

    def test_lies_about_readiness(self):
        self.bad_build("liar", "requests failed", may_refuse=True)

    def test_never_ready(self):
        self.bad_build("never_ready", "is not ready after 12 s", may_refuse=True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
