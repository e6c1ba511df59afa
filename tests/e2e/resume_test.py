"""Streams that outlive their engine: one pod, one real engine after the other. What the clients get
is compared chunk by chunk with the same requests when nothing happens."""

import collections
import http.client
import json
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

from local_world import BIN, MODEL, children_of, wait_for

SEED = int(os.environ.get("KANTHA_RESUME_SEED", "1"))
KILLS = int(os.environ.get("KANTHA_RESUME_KILLS", "10"))
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def chat(words, **more):
    return CHAT, {"messages": [{"role": "user", "content": words}], **more}


def text(words, **more):
    return TEXT, {"prompt": words, **more}


LONG = {"max_tokens": 160, "ignore_eos": True, "stream": True}
IDS = {"kantha": {"return_token_ids": True}}
USAGE = {"stream_options": {"include_usage": True}}
STREAMS = {
    "greedy": text("Once upon a time", temperature=0, **LONG),
    "greedy chat": chat("Tell me a story.", temperature=0, **USAGE, **LONG),
    "seeded": text("The sea was", temperature=1, seed=7, **IDS, **LONG),
    "seeded chat": chat("Name some birds.", temperature=1, seed=2**53 + 1, top_p=0.9, **LONG),
    "logprobs": text("The forest", temperature=1, seed=3, logprobs=3, **LONG),
    "chat logprobs": chat("Sing!", temperature=1, seed=-5, logprobs=True, top_logprobs=2, **LONG),
    "stop strings": text("Count: one, two,", temperature=0, seed=5, stop=["forty", ", , ,"], **IDS, **LONG),
    "many bytes": text("Emoji: 🦩é赋👩‍👧🦩é赋👩‍👧", temperature=1, seed=11, top_k=50, **USAGE, **LONG),
}


class Pod:
    """One kantha-noded with its engine, on a port of its own."""

    def __init__(self, *arguments, drain_s=20):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-resume-")
        path = pathlib.Path(self.folder.name)
        self.admin = str(path / "admin.sock")
        config = {"model": {"path": str(MODEL), "name": "m"}, "drain": {"timeoutSeconds": drain_s},
                  "engine": {"maxModelLen": 1024, "maxNumSeqs": 16, "kvCacheMemory": 256 << 20}}
        (path / "engine.json").write_text(json.dumps(config))
        self.log = open(path / "noded.log", "w+", encoding="utf-8")
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]
            self.process = subprocess.Popen(
                [str(BIN / "kantha-noded"), "--listen-fd", str(listening.fileno()),
                 "--admin", "unix:" + self.admin, "--engine-binary", str(BIN / "kantha-engine"),
                 "--engine-config", str(path / "engine.json"),
                 "--engine-socket", str(path / "engine.sock"),
                 "--drain-timeout-seconds", str(drain_s), *arguments],
                pass_fds=[listening.fileno()], stdin=subprocess.DEVNULL, stdout=self.log,
                stderr=self.log)
        wait_for(self.is_ready, 90, "a ready pod; " + self.output())

    def output(self):
        return pathlib.Path(self.log.name).read_text()[-3000:]

    def close(self):
        self.process.kill()
        self.process.wait(10)
        self.log.close()
        self.folder.cleanup()

    def engine(self):
        return next(iter(children_of(self.process.pid)), None)

    def call(self, method, path, body=None, timeout_s=240):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            connection.request(method, path, None if body is None else json.dumps(body))
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call_admin(self, method, path):
        connection = http.client.HTTPConnection("localhost", timeout=10)
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(self.admin)
        try:
            connection.request(method, path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def is_ready(self):
        assert self.process.poll() is None, self.output()
        try:
            return self.call("GET", "/ready", timeout_s=5)[0] == 200
        except OSError:
            return False

    def metric(self, name, label=""):
        lines = self.call("GET", "/metrics")[1].splitlines()
        return sum(float(line.rsplit(" ", 1)[1]) for line in lines
                   if line.startswith(name + "{") and label in line)

    def cpu_s(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def chunks_of(stream):
    """The chunks of a whole stream without what differs between two answers; fails the caller when
    the stream does not end as it must."""
    events = [line[6:] for line in stream.split("\n") if line.startswith("data: ")]
    assert events and events[-1] == "[DONE]", stream[-400:]
    chunks = [json.loads(event) for event in events[:-1]]
    assert all("error" not in chunk for chunk in chunks), stream[-400:]
    heads = {tuple(chunk.pop(name) for name in ("id", "created", "system_fingerprint"))
             for chunk in chunks}
    assert len(heads) == 1, heads
    for chunk in chunks:
        if chunk.get("usage"):
            chunk["usage"].pop("prompt_tokens_details")
    return chunks


class Resume(unittest.TestCase):
    def setUp(self):
        self.maxDiff = 2000
        self.chance = random.Random(SEED)

    def start(self, *arguments, **more):
        pod = Pod("--breaker-ends", "1000", *arguments, **more)
        self.addCleanup(pod.close)
        return pod

    def stream(self, pod, request):
        status, answer = pod.call("POST", *request)
        self.assertEqual(status, 200, answer)
        return chunks_of(answer)

    def compare(self, pod, expected, disturb):
        """Clients that repeat their stream until disturb() is over; each answer must be expected.
        Gives how many answers there were, and fails with all differences."""
        over, answers, wrong = threading.Event(), collections.Counter(), []

        def run(name):
            while not over.is_set():
                try:
                    got = self.stream(pod, STREAMS[name])
                    same = next((i for i, (a, b) in enumerate(zip(got, expected[name])) if a != b),
                                min(len(got), len(expected[name])))
                    if got != expected[name]:
                        wrong.append((name, same, got[same - 1:same + 2],
                                      expected[name][same - 1:same + 2]))
                except Exception as error:  # noqa: BLE001 - every kind counts
                    wrong.append((name, repr(error)))
                answers[name] += 1

        threads = [threading.Thread(target=run, args=(name,), daemon=True) for name in expected]
        for thread in threads:
            thread.start()
        try:
            disturb()
        finally:
            over.set()
            for thread in threads:
                thread.join(240)
        self.assertFalse(any(thread.is_alive() for thread in threads), "a client hangs")
        self.assertEqual(wrong, [], pod.output())
        return answers

    def undisturbed(self, pod, names=STREAMS):
        before, tokens = pod.cpu_s(), 0
        expected = {}
        for name in names:
            expected[name] = self.stream(pod, STREAMS[name])
            tokens += len(expected[name])
        print(f"noded: {(pod.cpu_s() - before) / tokens * 1e6:.0f} us of CPU per token, "
              "everything counted")
        return expected

    def kill_engines(self, pod, count):
        """Each engine is killed somewhere between its start and two seconds later."""
        for _ in range(count):
            tokens = pod.metric("vllm:generation_tokens_total")
            wait_for(lambda: pod.is_ready() and pod.metric("vllm:generation_tokens_total") > tokens,
                     60, "tokens after the last kill; " + pod.output())
            time.sleep(self.chance.random() * 2)
            os.kill(pod.engine(), signal.SIGKILL)
            wait_for(lambda: not pod.is_ready(), 10, "an engine that is gone")

    def test_no_stream_is_cut_and_no_token_differs_when_engines_are_killed(self):
        pod = self.start()
        expected = self.undisturbed(pod)
        self.assertEqual(expected["greedy chat"][-1]["usage"]["completion_tokens"], 160)
        answers = self.compare(pod, expected, lambda: self.kill_engines(pod, KILLS))
        print(f"{KILLS} kills: {sum(answers.values())} streams, all as undisturbed; "
              f"{pod.metric('kantha_noded_resumes_total'):.0f} resumed")
        self.assertEqual(set(answers), set(STREAMS))
        self.assertGreaterEqual(pod.metric("kantha_noded_resumes_total", 'result="resumed"'), KILLS)
        self.assertEqual(pod.metric("kantha_noded_resumes_total", 'result="failed"'), 0)
        state = pod.call_admin("GET", "/admin/v1/state")
        self.assertGreaterEqual(state["streams_resumed"], KILLS)
        self.assertEqual(state["streams_broken"], 0)

    def test_an_engine_that_is_replaced_under_streams_or_told_to_end_hands_them_on(self):
        pod = self.start(drain_s=1)
        expected = self.undisturbed(pod, ["greedy chat", "seeded", "stop strings"])

        def replace():
            for _ in range(2):
                before = pod.engine()
                self.assertTrue(pod.call_admin("POST", "/admin/v1/restart-engine")["restarting"])
                wait_for(lambda: pod.engine() not in (before, None) and pod.is_ready(), 60, "new")
            before = pod.engine()
            os.kill(before, signal.SIGTERM)
            wait_for(lambda: pod.engine() not in (before, None) and pod.is_ready(), 60, "another")

        self.compare(pod, expected, replace)
        self.assertEqual(pod.metric("kantha_noded_streams_broken_total"), 0)

    def test_streams_of_the_other_apis_go_on_as_well(self):
        pod = self.start()
        say = [{"role": "user", "content": "Tell me a story."}]
        bodies = {
            "/v1/messages": {"model": "m", "max_tokens": 160, "messages": say, "stream": True,
                             "temperature": 1, "seed": 3, "ignore_eos": True},
            "/v1/responses": {"model": "m", "max_output_tokens": 160, "input": "Tell me a story.",
                              "stream": True, "temperature": 1, "seed": 4, "ignore_eos": True},
            "/api/chat": {"model": "m", "messages": say, "ignore_eos": True,
                          "options": {"num_predict": 160, "seed": 5}}}

        def ask(path):
            status, answer = pod.call("POST", path, bodies[path])
            self.assertEqual(status, 200, answer)
            lines = [line.removeprefix("data: ") for line in answer.split("\n")]
            return [json.loads(line) for line in lines if line.startswith("{")]

        def same(events):
            """Without what differs between two answers of one engine."""
            text = re.sub(r"(msg|resp)_[0-9a-f]+", "ID", json.dumps(events))
            text = re.sub(r'"(created_at|[a-z_]*duration)": [^,}]+', "", text)
            return re.sub(r'"[a-z_]*(input|cached|cache_read_input)_tokens": \d+', "", text)

        expected = {path: same(ask(path)) for path in bodies}
        answers = {}
        clients = [threading.Thread(target=lambda p=path: answers.update({p: ask(p)}))
                   for path in bodies]
        for client in clients:
            client.start()
        self.kill_engines(pod, 2)
        for client in clients:
            client.join(240)
        self.assertEqual({path: same(events) for path, events in answers.items()}, expected)
        numbers = [event["sequence_number"] for event in answers["/v1/responses"]]
        self.assertEqual(numbers, list(range(len(numbers))))
        ids = set(re.findall(r"(?:msg|resp)_[0-9a-f]+", json.dumps(answers["/v1/responses"])))
        self.assertEqual(len(ids), 2, "one answer and one item")
        self.assertGreaterEqual(pod.metric("kantha_noded_resumes_total", 'result="resumed"'), 3)

    def test_a_seed_that_nobody_gave_is_kept(self):
        pod = self.start()
        path, body = text("Dice:", temperature=1, **IDS, **LONG)
        answer = []
        client = threading.Thread(target=lambda: answer.append(self.stream(pod, (path, body))))
        client.start()
        self.kill_engines(pod, 2)
        client.join(120)
        seeds = [chunk["kantha"].pop("seed") for chunk in answer[0] if "seed" in chunk["kantha"]]
        self.assertEqual(len(seeds), 1, "told once")
        again = self.stream(pod, (path, {**body, "seed": seeds[0]}))
        again[0]["kantha"].pop("seed")
        self.assertEqual(answer[0], again)

    def test_whole_answers_are_asked_for_again(self):
        pod = self.start()
        path, body = STREAMS["seeded chat"]
        body = {**body, "stream": False}
        ask = lambda: json.loads(pod.call("POST", path, body)[1])["choices"]
        expected, answer = ask(), []
        client = threading.Thread(target=lambda: answer.append(ask()))
        client.start()
        wait_for(lambda: pod.metric("vllm:num_requests_running") == 1, 60, "a running request")
        os.kill(pod.engine(), signal.SIGKILL)
        client.join(120)
        self.assertEqual(answer, [expected])

    def test_without_any_engine_a_stream_ends_with_one_error_event(self):
        pod = self.start("--resume-timeout-seconds", "2")
        answer = []
        ask = lambda: answer.append(pod.call("POST", *STREAMS["greedy"]))
        client = threading.Thread(target=ask)
        client.start()
        wait_for(lambda: pod.metric("vllm:num_requests_running") == 1, 60, "a running stream")
        (pathlib.Path(pod.folder.name) / "engine.json").write_text("{}")
        os.kill(pod.engine(), signal.SIGKILL)
        client.join(30)
        status, stream = answer[0]
        self.assertEqual(status, 200)
        self.assertEqual(len(re.findall(r'(?m)^data: {"error"', stream)), 1)
        self.assertIn("no engine", stream.split("data: ")[-1])
        self.assertNotIn("data: [DONE]", stream)


if __name__ == "__main__":
    unittest.main(verbosity=2)
