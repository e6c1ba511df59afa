#!/usr/bin/env python3
"""scripts/cluster: control planes that stand side by side, close the door and leave nothing."""

import json
import os
import pathlib
import re
import signal
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
POD = """
apiVersion: v1
kind: Pod
metadata: {name: fake}
spec: {automountServiceAccountToken: false, containers: [{name: c, image: example.com/none}]}
"""


def cluster(*arguments):
    return subprocess.run([ROOT / "scripts/cluster", *arguments], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False, text=True, timeout=150)


def processes_of(run):
    """Those that carry the run folder in their environment."""
    found = []
    mark = f"KANTHA_CLUSTER_RUN={run}".encode()
    for environment in pathlib.Path("/proc").glob("[0-9]*/environ"):
        try:
            if mark in environment.read_bytes().split(b"\0"):
                found.append(int(environment.parts[2]))
        except OSError:
            continue
    return found


class ClusterTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cache = pathlib.Path(os.environ.get("KANTHA_CLUSTER_CACHE",
                                            pathlib.Path.home() / ".cache/kantha/kubernetes"))
        if not list(cache.glob("v*/kube-apiserver")):
            raise AssertionError(f"no Kubernetes in {cache}: run scripts/cluster build first")

    def up(self, *options):
        folder = tempfile.TemporaryDirectory(prefix="kc-", dir="/tmp", ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        run = pathlib.Path(folder.name) / "run"
        self.addCleanup(cluster, "down", "--run", str(run))
        started = time.monotonic()
        up = cluster("up", "--run", str(run), *options)
        print(f"up {' '.join(options)}: {time.monotonic() - started:.1f} s", flush=True)
        self.assertEqual(up.returncode, 0, up.stderr)
        self.assertEqual(up.stdout.strip(), str(run / "kubeconfig"))
        return run

    def kubectl(self, run, *arguments, given=None, status=0):
        done = subprocess.run(["bash", "-c", f'. "{run}/env" && exec kubectl "$@"', "-",
                               *arguments], input=given, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False, text=True, timeout=60)
        self.assertEqual(done.returncode, status, done.stdout)
        return done.stdout

    def test_two_stand_side_by_side_and_one_that_lost_its_parts_goes_without_a_trace(self):
        one = self.up("--kwok", "2", "--hpa-sync", "2s",
                      "--admission", "OwnerReferencesPermissionEnforcement")
        two = self.up()
        self.fake_nodes_run_pods(one)
        self.the_door_is_closed_to_strangers(one)
        self.nothing_listens_beyond_this_machine(one)

        self.a_killed_api_server_comes_back(one)
        status = cluster("status", "--run", str(one))
        self.assertEqual(status.returncode, 0, status.stdout)
        os.kill(int((one / "etcd.pid").read_text()), signal.SIGKILL)
        os.kill(int((one / "kube-apiserver.pid").read_text()), signal.SIGKILL)
        (one / "kube-scheduler.pid").unlink()
        status = cluster("status", "--run", str(one))
        self.assertEqual(status.returncode, 1)
        self.assertRegex(status.stdout, r"etcd +ENDED")

        down = cluster("down", "--run", str(one))
        self.assertEqual(down.returncode, 0, down.stderr)
        self.assertEqual(processes_of(one), [])
        self.assertFalse(one.exists())
        self.assertEqual(cluster("down", "--run", str(one)).returncode, 0)
        self.assertIn("kube-system", self.kubectl(two, "get", "namespaces"))

    def fake_nodes_run_pods(self, run):
        self.kubectl(run, "create", "-f", "-", given=POD)
        self.kubectl(run, "wait", "--for=condition=Ready", "pod/fake", "--timeout=30s")
        node = self.kubectl(run, "get", "pod", "fake", "-o", "jsonpath={.spec.nodeName}")
        self.assertRegex(node, "^fake-[01]$")

    def a_killed_api_server_comes_back(self, run):
        os.kill(int((run / "kube-apiserver.pid").read_text()), signal.SIGKILL)
        again = cluster("restart", "kube-apiserver", "--run", str(run))
        self.assertEqual(again.returncode, 0, again.stderr)
        deadline = time.monotonic() + 60
        ready = f'. "{run}/env" && kubectl get --raw /readyz && kubectl get pod fake'
        while subprocess.run(["bash", "-c", ready], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL, check=False).returncode != 0:
            self.assertLess(time.monotonic(), deadline, "the API server does not come back")
        refused = cluster("restart", "kubelet", "--run", str(run))
        self.assertIn("restart: kubelet is none of etcd kube-apiserver", refused.stderr)

    def the_door_is_closed_to_strangers(self, run):
        server = json.loads((run / "cluster.json").read_text())["server"]
        context = ssl.create_default_context(cafile=run / "pki/ca.crt")
        with self.assertRaises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(f"{server}/api/v1/pods", context=context)
        self.assertEqual(refused.exception.code, 403)
        self.assertEqual(self.kubectl(run, "auth", "can-i", "list", "secrets", "--as=somebody",
                                      status=1).strip(), "no")

    def nothing_listens_beyond_this_machine(self, run):
        listening = subprocess.run(["ss", "-Hltnp"], stdout=subprocess.PIPE, check=True,
                                   text=True).stdout
        ours = [line.split()[3] for line in listening.splitlines()
                if {int(pid) for pid in re.findall(r"pid=(\d+)", line)} & set(processes_of(run))]
        self.assertGreaterEqual(len(ours), 5, listening)
        self.assertEqual([a for a in ours if not a.startswith(("127.0.0.1:", "[::1]:"))], [])

    def test_where_no_node_can_run_it_is_said_aloud(self):
        with tempfile.TemporaryDirectory() as tools:
            somebody = pathlib.Path(tools) / "id"
            somebody.write_text("#!/bin/sh\necho 1000\n")
            somebody.chmod(0o755)
            environment = os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"}
            for command, words in [
                    ([ROOT / "scripts/cluster", "up", "--node"],
                     "no node can run here: a kubelet needs root"),
                    ([sys.executable, "-B", ROOT / "tests/cluster/pod_test.py"],
                     "SKIPPED: this machine cannot run a node")]:
                done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                                      stderr=subprocess.STDOUT, check=False, text=True, timeout=30)
                self.assertEqual(done.returncode, 77, done.stdout)
                self.assertIn(words, done.stdout)

    def test_a_mistake_is_told_before_anything_starts(self):
        for arguments, message in [
                (["up", "--kwok", "many"], "--kwok: expected a number of nodes, got many"),
                (["up", "--run"], "--run needs a value"),
                (["up", "--nodes"], "up: --nodes is not an option"),
                (["build", "--version", "latest"], "--version: expected 1.MINOR.PATCH, got latest"),
                (["build", "kubelett"], "build: kubelett is none of kube-apiserver"),
                (["up", "--run", "/tmp/a b"], "letters, digits")]:
            with self.subTest(arguments):
                done = cluster(*arguments)
                self.assertEqual(done.returncode, 1)
                self.assertIn(message, done.stderr)
        self.assertEqual(cluster("uup").returncode, 2)


if __name__ == "__main__":
    unittest.main()
