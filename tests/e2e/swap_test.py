"""Another engine under load: one replica's requests are held and answered, two replicas' are not even
late. Prints what was added to the slowest answer."""

import http.client
import json
import os
import pathlib
import threading
import time
import unittest

from local_world import BIN, MODEL, World, wait_for
from streamed_answer import quantile

SPEC = """\
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata: {{name: swap}}
spec:
  model: {{name: m, source: {{hostPath: {model}}}}}
  replicas: {replicas}
  engine: {{{image}config: {{maxModelLen: 512, maxNumSeqs: {seqs}, kvCacheMemory: 128Mi}}}}
  drain: {{timeoutSeconds: 20}}
"""
LATE_S = float(os.environ.get("KANTHA_SWAP_LATE_S", "10"))  # 2 on a machine that is not shared


class Load:
    """Clients that ask for a few tokens again and again, half of them by streams."""

    def __init__(self, port, clients=4):
        self.port = port
        self.over = threading.Event()
        self.lock = threading.Lock()
        self.answers = []  # (begun at, seconds)
        self.failed = []
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, client):
        stream = client % 2 == 0
        while not self.over.is_set():
            begun = time.monotonic()
            failure = self.ask(stream)
            with self.lock:
                self.answers.append((begun, time.monotonic() - begun))
                if failure:
                    self.failed.append(failure)

    def ask(self, stream):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", "/v1/completions", json.dumps({
                "prompt": "Once upon a time", "max_tokens": 4, "temperature": 0,
                "ignore_eos": True, "stream": stream}))
            answer = connection.getresponse()
            text = answer.read().decode()
        except (OSError, http.client.HTTPException) as error:
            return repr(error)
        finally:
            connection.close()
        whole = text.rstrip().endswith("data: [DONE]") and '"error"' not in text if stream else True
        return None if answer.status == 200 and whole else (answer.status, text[-300:])

    def seconds(self, since, until):
        with self.lock:
            return [took for begun, took in self.answers if since <= begun < until]

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(90)


class Swap(unittest.TestCase):
    def setUp(self):
        self.world = World(name="swap")
        self.addCleanup(self.world.close)
        self.seqs, self.image = 8, ""

    def apply(self, replicas):
        self.world.write_spec(text=SPEC.format(
            model=MODEL, replicas=replicas, seqs=self.seqs, image=self.image))

    def another_build(self):
        path = pathlib.Path(self.world.folder.name) / "kantha-engine-2"
        path.symlink_to(BIN / "kantha-engine")
        self.image = f"image: {path}, "

    def swap(self, replicas, change, rounds=1):
        """Seconds that the slowest answer around a change took more than one in peace."""
        self.apply(replicas)
        self.world.start()
        load = Load(self.world.port)
        self.addCleanup(load.end)
        wait_for(lambda: len(load.answers) > 40, 60, "answers before the change")
        changed = time.monotonic()
        peace = quantile(load.seconds(0, changed), 0.5)
        added = []
        for _ in range(rounds):
            begun, before = time.monotonic(), set(self.world.engines())
            change()
            self.apply(replicas)
            wait_for(lambda: len(self.world.engines()) == replicas
                     and not before & set(self.world.engines()) and self.world.healthy(), 60,
                     lambda: "new engines; " + self.world.output())
            count = len(load.answers)
            wait_for(lambda: len(load.answers) > count + 20, 60, "answers after the change")
            added.append(max(load.seconds(begun - 1, time.monotonic())) - peace)
        load.end()
        self.assertEqual(load.failed, [], self.world.output())
        shown = ", ".join(f"{one:.2f}" for one in added)
        print(f"{replicas} replicas, {self.id().split('.')[-1]}: {len(load.answers)} answers, none "
              f"failed; an answer takes {peace:.2f} s, the slowest around a change {shown} s more")
        return min(added)

    def change_config(self):
        self.seqs += 1

    def test_a_new_configuration_of_the_only_replica_holds_requests_and_answers_them(self):
        self.assertLess(self.swap(1, self.change_config, rounds=2), LATE_S)

    def test_a_new_build_of_the_only_replica_fails_nothing(self):
        self.assertLess(self.swap(1, self.another_build), LATE_S)

    def test_a_new_build_of_two_replicas_fails_nothing(self):
        self.assertLess(self.swap(2, self.another_build), LATE_S)


if __name__ == "__main__":
    unittest.main(verbosity=2)
