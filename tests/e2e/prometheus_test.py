#!/usr/bin/env python3
"""What the examples and the chart ask of Prometheus, asked of a real one that scrapes real pods.

Two pods of one ModelServing and one of another, each a kantha-noded with its kantha-engine, scraped
with the labels that the chart's PodMonitor gives. A query of a later example or dashboard needs a
line in QUERIES, or is found by itself in helm/kantha/files.
"""

import json
import pathlib
import re
import socket
import subprocess
import tempfile
import threading
import unittest
import urllib.parse
import urllib.request

import yaml

from local_world import wait_for
from pod import Pod

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART_FILES = ROOT / "helm/kantha/files"
TARGET = "serving_kantha_dev_name"  # as podTargetLabels gives it
SMOLLM2 = f'{{namespace="default", {TARGET}="smollm2"}}'
# Series of programs that run here; a query that names others can only be parsed.
SCRAPED = re.compile(r"(?:vllm:|kantha_(?!operator_))[a-z_:]+")

# Queries that must have a value while the pods serve: by what a person would watch.
QUERIES = {
    "pressure of a pod": f"kantha_kv_pressure{SMOLLM2}",
    "pressure of a fleet": f"avg(kantha_kv_pressure{SMOLLM2})",
    "KV occupancy under vLLM's name": f"avg(vllm:kv_cache_usage_perc{SMOLLM2})",
    "requests that run": f"sum(vllm:num_requests_running{SMOLLM2})",
    "requests that wait": f"sum(vllm:num_requests_waiting{SMOLLM2})",
    "tokens a second": f"sum(rate(vllm:generation_tokens_total{SMOLLM2}[1m]))",
    "p99 of the first token":
        "histogram_quantile(0.99, sum by (le) "
        f"(rate(vllm:time_to_first_token_seconds_bucket{SMOLLM2}[1m])))",
    "prefix hits":
        f"sum(rate(vllm:prefix_cache_hits_total{SMOLLM2}[1m])) / "
        f"sum(rate(vllm:prefix_cache_queries_total{SMOLLM2}[1m]))",
    "answers of the door": f"sum by (code) (rate(kantha_noded_answers_total{SMOLLM2}[1m]))",
    "pods that may be used": f"sum(kantha_noded_engine_ready{SMOLLM2})",
}


class Prometheus:
    """A Prometheus on loopback that scrapes {(pod, ModelServing): (host, port)} each second."""

    def __init__(self, targets):
        folder = subprocess.run([str(ROOT / "scripts/prometheus")], stdout=subprocess.PIPE,
                                text=True, check=True, timeout=300).stdout.strip()
        self.promtool = f"{folder}/promtool"
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-prom-")
        path = pathlib.Path(self.folder.name)
        (path / "prometheus.yml").write_text(json.dumps({
            "global": {"scrape_interval": "1s"},
            "scrape_configs": [{"job_name": "models", "static_configs": [
                {"targets": [f"{host}:{port}"],
                 "labels": {"namespace": "default", "pod": pod, TARGET: serving}}
                for (pod, serving), (host, port) in targets.items()]}]}))
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = path / "log"
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(  # pylint: disable=consider-using-with
                [f"{folder}/prometheus", f"--config.file={path}/prometheus.yml",
                 f"--storage.tsdb.path={path}/data", f"--web.listen-address={self.address}",
                 "--log.level=warn"], stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT)
        wait_for(self.is_ready, 60, lambda: self.log.read_text(errors="replace"))

    def is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False

    def ask(self, path, **parameters):
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]

    def query(self, text):
        """[(labels, value)], as an instant query has them now."""
        found = self.ask("query", query=text)["result"]
        return [(one["metric"], float(one["value"][1])) for one in found]

    def close(self):
        self.process.kill()
        self.process.wait(10)
        self.folder.cleanup()


class Streams:
    """Clients that keep a pod busy."""

    def __init__(self, pod, clients=6):
        self.pod, self.stopping = pod, threading.Event()
        self.threads = [threading.Thread(target=self.run, args=(i,)) for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        while not self.stopping.is_set():
            self.pod.complete(f"{number}. Once upon a time, in a wood by a river,", max_tokens=96,
                              ignore_eos=True)

    def close(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join(60)


def adapter_query(rule, group_by, matchers):
    """A metricsQuery as prometheus-adapter fills it in."""
    series = re.match(r"[\w:]+", rule["seriesQuery"])[0]
    return (rule["metricsQuery"].replace("<<.Series>>", series)
            .replace("<<.LabelMatchers>>", matchers).replace("<<.GroupBy>>", group_by))


def dashboard_queries():
    """(where, query) of each panel of the chart's dashboards, variables filled in."""
    for path in sorted(CHART_FILES.glob("*dashboard*.json")):
        for panel in json.loads(path.read_text()).get("panels", []):
            for target in panel.get("targets", []):
                text = target["expr"].replace("$__rate_interval", "1m").replace("$__range", "1h")
                yield f"{path.name}: {panel['title']}", re.sub(r"\$\{?\w+\}?", ".*", text)


class PrometheusTest(unittest.TestCase):
    """In the order of the names: the last one ends a pod."""

    @classmethod
    def setUpClass(cls):
        cls.pods = {("smollm2-0", "smollm2"): Pod(), ("smollm2-1", "smollm2"): Pod(),
                    ("other-0", "other"): Pod()}
        for pod in cls.pods.values():
            cls.addClassCleanup(pod.__exit__)
            pod.write_source(pod.config(kvCacheMemory="12Mi", maxModelLen=256, maxNumSeqs=4))
            pod.start_noded().start_engine()
        for pod in cls.pods.values():
            pod.wait_ready()
        cls.prometheus = Prometheus(
            {name: pod.admin_address for name, pod in cls.pods.items()})
        cls.addClassCleanup(cls.prometheus.close)
        cls.load = Streams(cls.pods[("smollm2-0", "smollm2")])
        cls.addClassCleanup(cls.load.close)

    def value_of(self, query, condition=lambda value: True):
        """The one value of it, once it is as it should be."""
        def found():
            result = self.prometheus.query(query)
            return len(result) == 1 and condition(result[0][1]) and result
        return wait_for(found, 60, lambda: f"{query}: {self.prometheus.query(query)}")[0][1]

    def test_1_every_watched_query_has_a_value(self):
        for what, query in QUERIES.items():
            with self.subTest(what=what):
                wait_for(lambda q=query: all(value == value for _, value in self.prometheus.query(q))
                         and self.prometheus.query(q), 20, query)
        names = {labels["pod"] for labels, _ in self.prometheus.query(f"kantha_kv_pressure{SMOLLM2}")}
        self.assertEqual(names, {"smollm2-0", "smollm2-1"})

    def keda_query(self):
        document = yaml.safe_load((ROOT / "examples/keda-scaledobject.yaml").read_text())
        spec = document["spec"]
        self.assertEqual(spec["scaleTargetRef"], {
            "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
            "name": document["metadata"]["name"]})
        trigger, = spec["triggers"]
        self.assertEqual(trigger["metricType"], "AverageValue")
        self.assertEqual(trigger["metadata"]["ignoreNullValues"], "false")
        self.assertTrue(0 < float(trigger["metadata"]["threshold"]) <= 1)
        return trigger["metadata"]["query"]

    def test_2_kedas_query_is_the_load_of_that_fleet_and_of_no_other(self):
        query = self.keda_query()
        self.value_of(query, lambda value: value > 0)
        self.assertEqual(self.value_of(query.replace("smollm2", "other")), 0)
        self.assertEqual(self.prometheus.query(query.replace("smollm2", "nobody")), [],
                         "no series is no value, and not 0")

    def test_3_the_adapters_rules_have_a_value_of_each_pod(self):
        values = yaml.safe_load((ROOT / "examples/prometheus-adapter-values.yaml").read_text())
        rules = values["rules"]["custom"]
        self.assertEqual({rule["name"]["as"] for rule in rules},
                         {"kv_pressure", "queued_tokens", "running_requests", "tokens_per_second"},
                         "the names that the operator's own API has")
        matchers = 'namespace="default",pod=~"smollm2-0|smollm2-1"'
        for rule in rules:
            with self.subTest(metric=rule["name"]["as"]):
                self.assertEqual(rule["resources"]["overrides"], {
                    "namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}})
                series = self.prometheus.ask("series", **{"match[]": rule["seriesQuery"]})
                self.assertEqual({one["pod"] for one in series},
                                 {"smollm2-0", "smollm2-1", "other-0"})
                query = adapter_query(rule, "pod", matchers)
                by_pod = wait_for(
                    lambda q=query: len(found := self.prometheus.query(q)) == 2 and found, 20, query)
                self.assertEqual({labels["pod"] for labels, _ in by_pod},
                                 {"smollm2-0", "smollm2-1"})
                busy = query.replace("smollm2-0|smollm2-1", "smollm2-0")
                if rule["name"]["as"] != "queued_tokens":
                    self.value_of(busy, lambda value: value > 0)

    def test_4_alerts_and_dashboards_of_the_chart_are_well_formed(self):
        for path in sorted(CHART_FILES.glob("*rules*.yaml")):
            checked = subprocess.run([self.prometheus.promtool, "check", "rules", str(path)],
                                     capture_output=True, text=True, check=False, timeout=60)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)
        for where, query in dashboard_queries():
            with self.subTest(where=where):
                found = self.prometheus.query(query)  # a syntax error raises
                others = set(re.findall(r"kantha_operator_\w+", query))
                if SCRAPED.search(query) and not others:
                    self.assertTrue(found, query)

    def test_5_a_pod_that_can_not_be_scraped_is_no_idle_pod(self):
        query = self.keda_query()
        self.value_of(query)
        self.pods[("smollm2-1", "smollm2")].noded.kill()
        wait_for(lambda: self.prometheus.query(query) == [], 20,
                 lambda: f"no value: {self.prometheus.query(query)}")
        names = [labels["pod"]
                 for labels, _ in self.prometheus.query(f"kantha_kv_pressure{SMOLLM2}")]
        self.assertEqual(names, ["smollm2-0"], "the figures of the pod went with it")


if __name__ == "__main__":
    unittest.main()
