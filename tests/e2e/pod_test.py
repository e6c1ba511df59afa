"""noded and the engine as two containers of a pod: every order of starts and ends. Two processes
with one shared folder and the real model; standard library only."""

import json
import os
import signal
import subprocess
import threading
import time
import unittest

from local_world import BIN, is_running, wait_for
from pod import Pod, hash_of
from streamed_answer import Stream

LONG = {"model": "m", "prompt": "Tell me a long story.", "temperature": 0, "ignore_eos": True}


class Later:
    """A call on a thread of its own; value() waits for it."""

    def __init__(self, call):
        self._value = self._error = None
        self._call = call
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self):
        try:
            self._value = self._call()
        except Exception as error:  # noqa: BLE001 - raised again below
            self._error = error

    def is_done(self):
        return not self._thread.is_alive()

    def value(self, timeout_s=180):
        self._thread.join(timeout_s)
        assert self.is_done(), "still under way"
        if self._error:
            raise self._error
        return self._value


class PodCase(unittest.TestCase):
    def pod(self, **options):
        pod = Pod(**options)
        self.addCleanup(pod.__exit__)
        return pod

    def serving(self, **options):
        return self.pod(**options).start_noded().start_engine().wait_ready()

    def stream(self, pod, tokens):
        """A stream that has begun."""
        stream = Later(lambda: Stream(pod, **LONG, max_tokens=tokens))
        wait_for(lambda: pod.state()["streams"] == 1, 60, "a running stream")
        return stream

    def assert_whole(self, stream):
        self.assertIsNone(stream.error)
        self.assertTrue(stream.done)
        self.assertEqual(stream.chunks[-1]["choices"][0]["finish_reason"], "length")


class StartAndEnd(PodCase):
    def test_the_engine_may_come_first(self):
        pod = self.pod().start_engine()
        wait_for(lambda: pod.engine.line_with("waiting for the configuration"), 60, "the parent")
        self.assertEqual(pod.engine_pids(), [])
        pod.start_noded().wait_ready()
        self.assertEqual(pod.complete()[0], 200)

    def test_noded_may_come_first_and_tells_what_it_waits_for(self):
        pod = self.pod().start_noded()
        self.assertEqual(pod.status_of("/startup"), 503)
        self.assertEqual(pod.status_of("/ready"), 503)
        self.assertEqual(pod.status_of("/live"), 200)
        wait_for(lambda: "nobody answers on unix:" in pod.state()["message"], 60, "words")
        held = Later(pod.complete)
        wait_for(lambda: pod.state()["requests_held"] == 1, 60, "a held request")
        pod.start_engine().wait_ready()
        self.assertEqual(held.value()[0], 200)
        self.assertEqual(pod.status_of("/startup"), 200)
        state = pod.state()
        self.assertEqual(state["config_hash"], hash_of(pod.config()))
        self.assertEqual(state["told_config_hash"], state["config_hash"])
        self.assertFalse(state["draining"])

    def test_the_socket_is_its_users_own(self):
        pod = self.serving()
        info = os.stat(pod.path / "run" / "engine.sock")
        self.assertEqual(info.st_mode & 0o777, 0o600)
        self.assertEqual(info.st_uid, os.geteuid() if pod.user is None else pod.user)

    def test_both_end_in_order_and_cut_no_stream(self):
        pod = self.serving(grace_ms=2000)
        stream = self.stream(pod, 600)
        begun = time.monotonic()
        pod.noded.term()
        pod.engine.term()
        wait_for(lambda: pod.status_of("/ready") == 503, 1.5, "not ready at once")
        status, headers, _ = pod.complete()
        self.assertEqual((status, headers.get("Connection")), (200, "close"))
        self.assertLess(time.monotonic() - begun, 2, "too late to prove anything")
        self.assertTrue(pod.state()["draining"])
        self.assertEqual(pod.status_of("/live"), 200)
        wait_for(lambda: pod.complete()[0] == 503, 60, "new requests refused after the grace")
        self.assertFalse(stream.is_done(), "too short to prove anything")
        self.assert_whole(stream.value())
        self.assertEqual(pod.noded.process.wait(60), 0, pod.noded.log())
        self.assertEqual(pod.engine.process.wait(60), 0, pod.engine.log())


class Crashes(PodCase):
    def test_an_engine_that_is_killed_is_back_and_nobody_is_refused(self):
        pod = self.serving()
        first = pod.engine_pids()[0]
        wait_for(lambda: pod.state()["engine_pid"] == first, 60, "the engine's pid")
        os.kill(first, signal.SIGKILL)
        killed = time.monotonic()
        self.assertEqual(pod.complete()[0], 200)
        second = wait_for(pod.engine_pids, 60, "another engine")[0]
        self.assertNotEqual(first, second)
        wait_for(lambda: pod.state()["engine_pid"] == second, 60, "the new pid")
        self.assertEqual(pod.state()["engine_restarts"], 1)
        print(f"an answer {time.monotonic() - killed:.2f} s after kill -9 of the engine")

    def test_the_engine_dies_with_its_parent_and_the_next_parent_serves(self):
        pod = self.serving()
        engine = pod.engine_pids()[0]
        pod.engine.kill()
        wait_for(lambda: not is_running(engine), 60, "no orphan")
        self.assertTrue((pod.path / "run" / "engine.sock").exists(), "a stale socket")
        held = Later(pod.complete)
        pod.start_engine()
        self.assertEqual(held.value()[0], 200)
        wait_for(lambda: pod.state()["engine_restarts"] == 1, 60, "a counted restart")

    def test_a_noded_that_comes_back_adopts_the_running_engine(self):
        pod = self.serving()
        engine = pod.engine_pids()
        pushed = pod.config(maxNumSeqs=5)
        self.assertEqual(pod.admin("PUT", "/admin/v1/engine-config", pushed)[0], 202)
        wait_for(lambda: pod.state()["config_hash"] == hash_of(pushed), 60, "the pushed one")
        pod.wait_ready()
        self.assertNotEqual(pod.engine_pids(), engine)
        engine = pod.engine_pids()
        pod.noded.kill()
        begun = time.monotonic()
        pod.start_noded().wait_ready()
        print(f"ready {time.monotonic() - begun:.2f} s after the start of another noded")
        self.assertEqual(pod.complete()[0], 200)
        self.assertEqual(pod.engine_pids(), engine)
        # The projected file still has the old text; the push was later.
        self.assertEqual(pod.state()["told_config_hash"], hash_of(pushed))
        self.assertEqual(pod.state()["config_hash"], hash_of(pushed))

    def test_the_engines_container_is_replaced_alone_and_nobody_notices(self):
        pod = self.serving(grace_ms=300)
        old, answers, enough = pod.engine, [], threading.Event()

        def ask():
            while not enough.is_set():
                answers.append(pod.complete()[0])

        askers = [Later(ask) for _ in range(3)]
        old.term()
        self.assertEqual(old.process.wait(20), 0, old.log())
        pod.start_engine()
        wait_for(lambda: pod.state()["engine_restarts"] == 1, 60, "a counted restart")
        count = len(answers)
        wait_for(lambda: len(answers) > count + 3, 60, "answers of the new one")
        enough.set()
        for asker in askers:
            asker.value()
        self.assertEqual(set(answers), {200})

    def test_an_engine_that_keeps_ending_ends_its_parent_with_a_sentence(self):
        pod = self.pod()
        pod.model.write_bytes(b"GGUF, but not really")
        pod.start_noded().start_engine()
        self.assertEqual(pod.engine.process.wait(20), 1)
        self.assertIn("3 times within 10 minutes, last: exit 3", pod.engine.log())


class Changes(PodCase):
    def test_a_new_configuration_waits_for_the_stream_that_runs(self):
        pod = self.serving()
        engine = pod.engine_pids()
        stream = self.stream(pod, 250)
        new = pod.config(maxNumSeqs=6)
        self.assertEqual(pod.admin("PUT", "/admin/v1/engine-config", new)[0], 202)
        self.assertEqual(pod.state()["told_config_hash"], hash_of(new))
        held = Later(pod.complete)
        wait_for(lambda: pod.state()["requests_held"] == 1, 60, "a held request")
        self.assertFalse(stream.is_done(), "too short to prove anything")
        self.assertEqual(pod.engine_pids(), engine, "replaced under the stream")
        self.assert_whole(stream.value())
        self.assertEqual(held.value()[0], 200)
        self.assertEqual(pod.state()["config_hash"], hash_of(new))
        self.assertNotEqual(pod.engine_pids(), engine)
        answer = pod.admin("PUT", "/admin/v1/engine-config", new)
        self.assertFalse(json.loads(answer[2])["changes"], "the same once more is nothing")

    def test_what_is_no_configuration_is_refused_and_what_the_engine_refuses_changes_nothing(self):
        pod = self.serving()
        engine = pod.engine_pids()
        old = pod.state()["config_hash"]
        large = json.dumps({"a": "x" * (1 << 20)})
        for body, status in (("", 400), ("[]", 400), ("{", 400), (large, 413)):
            answer = pod.admin("PUT", "/admin/v1/engine-config", body)
            self.assertEqual(answer[0], status, answer)
            self.assertIn("engine configuration", json.loads(answer[2])["error"]["message"])
        bad = pod.config(colour="red")
        self.assertEqual(pod.admin("PUT", "/admin/v1/engine-config", bad)[0], 202)
        wait_for(lambda: "has not taken up" in pod.state()["message"], 60, "a complaint")
        pod.wait_ready(5)
        self.assertEqual(pod.complete()[0], 200)
        self.assertEqual(pod.engine_pids(), engine)
        self.assertEqual(pod.state()["config_hash"], old)
        self.assertEqual(pod.state()["told_config_hash"], hash_of(bad))
        self.assertIsNotNone(pod.engine.line_with("colour"))
        answer = pod.admin("PUT", "/admin/v1/engine-config", bad)
        self.assertFalse(json.loads(answer[2])["changes"], "telling it again holds nobody")
        self.assertEqual(pod.state()["phase"], "ready")

    def test_a_restart_is_a_new_process_with_the_same_configuration(self):
        pod = self.serving()
        engine = pod.engine_pids()
        old = wait_for(lambda: pod.state()["config_hash"], 60, "a hash")
        self.assertEqual(pod.admin("POST", "/admin/v1/restart-engine")[0], 202)
        self.assertEqual(pod.complete()[0], 200)
        wait_for(lambda: pod.engine_pids() not in ([], engine), 60, "another process")
        wait_for(lambda: pod.state()["engine_restarts"] == 1, 60, "a counted restart")
        self.assertEqual(pod.state()["config_hash"], old)


class AdminDoor(PodCase):
    def test_it_opens_for_the_token_in_the_file_and_for_no_other(self):
        pod = self.pod().start_noded()
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": pod.token}):
            for method, path in (("GET", "/admin/v1/state"), ("PUT", "/admin/v1/engine-config"),
                                 ("POST", "/admin/v1/drain"), ("GET", "/admin/v1/nothing")):
                sent = "{}" if method == "PUT" else None
                status, answer_headers, body = pod.call(method, path, sent, pod.admin_address,
                                                        headers)
                self.assertEqual(status, 401, (method, path))
                self.assertEqual(answer_headers["WWW-Authenticate"], "Bearer")
                self.assertEqual(json.loads(body)["error"]["code"], "invalid_api_key")
        self.assertFalse(pod.state()["draining"])
        status, _, body = pod.call("GET", "/metrics", None, pod.admin_address)
        self.assertEqual(status, 200)
        self.assertIn(b"kantha_noded_engine_ready", body)
        pod.write_token("second-token")
        self.assertEqual(pod.admin("GET", "/admin/v1/state", token="first-token")[0], 401)
        self.assertEqual(pod.admin("GET", "/admin/v1/state")[0], 200)
        # None of it is on the data port.
        self.assertEqual(pod.call("GET", "/admin/v1/state", headers={
            "Authorization": f"Bearer {pod.token}"})[0], 404)

    def test_beyond_loopback_it_needs_a_token_file(self):
        base = [str(BIN / "kantha-noded"), "--engine-external", "--engine-config=/c",
                "--engine-socket=/s", "--listen=127.0.0.1:0", "--admin-listen=0.0.0.0:0"]
        answer = subprocess.run(base, capture_output=True, text=True, timeout=10)
        self.assertEqual(answer.returncode, 2)
        self.assertIn("--admin-token-file", answer.stderr)
        answer = subprocess.run([*base, "--admin-token-file=/no/token"], capture_output=True,
                                text=True, timeout=10)
        self.assertEqual(answer.returncode, 1)
        self.assertIn("/no/token", answer.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
