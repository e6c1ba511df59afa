#!/usr/bin/env python3
"""The operator against a real API server that breaks: crashes, lost answers, outages, lost rights.

Every test ends with the state that a run without faults has, and with every edit of the user kept.
One control plane with fake nodes serves all; tests/cluster/fault_proxy.py breaks the calls. The
operator is that of $KANTHA_BIN_DIR. Runs as a script; names choose tests as in every unittest.
"""

import os
import signal
import time
import unittest

from access_faults import AccessFaults, damage, mended
from api_access import await_true
from bad_world import BadWorld
from edited_children import EditedChildren
from faulty_world import (FaultyWorld, TestsTogether, WorldTest, cluster_cache, shared_world,
                          together)
from leader_faults import LeaderFaults
from serving_state import Serving, at_once, difference, path_of

WRITES = "^(POST|PUT|PATCH|DELETE)$"
NO_EVENT = "^(?!.*/events)"
OLDER_VERSION = os.environ.get("KANTHA_OLDER_KUBERNETES", "1.36.3")
BAKE = {"spec": {"rollout": {"bake": {"seconds": 601}}}}  # an edit that changes no pod

SECONDS_AWAY = 20

# Every kind of write of an operator by one name: method, and its path after the namespace.
ANSWERS = {
    "finalizer": ("PATCH", r"modelservings/m\b(?!/)"), "status": ("PATCH", "modelservings/m/status"),
    "account": ("POST", "serviceaccounts"), "map": ("POST", "configmaps"),
    "service": ("POST", "services"), "budget": ("POST", "poddisruptionbudgets"),
    "secret": ("POST", "secrets"), "pod": ("POST", "pods"), "release": ("PATCH", "pods/"),
    "repair": ("PATCH", "services/"), "drain": ("DELETE", "pods/"), "event": ("POST", "events"),
    "all": ("POST|PATCH|DELETE", "")}

# What a user does one after another, and the pods there are then.
STEPS = [("create", lambda s: s.create(1), 1), ("scale up", lambda s: s.scale(3), 3),
         ("scale down", lambda s: s.scale(1), 1), ("delete", lambda s: s.delete(), 0)]

def scoped(namespace):
    return ["--namespace", namespace]


class Lifecycles:
    """End states without faults, made once, to hold others against."""

    def __init__(self, world):
        self.world = world
        self.states = {}
        self.write_count = 0

    def make(self, namespace="calm"):
        namespace = self.world.namespace(namespace)
        proxy = self.world.proxy()
        kubeconfig, _ = self.world.kubeconfig(proxy.server, "calm")
        operator = self.world.operator(kubeconfig, "calm", *scoped(namespace))
        one = Serving(self.world.api, namespace)
        for name, step, pods in STEPS:
            step(one)
            if name == "scale up":
                one.merge(BAKE)
            one.await_settled(pods) if pods else one.await_gone()
            self.states[name] = one.end_state()
        operator.end()
        self.write_count = len([r for r in proxy.control.requests() if r["method"] != "GET" and
                                "/events" not in r["path"]])
        return self


class FaultsOfCalls(TestsTogether):
    """The operator dies between two calls; answers are lost."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        world = shared_world()
        cls.proxy = world.proxy()
        cls.calm = Lifecycles(world).make()
        cls.direct, _ = world.kubeconfig(world.server(), "calls")
        cls.broken, _ = world.kubeconfig(cls.proxy.server, "calls")
        super().setUpClass()

    def await_state(self, one, name, seconds=90):
        expected = self.calm.states[name]
        await_true(seconds, lambda: f"{one.namespace}: the calm state after {name}: "
                   f"{difference(one.end_state(), expected)}",
                   lambda: one.end_state() == expected)

    def crash_at(self, number):
        """A lifecycle in which the operator is killed before its write of that number."""
        namespace = self.world.namespace(f"crash-{number}")
        self.proxy.control.fault("blackhole", method=WRITES, after=number - 1, times=0,
                                 path=f"{NO_EVENT}.*/namespaces/{namespace}/")
        one = Serving(self.world.api, namespace)
        operator = self.world.operator(self.broken, "calls", *scoped(namespace))
        noted, crashed = [], False
        for name, step, _ in STEPS:
            step(one)
            if name == "scale up":
                one.merge(BAKE)
            while not crashed and one.end_state() != self.calm.states[name]:
                crashed = any(f["struck"] for f in self.proxy.control.faults()
                              if f["path"].endswith(f"/{namespace}/"))
            if crashed and operator.is_alive() and not noted:
                noted = one.note_children()
                self.assertEqual(operator.kill(signal.SIGKILL), -signal.SIGKILL)
                operator = self.world.operator(self.direct, "calls", *scoped(namespace))
            self.await_state(one, name)
            self.assertEqual(one.missing_notes(noted), [])
        operator.end()
        return crashed

    @together
    def test_f19_a_crash_between_any_two_writes_changes_nothing(self):
        self.assertGreater(self.calm.write_count, 20)
        self.assertLess(self.calm.write_count, 50)
        crashed = {}

        def crash(number):
            crashed[number] = self.crash_at(number)
        at_once(crash, range(1, self.calm.write_count + 1))
        print(f"{sum(crashed.values())} crashes in {len(crashed)} lifecycles", flush=True)
        # A status that two passes write in one run may be one write in another.
        self.assertGreaterEqual(sum(crashed.values()), self.calm.write_count - 6)

    def lose_answers(self, fault, prefix):
        """A life in which the first two answers to every kind of write are lost, for each kind."""
        kinds = {name: self.world.namespace(f"{prefix}-{name}") for name in ANSWERS}
        for name, namespace in kinds.items():
            method, path = ANSWERS[name]
            self.proxy.control.fault(fault, method=method, times=2,
                                     path=f"/namespaces/{namespace}/{path}")
        operator = self.world.operator(self.broken, "calls", *[
            part for namespace in kinds.values() for part in scoped(namespace)])

        def live(namespace):
            one = Serving(self.world.api, namespace)
            for name, step, _ in STEPS:
                step(one)
                if name == "scale up":
                    one.merge(BAKE)
                self.await_state(one, name)
                if name == "create":
                    damage(one)
                    await_true(30, f"{namespace}: the Service is mended", lambda: mended(one))
        at_once(live, kinds.values(), len(kinds))
        self.assertTrue(operator.is_alive())
        operator.end()
        struck = {f["path"].split("/")[2]: f["struck"] for f in self.proxy.control.faults()
                  if f["path"].startswith(f"/namespaces/{prefix}-")}
        self.assertEqual([name for name, count in struck.items() if count == 0], [])

    @together
    def test_f20_a_write_whose_answer_is_lost_is_not_made_twice(self):
        self.lose_answers("drop_after", "lost")

    @together
    def test_f21_a_write_that_is_answered_500_but_was_made_is_not_made_twice(self):
        self.lose_answers("status_after", "liar")

    @together
    def test_f20_answers_to_pruning_are_lost(self):
        """Revisions that nothing uses go, the last ones stay, although each answer is lost."""
        namespace = self.world.namespace("prune")
        self.proxy.control.fault("drop_after", method="DELETE", times=2,
                                 path=f"/namespaces/{namespace}/configmaps")
        operator = self.world.operator(self.broken, "calls", *scoped(namespace))
        one = Serving(self.world.api, namespace)
        one.create(0)
        for number in range(1, 9):
            one.merge({"spec": {"engine": {"config": {"maxNumSeqs": number}}}})
            await_true(30, f"revision {number} is seen", lambda: one.live().get("status", {}).get(
                "observedGeneration") == one.live()["metadata"]["generation"])
        await_true(30, "at most the last revisions are kept", lambda: len(
            [name for kind, name in one.end_state() if kind == "configmaps"]) in (5, 6))
        one.delete()
        one.await_gone()
        operator.end()


class Outage(WorldTest):
    """Nobody answers for a while: alone, for the others need the API server."""

    def test_f13_the_api_server_is_away_for_a_while(self):
        namespace = self.world.namespace("away")
        one = Serving(self.world.api, namespace)
        kubeconfig, _ = self.world.kubeconfig(self.world.server(), "patient")
        operator = self.world.operator(kubeconfig, "patient", *scoped(namespace))
        one.create(3)
        one.await_settled(3)
        before = {pod["metadata"]["name"]: pod["metadata"]["uid"]
                  for pod in self.world.api.items(path_of("pods", namespace))}
        self.world.stop("kube-apiserver")
        cpu = operator.cpu_seconds()
        time.sleep(SECONDS_AWAY)
        cpu = operator.cpu_seconds() - cpu
        self.assertTrue(operator.is_alive())
        self.world.restart("kube-apiserver")
        await_true(60, "the API server is back", self.world.api.answers)
        back, wall = time.monotonic(), time.time()
        one.scale(2)
        one.merge({"metadata": {"labels": {"team": "green"}}})
        one.await_settled(2, 60)
        caught_up = time.monotonic() - back
        after = {pod["metadata"]["name"]: pod["metadata"]["uid"]
                 for pod in self.world.api.items(path_of("pods", namespace))}
        operator.end()
        print(f"caught up {caught_up:.1f} s after the return; {cpu:.2f} s CPU in "
              f"{SECONDS_AWAY} s of outage", flush=True)
        self.assertEqual(len(after), 2)
        self.assertLessEqual(after.items(), before.items())
        self.assertEqual(one.live()["metadata"]["labels"]["team"], "green")
        self.assertLess(cpu, SECONDS_AWAY * 0.05)
        self.assertLess(len(self.world.writes("patient", wall)), 12)


class Skew(WorldTest):
    """The same life on an older Kubernetes, whose fields and defaults may be others."""

    def test_an_older_kubernetes_sees_the_same_life(self):
        if not (cluster_cache() / f"v{OLDER_VERSION}" / "kube-apiserver").exists():
            print("=" * 80, f"SKIPPED: no Kubernetes {OLDER_VERSION}; scripts/cluster build --version "
                  f"{OLDER_VERSION} makes one", "=" * 80, sep="\n", flush=True)
            self.skipTest(f"no Kubernetes {OLDER_VERSION}")
        newer = Lifecycles(self.world).make("skew")
        world = FaultyWorld("--version", OLDER_VERSION)
        self.addCleanup(world.end)
        self.assertIn(OLDER_VERSION, world.api.get("/version")["gitVersion"])
        older = Lifecycles(world).make("skew")
        for name, _, _ in STEPS:
            self.assertEqual(set(older.states[name]), set(newer.states[name]), name)
            for key in older.states[name]:
                if key[0] == "modelservings":
                    self.assertEqual(older.states[name][key], newer.states[name][key])
        self.assertLessEqual(older.write_count, newer.write_count + 4)


if __name__ == "__main__":
    unittest.main(verbosity=2)
