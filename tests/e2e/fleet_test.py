"""Pods that send requests to each other, in the local world with real engines."""

import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import socket
import tempfile
import threading
import time
import unittest

from local_world import World, is_running, wait_for

MODEL = "smollm2-135m-instruct"


class UnixConnection(http.client.HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path, timeout=10):
        super().__init__("pod", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Pod:
    """One pod of a local world, through its admin socket."""

    def __init__(self, folder):
        self.name = folder.name
        self.admin = folder / "admin.sock"

    def call(self, method, path, body=None):
        connection = UnixConnection(self.admin)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def metric(self, name):
        """The sum over the series of that name; 0 when there is none (the engine is away)."""
        lines = self.call("GET", "/metrics")[1].split("\n")
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines
                   if line.startswith((name + "{", name + " ")))

    def state(self):
        return json.loads(self.call("GET", "/admin/v1/state")[1])

    def put_view(self, view):
        return self.call("PUT", "/admin/v1/fleet", json.dumps(view))


def pods_of(world):
    return [Pod(folder) for folder in sorted((world.path / "kantha" / world.name).glob("pod-*"))]


def prompt(number, question=""):
    words = " ".join(f"item {number}-{i} is {(number * 37 + i * 11) % 97}," for i in range(24))
    return f"List {number}: {words} {question}"


def ask(world, text, max_tokens=1):
    began = time.monotonic()
    world.complete(text, max_tokens)
    return time.monotonic() - began


def crowd(world, prompts, clients=12):
    with concurrent.futures.ThreadPoolExecutor(clients) as pool:
        return list(pool.map(lambda text: ask(world, text), prompts))


class ThreePods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World(replicas=3).start()
        cls.addClassCleanup(cls.world.close)
        wait_for(lambda: len(pods_of(cls.world)) == 3, 60, "three pods")
        cls.pods = pods_of(cls.world)

    def setUp(self):
        self.all_know_all()

    def all_know_all(self):
        wait_for(lambda: all(pod.metric("kantha_noded_engine_ready") == 1 and
                             pod.metric("kantha_noded_forward_peers") == 2 for pod in self.pods),
                 60, "every pod knows the two others; " + self.world.output())

    def sums(self, name):
        return [pod.metric(name) for pod in self.pods]

    def test_equal_prefixes_meet_their_warm_blocks(self):
        prefixes, rounds, block = 30, 5, 16
        hits = sum(self.sums("vllm:prefix_cache_hits_total"))
        asked = self.sums("vllm:request_success_total")
        texts = [prompt(number, f"Question {turn}?") for turn in range(rounds)
                 for number in range(prefixes)]
        crowd(self.world, texts)
        status, answer = self.world.request("POST", "/tokenize", {"prompt": prompt(7)})
        self.assertEqual(status, 200, answer)
        tokens = json.loads(answer)["count"] // block * block
        hits = sum(self.sums("vllm:prefix_cache_hits_total")) - hits
        ratio = hits / (tokens * prefixes * (rounds - 1))
        served = [now - then for now, then in
                  zip(self.sums("vllm:request_success_total"), asked)]
        print(f"hits of the ideal: {ratio:.3f}; served by each pod: {served}")
        self.assertGreaterEqual(ratio, 0.9)
        self.assertEqual(sum(served), len(texts))
        self.assertGreater(min(served), len(texts) / 3 / 3)
        self.assertGreater(sum(self.sums("kantha_noded_forward_requests_total")), len(texts) / 4)

    def test_a_stalled_engine_slows_only_what_it_holds(self):
        calm = sorted(crowd(self.world, [prompt(100 + i) for i in range(30)], 3))
        stalled = self.world.engines()[0]
        os.kill(stalled, signal.SIGSTOP)
        try:
            wait_for(lambda: 0 in self.sums("kantha_noded_engine_ready"), 60, "it is noticed")
            took = sorted(crowd(self.world, [prompt(200 + i) for i in range(30)], 3))
        finally:
            if is_running(stalled):  # its noded kills it after half a minute
                os.kill(stalled, signal.SIGCONT)
        print(f"p50 and worst: calm {calm[15]:.3f} {calm[-1]:.3f} s, "
              f"one stalled {took[15]:.3f} {took[-1]:.3f} s")
        self.assertLess(took[-1], calm[-1] + 5)

    def test_a_stopped_noded_is_given_up_and_used_again(self):
        stopped = self.world.nodeds()[0]
        os.kill(stopped, signal.SIGSTOP)
        try:
            took = sorted(crowd(self.world, [prompt(300 + i) for i in range(30)], 6))
        finally:
            if is_running(stopped):  # `kantha up` kills it after half a minute
                os.kill(stopped, signal.SIGCONT)
        print(f"p50 and worst with a stopped noded: {took[15]:.3f} {took[-1]:.3f} s")
        self.assertLess(took[-1], 20)
        self.all_know_all()
        before = self.sums("kantha_noded_forward_breakers_opened_total")
        crowd(self.world, [prompt(400 + i) for i in range(12)], 3)
        self.assertEqual(self.sums("kantha_noded_forward_breakers_opened_total"), before)

    def test_a_killed_engine_s_requests_go_to_the_others_at_once(self):
        killed = self.world.engines()[0]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            running = [pool.submit(self.world.complete, prompt(500 + i), 40, stream=True,
                                   ignore_eos=True) for i in range(6)]
            time.sleep(0.3)
            os.kill(killed, signal.SIGKILL)
            for answer in running:
                self.assertEqual(answer.result(120)[1], "length")

    def test_a_client_cannot_make_a_hop(self):
        forged = sum(self.sums("kantha_noded_forward_forged_hops_total"))
        connection = http.client.HTTPConnection("127.0.0.1", self.world.port, timeout=30)
        self.addCleanup(connection.close)
        for mark in ("1", "from=pod-0;to=pod-1;at=0;mac=00", "x" * 2000):
            connection.request("GET", "/v1/models", headers={"x-kantha-hop": mark})
            answer = connection.getresponse()
            answer.read()
            self.assertEqual(answer.status, 200)
            self.assertIsNone(answer.getheader("x-kantha-load"))
        connection.request("GET", "/kantha/v1/load")
        answer = connection.getresponse()
        answer.read()
        self.assertEqual(answer.status, 404)
        self.assertEqual(sum(self.sums("kantha_noded_forward_forged_hops_total")), forged + 3)


class Liar:
    """A server that is not the pod that the view says."""

    def __init__(self, path, answer):
        self.path, self.answer, self.met = path, answer, 0
        self.server = socket.socket(socket.AF_UNIX)
        self.server.bind(str(path))
        self.server.listen(64)
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        while True:
            try:
                peer = self.server.accept()[0]
            except OSError:
                return
            self.met += 1
            threading.Thread(target=self._answer, args=(peer,), daemon=True).start()

    def _answer(self, peer):
        try:
            peer.settimeout(5)
            peer.recv(65536)
            for piece in self.answer():
                peer.sendall(piece)
            peer.close()
        except OSError:
            pass

    def close(self):
        self.server.close()


def head(load, status="200 OK"):
    return (f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n{load}"
            "Content-Length: 2\r\n\r\n{}").encode()


LIES = {
    "nobody": lambda: [head("")],
    "another": lambda: [head("x-kantha-load: pod=x;model=smollm2-135m-instruct;phase=ready\r\n")],
    "othermodel": lambda: [head("x-kantha-load: pod=othermodel;model=gpt;phase=ready\r\n")],
    "malformed": lambda: [head("x-kantha-load: {\"pod\": 1\r\n")],
    "nohttp": lambda: [b"\x00\xff\x17 this is not HTTP\r\n\r\n"],
    "endless": lambda: [b"HTTP/1.1 200 OK\r\n", *([b"x-more: " + b"y" * 4000 + b"\r\n"] * 10000)],
    "cut": lambda: [b"HTTP/1.1 200 OK\r\nContent-Le"],
    "silent": lambda: time.sleep(4) or [],
}


class AmongLiars(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World(replicas=1).start()
        cls.addClassCleanup(cls.world.close)
        cls.pod = pods_of(cls.world)[0]
        cls.folder = tempfile.TemporaryDirectory(prefix="kantha-liars-")
        cls.addClassCleanup(cls.folder.cleanup)
        cls.at_ms = int(time.time() * 1000)

    def view(self, names, at_ms=None):
        type(self).at_ms += 1
        peers = [{"name": name, "endpoint": f"unix:{self.folder.name}/{name}", "model": MODEL}
                 for name in names]
        return {"observed_at_ms": at_ms or self.at_ms, "peers": peers}

    def test_each_kind_of_liar_is_found_out_and_no_request_fails(self):
        for name, answer in LIES.items():
            with self.subTest(name):
                liar = Liar(pathlib.Path(self.folder.name) / name, answer)
                self.addCleanup(liar.close)
                self.assertEqual(self.pod.put_view(self.view([name])), (200, '{"peers":1}'))
                took = crowd(self.world, [prompt(i) for i in range(16)], 4)
                self.assertGreater(liar.met, 0, "the view was not used")
                self.assertLess(liar.met, 12, "it is not asked again and again")
                self.assertLess(max(took), 15)

    def test_views_of_another_time_and_no_views_are_refused(self):
        self.assertEqual(self.pod.put_view(self.view([]))[0], 200)
        now = int(time.time() * 1000)
        for what, at_ms in (("hours old", now - 7_200_000), ("from the future", now + 60_000),
                            ("an older one", self.at_ms - 1)):
            status, answer = self.pod.put_view(self.view(["evil"], at_ms))
            self.assertEqual(status, 409, what)
            self.assertIn("observed_at_ms", answer, what)
        for text in ("", "{", "[]", '{"observed_at_ms": "now"}', '{"observed_at_ms": 5, "peers": 7}',
                     "[" * 100_000):
            self.assertEqual(self.pod.call("PUT", "/admin/v1/fleet", text)[0], 400, text[:40])
        self.assertEqual(self.pod.metric("kantha_noded_forward_peers"), 0)
        self.assertEqual(self.pod.metric("kantha_noded_forward_views_refused_total"), 9)


if __name__ == "__main__":
    unittest.main(verbosity=2)
