#!/usr/bin/env python3
"""fault_proxy.py before a real API server: each fault does what its line says, the rest passes."""

import http.client
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request
from urllib.parse import urlsplit

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MAPS = "/api/v1/namespaces/default/configmaps"
WATCH = MAPS + "?watch=true&labelSelector=test%3Dyes&timeoutSeconds=20"


class FaultProxyTest(unittest.TestCase):
    """One control plane and one proxy for all; every test makes maps of its own name."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="kf-", dir="/tmp", ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        run = pathlib.Path(folder.name) / "run"
        cls.addClassCleanup(subprocess.run, [ROOT / "scripts/cluster", "down", "--run", run],
                            check=True, timeout=60)
        subprocess.run([ROOT / "scripts/cluster", "up", "--run", run], check=True, timeout=150,
                       stdout=subprocess.DEVNULL)
        cls.run_folder, cls.kubeconfig = run, pathlib.Path(folder.name) / "kubeconfig"
        proxy = subprocess.Popen([sys.executable, "-B", HERE / "fault_proxy.py", "--run", run,
                                  "--kubeconfig", cls.kubeconfig], stdout=subprocess.PIPE)
        cls.addClassCleanup(proxy.wait)
        cls.addClassCleanup(proxy.terminate)
        cls.addClassCleanup(proxy.stdout.close)
        cls.addresses = json.loads(proxy.stdout.readline())
        cls.context = ssl.create_default_context(cafile=run / "pki/ca.crt")

    def setUp(self):
        self.control("DELETE", "/faults")

    def control(self, method, path, document=None):
        request = urllib.request.Request(self.addresses["control"] + path, json.dumps(
            document).encode() if document is not None else None, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def fault(self, kind, **keys):
        self.control("POST", "/faults", {"fault": kind} | keys)

    def connection(self, seconds=15):
        server = urlsplit(self.addresses["server"])
        connection = http.client.HTTPSConnection(server.hostname, server.port, timeout=seconds,
                                                 context=self.context)
        self.addCleanup(connection.close)
        return connection

    def ask(self, method, path, document=None, headers=None):
        """(status, document, headers)"""
        connection = self.connection()
        connection.request(method, path, json.dumps(document) if document else None,
                           {"Content-Type": "application/json"} | (headers or {}))
        answer = connection.getresponse()
        return answer.status, json.load(answer), answer.headers

    def make(self, name):
        return self.ask("POST", MAPS, {"metadata": {"name": name, "labels": {"test": "yes"}}})

    def exists(self, name):
        return self.ask("GET", f"{MAPS}/{name}")[0] == 200

    def kubectl(self, *arguments):
        return subprocess.run(
            ["bash", "-c", f'. {self.run_folder}/env && exec kubectl --kubeconfig "$@"', "-",
             str(self.kubeconfig), *arguments], stdout=subprocess.PIPE, check=True, text=True,
            timeout=60).stdout

    def watch(self, name):
        """The answer to a watch that sees the map `name` and another one."""
        self.make(name)
        self.make(name + "-too")
        connection = self.connection(seconds=3)
        connection.request("GET", WATCH)
        return connection.getresponse()

    def test_without_a_fault_everything_passes(self):
        self.kubectl("create", "configmap", "passes", "--from-literal=a=" + "x" * 100000)
        self.assertEqual(len(self.kubectl("get", "configmap", "passes", "-o",
                                          "jsonpath={.data.a}")), 100000)
        self.kubectl("delete", "configmap", "passes")
        self.assertFalse(self.exists("passes"))

    def test_a_bearer_token_is_passed_on(self):
        token = self.kubectl("create", "token", "default").strip()
        self.assertEqual(self.ask("GET", MAPS, headers={"Authorization": f"Bearer {token}"})[0],
                         403)

    def test_an_error_before_the_write(self):
        self.fault("status", method="POST", path="configmaps", code=429, retry_after=7)
        status, document, headers = self.make("before")
        self.assertEqual((status, document["reason"], headers["Retry-After"]),
                         (429, "TooManyRequests", "7"))
        self.assertFalse(self.exists("before"))
        self.assertEqual(self.make("before")[0], 201, "only one request is struck")

    def test_an_error_after_the_write(self):
        self.fault("status_after", method="POST", code=500, message="lost")
        status, document, _ = self.make("after")
        self.assertEqual((status, document["message"]), (500, "lost"))
        self.assertTrue(self.exists("after"))

    def test_an_answer_that_is_lost(self):
        self.fault("drop_after", method="POST")
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.make("lost")
        self.assertTrue(self.exists("lost"))

    def test_a_request_that_is_lost(self):
        self.fault("drop", method="POST")
        with self.assertRaises((ConnectionError, http.client.HTTPException)):
            self.make("never")
        self.assertFalse(self.exists("never"))

    def test_a_late_request_and_a_late_answer(self):
        for kind in ("delay", "delay_after"):
            self.fault(kind, method="POST", seconds=1.2)
            started = time.monotonic()
            self.assertEqual(self.make(kind.replace("_", "-"))[0], 201)
            self.assertGreater(time.monotonic() - started, 1.2)

    def test_no_answer_at_all(self):
        self.fault("blackhole", path="blackhole")
        connection = self.connection(seconds=1)
        connection.request("GET", MAPS + "/blackhole")
        with self.assertRaises(socket.timeout):
            connection.getresponse()

    def test_a_watch_that_is_cut_within_an_event(self):
        self.fault("cut", path="watch=true", events=1)
        answer = self.watch("cut")
        self.assertEqual(json.loads(answer.readline())["type"], "ADDED")
        try:
            rest = answer.read()
        except http.client.IncompleteRead as cut:
            rest = cut.partial
        self.assertTrue(rest.startswith(b'{"type"'), rest)
        with self.assertRaises(ValueError):
            json.loads(rest)

    def test_a_watch_that_falls_silent(self):
        self.fault("stall", path="watch=true", events=1)
        answer = self.watch("stall")
        self.assertEqual(json.loads(answer.readline())["type"], "ADDED")
        with self.assertRaises(socket.timeout):
            answer.readline()

    def test_a_watch_that_expires(self):
        self.fault("expire", path="watch=true", events=1)
        answer = self.watch("expire")
        self.assertEqual(json.loads(answer.readline())["type"], "ADDED")
        event = json.loads(answer.readline())
        self.assertEqual((event["type"], event["object"]["code"], event["object"]["reason"]),
                         ("ERROR", 410, "Expired"))
        self.assertEqual(answer.readline(), b"")

    def test_cutting_all_connections(self):
        answer = self.watch("all")
        self.assertEqual(json.loads(answer.readline())["type"], "ADDED")
        self.control("POST", "/cut")
        with self.assertRaises((ConnectionError, http.client.HTTPException, ssl.SSLError)):
            while answer.readline():
                pass
            raise ConnectionError("ended")

    def test_faults_spare_strike_and_are_told(self):
        self.fault("status", path="/spared$", code=503, after=1, times=2)
        seen = [self.ask("GET", MAPS + "/spared")[0] for _ in range(4)]
        self.assertEqual(seen, [404, 503, 503, 404])
        self.assertEqual(self.control("GET", "/faults")[0]["struck"], 2)
        told = [(r["status"], r["fault"]) for r in self.control("GET", "/requests")
                if r["path"].endswith("/spared")]
        self.assertEqual(told, [(404, None), (503, "status"), (503, "status"), (404, None)])

    def test_another_certificate_is_shown(self):
        pki = self.run_folder / "pki"
        for given in ({}, {"cert": "/nonexistent", "key": "/nonexistent"}):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.control("POST", "/certificate", given)
            self.assertEqual(refused.exception.code, 400)
        self.control("POST", "/certificate", {"cert": str(pki / "front-proxy.crt"),
                                              "key": str(pki / "front-proxy.key")})
        with self.assertRaises(ssl.SSLCertVerificationError):
            self.ask("GET", MAPS)
        self.control("POST", "/certificate", {"cert": str(pki / "apiserver.crt"),
                                              "key": str(pki / "apiserver.key")})
        self.assertEqual(self.ask("GET", MAPS)[0], 200)

    def test_a_fault_that_is_none_is_refused(self):
        for fault in ({"fault": "flood"}, {"fault": "drop", "path": "("}):
            with self.assertRaises(urllib.error.HTTPError) as refused:
                self.control("POST", "/faults", fault)
            self.assertEqual(refused.exception.code, 400)


if __name__ == "__main__":
    unittest.main()
