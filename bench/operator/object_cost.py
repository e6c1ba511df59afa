#!/usr/bin/env python3
"""What the operator itself pays for one object, without a cluster: the fake API server, and this
script as users, scheduler, kubelet and disruption controller.

usage: bench/operator/object_cost.py [--objects 500] [--bin build/release/bin]
                                     [--server build/dev/bin/kantha-fake-api-server]
                                     [--limit-passes N] [--limit-writes N]

Prints JSON: processor time from the first apply to all Available, for each object; passes, watch
events and writes of each; memory; and what a while of rest costs. The operator's processor time
does not depend on what else runs, so that a change shows on a busy machine, too; plain HTTP and one
connection's worth of latency make it less than on a real cluster (tests/cluster/scale.py).
"""

import argparse
import http.client
import json
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
SERVINGS = "/apis/serving.kantha.dev/v1alpha1"
MERGE = "application/merge-patch+json"


class Api:
    """One connection to the fake server; of one thread."""

    def __init__(self, address):
        self.address = address
        self.connection = http.client.HTTPConnection(address, timeout=60)

    def ask(self, method, path, body=None, content="application/json"):
        text = json.dumps(body) if body is not None else None
        self.connection.request(method, path, text, {"Content-Type": content,
                                                     "User-Agent": "cluster/1"})
        answer = self.connection.getresponse()
        return answer.status, answer.read()

    def watch(self, path):
        connection = http.client.HTTPConnection(self.address, timeout=600)
        connection.request("GET", path + "?watch=1&resourceVersion=0",
                           headers={"User-Agent": "cluster/1"})
        return connection.getresponse()


def running(pod):
    containers = [{"name": c["name"], "image": c["image"], "imageID": "example.com/i@sha256:" +
                   "a" * 64, "ready": True, "restartCount": 0, "started": True,
                   "state": {"running": {"startedAt": "2026-11-30T00:00:00Z"}}}
                  for c in pod["spec"]["containers"]]
    conditions = [{"type": t, "status": "True", "lastTransitionTime": "2026-11-30T00:00:00Z"}
                  for t in ("Initialized", "Ready", "ContainersReady", "PodScheduled")]
    return {"phase": "Running", "podIP": "10.0.0.7", "hostIP": "10.0.0.1",
            "podIPs": [{"ip": "10.0.0.7"}], "startTime": "2026-11-30T00:00:00Z",
            "containerStatuses": containers, "conditions": conditions}


class Cluster(threading.Thread):
    """Everything that writes beside the operator."""

    def __init__(self, address):
        super().__init__(daemon=True)
        self.address = address

    def budget(self, api, meta, healthy):
        name = meta["labels"]["serving.kantha.dev/name"]
        api.ask("PATCH", f"/apis/policy/v1/namespaces/{meta['namespace']}/poddisruptionbudgets/"
                f"{name}/status", {"status": {"currentHealthy": healthy, "desiredHealthy": 0,
                                              "expectedPods": 1, "disruptionsAllowed": healthy,
                                              "observedGeneration": 1}}, MERGE)

    def run(self):
        api = Api(self.address)
        for line in api.watch("/api/v1/pods"):
            event = json.loads(line)
            if event["type"] != "ADDED":
                continue
            pod = event["object"]
            meta = pod["metadata"]
            path = f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"
            self.budget(api, meta, 0)
            api.ask("PATCH", path, {"spec": {"nodeName": "node-0"}}, MERGE)
            api.ask("PATCH", path + "/status", {"status": running(pod)}, MERGE)
            self.budget(api, meta, 1)


class Available(threading.Thread):
    def __init__(self, address):
        super().__init__(daemon=True)
        self.address = address
        self.names = set()

    def run(self):
        for line in Api(self.address).watch(SERVINGS + "/modelservings"):
            event = json.loads(line)
            if event["type"] not in ("ADDED", "MODIFIED"):
                continue
            item = event["object"]
            if any(c["type"] == "Available" and c["status"] == "True"
                   for c in item.get("status", {}).get("conditions", [])):
                self.names.add((item["metadata"]["namespace"], item["metadata"]["name"]))


def processor_ms(pid):
    return sum(int(task.read_text().split()[0])
               for task in pathlib.Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e6


def memory_mib(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return {key: int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 1024
            for key, name in (("rss_mib", "VmRSS"), ("peak_mib", "VmHWM"))}


def metrics_of(address):
    """Sums of the operator's counters, over all labels."""
    api = Api(address)
    out = {}
    for line in api.ask("GET", "/metrics")[1].decode().splitlines():
        match = re.match(r"(kantha_operator_\w+)(\{.*\})? (\S+)$", line)
        if match and "_bucket" not in match.group(1):
            out[match.group(1)] = out.get(match.group(1), 0) + float(match.group(3))
    return out


def start(command, log):
    return subprocess.Popen([str(part) for part in command], stdout=log, stderr=log)


def said(path, pattern, seconds=30):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        match = re.search(pattern, path.read_text())
        if match:
            return match.group(1)
        time.sleep(0.02)
    raise RuntimeError(f"{path.name}: nothing like {pattern}")


def create_all(address, options):
    api = Api(address)
    for index in range(options.objects):
        name = f"scale-{index % options.namespaces}"
        status, text = api.ask("POST", f"{SERVINGS}/namespaces/{name}/modelservings", {
            "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
            "metadata": {"name": f"ms-{index}"},
            "spec": {"model": {"source": {"hostPath": "/models/m.gguf"}}, "replicas": 1,
                     "resources": {"cpu": "10m", "memory": "16Mi"}}})
        if status != 201:
            raise RuntimeError(text[:500])


def rest(pid, pages, seconds):
    before, counts = processor_ms(pid), metrics_of(pages)
    after_scrape = processor_ms(pid)
    time.sleep(seconds)
    spent = processor_ms(pid) - after_scrape
    later = metrics_of(pages)
    changed = {key: later[key] - counts.get(key, 0) for key in later
               if later[key] != counts.get(key, 0) and key.endswith("_total")}
    return {"seconds": seconds, "cpu_share": round(spent / 1000 / seconds, 5),
            "scrape_ms": round(after_scrape - before, 1), "counted": changed}


def measure(options, folder):
    logs = {name: folder / f"{name}.log" for name in ("server", "operator")}
    server = start([options.server, "127.0.0.1:0"], open(logs["server"], "wb"))
    address = said(logs["server"], r"listening on (\S+)")
    api = Api(address)
    for index in range(options.namespaces):
        api.ask("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                               "metadata": {"name": f"scale-{index}"}})
    config = folder / "kubeconfig"
    config.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": f"http://{address}"}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
    operator = start([*options.under.split(), options.bin / "kantha-operator", "--kubeconfig",
                      config, "--listen", "127.0.0.1:0", "--noded-image", "example.com/noded:1",
                      "--engine-image", "example.com/engine:1", "--qps", "5000", "--burst", "5000",
                      "--transport", options.transport, "--workers", "16",
                      *(f"--namespace=scale-{i}" for i in range(options.namespaces)
                        if options.watch_each)],
                     open(logs["operator"], "wb"))
    try:
        pages = said(logs["operator"], r'pages are served.*?listen\W+([\d.]+:\d+)')
        said(logs["operator"], r"(the cluster is in view)")
        available = Available(address)
        Cluster(address).start()
        available.start()
        time.sleep(0.5)
        empty = memory_mib(operator.pid)["rss_mib"]
        before, begun = processor_ms(operator.pid), time.monotonic()
        create_all(address, options)
        while len(available.names) < options.objects:
            if operator.poll() is not None or time.monotonic() - begun > options.limit_s:
                raise RuntimeError(f"{len(available.names)} available")
            time.sleep(0.02)
        spent, elapsed = processor_ms(operator.pid) - before, time.monotonic() - begun
        time.sleep(3)
        settled = processor_ms(operator.pid) - before
        counts = metrics_of(pages)
        memory = memory_mib(operator.pid)
        each = {key.removeprefix("kantha_operator_"): round(counts[key] / options.objects, 2)
                for key in sorted(counts)
                if key.endswith("_total") or key.endswith("reconcile_seconds_count")}
        return {"objects": options.objects, "seconds": round(elapsed, 2),
                "cpu_ms_per_object": round(spent / options.objects, 3),
                "cpu_ms_per_object_settled": round(settled / options.objects, 3),
                "empty_mib": round(empty, 1), **{k: round(v, 1) for k, v in memory.items()},
                "kib_per_object": round((memory["rss_mib"] - empty) * 1024 / options.objects, 1),
                "each": {k: v for k, v in each.items() if v},
                "rest": rest(operator.pid, pages, options.rest_s)}
    finally:
        for process in (operator, server):
            process.send_signal(signal.SIGTERM)
        for process in (operator, server):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=500)
    parser.add_argument("--namespaces", type=int, default=10)
    parser.add_argument("--watch-each", action="store_true",
                        help="watches of its own for each namespace")
    parser.add_argument("--rest-s", type=float, default=10)
    parser.add_argument("--limit-s", type=float, default=300)
    parser.add_argument("--transport", default="beast", choices=["cpprest", "beast"])
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    parser.add_argument("--server", type=pathlib.Path,
                        default=ROOT / "build/dev/bin/kantha-fake-api-server")
    parser.add_argument("--limit-passes", type=float, help="fail with more of each object")
    parser.add_argument("--limit-writes", type=float, help="the same of writes, Events left out")
    parser.add_argument("--under", default="", help="a program to run the operator under")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="oc-", dir="/tmp") as folder:
        report = measure(options, pathlib.Path(folder))
    print(json.dumps(report, indent=1))
    missed = [f"{report['each'].get(key, 0)} {key} of each object, limit {limit}"
              for key, limit in (("reconcile_total", options.limit_passes),
                                 ("writes_total", options.limit_writes))
              if limit is not None and report["each"].get(key, 0) > limit]
    if report["rest"]["counted"].get("kantha_operator_writes_total", 0) > 0:
        missed.append("writes at rest")
    for text in missed:
        print("object_cost: missed:", text, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
