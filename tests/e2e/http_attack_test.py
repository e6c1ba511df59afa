"""Attacks over HTTP on a pod of `kantha up` that asks for keys: whatever a client sends, cuts or
kills, with a key or without, the pod answers properly and stays alive. Standard library only."""

import collections
import concurrent.futures
import contextlib
import json
import os
import random
import signal
import socket
import threading
import time
import unittest

from local_world import MODEL, SPEC, World, wait_for
from streamed_answer import quantile

CHAT, TEXT = "/v1/chat/completions", "/v1/completions"
WINDOW = 512
ASK = [{"role": "user", "content": "Say a word"}]


def strict(data):
    """Parses JSON that has no constants like NaN and no key twice."""
    def refuse(name):
        raise ValueError(name)

    def once(pairs):
        assert len(dict(pairs)) == len(pairs), pairs
        return dict(pairs)

    text = data.decode("utf-8") if isinstance(data, bytes) else data
    return json.loads(text, parse_constant=refuse, object_pairs_hook=once)


def raw_post(body, key=""):
    return b"POST %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n" % (
        TEXT.encode(), key.encode(), len(body)) + body


class Answer:
    """A stream's events put together; `end` is done, error or silent."""

    def __init__(self, data):
        self.text, self.finish, self.ids, self.seed, self.scores = "", None, [], None, []
        self.steps = []  # after each chunk: token ids and text so far
        events = [line[6:] for line in data.decode().split("\n") if line.startswith("data: ")]
        last = events[-1] if events else ""
        self.end = "done" if last == "[DONE]" else "error" if '"error"' in last else "silent"
        for event in events[:-1]:
            self.take(strict(event))

    def take(self, chunk):
        mine = chunk.get("kantha", {})
        self.ids += mine.get("token_ids", [])
        self.seed = mine.get("seed", self.seed)
        for choice in chunk["choices"]:
            self.text += choice["delta"].get("content", "") if "delta" in choice else choice["text"]
            self.finish = choice["finish_reason"] or self.finish
            self.scores += (choice["logprobs"] or {}).get("content") or []
        self.steps.append((list(self.ids), self.text))


class Attacks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World()
        text = SPEC.format(name="e2e", model=MODEL, replicas=1, max_model_len=WINDOW,
                           max_num_seqs=64)
        cls.world.write_spec(text=text + "  gateway: {authSecret: door-keys}\n")
        made = cls.world.run("key", "new", "--tenant", "blue")
        (cls.world.path / "door-keys").mkdir()
        (cls.world.path / "door-keys" / "keys.json").write_text(
            json.dumps({"keys": [json.loads(made.stderr)]}))
        cls.world.key = made.stdout.strip()
        cls.world.start()

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def tearDown(self):
        """After every attack: the same engine, idle, and still of use."""
        self.assert_idle(5)
        self.assertEqual(self.world.complete("Hello", 1)[1], "length")

    def post(self, path, body):
        return self.world.request("POST", path, body)

    def stream(self, body, path=TEXT):
        status, data = self.post(path, {**body, "stream": True})
        self.assertEqual(status, 200, data)
        return Answer(data)

    def metrics(self):
        sums = collections.Counter()
        for line in self.world.request("GET", "/metrics")[1].decode().splitlines():
            if line and not line.startswith("#"):
                name, value = line.rsplit(" ", 1)
                sums[name.split("{")[0]] += float(value)
        return sums

    def assert_idle(self, timeout_s):
        names = ("vllm:num_requests_running", "vllm:num_requests_waiting",
                 "vllm:kv_cache_usage_perc")
        wait_for(lambda: not any(self.metrics()[name] for name in names), timeout_s, "idle engine")

    def assert_refused(self, answer, status=400):
        self.assertEqual(answer[0], status, answer)
        error = strict(answer[1])["error"]
        self.assertEqual(set(error), {"message", "type", "param", "code"})
        self.assertIn(type(error["code"]), (str, type(None)), error)
        return error

    def raw(self, data, timeout_s=15):
        with socket.create_connection(("127.0.0.1", self.world.port), timeout=timeout_s) as peer:
            answer = b""
            with contextlib.suppress(ConnectionError):  # refused before the end
                peer.sendall(data)
            with contextlib.suppress(ConnectionError):
                while piece := peer.recv(65536):
                    answer += piece
            return answer

    def test_wrong_types_are_400_and_name_the_field(self):
        both = {"model": "s", "temperature": "f", "top_p": "f", "top_k": "i", "min_p": "f",
                "seed": "i", "stop": "sa", "ignore_eos": "b", "min_tokens": "i", "stream": "b",
                "stream_options": "o", "kantha": "o", "n": "i", "logit_bias": "o", "user": "s",
                "presence_penalty": "f", "response_format": "o", "stop_token_ids": "a"}
        values = {"b": True, "f": 1.5, "s": "zz", "a": [[[]]], "o": {"a": []}}
        for path, base, more in (
                (CHAT, {"messages": ASK}, {"messages": "a", "logprobs": "b", "tools": "a",
                                           "max_completion_tokens": "i"}),
                (TEXT, {"prompt": "a"}, {"prompt": "sa", "logprobs": "i", "max_tokens": "i"})):
            for field, expected in {**both, **more}.items():
                for kind, value in values.items():
                    if kind == "f" == expected or kind in expected and kind != "a":
                        continue
                    with self.subTest(path, field=field, value=value):
                        answer = self.post(path, {**base, field: value})
                        param = self.assert_refused(answer)["param"]
                        self.assertEqual(param.partition(".")[0].partition("[")[0], field)

    def test_bodies_that_are_no_request(self):
        half = b'{"max_tokens":1,"prompt":"cut \\uD83E"}'
        for body in (b"", b"null", b"[]", b'{"a":', half, b'{"prompt":"\xff"}', b'{"prompt":"a\0"}',
                     b"[" * 100_000, b'{"a":' * 100_000, b'{"prompt":"a","prompt":"b"}',
                     b'{"prompt":"a","temperature":NaN}', b'{"prompt":"a","seed":1e400}',
                     b'{"prompt":"a"}{}', b'{"prompt":"a","user":[' + b"1," * 200_000 + b"1]}"):
            with self.subTest(body[:40]):
                request = raw_post(body, self.world.key).replace(b"Host: x", b"Host: x\r\nConnection: close")
                head, _, error = self.raw(request).partition(b"\r\n\r\n")
                self.assertIn(self.assert_refused((int(head.split()[1]), error))["param"],
                              (None, "user"))

    def test_prompts_at_the_edge_of_the_window(self):
        for count, status in ((WINDOW - 1, 200), (WINDOW, 400), (WINDOW + 1, 400), (5000, 400)):
            for stream in (False, True):
                answer = self.post(TEXT, {"prompt": [504] * count, "max_tokens": 1,
                                          "stream": stream})
                self.assertEqual(answer[0], status, answer)
                if status == 400:
                    error = self.assert_refused(answer)
                    self.assertEqual(error["code"], "context_length_exceeded")
                    self.assertIn(str(count), error["message"])
                    self.assertIn(str(WINDOW), error["message"])
        for prompt in ("", [], [[]], ["", "a"], [1, "a"], [-1], [10**6], [1.5]):
            self.assert_refused(self.post(TEXT, {"prompt": prompt, "max_tokens": 1}))
        self.assert_refused(self.post(TEXT, {"prompt": "a", "model": "other"}), 404)

    def test_a_stream_is_the_whole_answer_and_resumes_at_every_token(self):
        rnd = random.Random(3)
        letters = [*"abc de.\n\"\\é日語😀\0", "👩‍👧", "<|im_end|>"]
        for case in range(12):
            body = {"max_tokens": rnd.randint(1, 16), "temperature": rnd.choice([0, 0.8, 1.5]),
                    "seed": case, "kantha": {"return_token_ids": True}, "logprobs": True,
                    "top_logprobs": 5, "stop": rnd.choice([None, ["e "], ["\n", "a", ". "]]),
                    "messages": [{"role": "user", "content": "".join(rnd.choices(letters, k=20))}]}
            with self.subTest(case, body=body):
                whole = strict(self.post(CHAT, body)[1])["choices"][0]
                stream = self.stream(body, CHAT)
                self.assertEqual((stream.end, stream.text, stream.finish, stream.ids), (
                    "done", whole["message"]["content"], whole["finish_reason"],
                    whole["kantha"]["token_ids"]))
                self.assertEqual(stream.scores, (whole["logprobs"] or {"content": []})["content"])
                self.check_scores(stream.scores)
                self.check_resumes(body, stream, rnd)

    def check_scores(self, scores):
        for score in scores:
            top = [entry["logprob"] for entry in score["top_logprobs"]]
            self.assertEqual(top, sorted(top, reverse=True))
            self.assertEqual(len(top), 5)
            self.assertTrue(-9999 <= score["logprob"] <= top[0] <= 0, score)

    def check_resumes(self, body, full, rnd):
        cuts = [step for step in full.steps if step[0]]
        for ids, text in {str(cut): cut for cut in rnd.sample(cuts, 1) + cuts[-2:]}.values():
            rest = self.stream({**body, "kantha": {"return_token_ids": True,
                                                   "resume": {"token_ids": ids}}}, CHAT)
            self.assertEqual((text + rest.text, rest.finish, ids + rest.ids),
                             (full.text, full.finish, full.ids))

    def test_a_seed_gives_the_same_tokens_among_neighbours(self):
        def ids(**more):
            body = {"prompt": "Once upon a time", "max_tokens": 16, "temperature": 1,
                    "ignore_eos": True, "kantha": {"return_token_ids": True}, **more}
            return strict(self.post(TEXT, body)[1])["choices"][0]["kantha"]["token_ids"]

        alone = ids(seed=11)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            others = [pool.submit(ids) for _ in range(7)]
            self.assertEqual(pool.submit(ids, seed=11).result(), alone)
            self.assertGreater(len({tuple(other.result()) for other in others}), 1)

    def test_clients_that_leave_at_any_time(self):
        before = self.metrics()
        rnd = random.Random(1)
        leave = [(rnd.choice([3, 50, 300]), rnd.choice([0, 0.001, 0.01, 0.05, 0.3]),
                  rnd.random()) for _ in range(120)]

        def go(length, wait_s, how):
            body = {"prompt": [7 + length] * length, "max_tokens": 100, "ignore_eos": True,
                    "stream": how < 0.5}
            data = raw_post(json.dumps(body).encode(), self.world.key)
            with socket.create_connection(("127.0.0.1", self.world.port)) as peer:
                peer.sendall(data[:len(data) // 2] if how > 0.9 else data)
                time.sleep(wait_s)
                if 0.2 < how < 0.7:
                    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")

        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            list(pool.map(lambda case: go(*case), leave))
        self.assert_idle(5)
        after = self.metrics()
        ended, made = "vllm:request_success_total", "vllm:generation_tokens_total"
        self.assertGreater(after[ended], before[ended])
        self.assertEqual(after[made], self.metrics()[made])

    def test_smuggled_and_oversized_requests_end_the_connection(self):
        post = b"POST " + TEXT.encode() + b" HTTP/1.1\r\nHost: x\r\n"
        get = b"GET /health HTTP/1.1\r\nHost: x\r\n"
        chunked = b"Transfer-Encoding: chunked\r\n"
        for name, data, status in (
                ("both framings", post + b"Content-Length: 4\r\n" + chunked + b"\r\nabcd", 400),
                ("two lengths", post + b"Content-Length: 0\r\nContent-Length: 9\r\n\r\n", 400),
                ("list of lengths", post + b"Content-Length: 0, 0\r\n\r\n", 400),
                ("signed length", post + b"Content-Length: +0\r\n\r\n", 400),
                ("blank before colon", post + b"Transfer-Encoding : chunked\r\n\r\n", 400),
                ("odd coding", post + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 400),
                ("folded line", get + b"A: b\r\n c\r\n\r\n", 400),
                ("bare LF", b"GET /health HTTP/1.1\nHost: x\n\n", 400),
                ("huge chunk", post + chunked + b"\r\nfffffffffffffff0\r\n", 413),
                ("long fields", get + b"A: " + b"a" * 40_000 + b"\r\n\r\n", 431),
                ("many fields", get + b"A: b\r\n" * 200 + b"\r\n", 431),
                ("many chunks", post + chunked + b"\r\n" + b"1\r\n \r\n" * 20_000, 413)):
            with self.subTest(name):
                answer = self.raw(data + get + b"\r\n")
                self.assertEqual(answer.split()[1], b"%d" % status, answer[:200])
                self.assertEqual(answer.count(b"HTTP/1.1 "), 1, answer)

    def test_without_a_right_key_nothing_else_about_a_request_matters(self):
        key, self.world.key = self.world.key, None
        try:
            for body in ({}, {"prompt": "a"}, {"prompt": [1] * 100_000}, [], {"stream": "x"}):
                for path in (TEXT, CHAT, "/v1/models", "/nothing", "/metrics", "//v1/completions"):
                    self.assert_refused(self.post(path, body), 401)
        finally:
            self.world.key = key
        for wrong in ("", "x", key[:-1], key + "x", key.upper(), "é" * 40, "a" * 5000):
            head = self.raw(raw_post(b"{}", wrong).replace(b"Host: x", b"Host: x\r\nConnection: close"))
            self.assertEqual(head.split()[1], b"401", wrong)

    def good_times(self, count):
        """Seconds of one-token answers, one after the other."""
        times = []
        for _ in range(count):
            start = time.monotonic()
            self.assertEqual(self.world.complete("Hello", 1)[1], "length")
            times.append(time.monotonic() - start)
        return times

    @contextlib.contextmanager
    def under_attack(self):
        """Slow headers, bodies of one byte at a time, large fields, floods without a key."""
        over = threading.Event()
        head = raw_post(b"x" * 500, self.world.key)
        huge = b"GET /v1/models HTTP/1.1\r\nHost: x\r\nA: " + b"a" * 30_000 + b"\r\n"
        deep = raw_post(b"[" * 50_000, self.world.key)

        def drip(data):
            while not over.is_set():
                with contextlib.suppress(OSError):
                    with socket.create_connection(("127.0.0.1", self.world.port), 5) as peer:
                        for at in range(len(data)):
                            peer.sendall(data[at:at + 1])
                            if over.wait(0.1):
                                return

        def flood(data):
            while not over.wait(0.02):
                with contextlib.suppress(OSError):
                    self.raw(data, timeout_s=5)

        close = lambda data: data.replace(b"Host: x", b"Host: x\r\nConnection: close")
        attackers = [threading.Thread(target=drip, args=(data,), daemon=True)
                     for data in [head, head[:-500], huge] * 10]
        attackers += [threading.Thread(target=flood, args=(close(data),), daemon=True)
                      for data in (raw_post(b"{}", "wrong"), huge + b"B: " + b"b" * 30_000, deep)]
        for attacker in attackers:
            attacker.start()
        try:
            yield
        finally:
            over.set()
            for attacker in attackers:
                attacker.join(10)

    def test_good_clients_keep_their_speed_under_attack(self):
        engines, ratios = self.world.engines(), []
        for _ in range(3):
            before = quantile(self.good_times(60), 0.99)
            with self.under_attack():
                during = quantile(self.good_times(60), 0.99)
            ratios.append(during / before)
            if ratios[-1] <= 2:
                break
        print("p99 of good clients under attack, of that in peace: "
              + ", ".join(f"{ratio:.2f}" for ratio in ratios))
        self.assertLessEqual(min(ratios), 2)
        self.assertEqual(self.world.engines(), engines, "nothing was started again")

    def test_every_series_has_one_help_and_its_type(self):
        lines = self.world.request("GET", "/metrics")[1].decode().splitlines()
        kinds = [line.split()[2:4] for line in lines if line.startswith("# TYPE")]
        self.assertEqual(len(kinds), len({name for name, _ in kinds}))
        odd = [k for k in kinds if (k[1] == "counter") != k[0].endswith("_total")]
        self.assertEqual(odd, [["vllm:iteration_tokens_total", "histogram"]])  # vLLM's name

    def test_probes_answer_while_full_windows_are_read(self):
        slow, stop = [], threading.Event()

        def probe(path):
            while not stop.is_set():
                start = time.monotonic()
                status = self.world.request("GET", path, timeout_s=5)[0]
                took = time.monotonic() - start
                if status != 200 or took > 1:
                    slow.append((path, status, took))
                time.sleep(0.1)

        probes = [threading.Thread(target=probe, args=(path,)) for path in ("/health", "/metrics")]
        for thread in probes:
            thread.start()
        bodies = [{"prompt": [100 + i] * 480, "max_tokens": 8} for i in range(8)]
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            ends = [answer.end for answer in pool.map(self.stream, bodies)]
        stop.set()
        for thread in probes:
            thread.join()
        self.assertEqual((ends, slow), (["done"] * 8, []))

    def test_z_a_killed_engine_hands_every_stream_on(self):
        (engine,) = self.world.engines()
        with concurrent.futures.ThreadPoolExecutor(40) as pool:
            streams = [pool.submit(self.stream, {"prompt": f"Story {i}", "max_tokens": 120,
                                                 "ignore_eos": True}) for i in range(32)]
            word = {"prompt": "Word", "max_tokens": 2}
            whole = [pool.submit(self.post, TEXT, word) for _ in range(4)]
            wait_for(lambda: self.metrics()["vllm:num_requests_running"] > 8, 60, "running streams")
            os.kill(engine, signal.SIGKILL)
            ends = collections.Counter(stream.result().end for stream in streams)
            self.assertEqual([answer.result()[0] for answer in whole], [200] * 4)
        self.assertEqual(ends, {"done": 32})
        wait_for(lambda: self.world.engines() and self.world.healthy(), 60, "a new engine")


if __name__ == "__main__":
    unittest.main(verbosity=2)
