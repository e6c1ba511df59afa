#!/usr/bin/env python3
"""How many ModelServings one operator carries: a real API server, fake nodes, N objects at once.

usage: tests/cluster/scale.py [--objects 2000] [--namespaces N] [--limit-s 150] [--replicas 1]
                              [--operator PROGRAM]
Objects are spread over 100 namespaces unless told otherwise, as in KubeRay's benchmark (its
perf-tests/10000-raycluster): Kubernetes' own controllers hold every pod against every Service and
disruption budget of its namespace, so that one namespace of thousands measures them. Starts a
cluster with kwok, applies the objects, waits until all report Available, and prints JSON: seconds
from the first apply, the operator's processor time per object, its memory, its writes and Events
per object, how long the last Events took, and, after a minute of rest, how many objects still are
Available and how much was done. Exit status 1 when a limit is missed.
"""

import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

from api_access import SERVINGS, Api, Refused

ROOT = pathlib.Path(__file__).resolve().parents[2]
EVERYWHERE = SERVINGS + "/modelservings"
PATH = SERVINGS + "/namespaces/{}/modelservings"
NAMESPACE_PATH = "/api/v1/namespaces"


def body_of(index, replicas):
    return {
        "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
        "metadata": {"name": f"ms-{index}"},
        "spec": {"model": {"source": {"hostPath": "/models/m.gguf"}}, "replicas": replicas,
                 "resources": {"cpu": "10m", "memory": "16Mi"}},
    }


class AvailableCounter(threading.Thread):
    """Counts, from one watch, the objects whose Available condition is True."""

    def __init__(self, api):
        super().__init__(daemon=True)
        self.api = api
        self.available = set()
        self.seen_at = {}
        self.events = 0

    def run(self):
        version = "0"
        while True:
            try:
                version = self.follow(version)
            except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
                print(f"scale: the watch ended: {error!r}", file=sys.stderr)
                version = "0"
                time.sleep(0.2)

    def follow(self, version):
        connection = http.client.HTTPSConnection(self.api.host, self.api.port, timeout=300,
                                                 context=self.api.context)
        connection.request("GET", EVERYWHERE +
                           f"?watch=1&allowWatchBookmarks=1&resourceVersion={version}")
        for line in connection.getresponse():
            event = json.loads(line)
            if event.get("type", "ERROR") == "ERROR":
                raise ValueError(event)
            version = event["object"]["metadata"]["resourceVersion"]
            if event["type"] == "BOOKMARK":
                continue
            self.events += 1
            self.note(event)
        return version

    def note(self, event):
        item = event["object"]
        name = item["metadata"]["namespace"], item["metadata"]["name"]
        status = item.get("status", {})
        is_available = event["type"] != "DELETED" and any(
            c["type"] == "Available" and c["status"] == "True"
            for c in status.get("conditions", []))
        if is_available:
            self.available.add(name)
            self.seen_at.setdefault(name, time.monotonic())
        else:
            self.available.discard(name)


def process_facts(pid):
    ticks = os.sysconf("SC_CLK_TCK")
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    def kib(key):
        return int(re.search(rf"{key}:\s+(\d+)", status).group(1))
    return {"cpu_s": (int(fields[11]) + int(fields[12])) / ticks,
            "rss_mib": kib("VmRSS") / 1024, "peak_mib": kib("VmHWM") / 1024}


def scrape(port):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", "/metrics")
    return connection.getresponse().read().decode()


def metric(port, name):
    match = re.search(rf"^{name} (\S+)$", scrape(port), re.MULTILINE)
    return float(match.group(1)) if match else 0.0


def total(writes, *left_out):
    return sum(count for name, count in writes.items()
               if not any(f" {plural} " in name for plural in left_out))


def writes_of(port):
    writes = {}
    for line in scrape(port).splitlines():
        match = re.match(r'kantha_operator_api_requests_total\{(.*)\} (\S+)', line)
        if not match:
            continue
        labels = dict(re.findall(r'(\w+)="([^"]*)"', match.group(1)))
        if labels["verb"] in ("create", "apply", "patch", "update", "delete"):
            key = f'{labels["verb"]} {labels["resource"]} {labels["code"]}'
            writes[key] = writes.get(key, 0) + float(match.group(2))
    return writes


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def quantile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))] if values else None


class Run:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.TemporaryDirectory(prefix="ks-", dir="/tmp")
        self.run = pathlib.Path(self.folder.name) / "run"
        self.operator = None

    def __enter__(self):
        nodes = str(max(2, self.options.objects * self.options.replicas // 90 + 1))
        subprocess.run([ROOT / "scripts/cluster", "up", "--kwok", nodes, "--run", self.run],
                       check=True, stdout=subprocess.DEVNULL, timeout=300)
        try:
            self.prepare()
        except BaseException:
            self.__exit__()
            raise
        return self

    def prepare(self):
        self.api = Api(self.run)
        self.kubectl("apply", "--server-side", "-f", str(ROOT / "crds"))
        self.kubectl("wait", "--for=condition=Established",
                     "crd/modelservings.serving.kantha.dev", "--timeout=30s")
        self.wait_for_kind()

    def wait_for_kind(self):
        """The API server prepares the storage of a new kind for some seconds."""
        for _ in range(100):
            try:
                return self.api.call("GET", PATH.format("default"))
            except Refused:
                time.sleep(0.2)
        raise RuntimeError("the kind is not served")

    def __exit__(self, *_):
        if self.operator is not None and self.operator.poll() is None:
            self.operator.send_signal(signal.SIGTERM)
            try:
                self.operator.wait(30)
            except subprocess.TimeoutExpired:
                self.operator.kill()
        subprocess.run([ROOT / "scripts/cluster", "down", "--run", self.run], check=False,
                       timeout=120)
        self.folder.cleanup()

    def kubectl(self, *arguments):
        subprocess.run(["bash", "-c", f'. "{self.run}/env" && exec kubectl "$@"', "-", *arguments],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)

    def start_operator(self):
        self.port = free_port()
        self.log = open(self.options.log, "wb") if self.options.log else subprocess.DEVNULL
        self.operator = subprocess.Popen(
            [self.options.operator, f"--kubeconfig={self.run}/kubeconfig", "--leader-elect",
             "--lease-namespace=default", f"--listen=127.0.0.1:{self.port}",
             "--noded-image=example.com/noded:1", "--engine-image=example.com/engine:1",
             "--qps=2000", "--burst=2000", f"--workers={self.options.workers}",
             f"--transport={self.options.transport}"],
            stdout=self.log, stderr=self.log)

    def make_namespaces(self):
        for index in range(self.options.namespaces):
            self.api.call("POST", NAMESPACE_PATH, {
                "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": f"scale-{index}"}})

    def apply_all(self):
        def apply(index):
            path = PATH.format(f"scale-{index % self.options.namespaces}")
            name = f"/ms-{index}?fieldManager=scale&force=true"
            self.api.call("PATCH", path + name, body_of(index, self.options.replicas),
                          "application/apply-patch+yaml")
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(apply, range(self.options.objects)))

    def measure(self):
        counter = AvailableCounter(self.api)
        counter.start()
        self.make_namespaces()
        self.start_operator()
        time.sleep(3)
        begun = time.monotonic()
        before = process_facts(self.operator.pid)
        applier = threading.Thread(target=self.apply_all, daemon=True)
        applier.start()
        deadline = begun + self.options.limit_s * 3
        told = 0
        while len(counter.available) < self.options.objects and time.monotonic() < deadline:
            if self.operator.poll() is not None:
                raise RuntimeError(f"the operator ended with {self.operator.returncode}")
            time.sleep(0.25)
            if time.monotonic() - told > 10:
                told = time.monotonic()
                print(f"scale: {len(counter.available)} of {self.options.objects} available after "
                      f"{told - begun:.0f} s", file=sys.stderr)
        elapsed = time.monotonic() - begun
        after = process_facts(self.operator.pid)
        return self.report(counter, elapsed, before, after)

    def wait_for_events(self):
        """Seconds until no Event waits to be written."""
        begun = time.monotonic()
        while metric(self.port, "kantha_operator_events_queued") > 0:
            if time.monotonic() - begun > 120:
                break
            time.sleep(0.25)
        time.sleep(1)  # those in flight
        return round(time.monotonic() - begun, 1)

    def report(self, counter, elapsed, before, after):
        objects = self.options.objects
        events_after_s = self.wait_for_events()
        writes = writes_of(self.port)
        events = sum(count for name, count in writes.items() if " events " in name)
        rest_before = process_facts(self.operator.pid)
        time.sleep(self.options.rest_s)
        rest_after = process_facts(self.operator.pid)
        writes_after = total(writes_of(self.port), "leases")
        return {
            "objects": objects, "namespaces": self.options.namespaces,
            "available": len(counter.available),
            "seconds": round(elapsed, 1),
            "cpu_ms_per_object": round((after["cpu_s"] - before["cpu_s"]) * 1000 / objects, 2),
            "rss_mib": round(after["rss_mib"], 1), "peak_mib": round(after["peak_mib"], 1),
            "writes_per_object": round(total(writes, "leases", "events") / objects, 2),
            "events_per_object": round(events / objects, 2), "events_after_s": events_after_s,
            "events_dropped": metric(self.port, "kantha_operator_events_dropped_total"),
            "writes": {k: v for k, v in sorted(writes.items())},
            "rest": {"seconds": self.options.rest_s,
                     "writes": writes_after - total(writes, "leases"),
                     "cpu_share": round((rest_after["cpu_s"] - rest_before["cpu_s"]) /
                                        self.options.rest_s, 4)},
        }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=2000)
    parser.add_argument("--replicas", type=int, default=1)
    parser.add_argument("--namespaces", type=int, default=100)
    parser.add_argument("--limit-s", type=float, default=150)
    parser.add_argument("--limit-cpu-ms", type=float, default=5)
    parser.add_argument("--limit-mib", type=float, default=200)
    parser.add_argument("--rest-s", type=float, default=60)
    parser.add_argument("--workers", type=int, default=16)
    parser.add_argument("--transport", default="cpprest", choices=["cpprest", "beast"])
    parser.add_argument("--log", default="")
    parser.add_argument("--operator", default=str(ROOT / "build/release/bin/kantha-operator"))
    options = parser.parse_args()
    with Run(options) as run:
        report = run.measure()
    print(json.dumps(report, indent=1))
    missed = [text for text, bad in (
        (f"{report['available']} of {options.objects} available",
         report["available"] < options.objects),
        (f"{report['seconds']} s, limit {options.limit_s}", report["seconds"] > options.limit_s),
        (f"{report['cpu_ms_per_object']} ms of processor per object, limit {options.limit_cpu_ms}",
         report["cpu_ms_per_object"] > options.limit_cpu_ms),
        (f"{report['peak_mib']} MiB, limit {options.limit_mib}",
         report["peak_mib"] > options.limit_mib),
        (f"{report['rest']['writes']} writes at rest", report["rest"]["writes"] > 0),
    ) if bad]
    for text in missed:
        print("scale: missed:", text, file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
