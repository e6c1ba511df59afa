"""Namespaces that end, a definition that goes, objects that no definition would let in today."""

import json
import time

from api_access import MERGE, SERVINGS, Refused, await_true
from faulty_world import CRD, TestsTogether, together
from serving_state import Serving, path_of, serving

DEFINITION = ("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
              "modelservings.serving.kantha.dev")
NAMES = ["a.b", "1abc", "a" * 63, "b" * 253, "c-" * 30 + "d"]


class BadWorld(TestsTogether):
    """Each test has a namespace, an operator and a proxy that counts."""

    def start(self, namespace, *more):
        self.api = self.world.api
        self.namespace = self.world.namespace(namespace)
        self.proxy = self.world.proxy()
        kubeconfig, _ = self.world.kubeconfig(self.proxy.server, "bad")
        flags = [part for name in (namespace, *more) for part in ("--namespace", name)]
        self.operator = self.world.operator(kubeconfig, "bad", *flags)
        self.addCleanup(self.proxy.end)
        self.addCleanup(self.operator.end)
        return Serving(self.api, namespace)

    def assert_calm(self, seconds=5, requests_max=40):
        """The operator lives, and does not ask all the time."""
        before, cpu = len(self.proxy.control.requests()), self.operator.cpu_seconds()
        time.sleep(seconds)
        asked = self.proxy.control.requests()[before:]
        self.assertLess(len(asked), requests_max, asked[-3:])
        self.assertLess(self.operator.cpu_seconds() - cpu, seconds * 0.2)
        self.assertTrue(self.operator.is_alive())

    def await_words(self, one, words, seconds=30):
        await_true(seconds, lambda: f"{words!r} is in the status: "
                   f"{json.dumps((one.live() or {}).get('status'))}",
                   lambda: words in json.dumps((one.live() or {}).get("status", {})))

    @together
    def test_a_namespace_with_an_object_is_deleted(self):
        one = self.start("ending")
        one.create(2)
        one.await_settled(2)
        self.api.delete("/api/v1/namespaces/ending")
        await_true(40, lambda: f"the namespace has ended: "
                   f"{self.api.find('/api/v1/namespaces/ending')}",
                   lambda: self.api.find("/api/v1/namespaces/ending") is None)
        self.assertTrue(self.operator.is_alive())

    @together
    def test_an_object_that_somebody_holds_in_an_ending_namespace(self):
        """A finalizer of somebody else keeps the namespace: nothing can be made, nothing loops."""
        one = self.start("held")
        one.create(1)
        one.await_settled(1)
        one.merge({"metadata": {"finalizers": ["example.com/hold", "serving.kantha.dev/drain"]}})
        self.api.delete("/api/v1/namespaces/held")
        await_true(30, "our finalizer has gone", lambda: one.live()["metadata"]["finalizers"] ==
                   ["example.com/hold"])
        self.assert_calm()
        one.merge({"metadata": {"finalizers": None}})
        await_true(40, "the namespace has ended",
                   lambda: self.api.find("/api/v1/namespaces/held") is None)

    @together
    def test_an_object_whose_namespace_ends_before_its_children_are_made(self):
        namespace = "early"
        one = self.start(namespace)
        self.operator.end()
        # What keeps the namespace is not the object, so that this is not deleted with it at once.
        self.proxy.control.fault("status", method="POST", times=0, code=403,
                                 path=f"/namespaces/{namespace}/", message='pods "m-0" is forbidden: '
                                 f"unable to create new content in namespace {namespace} because "
                                 "it is being terminated")
        kubeconfig, _ = self.world.kubeconfig(self.proxy.server, "bad")
        self.operator = self.world.operator(kubeconfig, "bad", "--namespace", namespace)
        self.addCleanup(self.operator.end)
        one.create(1)
        self.await_words(one, "eing")
        self.assert_calm()
        one.delete()
        one.await_gone()

    def foreign(self, kind, name, **fields):
        """An object of somebody else with the name of a child."""
        kinds = {"services": ("v1", "Service"), "serviceaccounts": ("v1", "ServiceAccount"),
                 "secrets": ("v1", "Secret"), "pods": ("v1", "Pod"),
                 "poddisruptionbudgets": ("policy/v1", "PodDisruptionBudget")}
        version, word = kinds[kind]
        return self.api.create(path_of(kind, self.namespace), {
            "apiVersion": version, "kind": word, "metadata": {"name": name}} | fields)

    @together
    def test_foreign_objects_hold_the_names_of_children(self):
        one = self.start("foreign")
        foreign = {
            ("serviceaccounts", "m"): {}, ("secrets", "m-admin"): {"stringData": {"a": "b"}},
            ("services", "m"): {"spec": {"ports": [{"port": 9}]}},
            ("services", "m-pods"): {"spec": {"ports": [{"port": 9}]}},
            ("poddisruptionbudgets", "m"): {"spec": {"maxUnavailable": 1, "selector": {
                "matchLabels": {"a": "b"}}}},
            ("pods", "m-0"): {"spec": {"containers": [{"name": "c", "image": "example.com/c"}]}}}
        for (kind, name), fields in foreign.items():
            self.foreign(kind, name, **fields)
        one.create(1)
        self.await_words(one, "NameConflict")
        self.assert_calm()
        told = json.dumps(one.live()["status"])
        state = one.end_state()
        for kind, name in foreign:
            live = state[(kind, name)]
            self.assertNotIn("ownerReferences", live["metadata"], (kind, name))
            self.assertNotIn("kantha", json.dumps(live["metadata"].get("labels", {})))
        self.assertIn("Service", told)
        for kind, name in foreign:
            if (kind, name) != ("pods", "m-0"):
                self.api.delete(path_of(kind, self.namespace, name))
        self.api.delete(path_of("pods", self.namespace, "m-0"))
        one.merge({"metadata": {"labels": {"again": "yes"}}})  # a look at once
        one.await_settled(1, 60)
        self.assertNotIn("NameConflict", json.dumps(one.live()["status"]))
        for kind, live in one.children():
            if kind != "modelservings":
                self.assertEqual([owner["name"] for owner in live["metadata"]["ownerReferences"]],
                                 ["m"], live["metadata"]["name"])
        one.delete()
        one.await_gone()

    def loosen(self):
        """The definition as an older one may have been: no rules, no limits, nothing pruned."""
        definition = self.api.get(DEFINITION)
        for version in definition["spec"]["versions"]:
            schema = version["schema"]["openAPIV3Schema"]
            schema.pop("x-kubernetes-validations", None)
            schema["properties"]["spec"] = {
                "type": "object", "x-kubernetes-preserve-unknown-fields": True}
        self.api.call("PUT", DEFINITION, definition)

    def tighten(self):
        self.world.shell("kubectl", "apply", "--server-side", "--force-conflicts", "-f", CRD)

    def create_odd(self, name, seconds=30, **spec):
        """Creates as soon as the API server has taken the loose definition; whether it did."""
        document = serving(name, **spec)

        deadline = time.monotonic() + seconds
        while True:
            try:
                return self.api.create(path_of("modelservings", self.namespace), document)
            except Refused as refused:
                if refused.code not in (400, 422) or time.monotonic() > deadline:
                    if refused.code not in (400, 422) or seconds:
                        raise
                    return None
                time.sleep(0.1)

    def test_objects_that_got_past_an_older_definition(self):
        """Odd names, specs that no rule would let in, a megabyte: said, and nothing else suffers."""
        one = self.start("odd")
        self.addCleanup(self.tighten)
        self.addCleanup(self.remove_all)
        self.addCleanup(self.operator.end)
        self.loosen()
        for name in NAMES:
            self.create_odd(name)
        specs = {
            "negative": {"replicas": -5}, "words": {"replicas": "three"}, "list": {"model": []},
            "nothing": {"model": {}}, "null-drain": {"drain": 7},
            "empty-range": {"autoscaling": {"minReplicas": 5, "maxReplicas": 2}},
            "huge-count": {"replicas": 2 ** 40}, "megabyte": {"future": "x" * (1 << 20)},
            "mega-config": {"engine": {"config": {"maxNumSeqs": 4}, "image": "y" * 900_000}}}
        # Replicas below 0 are refused by the scale subresource, whatever the schema says.
        specs = {name: spec for name, spec in specs.items()
                 if self.create_odd(name, seconds=0, **spec)}
        self.assertGreaterEqual(len(specs), 6)
        one.create(1)
        one.await_settled(1)
        self.assert_calm(requests_max=60)
        silent = [name[:40] for name in [*NAMES, *specs] if not self.is_told(name)]
        pods = [p["metadata"]["name"] for p in self.api.items(path_of("pods", "odd"))]
        self.tighten()
        self.assertTrue(self.operator.is_alive())
        one.scale(2)
        await_true(30, "an ordinary object goes on", lambda: one.live().get("status", {}).get(
            "readyReplicas") == 2)
        for item in self.api.items(path_of("modelservings", "odd")):
            self.api.delete(path_of("modelservings", "odd", item["metadata"]["name"]))
        one.await_gone(60)
        self.assertEqual(silent, [])
        self.assertEqual([p for p in pods if not p.startswith(("m-", "megabyte-"))], [])

    def remove_all(self):
        """What tests that failed have left, so that the definition can go."""
        for item in self.api.items(f"{SERVINGS}/modelservings"):
            meta = item["metadata"]
            if meta["namespace"] == self.namespace and self.operator.is_alive():
                continue
            path = path_of("modelservings", meta["namespace"], meta["name"])
            self.api.ask("PATCH", path, {"metadata": {"finalizers": None}}, MERGE)
            self.api.ask("DELETE", path)

    def is_told(self, name):
        """Whether a condition or the log says what is wrong; a megabyte of nothing is fine."""
        live = self.api.find(path_of("modelservings", "odd", name))
        told = json.dumps(live.get("status", {}))
        if name == "megabyte":
            return "PodsAvailable" in told or "PodsUnavailable" in told
        return "InvalidSpec" in told or "Refused" in told or any(
            name in line for line in self.operator.text().splitlines() if " WARN " in line
            or " ERROR " in line)

    def test_the_definition_is_deleted_and_comes_back(self):
        one = self.start("undefined")
        one.create(2)
        one.await_settled(2)
        self.remove_all()
        self.addCleanup(self.world.define)
        self.api.delete(DEFINITION)
        await_true(40, "the definition has gone", lambda: self.api.find(DEFINITION) is None)
        await_true(40, "the pods have gone", lambda: not self.api.items(
            path_of("pods", "undefined")))
        self.assert_calm()
        self.world.define()
        defined = time.monotonic()
        await_true(20, "the kind is there", lambda: self.can_create(one))
        one.await_settled(1, 60)
        print(f"settled {time.monotonic() - defined:.1f} s after the definition came back",
              flush=True)
        one.delete()
        one.await_gone()

    def can_create(self, one):
        try:
            one.create(1)
        except Refused:
            return False
        return True
