"""What users do to the children of a ModelServing by hand is undone, whatever it was."""

import json
import time

from api_access import await_true
from faulty_world import TestsTogether, together
from serving_state import Serving, at_once, path_of

CLIENT = {"name": "http", "port": 80, "protocol": "TCP", "targetPort": "api"}
HEADLESS = {"name": "api", "port": 8000, "protocol": "TCP", "targetPort": "api"}
BUDGET = "poddisruptionbudgets"

# (what, kind, name, merge patch of its spec)
EDITS = [
    ("number", "services", "m", {"ports": [CLIENT | {"port": 81}]}),
    ("protocol", "services", "m", {"ports": [CLIENT | {"protocol": "UDP"}]}),
    ("target", "services", "m", {"ports": [CLIENT | {"targetPort": 9}]}),
    ("nodeport", "services", "m", {"type": "NodePort"}),
    ("balancer", "services", "m", {"type": "LoadBalancer", "externalTrafficPolicy": "Local",
                                   "loadBalancerSourceRanges": ["10.0.0.0/8"]}),
    ("external", "services", "m", {"type": "ExternalName", "externalName": "example.com",
                                   "clusterIP": None, "clusterIPs": None}),
    ("selector", "services", "m", {"selector": {"app": "web"}}),
    ("nowhere", "services", "m", {"selector": None}),
    ("unready", "services", "m", {"publishNotReadyAddresses": True}),
    ("swapped", "services", "m-pods", {"ports": [HEADLESS | {"name": "admin"},
                                                 HEADLESS | {"port": 8001}]}),
    ("outside", "services", "m-pods", {"type": "ExternalName", "externalName": "example.com",
                                       "clusterIP": None, "clusterIPs": None}),
    ("otherend", BUDGET, "m", {"maxUnavailable": None, "minAvailable": 1}),
    ("fewer", BUDGET, "m", {"selector": {"matchLabels": {"app": "web"}}}),
    ("odd", BUDGET, "m", {"selector": {"matchExpressions": [
        {"key": "app", "operator": "Exists"}]}}),
]
REMADE = [("headless", "m", {"clusterIP": "None"}), ("addressed", "m-pods", {"clusterIP": None})]


class EditedChildren(TestsTogether):
    """A namespace for each edit, one operator for all."""

    def spec(self, namespace, kind, name):
        live = self.world.api.find(path_of(kind, namespace, name))
        # An address that was given up is not given again; an external name means nothing to other
        # types, and the API server keeps it.
        return {key: value for key, value in (live or {}).get("spec", {}).items()
                if key not in ("clusterIP", "clusterIPs", "externalName") or
                value in ("None", ["None"])}

    def healed(self, namespace, kind, name, before):
        try:
            await_true(40, "", lambda: self.spec(namespace, kind, name) == before)
        except AssertionError:
            live = self.spec(namespace, kind, name)
            told = Serving(self.world.api, namespace).condition("Degraded")
            raise AssertionError(f"{json.dumps(live)} is not {json.dumps(before)}; {told}") from None
        await_true(20, lambda: f"{namespace} is well: "
                   f"{Serving(self.world.api, namespace).condition('Degraded')}",
                   lambda: Serving(self.world.api, namespace).condition("Degraded")["status"] ==
                   "False")

    def edit(self, case):
        what, kind, name, change = case
        namespace = f"edited-{what}"
        before = self.spec(namespace, kind, name)
        self.world.api.merge(path_of(kind, namespace, name), {"spec": change})
        self.healed(namespace, kind, name, before)

    def remake(self, case):
        """A Service is deleted and made again by hand, with another kind of address."""
        what, name, change = case
        namespace = f"edited-{what}"
        before = self.spec(namespace, "services", name)
        api = self.world.api
        live = api.get(path_of("services", namespace, name))
        meta = {key: live["metadata"][key] for key in ("name", "labels", "ownerReferences")}
        kept = {key: live["spec"][key] for key in ("type", "ports", "selector")}
        document = {"apiVersion": "v1", "kind": "Service", "metadata": meta,
                    "spec": kept | {k: v for k, v in change.items() if v}}
        while True:  # the operator makes it anew, too; whoever is first has it
            api.delete(path_of("services", namespace, name))
            code, text = api.ask("POST", path_of("services", namespace), document)
            if code == 201:
                break
            self.assertEqual(code, 409, text)
        self.healed(namespace, "services", name, before)

    @together
    def test_every_edit_of_a_child_is_undone(self):
        names = [case[0] for case in EDITS + REMADE]
        for name in names:
            self.world.namespace(f"edited-{name}")
        flags = [part for name in names for part in ("--namespace", f"edited-{name}")]
        kubeconfig, _ = self.world.kubeconfig(self.world.server(), "mender")
        operator = self.world.operator(kubeconfig, "mender", *flags)
        self.addCleanup(operator.end)
        ones = [Serving(self.world.api, f"edited-{name}") for name in names]
        for one in ones:
            one.create(1)
        for one in ones:
            one.await_settled(1, 60)
        at_once(self.edit, EDITS)
        at_once(self.remake, REMADE)
        before, wall = operator.cpu_seconds(), time.time()
        time.sleep(5)
        self.assertLess(operator.cpu_seconds() - before, 0.5)
        self.assertEqual([w["requestURI"] for w in self.world.writes("mender", wall)
                          if "/events" not in w["requestURI"]], [], "nothing is left to do")
        for one in ones:
            one.delete()
        for one in ones:
            one.await_gone(60)
