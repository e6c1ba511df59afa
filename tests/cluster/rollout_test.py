#!/usr/bin/env python3
"""Rollouts in rings on a real Kubernetes with a real node whose accelerators are all in use.

Builds that crash, that are slow and that answer wrong are stopped on the first pod and go back by
themselves, in place, under load; a good build gets everywhere. The engines are
tests/e2e/scripted_engine.py in images of its own. Run by `scripts/e2e rollout` and by ctest as
e2e_cluster_rollout. Ends with 77 where no node can run.
"""

import json
import subprocess
import sys
import threading
import time
import zlib
from datetime import datetime

from python_image import script_images
from real_cluster import ROOT, Failure, RealCluster, Step

sys.path.insert(0, str(ROOT / "tests/e2e"))
from stream_load import Load  # noqa: E402, pylint: disable=wrong-import-position

ENGINE = ROOT / "tests/e2e/scripted_engine.py"
MODULES = ("contextlib, hashlib, http.server, json, pathlib, signal, socketserver, threading, "
           "time, zlib")
BUILDS = ("good", "crash_at_start", "slow", "wrong", "good2")
ACCELERATOR = "example.com/gpu"
REPLICAS = 2
BREACH_LIMIT_S = 30


def golden_set():
    prompts = [{"prompt": text, "max_tokens": 6,
                "token_ids": [zlib.crc32(f"{text}/{i}".encode()) % 1000 for i in range(6)]}
               for text in ("Once upon", "2 + 2 =")]
    return json.dumps({"timeout_seconds": 10, "prompts": prompts})


def serving():
    return {
        "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
        "metadata": {"name": "rings"},
        "spec": {
            "model": {"name": "m", "source": {
                "hostPath": "/var/lib/kantha/models/SmolLM2-135M-Instruct.Q4_1.gguf"}},
            "engine": {"image": image_of("good")},
            "replicas": REPLICAS,
            "resources": {"cpu": "50m", "memory": "128Mi",
                          "accelerator": {"resourceName": ACCELERATOR, "count": 1}},
            "drain": {"timeoutSeconds": 10},
            "rollout": {
                "rings": [{"name": "canary", "size": 1}, {"name": "all", "size": "100%"}],
                "bake": {"seconds": 2, "minRequests": 120},
                "gates": {"maxErrorRatio": 0.02, "maxTtftP95Ratio": 1.15, "maxItlP95Ratio": 1.15,
                          "goldenPrompts": {"configMap": "golden"}},
                "progressDeadlineSeconds": 60}}}


def image_of(build):
    return f"localhost/engine-{build}:dev"


class Pods(threading.Thread):
    """Follows the pods' engines: the most that ran each image at once, when the first pod was told
    it, when it crashed first, and when the first pod was told to leave it."""

    def __init__(self, cluster):
        super().__init__(daemon=True)
        self.cluster = cluster
        self.ended = threading.Event()
        self.told = {}
        self.most = {}
        self.begun = {}
        self.failed = {}
        self.left = {}
        self.uids = {}
        self.watch = None
        self.start()

    def run(self):
        self.watch = subprocess.Popen(
            ["kubectl", "get", "pods", "-w", "-o", "json", "-l", "serving.kantha.dev/name=rings"],
            stdout=subprocess.PIPE, text=True, env=self.cluster.environment)
        decoder, text = json.JSONDecoder(), ""
        for line in self.watch.stdout:
            text += line
            if line.rstrip() != "}":
                continue
            pod, _ = decoder.raw_decode(text)
            text = ""
            self.see(pod)

    def see(self, pod):
        name, now = pod["metadata"]["name"], time.time()
        image = next(c["image"] for c in pod["spec"]["containers"] if c["name"] == "engine")
        before = self.told.get(name)
        if before and before != image:
            self.left.setdefault(before, now)
        self.told[name] = image
        self.begun.setdefault(image, now)
        self.uids.setdefault(name, set()).add(pod["metadata"]["uid"])
        for told in set(self.told.values()):
            count = sum(other == told for other in self.told.values())
            self.most[told] = max(self.most.get(told, 0), count)
        for status in pod["status"].get("containerStatuses", []):
            if status["name"] == "engine":
                self.see_engine(status)

    def see_engine(self, status):
        image = status["image"]
        for state in (status["state"], status.get("lastState", {})):
            end = state.get("terminated")
            if end and end["exitCode"] == 1 and "crash" in image:
                self.failed.setdefault(image, datetime.fromisoformat(end["finishedAt"]).timestamp())

    def close(self):
        self.watch.terminate()
        self.join(10)


class Rollouts:

    def __init__(self, cluster):
        self.cluster = cluster
        self.kubectl = cluster.kubectl
        self.load = self.pods = None

    def all_steps(self, programs):
        with Step("images made and imported"):
            self.cluster.bring_images(programs)
            self.cluster.bring_models()
            self.bring_builds()
        with Step("charts installed; the node has two accelerators"):
            self.cluster.install_charts()
            self.set_accelerators(REPLICAS)
        with Step("the first build runs on both of them"):
            self.kubectl("create", "configmap", "golden", f"--from-literal=prompts.json={golden_set()}")
            self.kubectl("apply", "-f", "-", given=json.dumps(serving()))
            self.await_phase("Done", 120)
        self.pods = Pods(self.cluster)
        self.load = Load(80, clients=4, host=self.address())
        try:
            self.bad_build("crash_at_start", "fails")
            self.bad_build("wrong", "golden prompt 1: expected [")
            self.bad_build("slow", "ratio")
            self.good_build("good2")
            self.absent_build("absent", good="good2")
        finally:
            self.load.end()
            self.pods.close()
        with Step(f"{self.load.whole} streams: none cut"):
            self.check_streams()

    def bring_builds(self):
        archives = script_images(ENGINE, MODULES, [f"engine-{build}" for build in BUILDS],
                                 self.cluster.run)
        for archive in archives.values():
            subprocess.run(["ctr", "-a", self.cluster.run / "containerd.sock", "-n", "k8s.io",
                            "images", "import", archive], check=True, stdout=subprocess.DEVNULL)
            archive.unlink()

    def set_accelerators(self, count):
        path = "/status/{}/" + ACCELERATOR.replace("/", "~1")
        self.kubectl("patch", "node", "node-1", "--subresource=status", "--type=json", "-p",
                     json.dumps([{"op": "add", "path": path.format(kind), "value": str(count)}
                                 for kind in ("capacity", "allocatable")]))

    def address(self):
        return self.kubectl("get", "service", "rings", "-o", "jsonpath={.spec.clusterIP}")

    def status(self):
        text = self.kubectl("get", "kms", "rings", "-o", "json")
        return json.loads(text).get("status", {}).get("rollout", {})

    def await_phase(self, phase, seconds):
        last = {}

        def reached():
            last.update(self.status())
            return last.get("phase") == phase and last

        try:
            return self.cluster.await_true(seconds, f"phase {phase}", reached)
        except Failure as failure:
            raise Failure(f"{failure}: {last}") from failure

    def set_image(self, build):
        self.kubectl("patch", "kms", "rings", "--type=merge", "-p", json.dumps(
            {"spec": {"engine": {"image": image_of(build)}}}))

    def bad_build(self, build, message, good="good"):
        image = image_of(build)
        with Step(f"{build}: stopped in the first ring, and back"):
            whole = self.load.whole
            self.set_image(build)
            self.await_target_phase("RolledBack", 90)
            status = self.status()
            if message not in status["message"] or status["verdict"] != "Fail":
                raise Failure(f"{build} went back with {status}, expected {message!r}")
            self.await_whole(image_of(good))
            if self.pods.most.get(image) != 1:
                raise Failure(f"{self.pods.most.get(image)} pods were told {image}, expected 1")
            if self.load.whole - whole < 20:
                raise Failure(f"only {self.load.whole - whole} streams in the meantime")
        # A build that does not crash does wrong from its start on, soon after a pod was told.
        begun = self.pods.failed.get(image) or self.pods.begun[image]
        seconds = self.pods.left[image] - begun
        what = "its first crash" if image in self.pods.failed else "the first pod that was told it"
        print(f"         {build}: {seconds:.1f} s from {what} to the first pod told to go back",
              flush=True)
        if seconds > BREACH_LIMIT_S:
            raise Failure(f"{build} went back only {seconds:.1f} s after {what}")

    def absent_build(self, build, good):
        """Its image is on no node: the pods serve on, and none is told of it."""
        with Step(f"{build}: no pod is touched"):
            self.set_image(build)
            self.await_target_phase("RolledBack", 60)
            status = self.status()
            if "ErrImageNeverPull" not in status["message"]:
                raise Failure(f"{build} went back with {status}")
            self.await_whole(image_of(good))
            if image_of(build) in self.pods.begun:
                raise Failure(f"a pod was told {image_of(build)}")
            self.cluster.await_true(30, "no pod pulls images any more", lambda: not
                                    self.cluster.objects("pods", "-l", "serving.kantha.dev/role=pull"))

    def await_target_phase(self, phase, seconds):
        """The phase, of the rollout that has just begun."""
        generation = json.loads(self.kubectl("get", "kms", "rings", "-o", "json"))

        def reached():
            seen = json.loads(self.kubectl("get", "kms", "rings", "-o", "json"))["status"]
            return (seen.get("observedGeneration") == generation["metadata"]["generation"] and
                    seen["rollout"]["phase"] == phase and
                    seen["rollout"]["target"].startswith(seen["targetRevision"]))

        self.cluster.await_true(seconds, f"phase {phase}", reached)

    def good_build(self, build):
        with Step(f"{build} gets everywhere"):
            self.set_image(build)
            self.await_target_phase("Done", 120)
            self.await_whole(image_of(build))

    def await_whole(self, image):
        def whole():
            pods = self.cluster.objects("pods", "-l", "serving.kantha.dev/name=rings")
            engines = [next(s for s in pod["status"]["containerStatuses"] if s["name"] == "engine")
                       for pod in pods]
            return len(pods) == REPLICAS and all(
                engine["ready"] and engine["image"] == image for engine in engines)

        self.cluster.await_true(60, f"both pods run {image}", whole)

    def check_streams(self):
        load = self.load
        print(f"         {load.cut} cut, {load.refused} refused, {load.wrong} with another text",
              flush=True)
        if load.cut or load.whole < 200:
            raise Failure(f"{load.cut} streams cut, {load.whole} whole: {load.problems[:3]}")
        if load.refused:
            raise Failure(f"{load.refused} requests refused: {load.problems[:3]}")
        if any(len(uids) > 1 for uids in self.pods.uids.values()):
            raise Failure(f"pods were replaced, though no accelerator is free: {self.pods.uids}")
        # Events are written beside the passes, the last ones a moment after the phase.
        wanted = {"RolloutFailed", "RolledBack", "RingPassed", "RolloutDone", "RolledOut"}
        self.cluster.await_true(20, f"Events {sorted(wanted)}", lambda: wanted <= self.events())

    def events(self):
        return set(self.kubectl("get", "events", "-o", "jsonpath={.items[*].reason}").split())


def main():
    with RealCluster("--proxy") as cluster:
        Rollouts(cluster).all_steps(sys.argv[1:])
    print("e2e rollout passed", flush=True)


if __name__ == "__main__":
    main()
