"""A minute of disturbances under load: the world follows its file, and no client is let down."""

import collections
import http.client
import json
import os
import pathlib
import random
import re
import signal
import threading
import time
import unittest

from local_world import World, children_of, is_running, wait_for

SEED = int(os.environ.get("KANTHA_STORM_SEED", "1"))
SECONDS = 45
CLIENTS = 8
HANG_S = 60  # no request of this test takes longer, whatever is killed


class Crowd:
    """Clients that send small requests and sort what comes back."""

    def __init__(self, world):
        self.world = world
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.seen = collections.Counter()
        self.wrong = []
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        chance = random.Random(SEED * 100 + number)
        while not self.over.is_set():
            stream = chance.random() < 0.6
            body = {"model": "smollm2-135m-instruct", "prompt": f"Say {chance.randrange(1000)}",
                    "max_tokens": chance.randrange(1, 24), "ignore_eos": True, "stream": stream}
            kind, detail = self.ask(body)
            with self.lock:
                self.seen[kind] += 1
                # A stream goes on at the next engine. Only one whose pod leaves while its engine
                # stands still (a stopped process) outlives the drain, and is told so.
                cut = kind == "error event" and "shutting down" not in str(detail)
                if cut or kind in ("hang", "silent end", "no error object"):
                    self.wrong.append((kind, stream, detail))
            if kind not in ("answer", "stream"):
                time.sleep(0.1)

    def ask(self, body):
        try:
            status, data = self.world.request("POST", "/v1/completions", body, timeout_s=HANG_S)
        except TimeoutError:
            return "hang", body["prompt"]
        except (ConnectionError, http.client.HTTPException) as error:
            return "broken", repr(error)  # visibly: its noded was killed
        try:
            if status != 200:
                return f"status {status}", json.loads(data)["error"]["message"]
            if not body["stream"]:
                return "answer", json.loads(data)["choices"][0]["text"]
            events = [line[6:] for line in data.decode().split("\n") if line.startswith("data: ")]
            if events and events[-1] == "[DONE]":
                return "stream", ""
            return "error event", json.loads(events[-1])["error"]["message"]
        except (ValueError, LookupError):
            return ("silent end" if status == 200 else "no error object"), (status, data[-300:])

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(HANG_S + 10)
        return not any(thread.is_alive() for thread in self.threads)


class Storm(unittest.TestCase):
    def setUp(self):
        self.chance = random.Random(SEED)
        self.spec = {"replicas": 1, "max_num_seqs": 16}
        self.world = World(max_model_len=512, **self.spec).start()
        self.addCleanup(self.world.close)
        self.nodeds_killed = 0
        self.resume = []  # (when, pid) of processes that stand still

    def write(self, **change):
        self.spec.update(change)
        self.world.write_spec(max_model_len=512, **self.spec)

    def send(self, pids, number):
        if pids:
            pid = self.chance.choice(pids)
            try:
                os.kill(pid, number)
            except ProcessLookupError:
                return
            if number == signal.SIGSTOP:
                self.resume.append((time.monotonic() + 3, pid))

    def let_go(self, everything=False):
        for when, pid in list(self.resume):
            if everything or time.monotonic() > when:
                self.resume.remove((when, pid))
                try:
                    os.kill(pid, signal.SIGCONT)
                except ProcessLookupError:
                    pass

    def kill_noded(self):
        self.nodeds_killed += 1
        self.send(self.world.nodeds(), signal.SIGKILL)

    def bad_edit(self):
        good = self.world.file.read_text()
        wrong = self.chance.choice(["replicas: [", "replica:", "replicas: x\n  replicas:"])
        self.world.write_spec(text=good.replace("replicas:", wrong))
        time.sleep(1.2)
        self.world.write_spec(text=good)

    def slow_edit(self):
        good = self.world.file.read_text()
        with open(self.world.file, "w", encoding="utf-8") as file:
            for at in range(0, len(good), 80):
                file.write(good[at:at + 80])
                file.flush()
                time.sleep(0.1)

    def disturb(self):
        world = self.world
        self.chance.choice([
            lambda: self.send(world.engines(), signal.SIGKILL),
            lambda: self.send(world.engines(), signal.SIGSTOP),
            lambda: self.send(world.nodeds(), signal.SIGTERM),
            self.kill_noded,
            lambda: self.write(replicas=self.chance.choice([0, 1, 2, 2, 3])),
            lambda: self.write(max_num_seqs=self.chance.choice([8, 12, 16])),
            lambda: world.run("scale", world.name, "--replicas", str(self.chance.choice([1, 2]))),
            self.bad_edit,
            self.slow_edit,
        ])()

    def resident_kib(self):
        text = pathlib.Path(f"/proc/{self.world.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))

    def as_the_file_says(self):
        ready = json.dumps(self.world.pods()).count('"phase": "ready"')
        configs = [json.loads(path.read_text())["engine"]["maxNumSeqs"]
                   for path in self.world.path.glob("kantha/*/pod-*/engine.json")]
        return ready == 2 and configs == [10, 10] and len(self.world.engines()) == 2

    def test_the_world_follows_its_file_and_no_client_is_let_down(self):
        crowd = Crowd(self.world)
        until = time.monotonic() + SECONDS
        middle = None
        while time.monotonic() < until:
            self.disturb()
            self.let_go()
            time.sleep(self.chance.choice([0, 0.2, 0.7, 1.5]))
            if middle is None and time.monotonic() > until - SECONDS / 2:
                middle = self.resident_kib()
        self.let_go(everything=True)

        self.write(replicas=2, max_num_seqs=10)
        # A number set by scale holds while the file's own stays the same.
        self.world.run("scale", self.world.name, "--replicas", "2")
        wait_for(self.as_the_file_says, 60, "the file's spec; " + self.world.output())
        self.assertTrue(crowd.end(), "a client hangs")
        self.assertEqual(crowd.wrong, [])
        # A connection ends with its noded; nothing else may break one.
        self.assertLessEqual(crowd.seen["broken"], self.nodeds_killed * CLIENTS, crowd.seen)
        self.assertGreater(crowd.seen["answer"] + crowd.seen["stream"], 20, crowd.seen)
        print(dict(crowd.seen))
        self.assertLess(self.resident_kib() - middle, 4096, "kantha up grows")

        self.assertEqual(len(children_of(self.world.process.pid)), 2, "a process too many")
        everything = [*self.world.nodeds(), *self.world.engines()]
        self.assertEqual(self.world.stop(), 0, self.world.output())
        self.assertEqual([pid for pid in everything if is_running(pid)], [])
        pods = [path for path in self.world.path.glob("kantha/*/pod-*")]
        self.assertEqual(pods, [], "a pod is left")


if __name__ == "__main__":
    unittest.main(verbosity=2)
