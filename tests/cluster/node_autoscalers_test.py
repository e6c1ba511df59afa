#!/usr/bin/env python3
"""What Cluster Autoscaler and Karpenter read and write, on a real API server: pods that may not be
moved while they load, budgets for evictions, pods that wait for a node, nodes that are taken away.

The test writes what they would, and is the kubelet of nodes that it adds; scheduler, disruption
controller and evictions are real. The operator is that of $KANTHA_BIN_DIR.
"""

import time
import unittest

from api_access import await_true
from faulty_world import TestsTogether, shared_world, together
from serving_state import Serving, at_once, path_of, serving

HOSTNAME = "kubernetes.io/hostname"
PROTECTED = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
             "karpenter.sh/do-not-disrupt": "true"}
GPU = "nvidia.com/gpu"
NO_KUBELET = "example.com/no-kubelet"
NODE_SEEN_FOR_S = 5  # so long the operator believes what it read of a node (cluster/node_marks.cc)
GONE = {"ToBeDeletedByClusterAutoscaler": {"value": "1", "effect": "NoSchedule"},
        "karpenter.sh/disrupted": {"effect": "NoSchedule"}}

# (namespace, who says it, reason and words of the event, reason of the condition then)
NEWS = [
    ("triggered", "cluster-autoscaler", "TriggeredScaleUp",
     "pod triggered scale-up: [{gpus 1->2 (max: 4)}]", "TriggeredScaleUp"),
    ("nominated", "karpenter", "Nominated",
     "Pod should schedule on: nodeclaim/gpus-x7w2k", "TriggeredScaleUp"),
    ("refused", "cluster-autoscaler", "NotTriggerScaleUp",
     "pod didn't trigger scale-up: 1 max node group size reached", "Unschedulable")]


def wants(resource, count):
    return {"resources": {"accelerator": {"resourceName": resource, "count": count}}}


def spread_over(pool):
    return {"scheduling": {"nodeSelector": {"pool": pool}, "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": HOSTNAME, "whenUnsatisfiable": "DoNotSchedule"}]}}


class NodeAutoscalers(TestsTogether):
    """A namespace or more for each test, one operator for all."""

    NAMESPACES = ("loads", "budget", "marked", *(case[0] for case in NEWS))

    @classmethod
    def setUpClass(cls):
        world = shared_world()
        cls.api = world.api
        flags = [part for name in cls.NAMESPACES
                 for part in ("--namespace", world.namespace(name))]
        kubeconfig, _ = world.kubeconfig(world.server(), "nodes")
        cls.operator = world.operator(kubeconfig, "nodes", *flags)
        cls.addClassCleanup(cls.operator.end)
        super().setUpClass()

    def create(self, namespace, replicas, **spec):
        self.api.create(path_of("modelservings", namespace), serving(replicas=replicas, **spec))
        return Serving(self.api, namespace)

    def pods(self, namespace):
        return {pod["metadata"]["name"]: pod for pod in self.api.items(path_of("pods", namespace))
                if "deletionTimestamp" not in pod["metadata"]}

    def add_node(self, name, kubelet=True, labels=(), **capacity):
        """With a kubelet (kwok), or with none, and then only for pods that tolerate that."""
        resources = {"cpu": "100", "memory": "1Ti", "pods": "100"} | capacity
        self.api.create("/api/v1/nodes", {
            "apiVersion": "v1", "kind": "Node", "metadata": {
                "name": name, "labels": {HOSTNAME: name} | dict(labels),
                "annotations": {"kwok.x-k8s.io/node": "fake"} if kubelet else {}},
            "spec": {"taints": [] if kubelet else [{"key": NO_KUBELET, "effect": "NoSchedule"}]},
            "status": {"capacity": resources, "allocatable": resources, "conditions": [
                {"type": "Ready", "status": "True", "reason": "Test", "message": "of a test"}]}})

    def say(self, namespace, pod, who, reason, message):
        """An event on a pod, as node autoscalers make it."""
        meta = self.api.get(path_of("pods", namespace, pod))["metadata"]
        self.api.create(f"/api/v1/namespaces/{namespace}/events", {
            "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": reason,
            "message": message, "source": {"component": who},
            "metadata": {"generateName": f"{pod}.", "namespace": namespace},
            "involvedObject": {"kind": "Pod", "apiVersion": "v1", "namespace": namespace,
                               "name": pod, "uid": meta["uid"]}})

    def run_pod(self, namespace, name, number, ready):
        """What a kubelet says of a pod whose containers run."""
        word = "True" if ready else "False"
        pod = self.api.get(path_of("pods", namespace, name))
        self.api.merge(path_of("pods", namespace, name) + "/status", {"status": {
            "phase": "Running", "podIP": f"10.250.200.{number}", "hostIP": "10.250.0.1",
            "conditions": [{"type": "PodScheduled", "status": "True"},
                           {"type": "Initialized", "status": "True"},
                           {"type": "ContainersReady", "status": word},
                           {"type": "Ready", "status": word}],
            "containerStatuses": [{
                "name": one["name"], "image": one["image"], "imageID": "", "ready": ready,
                "restartCount": 0, "started": True, "state": {"running": {}}}
                for one in pod["spec"]["containers"]]}})

    def protection(self, namespace, pod):
        annotations = self.api.get(path_of("pods", namespace, pod))["metadata"]["annotations"]
        return {key: annotations[key] for key in PROTECTED if key in annotations}

    def evict(self, namespace, pod, really=False):
        """The status of the answer; without `really` nothing is done but the asking."""
        options = {} if really else {"deleteOptions": {"dryRun": ["All"]}}
        return self.api.ask("POST", path_of("pods", namespace, pod) + "/eviction", {
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace}} | options)[0]

    def budget(self, namespace):
        return self.api.get(path_of("poddisruptionbudgets", namespace, "m"))

    def await_budget(self, namespace, **figures):
        """The disruption controller counts so, of the budget as it is."""
        def counts():
            live = self.budget(namespace)
            status = live.get("status", {})
            return (status.get("observedGeneration") == live["metadata"]["generation"] and
                    figures.items() <= status.items())
        await_true(90, lambda: f"{figures} of {self.budget(namespace)}", counts)

    def await_blocked(self, one, reason, words, seconds=20):
        await_true(seconds, lambda: f"{reason}, {words}: {one.condition('CapacityBlocked')}",
                   lambda: one.condition("CapacityBlocked").get("reason") == reason and
                   all(word in one.condition("CapacityBlocked")["message"] for word in words))

    @together
    def test_pods_are_protected_while_they_load_and_no_longer(self):
        one = self.create("loads", 2, **wants("example.com/slow", 1), scheduling={
            "tolerations": [{"key": NO_KUBELET, "operator": "Exists"}]})
        await_true(90, "two pods", lambda: len(self.pods("loads")) == 2)
        self.await_blocked(one, "Unschedulable", ["2 pods wait", "1 × example.com/slow"])
        self.add_node("loads-0", kubelet=False, **{"example.com/slow": "2"})
        await_true(90, "both are on the node", lambda: all(
            pod["spec"].get("nodeName") == "loads-0" for pod in self.pods("loads").values()))
        self.await_blocked(one, "AllScheduled", [])
        for number, pod in enumerate(("m-0", "m-1")):
            self.assertEqual(self.protection("loads", pod), PROTECTED, "on its way to the node")
            self.run_pod("loads", pod, number, ready=False)
        # A drained node takes pods that serve nobody, whatever the budget is.
        self.await_budget("loads", expectedPods=2, currentHealthy=0, disruptionsAllowed=0)
        self.assertEqual([self.evict("loads", pod) for pod in ("m-0", "m-1")], [201, 201])
        self.run_pod("loads", "m-0", 0, ready=True)
        await_true(90, "m-0 is released", lambda: self.protection("loads", "m-0") == {})
        # The watch tells in order: the operator has seen m-1 run, too.
        self.assertEqual(self.protection("loads", "m-1"), PROTECTED, "still loads")
        self.await_budget("loads", currentHealthy=1, disruptionsAllowed=0)
        self.assertEqual([self.evict("loads", pod) for pod in ("m-0", "m-1")], [429, 201])
        self.run_pod("loads", "m-1", 1, ready=True)
        await_true(90, "m-1 is released", lambda: self.protection("loads", "m-1") == {})
        one.await_settled(2)
        self.run_pod("loads", "m-1", 1, ready=False)
        await_true(90, "that is seen", lambda: one.live()["status"].get("readyReplicas") == 1)
        self.assertEqual(self.protection("loads", "m-1"), {}, "it has loaded before")

    @together
    def test_the_budget_lets_as_many_go_as_a_rollout_would(self):
        one = self.create("budget", 1)
        for replicas, allowed_of, allowed in ((1, None, 1), (2, None, 1), (3, None, 1),
                                              (5, "50%", 2), (1, "50%", 1)):
            one.merge({"spec": {"replicas": replicas, "rollout": {"maxUnavailable": allowed_of}}})
            one.await_settled(replicas)
            self.await_budget("budget", expectedPods=replicas, currentHealthy=replicas,
                              disruptionsAllowed=allowed)
            self.assertEqual(self.budget("budget")["spec"]["unhealthyPodEvictionPolicy"],
                             "AlwaysAllow")
            pods = sorted(self.pods("budget"))
            self.assertEqual([self.evict("budget", pod) for pod in pods], [201] * replicas)
        one.scale(3)
        one.merge({"spec": {"rollout": {"maxUnavailable": None}}})
        one.await_settled(3)
        self.await_budget("budget", currentHealthy=3, disruptionsAllowed=1)
        pods = sorted(self.pods("budget"))
        self.assertEqual([self.evict("budget", pod, really=True) for pod in pods[:2]], [201, 429])
        one.await_settled(3)

    def hear(self, case):
        namespace, who, reason, message, told = case
        one = self.create(namespace, 1, **wants(GPU, 4))
        need = [f"4 × {GPU}", f"Insufficient {GPU}"]
        self.await_blocked(one, "Unschedulable", need)
        self.say(namespace, "m-0", who, reason, message)
        self.await_blocked(one, told, [*need, message], 40)
        events = self.api.items(f"/api/v1/namespaces/{namespace}/events?fieldSelector="
                                "involvedObject.kind=ModelServing,reason=CapacityBlocked")
        self.assertEqual([event["type"] for event in events], ["Warning"])
        self.assertIn(GPU, events[0]["message"])
        self.assertEqual(list(self.pods(namespace)), ["m-0"], "no more pods are asked for")

    @together
    def test_what_autoscalers_say_of_pods_that_wait_is_told(self):
        at_once(self.hear, NEWS, len(NEWS))
        self.add_node("gpus", **{GPU: "12"})
        for namespace, *_ in NEWS:
            one = Serving(self.api, namespace)
            one.await_settled(1)
            self.await_blocked(one, "AllScheduled", [])

    def mark(self, node, spec):
        self.api.merge(f"/api/v1/nodes/{node}", {"spec": spec})

    @together
    def test_pods_on_nodes_that_are_taken_away_go_first(self):
        nodes = {"marked-0", "marked-1"}
        for node in nodes:
            self.add_node(node, labels={"pool": "marked"})
        one = self.create("marked", 4, **spread_over("marked"))
        for what, spec in [*(
                (key, {"taints": [{"key": key} | taint]}) for key, taint in GONE.items()),
                ("cordoned", {"unschedulable": True})]:
            one.scale(4)
            one.await_settled(4)
            # Without a mark m-0 would be the last one to go.
            going = self.pods("marked")["m-0"]["spec"]["nodeName"]
            self.mark(going, spec)
            marked_at = time.monotonic()
            await_true(90, "no older look at the node counts any more",
                       lambda at=marked_at: time.monotonic() - at > NODE_SEEN_FOR_S)
            one.scale(2)
            one.await_settled(2)
            left = [pod["spec"]["nodeName"] for pod in self.pods("marked").values()]
            self.assertEqual(set(left), nodes - {going}, what)
            self.mark(going, {"taints": None, "unschedulable": None})


if __name__ == "__main__":
    unittest.main(verbosity=2)
