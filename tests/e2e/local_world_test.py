"""The whole path on one machine: a ModelServing file, real processes, a real model."""

import concurrent.futures
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import unittest

from local_world import BIN, MODEL, World, is_running, read_stream, wait_for

CHAT = {"model": "smollm2-135m-instruct", "temperature": 0, "max_tokens": 32,
        "messages": [{"role": "user", "content": "What is the capital of France?"}]}
ANSWER = "The capital of France is Paris."


class OneReplica(unittest.TestCase):
    """Cases that share one world; each leaves it healthy."""

    @classmethod
    def setUpClass(cls):
        cls.world = World().start()

    @classmethod
    def tearDownClass(cls):
        cls.world.close()

    def setUp(self):
        wait_for(self.world.healthy, 60, "health before the case; " + self.world.output())

    def chat(self, **more):
        status, answer = self.world.request("POST", "/v1/chat/completions", {**CHAT, **more})
        self.assertEqual(status, 200, answer)
        return answer

    def test_a_chat_gets_the_models_answer_with_usage(self):
        body = json.loads(self.chat())
        self.assertEqual(body["choices"][0]["message"]["content"], ANSWER)
        self.assertEqual(body["choices"][0]["finish_reason"], "stop")
        self.assertEqual(body["usage"]["prompt_tokens"], 37)

    def test_a_stream_joins_to_the_same_answer(self):
        text, finish = read_stream(self.chat(stream=True))
        self.assertEqual((text, finish), (ANSWER, "stop"))

    def test_a_killed_engine_comes_back_and_health_tells_the_truth_meanwhile(self):
        before = self.world.engines()
        self.assertEqual(len(before), 1)
        os.kill(before[0], signal.SIGKILL)
        wait_for(lambda: not self.world.healthy(), 5, "health says unavailable")
        # Sent while there is no engine: held, then answered.
        self.assertEqual(json.loads(self.chat())["choices"][0]["message"]["content"], ANSWER)
        wait_for(self.world.healthy, 60, "healthy again")
        after = self.world.engines()
        self.assertEqual(len(after), 1)
        self.assertNotEqual(before, after)

    def test_a_killed_noded_comes_back_and_no_connection_is_refused(self):
        before = self.world.nodeds()
        engines = self.world.engines()
        os.kill(before[0], signal.SIGKILL)
        # The listening socket belongs to `kantha up`: this waits in its queue, it is not refused.
        self.assertEqual(json.loads(self.chat())["choices"][0]["message"]["content"], ANSWER)
        self.assertNotEqual(self.world.nodeds(), before)
        wait_for(lambda: not any(map(is_running, engines)), 60, "the old engine died with its noded")

    def stream_under_a_kill(self, **more):
        """A stream whose engine is killed while it runs."""
        with concurrent.futures.ThreadPoolExecutor() as pool:
            body = {"model": CHAT["model"], "prompt": "Once upon a time", "max_tokens": 300,
                    "temperature": 0, "ignore_eos": True, "stream": True, **more}
            answer = pool.submit(self.world.request, "POST", "/v1/completions", body, 60)
            wait_for(lambda: self.metric("vllm:num_requests_running") > 0, 60, "running")
            time.sleep(0.3)
            os.kill(self.world.engines()[0], signal.SIGKILL)
            status, stream = answer.result(60)
        self.assertEqual(status, 200)
        return stream

    def test_a_running_stream_whose_engine_dies_goes_on_as_if_nothing_had_happened(self):
        self.assertEqual(read_stream(self.stream_under_a_kill()),
                         self.world.complete("Once upon a time", 300, ignore_eos=True))

    def test_a_stream_of_two_samples_whose_engine_dies_ends_with_an_error_event(self):
        stream = self.stream_under_a_kill(n=2)
        events = [line for line in stream.decode().split("\n") if line.startswith("data: ")]
        self.assertIn("error", json.loads(events[-1][6:]))
        self.assertNotIn("data: [DONE]", events)

    def test_64_streams_of_mixed_lengths_equal_the_same_requests_alone(self):
        prompts = [("The " + "very " * (i % 17) + "short story number %d is about" % i, 4 + i % 29)
                   for i in range(64)]
        with concurrent.futures.ThreadPoolExecutor(64) as pool:
            together = list(pool.map(
                lambda item: self.world.complete(item[0], item[1], stream=True), prompts))
        for (prompt, length), crowd in zip(prompts, together):
            self.assertEqual(self.world.complete(prompt, length), crowd, prompt)

    def test_what_the_client_leaves_is_not_computed(self):
        body = {"model": CHAT["model"], "prompt": "Count:", "max_tokens": 1900, "ignore_eos": True}
        for stream in (True, False):
            with socket.create_connection(("127.0.0.1", self.world.port)) as connection:
                data = json.dumps({**body, "stream": stream}).encode()
                connection.sendall(b"POST /v1/completions HTTP/1.1\r\nHost: x\r\nContent-Type: "
                                   b"application/json\r\nContent-Length: %d\r\n\r\n" % len(data) + data)
                wait_for(lambda: self.metric("vllm:num_requests_running") == 1, 60, "running")
            wait_for(lambda: self.metric("vllm:num_requests_running") == 0, 8, f"stream={stream}")
            wait_for(lambda: self.metric("vllm:kv_cache_usage_perc") == 0, 8, "blocks are back")

    def metric(self, name):
        text = self.world.request("GET", "/metrics")[1].decode()
        series = [line for line in text.split("\n") if line.startswith(name + "{")]
        values = [line.rsplit(" ", 1)[1] for line in series]
        self.assertTrue(values, name + " is not exported")
        return sum(map(float, values))

    def test_get_and_chat_find_the_world_by_themselves(self):
        table = self.world.run("get")
        self.assertEqual(table.returncode, 0, table.stderr)
        self.assertIn("e2e", table.stdout)
        chat = self.world.run("chat", "--temperature", "0", "What is the capital of France?")
        self.assertEqual(chat.returncode, 0, chat.stderr)
        self.assertIn("Paris", chat.stdout)

    def test_nothing_listens_beyond_loopback(self):
        for table, loopback in (("tcp", "0100007F"), ("tcp6", "00000000000000000000000001000000")):
            for pid in [self.world.process.pid, *self.world.nodeds(), *self.world.engines()]:
                inodes = set()
                for link in pathlib.Path(f"/proc/{pid}/fd").iterdir():
                    try:
                        inodes.add(os.readlink(link))
                    except FileNotFoundError:
                        continue
                for line in pathlib.Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
                    fields = line.split()
                    if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                        self.assertTrue(fields[1].startswith(loopback), line)


class Reconciling(unittest.TestCase):
    """Editing the file while it runs."""

    def setUp(self):
        self.world = World(replicas=1).start()
        self.addCleanup(self.world.close)

    def test_replicas_up_and_down_by_file_and_by_verb(self):
        self.world.write_spec(replicas=2)
        wait_for(lambda: len(self.world.engines()) == 2, 60, "two engines; " + self.world.output())
        scaled = self.world.run("scale", "kms/e2e", "--replicas", "1")
        self.assertEqual(scaled.returncode, 0, scaled.stderr)
        wait_for(lambda: len(self.world.nodeds()) == 1, 60, "one pod again; " + self.world.output())
        self.assertEqual(self.world.complete("Hello", 2)[1], "length")

    def test_a_bad_edit_keeps_the_old_spec_serving_and_says_why(self):
        good = self.world.file.read_text()
        self.world.write_spec(text=good.replace("replicas: 1", 'replicas: "two"'))
        wait_for(lambda: self.world.line_with("spec.replicas"), 60, "the problem; " + self.world.output())
        self.assertTrue(self.world.healthy())
        self.assertEqual(len(self.world.engines()), 1)

    def test_a_changed_engine_config_restarts_engines_one_by_one_without_a_failed_request(self):
        self.world.write_spec(replicas=2)
        wait_for(lambda: self.ready_pods() == 2, 60, "two ready pods; " + self.world.output())
        before = set(self.world.engines())
        self.world.write_spec(replicas=2, max_num_seqs=32)
        failures, least = [], 2
        deadline = time.monotonic() + 90
        while time.monotonic() < deadline:
            try:
                self.world.complete("Hello", 4)
            except Exception as error:  # every kind of failure counts
                failures.append(repr(error))
            now = set(self.world.engines())
            least = min(least, len(now))
            if len(now) == 2 and not now & before and self.ready_pods() == 2:
                break
        self.assertEqual(failures, [])
        self.assertFalse(set(self.world.engines()) & before, self.world.output())
        self.assertGreaterEqual(least, 1, "both engines were down at once")

    def ready_pods(self):
        return json.dumps(self.world.pods()).count('"phase": "ready"')


class ToZero(unittest.TestCase):
    def setUp(self):
        self.world = World()
        self.addCleanup(self.world.close)
        self.world.write_spec(text=self.world.file.read_text().replace(
            "  replicas: 1\n",
            "  autoscaling: {minReplicas: 0, maxReplicas: 2, idleSeconds: 1}\n"))
        self.world.start()

    def test_silence_ends_the_pod_and_requests_wait_for_the_next(self):
        wait_for(lambda: not self.world.nodeds(), 60, "no pod; " + self.world.output())
        self.assertIn("asleep", self.world.run("get").stdout)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            waiting = [pool.submit(self.world.complete, "Hello", 4, stream=n % 2 == 0)
                       for n in range(6)]
            self.assertEqual([one.result(60)[1] for one in waiting], ["length"] * 6)
        said = self.world.run("explain", "kms/e2e").stdout
        for word in ("Idle", "RequestsWait", "idleSeconds 1"):
            self.assertIn(word, said)

    def test_no_request_finds_nobody_whenever_it_comes(self):
        pauses = [0.8, 1.0, 1.1, 1.2, 1.4, 1.7, 1.3, 0.9, 1.5, 1.25]
        for pause in pauses:  # some before, some in, some after the moment at which the pod goes
            time.sleep(pause)
            self.assertEqual(self.world.complete("Hello", 2)[1], "length")
        self.assertIsNotNone(self.world.line_with("Idle"), self.world.output())


class Ending(unittest.TestCase):
    def test_ctrl_c_lets_a_stream_finish_and_leaves_nothing_behind(self):
        world = World().start()
        self.addCleanup(world.close)
        everything = [*world.nodeds(), *world.engines()]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            stream = pool.submit(world.complete, "Once upon a time", 150, stream=True,
                                 ignore_eos=True)
            time.sleep(0.4)
            self.assertEqual(world.stop(), 0, world.output())
            self.assertEqual(stream.result(60)[1], "length")
        self.assertFalse([pid for pid in everything if is_running(pid)])
        self.assertFalse(list(world.path.glob("kantha/*/pod-*")), "state folder is left")

    def test_killing_kantha_up_leaves_no_process(self):
        world = World(replicas=2).start()
        self.addCleanup(world.close)
        wait_for(lambda: len(world.engines()) == 2, 60, "two engines")
        everything = [*world.nodeds(), *world.engines()]
        world.process.kill()
        world.process.wait(10)
        wait_for(lambda: not [pid for pid in everything if is_running(pid)], 60, "children are gone")

    def test_up_with_a_prompt_prints_the_answer_only_and_ends(self):
        world = World()
        self.addCleanup(world.close)
        result = world.run("up", "-f", str(world.file), "--listen", "127.0.0.1:0", "--prompt",
                           "What is the capital of France?", timeout_s=120)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("Paris", result.stdout)
        self.assertNotIn("ready:", result.stdout)


class BadInput(unittest.TestCase):
    """Each gets a line that names the thing, an exit status and no process left."""

    def up(self, text=None, *arguments, **fields):
        world = World()
        self.addCleanup(world.close)
        good = world.file.read_text()
        if text is not None:
            world.write_spec(text=text(good))
        listen = () if "--listen" in arguments else ("--listen", "127.0.0.1:0")
        return world.run("up", "-f", str(world.file), *listen, *arguments, timeout_s=60)

    def test_files(self):
        cases = [
            ("replicas -1", lambda t: t.replace("replicas: 1", "replicas: -1"), "spec.replicas"),
            ("a word for a number", lambda t: t.replace("replicas: 1", "replicas: two"), "spec.replicas"),
            ("a duplicate key", lambda t: t + "  replicas: 2\n", "replicas"),
            ("malformed YAML", lambda t: t + "  : [\n", "serving.yaml:"),
            ("a missing model", lambda t: t.replace(str(MODEL), "/no/such/model.gguf"),
             "/no/such/model.gguf"),
            ("a wrong kind", lambda t: t.replace("ModelServing", "Deployment"), "kind"),
            ("an empty file", lambda t: "", "empty"),
        ]
        for name, change, expected in cases:
            with self.subTest(name):
                result = self.up(change)
                self.assertIn(result.returncode, (1, 2), result.stderr)
                self.assertIn(expected, result.stderr + result.stdout)

    def test_a_port_in_use_is_named(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            port = taken.getsockname()[1]
            result = self.up(None, "--listen", f"127.0.0.1:{port}")
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(f"port {port}", result.stderr + result.stdout)

    def test_a_damaged_model_is_refused_with_its_reason(self):
        world = World()
        self.addCleanup(world.close)
        damaged = world.path / "cut.gguf"
        with open(MODEL, "rb") as source:
            damaged.write_bytes(source.read(1 << 20))
        world.write_spec(text=world.file.read_text().replace(str(MODEL), str(damaged)))
        process = subprocess.Popen(
            world.command("up", "-f", str(world.file), "--listen", "127.0.0.1:0"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=world.environment())
        try:
            log = lambda: "".join(p.read_text() for p in world.path.glob("**/engine.log"))
            wait_for(lambda: "cut.gguf" in log(), 60, "the engine's log names the file")
        finally:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


if __name__ == "__main__":
    for program in ("kantha", "kantha-noded", "kantha-engine"):
        assert (BIN / program).exists(), f"{BIN / program} is missing"
    assert MODEL.exists(), f"{MODEL} is missing: run scripts/fetch-model"
    unittest.main(verbosity=2)
