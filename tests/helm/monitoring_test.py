#!/usr/bin/env python3
"""Every series and label that the chart's alerts and dashboard name is one that the programs show.

Runs kantha-operator beside the API server in memory, with one ModelServing, and kantha-noded with a
made-up engine, reads their /metrics, and compares.
"""

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
import time
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = ROOT / "helm/kantha/files"
BIN = pathlib.Path(os.environ.get("KANTHA_BIN_DIR", ROOT / "build/dev/bin"))
ENGINE = ROOT / "tests/e2e/scripted_engine.py"
# Given by Prometheus and by the chart's PodMonitor (podTargetLabels), not by the programs.
TARGET_LABELS = {"namespace", "pod", "job", "instance", "serving_kantha_dev_name",
                 "serving_kantha_dev_revision"}
SERIES = re.compile(r"^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? \S+$", re.M)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
NAME = re.compile(r"\b(?:kantha_|vllm:)[\w:]*")
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"')
GROUPING = re.compile(r"\b(?:by|on|without|ignoring|group_left|group_right)\s*\(([^)]*)\)")


def wait_for(condition, what, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what()}")
        time.sleep(0.02)
    return found


class UnixConnection(http.client.HTTPConnection):

    def __init__(self, path):
        super().__init__("localhost", timeout=10)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(10)
        self.sock.connect(self.path)


def page_of(connection, path="/metrics"):
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.read().decode() if answer.status == 200 else ""
    except OSError:
        return ""
    finally:
        connection.close()


class Programs:
    """An operator and a noded that run, in a folder of their own."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-mon-", dir="/tmp")
        self.path = pathlib.Path(self.folder.name)
        self.processes = []

    def start(self, log, *command):
        out = open(self.path / log, "w", encoding="utf-8")  # pylint: disable=consider-using-with
        self.processes.append(subprocess.Popen(  # pylint: disable=consider-using-with
            [str(word) for word in command], stdin=subprocess.DEVNULL, stdout=out,
            stderr=subprocess.STDOUT))
        out.close()

    def log(self, name):
        return (self.path / name).read_text(errors="replace")

    def close(self):
        for process in self.processes:
            process.send_signal(signal.SIGKILL)
            process.wait(10)
        self.folder.cleanup()

    def listening(self, log, words):
        found = wait_for(lambda: re.search(words, self.log(log)), lambda: self.log(log))
        return found[1]

    def operator_page(self):
        self.start("server.log", BIN / "kantha-fake-api-server", "127.0.0.1:0")
        server = self.listening("server.log", r"listening on (\S+)")
        kubeconfig = self.path / "kubeconfig"
        kubeconfig.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "c",
            "clusters": [{"name": "c", "cluster": {"server": f"http://{server}"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}]}))
        self.create(server, "/apis/serving.kantha.dev/v1alpha1/namespaces/default/modelservings", {
            "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
            "metadata": {"name": "m"},
            "spec": {"model": {"source": {"hostPath": "/models/m.gguf"}}, "replicas": 1}})
        self.start("operator.log", BIN / "kantha-operator", "--kubeconfig", kubeconfig,
                   "--noded-image", "localhost/noded:1", "--engine-image", "localhost/engine:1",
                   "--listen", "127.0.0.1:0", "--transport", "beast")
        address = self.listening("operator.log", r"pages are served.*?(127\.0\.0\.1:\d+)")
        host, port = address.split(":")

        def page():
            text = page_of(http.client.HTTPConnection(host, int(port), timeout=10))
            return "kantha_operator_rollout_phase{" in text and text

        return wait_for(page, lambda: self.log("operator.log"))

    @staticmethod
    def create(server, path, body):
        host, port = server.rsplit(":", 1)
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        assert answer.status == 201, (answer.status, text)

    def noded_page(self):
        engine = self.path / "engine-good"
        engine.write_text(f"#!{sys.executable}\n" + ENGINE.read_text())
        engine.chmod(0o755)
        (self.path / "engine.json").write_text("{}")
        self.start("noded.log", BIN / "kantha-noded", "--pod", "m-0", "--model", "m", "--listen",
                   f"unix:{self.path}/api.sock", "--admin", f"unix:{self.path}/admin.sock",
                   "--engine-binary", engine, "--engine-config", self.path / "engine.json",
                   "--engine-socket", self.path / "engine.sock", "--engine-log",
                   self.path / "engine.log")

        def page():
            text = page_of(UnixConnection(self.path / "admin.sock"))
            return "kantha_noded_engine_ready{pod=\"m-0\"} 1" in text and text

        return wait_for(page, lambda: self.log("noded.log"))


def read_page(text):
    """{name: {label: values}} of a page."""
    out = {}
    for name, labels in SERIES.findall(text):
        known = out.setdefault(name, {})
        for label, value in LABEL.findall(labels):
            known.setdefault(label, set()).add(value)
    return out


def rule_expressions():
    """(where, expression, the labels that its annotations show)"""
    for group in yaml.safe_load((FILES / "rules.yaml").read_text(encoding="utf-8"))["groups"]:
        for rule in group["rules"]:
            shown = re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"]))
            yield rule["alert"], rule["expr"], set(shown)


def dashboard():
    return json.loads((FILES / "rollouts-dashboard.json").read_text(encoding="utf-8"))


def dashboard_expressions():
    for panel in dashboard()["panels"]:
        for target in panel["targets"]:
            shown = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])
            yield panel["title"], target["expr"], set(shown)
    for variable in dashboard()["templating"]["list"]:
        if variable["type"] == "query":
            series, label = re.fullmatch(r"label_values\((\S+), (\w+)\)",
                                         variable["query"]["query"]).groups()
            yield variable["name"], f"sum by ({label}) ({series})", set()


def phase_names():
    source = (ROOT / "operator/serving/rollout_state.cc").read_text(encoding="utf-8")
    return set(re.findall(r'case RolloutPhase::k\w+: return "(\w+)";', source))


class MonitoringTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        programs = Programs()
        cls.addClassCleanup(programs.close)
        cls.series = read_page(programs.operator_page()) | read_page(programs.noded_page())

    def check(self, where, expression, shown):
        names = NAME.findall(expression)
        self.assertTrue(names, f"{where}: no series of ours in {expression}")
        known = set()
        for name in names:
            self.assertIn(name, self.series, f"{where}: no program shows {name}")
            known |= set(self.series[name])
        for label, operation, value in MATCHER.findall(expression):
            self.assertIn(label, known | TARGET_LABELS, f"{where}: {expression}")
            self.check_value(where, label, operation, value)
        for names in GROUPING.findall(expression):
            labels = {label.strip() for label in names.split(",") if label.strip()}
            self.assertLessEqual(labels, known | TARGET_LABELS, f"{where}: {expression}")
        self.assertLessEqual(shown, known | TARGET_LABELS, f"{where}: what it shows of {expression}")

    def check_value(self, where, label, operation, value):
        """A value that no series can have would be a query that is always empty."""
        if "$" in value or label not in ("phase", "state", "reason", "verdict", "result"):
            return
        possible = phase_names() if label == "phase" else set().union(
            *(labels.get(label, set()) for labels in self.series.values()))
        for one in value.split("|") if operation in ("=~", "!~") else [value]:
            self.assertIn(one, possible, f"{where}: no {label} is called {one}")

    def test_alerts(self):
        for alert in rule_expressions():
            with self.subTest(alert[0]):
                self.check(*alert)

    def test_dashboard(self):
        for panel in dashboard_expressions():
            with self.subTest(panel[0]):
                self.check(*panel)

    def test_panels_do_not_overlap(self):
        taken = {}
        for panel in dashboard()["panels"]:
            at = panel["gridPos"]
            self.assertLessEqual(at["x"] + at["w"], 24, panel["title"])
            for x in range(at["x"], at["x"] + at["w"]):
                for y in range(at["y"], at["y"] + at["h"]):
                    self.assertEqual(taken.setdefault((x, y), panel["id"]), panel["id"])

    def test_a_wrong_name_or_label_is_found(self):
        for wrong in ("kantha_operator_rollout_phases == 1", 'kantha_operator_rollout_phase{nam="m"}',
                      "sum by (revision) (kantha_noded_answers_total)",
                      'kantha_operator_rollout_phase{phase="Sleeping"}'):
            with self.assertRaises(AssertionError):
                self.check("a test", wrong, set())
        with self.assertRaises(AssertionError):
            self.check("a test", "kantha_operator_leading", {"tenant"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
