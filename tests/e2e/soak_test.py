"""Mixed load with disconnects, refusals and errors: memory stays flat and every gauge returns to 0.

KANTHA_SOAK_SECONDS sets how long (a short run is part of the tests; half an hour was run under the
address sanitizer). KANTHA_SOAK_SEED makes a run the same again.
"""

import collections
import os
import pathlib
import random
import re
import signal
import socket
import threading
import time
import unittest

from engine_process import Engine, wait_for
from streamed_answer import Stream, complete, words

SECONDS = float(os.environ.get("KANTHA_SOAK_SECONDS", "40"))
SEED = int(os.environ.get("KANTHA_SOAK_SEED", "1"))
CLIENTS = 10
GROWTH_KIB = 6 << 10  # of resident memory, by the fitted line over the second half

REFUSALS = [
    {"prompt": "x", "max_tokens": 0},
    {"prompt": "x", "temperature": 9},
    {"prompt": "x", "max_tokens": 10**6},
    {"prompt": words(3000), "max_tokens": 4},
    {"prompt": [10**8], "max_tokens": 4},
    {"prompt": "x", "stop": ["a"] * 100},
    {"prompt": {}},
]


class Crowd:
    """Clients that do everything which clients do, counted by outcome."""

    def __init__(self, engine):
        self.engine = engine
        self.over = threading.Event()
        self.seen = collections.Counter()
        self.wrong = []
        self.heads = [words(24, start=i * 13) for i in range(4)]
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(CLIENTS)]
        for thread in self.threads:
            thread.start()

    def run(self, number):
        chance = random.Random(SEED * 1000 + number)
        acts = [self.whole, self.streamed, self.streamed, self.cut, self.cut, self.several,
                self.refused, self.half_a_request, self.too_late]
        while not self.over.is_set():
            act = chance.choice(acts)
            try:
                outcome = act(chance)
            except (ConnectionError, TimeoutError) as error:
                outcome = "broken"
                self.wrong.append((act.__name__, repr(error)))
            self.seen[outcome] += 1
            if outcome.endswith("429"):
                self.over.wait(chance.uniform(0.05, 0.5))

    def body(self, chance):
        head = chance.choice(self.heads) if chance.random() < 0.7 else ""
        return {"prompt": head + words(chance.randrange(1, 24), chance.randrange(1000)),
                "max_tokens": chance.randrange(1, 24), "ignore_eos": True,
                "temperature": chance.choice([0, 0, 1.0]), "seed": chance.randrange(100)}

    def whole(self, chance):
        status, answer = complete(self.engine, **self.body(chance))
        if status not in (200, 429):
            self.wrong.append((status, answer))
        return f"whole {status}"

    def streamed(self, chance):
        stream = Stream(self.engine, **self.body(chance))
        if stream.status == 200 and not stream.done:
            self.wrong.append(("stream without an end", stream.error))
        return f"stream {stream.status}"

    def cut(self, chance):
        stream = Stream(self.engine, cut_after=chance.randrange(0, 6), **self.body(chance))
        return f"cut {stream.status}"

    def several(self, chance):
        status, answer = complete(self.engine, n=chance.randrange(2, 5), **self.body(chance))
        if status not in (200, 429):
            self.wrong.append((status, answer))
        return f"n {status}"

    def refused(self, chance):
        status, answer = complete(self.engine, **chance.choice(REFUSALS))
        if status not in (400, 429) or "message" not in answer["error"]:
            self.wrong.append((status, answer))
        return f"refused {status}"

    def half_a_request(self, chance):
        with socket.create_connection(self.engine.address, timeout=30) as client:
            text = b'POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{"model"'
            client.sendall(text[:chance.randrange(1, len(text))])
        return "half a request"

    def too_late(self, chance):
        stream = Stream(self.engine, **{**self.body(chance), "max_tokens": 200,
                                       "kantha": {"timeout_ms": chance.randrange(1, 400)}})
        late = stream.error is not None and stream.error.get("code") == "deadline_exceeded"
        if not late and stream.status != 429 and not stream.done:
            self.wrong.append(("deadline", stream.status, stream.error))
        return "too late" if late else f"in time {stream.status}"

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join(150)
        return not any(thread.is_alive() for thread in self.threads)


def resident_kib(engine):
    text = pathlib.Path(f"/proc/{engine.process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", text).group(1))


def slope(points):
    """Of the least-squares line through (x, y)."""
    x_mean = sum(x for x, _ in points) / len(points)
    y_mean = sum(y for _, y in points) / len(points)
    spread = sum((x - x_mean) ** 2 for x, _ in points)
    return sum((x - x_mean) * (y - y_mean) for x, y in points) / spread


class Soak(unittest.TestCase):
    def test_memory_stays_flat_and_gauges_return_to_zero(self):
        # A small pool and queue, so that preemption, eviction and 429 belong to the load.
        os.environ.setdefault("ASAN_OPTIONS", "quarantine_size_mb=8")
        engine = self.enterContext(Engine(
            "--max-model-len", "448", "--max-num-seqs", "8", "--kv-cache-memory", "12Mi",
            "--max-queued-requests", "6"))
        crowd = Crowd(engine)
        begin = time.monotonic()
        points = []
        while time.monotonic() - begin < SECONDS:
            time.sleep(min(2.0, SECONDS / 40))
            points.append((time.monotonic() - begin, resident_kib(engine)))
        self.assertTrue(crowd.end(), "a client hangs")
        late = points[len(points) // 2:]
        growth = slope(late) * (late[-1][0] - late[0][0])
        preempted = engine.metric("vllm:num_preemptions_total")
        print(f"soak: {SECONDS:.0f} s, {sum(crowd.seen.values())} requests {dict(crowd.seen)}, "
              f"{preempted:.0f} preemptions, RSS {late[-1][1]} KiB, {growth:+.0f} KiB in the "
              f"second half", flush=True)
        self.assertEqual(crowd.wrong[:5], [])
        for outcome in ("whole 200", "stream 200", "cut 200", "n 200", "refused 400", "too late"):
            self.assertGreater(crowd.seen[outcome], 0, outcome)
        wait_for(engine.is_idle, 60, "gauges return to 0")
        self.assertGreater(engine.metric("vllm:request_success_total", 'finished_reason="abort"'), 0)
        self.assertLess(growth, GROWTH_KIB)
        self.assertIsNone(engine.process.poll())
        self.assertEqual(complete(engine, prompt="Hello", max_tokens=1)[0], 200)
        engine.process.send_signal(signal.SIGTERM)
        self.assertEqual(engine.process.wait(60), 0, engine.lines[-20:])
        self.assertFalse([line for line in engine.lines if "ERROR: " in line])


if __name__ == "__main__":
    unittest.main(verbosity=2)
