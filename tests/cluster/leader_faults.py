"""Operators that hand the lease on: cut off, frozen, ended, killed. Never do two of them write."""

import os
import re
import signal
import threading
import time
import unittest

from api_access import await_true
from faulty_world import TestsTogether, lease_path, shared_world, time_of, together
from serving_state import Serving

NO_LEASE = "leases"


class Turmoil:
    """A user who changes the number of pods all the time, so that a leader has something to write."""

    def __init__(self, one, counts=(1, 2)):
        self.one, self.counts = one, counts
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        while not self.done.wait(0.4):
            number += 1
            self.one.scale(self.counts[number % len(self.counts)])

    def end(self):
        self.done.set()
        self.thread.join(30)


class Candidate:
    """An operator with --leader-elect, with an account and a proxy of its own."""

    def __init__(self, world, account, namespace):
        self.world, self.account = world, account
        self.proxy = world.proxy()
        self.kubeconfig, _ = world.kubeconfig(self.proxy.server, account)
        self.namespace = namespace
        self.operator = None

    def start(self):
        self.operator = self.world.operator(self.kubeconfig, self.account, "--leader-elect",
                                            "--lease-name", self.namespace, "--namespace",
                                            self.namespace)
        return self

    def end(self):
        if self.operator:
            self.operator.end()
        self.proxy.end()

    def leads(self):
        return self.operator.leads()

    def writes(self, since=0.0):
        """Its accepted writes but those of the lease and of events, which change no world."""
        return [e for e in self.world.writes(self.account, since)
                if e["objectRef"]["resource"] not in ("leases", "events")]


class Handover(unittest.TestCase):
    """One leader, one standby, and what becomes of them; with a lease of their own."""

    def __init__(self, world, name):
        super().__init__()
        self.world, self.namespace = world, world.namespace(name)
        self.one = Serving(world.api, self.namespace)
        self.first = Candidate(world, f"first-{name}", self.namespace)
        self.second = Candidate(world, f"second-{name}", self.namespace)
        self.turmoil = None

    def runTest(self, scenario):
        """Sets out, lets the scenario happen, and ends everything."""
        try:
            self.set_out()
            scenario(self)
        except Exception as error:
            for candidate in (self.first, self.second):
                error.add_note(f"---- {candidate.account}\n{candidate.operator.text()[-3000:]}")
            raise
        finally:
            if self.turmoil:
                self.turmoil.end()
            for candidate in (self.first, self.second):
                candidate.end()

    def set_out(self):
        self.first.start()
        await_true(30, lambda: f"the first operator leads: {self.first.operator.text()[-800:]}",
                   self.first.leads)
        self.second.start()
        await_true(30, "the second operator sees the cluster",
                   lambda: self.second.operator.state().get("ready"))
        self.assertFalse(self.second.leads())
        self.one.create(1)
        self.one.await_settled(1)
        self.turmoil = Turmoil(self.one)

    def await_handover(self, seconds):
        """Seconds until the second writes something; what it writes first."""
        started, wall = time.monotonic(), time.time()
        event = await_true(seconds, lambda: "the second operator leads and writes; the lease is "
                           f"{self.world.api.find(lease_path(self.namespace))}",
                           lambda: self.second.writes(wall))[0]
        return time.monotonic() - started, event

    def await_end(self):
        """One that has lost the lease ends, so that it begins anew with nothing in its head."""
        self.assertEqual(self.first.operator.process.wait(15), 1)

    def assert_no_overlap(self, event):
        """No accepted write of the first at or after the first one of the second; all is done."""
        last = max(map(time_of, self.first.writes()))
        began = min(map(time_of, self.second.writes()))
        self.assertLess(last, began)
        self.assertLessEqual(began, time_of(event))
        self.turmoil.end()
        self.one.scale(3)
        self.one.await_settled(3)
        self.one.delete()
        self.one.await_gone()
        self.assertEqual([], [w for w in self.first.writes() if time_of(w) >= began])

    def f35_a_leader_that_is_cut_off_stops_before_another_begins(self):
        self.first.proxy.control.fault("blackhole", times=0)
        cut = time.time()
        took, event = self.await_handover(25)
        self.assertGreater(took, 10)
        print(f"cut off: successor after {took:.1f} s", flush=True)
        self.assertEqual(self.first.writes(cut + 10.5), [])
        self.await_end()
        asked = [r for r in self.first.proxy.control.requests() if r["method"] != "GET"]
        self.assertTrue(asked)
        self.first.proxy.control.clear()
        self.assert_no_overlap(event)

    def f35_a_leader_without_its_lease_stops_writing_although_it_could(self):
        """Only the lease is cut off: the leader's other writes would all be taken."""
        self.first.proxy.control.fault("blackhole", path=NO_LEASE, times=0)
        cut = time.time()
        took, event = self.await_handover(25)
        self.assertGreater(took, 10)
        self.assertTrue(self.first.writes(cut))  # it did not stop at once either
        late = [time_of(w) - cut for w in self.first.writes(cut)]
        print(f"no lease: last write after {max(late):.1f} s, successor after {took:.1f} s",
              flush=True)
        self.assertLess(max(late), 10.5)
        self.await_end()
        self.assert_no_overlap(event)

    def f36_a_leader_that_was_frozen_writes_nothing_and_ends(self):
        os.kill(self.first.operator.process.pid, signal.SIGSTOP)
        frozen = time.time()
        try:
            took, event = self.await_handover(25)
            time.sleep(max(0.0, frozen + 25 - time.time()))
        finally:
            os.kill(self.first.operator.process.pid, signal.SIGCONT)
        thawed = time.time()
        self.await_end()
        print(f"frozen: successor after {took:.1f} s", flush=True)
        self.assertEqual(self.first.writes(thawed), [])
        self.assert_no_overlap(event)

    def f39_a_leader_that_is_asked_to_end_gives_the_lease_back(self):
        self.first.operator.process.send_signal(signal.SIGTERM)
        took, event = self.await_handover(10)
        self.assertEqual(self.first.operator.process.wait(15), 0)
        print(f"SIGTERM: successor writes after {took:.1f} s", flush=True)
        self.assertLess(took, 3)
        self.assert_no_overlap(event)

    def f39_a_leader_that_is_killed_is_followed_within_twenty_seconds(self):
        self.first.operator.kill(signal.SIGKILL)
        took, event = self.await_handover(25)
        print(f"SIGKILL: successor writes after {took:.1f} s", flush=True)
        self.assertLess(took, 20)
        self.assert_no_overlap(event)

    def f20_lost_answers_of_the_lease_cost_nobody_the_lead(self):
        for fault in ("drop_after", "status_after", "drop", "status"):
            self.first.proxy.control.clear()
            self.first.proxy.control.fault(fault, method="PUT|PATCH", path=NO_LEASE, times=2)
            await_true(20, f"two requests met {fault}",
                       lambda: self.first.proxy.control.faults()[0]["struck"] == 2)
            time.sleep(3)  # in which it may renew
            self.assertTrue(self.first.leads(), fault)
        self.assertEqual(self.second.writes(), [])


def name_of(case):
    """A name for its namespace and its lease."""
    return "-".join(case.split("_")[:6])


CASES = [name for name in dir(Handover) if re.match(r"f\d\d_", name)]


class LeaderFaults(TestsTogether):
    """One handover each."""

    @classmethod
    def setUpClass(cls):
        shared_world().lease_names(*[name_of(case) for case in CASES])
        super().setUpClass()

    def hand_over(self, scenario):
        Handover(self.world, name_of(scenario.__name__)).runTest(scenario)

    @together
    def test_f35_a_leader_that_is_cut_off_stops_before_another_begins(self):
        self.hand_over(Handover.f35_a_leader_that_is_cut_off_stops_before_another_begins)

    @together
    def test_f35_a_leader_without_its_lease_stops_writing_although_it_could(self):
        self.hand_over(Handover.f35_a_leader_without_its_lease_stops_writing_although_it_could)

    @together
    def test_f36_a_leader_that_was_frozen_writes_nothing_and_ends(self):
        self.hand_over(Handover.f36_a_leader_that_was_frozen_writes_nothing_and_ends)

    @together
    def test_f39_a_leader_that_is_asked_to_end_gives_the_lease_back(self):
        self.hand_over(Handover.f39_a_leader_that_is_asked_to_end_gives_the_lease_back)

    @together
    def test_f39_a_leader_that_is_killed_is_followed_within_twenty_seconds(self):
        self.hand_over(Handover.f39_a_leader_that_is_killed_is_followed_within_twenty_seconds)

    @together
    def test_f20_lost_answers_of_the_lease_cost_nobody_the_lead(self):
        self.hand_over(Handover.f20_lost_answers_of_the_lease_cost_nobody_the_lead)
