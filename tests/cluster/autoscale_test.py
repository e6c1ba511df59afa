#!/usr/bin/env python3
"""An HPA that scales a ModelServing on its KV pressure: real control plane, HPA, kubelet and pods.

Run by `scripts/e2e autoscale` and by ctest as e2e_autoscale. Ends with 77 where no node can run.
"""

import calendar
import json
import sys
import threading
import time
import urllib.error
import urllib.request

from real_cluster import Failure, RealCluster, Step

SYNC = 5  # seconds between two looks of the HPA
METRICS = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/default"
EXTERNAL = ("/apis/external.metrics.k8s.io/v1beta1/namespaces/default/kv_pressure"
            "?labelSelector=serving.kantha.dev%2Fname%3Dsmollm2")
SELECTOR = "serving.kantha.dev%2Fname%3Dsmollm2%2Cserving.kantha.dev%2Frole%3Dreplica"
SERVING = {
    "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
    "metadata": {"name": "smollm2"},
    "spec": {
        "model": {"name": "smollm2-135m-instruct", "source": {
            "hostPath": "/var/lib/kantha/models/SmolLM2-135M-Instruct.Q4_1.gguf"}},
        "engine": {"config": {"maxModelLen": 512, "maxNumSeqs": 8, "kvCacheMemory": "24Mi"}},
        "resources": {"cpu": "100m", "memory": "512Mi"},
        "autoscaling": {"minReplicas": 1, "maxReplicas": 3, "targetKvPressure": 0.7, "behavior": {
            "scaleDown": {"stabilizationWindowSeconds": 20,
                          "policies": [{"type": "Pods", "value": 3, "periodSeconds": 5}]}}},
        "drain": {"timeoutSeconds": 60}}}


# Long enough that what waits is worth more than one pod's cache.
PROMPT = ("Tell me a long story about a fox, a raven and a piece of cheese, in which the fox is "
          "patient, the raven is proud, and the cheese is neither of them's. It begins in winter, "
          "in a wood by a river, and it ends in spring. Nobody is hurt. Number of the story: ")


class Load:
    """Clients that stream long answers one after another; counts those that were not whole."""

    def __init__(self, address, clients):
        self.url = f"http://{address}/v1/chat/completions"
        self.whole, self.refused, self.cut = 0, 0, []
        self.stopping = threading.Event()
        self.threads = [threading.Thread(target=self.client, args=(i,)) for i in range(clients)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(120)

    def client(self, number):
        while not self.stopping.is_set():
            self.stream(number)

    def stream(self, number):
        body = {"model": "smollm2-135m-instruct", "stream": True, "max_tokens": 160,
                "temperature": 0, "messages": [{"role": "user", "content": PROMPT + str(number)}]}
        request = urllib.request.Request(self.url, json.dumps(body).encode(),
                                         {"Content-Type": "application/json"})
        text = ""
        try:
            with urllib.request.urlopen(request, timeout=120) as response:
                for line in response:
                    text += line.decode()
        except urllib.error.HTTPError as error:
            # Refused before it began: 429 is an answer, and no stream was cut.
            self.refused += 1
            self.stopping.wait(float(error.headers.get("Retry-After") or 1))
            return
        except OSError as error:
            self.cut.append(str(error))
            return
        if text.rstrip().endswith("data: [DONE]") and '"error"' not in text:
            self.whole += 1
        else:
            self.cut.append(text[-200:])


class Autoscale:
    """What a user sees of autoscaling."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.kubectl = cluster.kubectl

    def all_steps(self, programs):
        cluster = self.cluster
        with Step("images imported"):
            cluster.bring_images(programs)
            cluster.bring_models()
        with Step("charts installed with the metrics APIs and an activator"):
            cluster.install_charts("metricsApi.enabled=true", "metricsApi.external=true",
                                   "activator.enabled=true", "activator.replicas=1")
        with Step("the API server has taken the metrics APIs in"):
            for group in ("v1beta1.custom", "v1beta2.custom", "v1beta1.external"):
                self.kubectl("wait", "--for=condition=Available", "--timeout=60s",
                             f"apiservice/{group}.metrics.k8s.io", seconds=70)
        with Step("smollm2 is Available, with one pod and an HPA"):
            self.kubectl("apply", "-f", "-", given=json.dumps(SERVING))
            self.kubectl("wait", "--for=condition=Available", "kms/smollm2", "--timeout=180s",
                         seconds=190)
            cluster.await_true(90, "the HPA is there", lambda: self.hpa() is not None)
        with Step("its metric is there, and young"):
            cluster.await_true(90, "one pod has a sample", lambda: len(self.samples()) == 1)
            self.expect_young(5)
            found = json.loads(self.kubectl("get", "--raw", EXTERNAL))["items"]
            if [one["metricLabels"] for one in found] != [{"serving.kantha.dev/name": "smollm2"}]:
                raise Failure(f"the external metric is {found}")
        with Step("the HPA counts with it, and the object says so"):
            cluster.await_true(60, "ScalingActive is True",
                               lambda: self.condition("ScalingActive").get("status") == "True")
        self.up_and_down()
        with Step("an HPA that was deleted or edited by hand is healed"):
            self.heal()
        self.to_zero_and_back()

    def up_and_down(self):
        cluster = self.cluster
        address = self.kubectl("get", "service", "smollm2", "-o", "jsonpath={.spec.clusterIP}")
        with Load(address, 24) as load:
            with Step(f"under load 1 -> 3 within two looks of {SYNC} s"):
                cluster.await_true(60, "the pressure is above twice the target",
                                   lambda: any(value > 1400 for value in self.samples().values()))
                seen = time.monotonic()
                cluster.await_true(2 * SYNC + 3, "the HPA wants 3", lambda: self.replicas() == 3)
                print(f"         {time.monotonic() - seen:.1f} s after the pressure rose",
                      flush=True)
                print("         " + self.kubectl("get", "hpa", "smollm2", "--no-headers").strip(),
                      flush=True)
                self.expect_young(3)
            with Step("three pods serve"):
                cluster.await_true(180, "3 ready", lambda: self.status("readyReplicas") == 3)
            with Step("the load ends, every stream whole"):
                load.stop()
        if load.cut or not load.whole:
            raise Failure(f"{load.whole} streams were whole, cut: {load.cut[:3]}")
        print(f"         {load.whole} whole, {load.refused} refused, 0 cut", flush=True)
        with Step("back to 1"):
            cluster.await_true(120, "the HPA wants 1", lambda: self.replicas() == 1)
            cluster.await_true(120, "1 pod", lambda: self.status("replicas") == 1)
        with Step("the decisions are in status, with their inputs"):
            made = self.serving()["status"]["decisions"]
            changes = [(one["from"], one["to"]) for one in made if one["kind"] == "Scale"]
            if ("1", "3") not in changes or changes[-1][1] != "1":
                raise Failure(f"status.decisions has {changes}")
            if not all("mean" in one["message"] and "→" in one["message"] for one in made):
                raise Failure(f"a decision without its arithmetic: {made}")

    def to_zero_and_back(self):
        cluster = self.cluster
        address = self.kubectl("get", "service", "smollm2", "-o", "jsonpath={.spec.clusterIP}")
        with Step("with minReplicas 0, nobody asks for 5 s: no pod, and the HPA rests"):
            self.kubectl("patch", "kms", "smollm2", "--type=merge", "-p", json.dumps(
                {"spec": {"autoscaling": {"minReplicas": 0, "idleSeconds": 5}}}))
            cluster.await_true(90, "0 is wanted", lambda: self.replicas() == 0)
            cluster.await_true(90, "no pod", lambda: self.status("replicas") == 0)
            cluster.await_true(90, "it says so", lambda: self.condition("ScalingActive").get(
                "reason") == "ScaledToZero")
        with Step("a stream waits while a pod starts, and is whole"), Load(address, 0) as load:
            asked = time.monotonic()
            client = threading.Thread(target=load.stream, args=(1,))
            client.start()
            cluster.await_true(90, "1 is wanted", lambda: self.replicas() == 1)
            woken = time.monotonic() - asked
            client.join(120)
            print(f"         1 wanted after {woken:.1f} s, answered after "
                  f"{time.monotonic() - asked:.1f} s", flush=True)
            if load.whole != 1 or load.refused:
                raise Failure(f"the stream was not whole: {load.cut}, {load.refused} refused")
        made = [(d["from"], d["to"], d["reason"]) for d in self.serving()["status"]["decisions"]]
        if made[-2:] != [("1", "0", "Idle"), ("0", "1", "RequestsWait")]:
            raise Failure(f"status.decisions has {made}")

    def serving(self):
        return json.loads(self.kubectl("get", "kms", "smollm2", "-o", "json"))

    def status(self, field):
        return self.serving().get("status", {}).get(field, 0)

    def replicas(self):
        return self.serving()["spec"].get("replicas")

    def condition(self, kind):
        return next((c for c in self.serving().get("status", {}).get("conditions", [])
                     if c["type"] == kind), {})

    def hpa(self):
        text = self.kubectl("get", "hpa", "smollm2", "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def metric_list(self):
        return json.loads(self.kubectl(
            "get", "--raw", f"{METRICS}/pods/%2A/kv_pressure?labelSelector={SELECTOR}"))

    def samples(self):
        """Pressure in thousandths by pod."""
        def milli(text):
            return int(text[:-1]) if text.endswith("m") else int(text) * 1000
        return {item["describedObject"]["name"]: milli(item["value"])
                for item in self.metric_list()["items"]}

    def expect_young(self, count):
        """Ages of samples in answers. Timestamps are cut to whole seconds and kubectl takes its
        time, so that an age is between these two bounds."""
        least, most = 0.0, 0.0
        for _ in range(count):
            asked = time.time()
            items = self.metric_list()["items"]
            answered = time.time()
            for item in items:
                taken = calendar.timegm(time.strptime(item["timestamp"], "%Y-%m-%dT%H:%M:%SZ"))
                least = max(least, asked - (taken + 1))
                most = max(most, answered - taken)
        print(f"         oldest sample: between {least:.1f} and {most:.1f} s", flush=True)
        if least > 1.5:
            raise Failure(f"a sample was more than {least:.1f} s old")

    def heal(self):
        cluster = self.cluster
        uid = self.hpa()["metadata"]["uid"]
        self.kubectl("delete", "hpa", "smollm2")
        cluster.await_true(90, "the HPA is made anew",
                           lambda: (self.hpa() or {"metadata": {"uid": uid}})["metadata"]["uid"]
                           != uid)
        self.kubectl("patch", "hpa", "smollm2", "--type=merge", "-p",
                     '{"spec": {"maxReplicas": 99}}')
        cluster.await_true(90, "the HPA is as it was",
                           lambda: self.hpa()["spec"]["maxReplicas"] == 3)


def main():
    with RealCluster("--proxy", "--hpa-sync", f"{SYNC}s") as cluster:
        Autoscale(cluster).all_steps(sys.argv[1:])
    print("e2e autoscale passed", flush=True)


if __name__ == "__main__":
    main()
