#!/usr/bin/env python3
"""Charts, a ModelServing, a chat, scaling and deletion on a real Kubernetes with a real node.

Run by `scripts/e2e smoke` and by ctest as e2e_smoke. Ends with 77 where no node can run.
"""

import json
import sys

from real_cluster import (HOME, QUESTION, ROOT, Failure, RealCluster, Step, answer_of,
                          expect_paris, text_of)

EXAMPLE = ROOT / "examples/smollm2-cluster.yaml"
OURS = "serving.kantha.dev/name=smollm2"


class Smoke:
    """The steps, in the order of a user's first hour."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.kubectl = cluster.kubectl

    def all_steps(self, programs):
        cluster = self.cluster
        with Step("images imported"):
            cluster.bring_images(programs)
            cluster.bring_models()
        with Step("charts installed"):
            cluster.install_charts()
        with Step("smollm2 is Available"):
            self.kubectl("apply", "-f", str(EXAMPLE))
            self.kubectl("wait", "--for=condition=Available", "kms/smollm2", "--timeout=180s",
                         seconds=190)
        with Step("a chat through the Service's ClusterIP"):
            expect_paris(*self.chat())
        with Step("a chat through the API server's proxy"):
            self.chat_through_the_api_server()
        with Step("scaled to 3"):
            self.scale(3)
        with Step("a chat with each of 3 pods"):
            self.chat_with_each_pod(3)
        with Step("scaled to 1"):
            self.scale(1)
            expect_paris(*self.chat())
        with Step("smollm2 deleted, nothing left"):
            self.kubectl("delete", "kms", "smollm2", "--timeout=90s", seconds=100)
            cluster.await_true(60, "everything of smollm2 is gone", self.nothing_left)
        with Step("charts uninstalled, nothing left"):
            self.uninstall()

    def service_address(self):
        return self.kubectl("get", "service", "smollm2", "-o", "jsonpath={.spec.clusterIP}")

    def chat(self):
        # kube-proxy writes its rules within a second or two of the pod's being ready.
        url = f"http://{self.service_address()}/v1/chat/completions"
        return self.cluster.await_true(
            10, "the ClusterIP answers",
            lambda: (answer := answer_of(url, QUESTION))[0] != 0 and answer)

    def chat_through_the_api_server(self):
        path = "/api/v1/namespaces/default/services/smollm2:http/proxy/v1/chat/completions"
        answer = self.kubectl("create", "--raw", path, "-f", "-", given=json.dumps(QUESTION))
        expect_paris(200, text_of(json.loads(answer)))

    def pods(self):
        return self.cluster.objects("pods", "-l", OURS)

    def scale(self, replicas):
        self.kubectl("scale", "kms/smollm2", f"--replicas={replicas}")
        names = [f"smollm2-{ordinal}" for ordinal in range(replicas)]

        def settled():
            pods = self.pods()
            return ([pod["metadata"]["name"] for pod in pods] == names and
                    all(is_ready(pod) for pod in pods) and self.status() == replicas)

        self.cluster.await_true(180, f"exactly the pods {names}, ready and counted", settled)

    def status(self):
        text = self.kubectl("get", "kms", "smollm2", "-o", "json")
        return json.loads(text).get("status", {}).get("readyReplicas", 0)

    def chat_with_each_pod(self, replicas):
        addresses = {pod["status"]["podIP"] for pod in self.pods()}
        if len(addresses) != replicas:
            raise Failure(f"{replicas} pods have the addresses {sorted(addresses)}")
        for address in sorted(addresses):
            expect_paris(*answer_of(f"http://{address}:8000/v1/chat/completions", QUESTION))

    def nothing_left(self):
        """Every kind that lives in a namespace, by our label and by owner."""
        kinds = self.kubectl("api-resources", "--namespaced", "--verbs=list", "-o", "name").split()
        kinds = [kind for kind in kinds if not kind.startswith("events")]
        found = self.cluster.objects(",".join(kinds), "-A")
        left = [f"{thing['kind']} {thing['metadata']['name']}" for thing in found
                if belongs_to_serving(thing["metadata"])]
        if left:
            print(f"         still there: {', '.join(left)}", flush=True)
        return not left

    def uninstall(self):
        self.cluster.helm("uninstall", "kantha", "-n", HOME, "--wait", "--timeout=60s")
        self.cluster.helm("uninstall", "kantha-crds", "--wait", "--timeout=60s")
        self.cluster.await_true(
            60, "operator and definition are gone",
            lambda: not self.cluster.objects("pods", "-n", HOME) and "serving.kantha.dev" not in
            self.kubectl("get", "crd", "-o", "name"))
        # Not the Lease: the operator made it, not the chart; it goes with the namespace.
        left = [f"{thing['kind']} {thing['metadata']['name']}" for thing in self.cluster.objects(
            "clusterroles,clusterrolebindings,roles,rolebindings,pdb,services,networkpolicies,"
            "serviceaccounts,configmaps,secrets", "-A") if "kantha" in thing["metadata"]["name"]]
        if left:
            raise Failure(f"after helm uninstall there are: {', '.join(left)}")
        self.kubectl("delete", "namespace", HOME, "--timeout=50s")


def is_ready(pod):
    conditions = {c["type"]: c["status"] for c in pod["status"].get("conditions", [])}
    return conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]


def belongs_to_serving(metadata):
    owners = [owner["kind"] for owner in metadata.get("ownerReferences", [])]
    return ("serving.kantha.dev/name" in metadata.get("labels", {}) or "ModelServing" in owners or
            metadata["name"].startswith("smollm2"))


def main():
    with RealCluster("--proxy", "--admission", "OwnerReferencesPermissionEnforcement") as cluster:
        Smoke(cluster).all_steps(sys.argv[1:])
    print("e2e smoke passed", flush=True)


if __name__ == "__main__":
    main()
