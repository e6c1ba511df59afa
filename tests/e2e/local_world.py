"""A `kantha up` under test: starts it, talks to it, looks at its processes. Standard library only."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ["KANTHA_BIN_DIR"])
MODEL = pathlib.Path(os.environ["KANTHA_TEST_MODEL"])

SPEC = """\
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata:
  name: {name}
spec:
  model:
    name: smollm2-135m-instruct
    source:
      hostPath: {model}
  replicas: {replicas}
  engine:
    config:
      maxModelLen: {max_model_len}
      maxNumSeqs: {max_num_seqs}
      kvCacheMemory: 256Mi
  drain:
    timeoutSeconds: 20
"""


def wait_for(condition, timeout_s, what):
    """Polls until condition() is true; gives its value. Fails with `what` (or what it gives) at the
    deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what() if callable(what) else what}")
        time.sleep(0.02)


def children_of(pid):
    """Process ids whose parent is `pid`, with their command lines."""
    found = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
            command = (entry / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        fields = stat.rsplit(")", 1)[1].split()
        if int(fields[1]) == pid and fields[0] != "Z":
            found[int(entry.name)] = command
    return found


def is_running(pid):
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rsplit(")", 1)[1].split()[0] != "Z"


class World:
    """One `kantha up` in its own state folder."""

    def __init__(self, replicas=1, max_model_len=2048, max_num_seqs=64, name="e2e"):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-e2e-")
        self.path = pathlib.Path(self.folder.name)
        self.name = name
        self.file = self.path / "serving.yaml"
        self.write_spec(replicas=replicas, max_model_len=max_model_len, max_num_seqs=max_num_seqs)
        self.lines = []
        self.process = None
        self.port = None
        self.key = None  # where the world asks for one

    def write_spec(self, replicas=1, max_model_len=2048, max_num_seqs=64, text=None):
        """Replaces the file in one step, as editors do."""
        body = text
        if body is None:
            body = SPEC.format(name=self.name, model=MODEL, replicas=replicas,
                               max_model_len=max_model_len, max_num_seqs=max_num_seqs)
        new = self.path / "serving.yaml.new"
        new.write_text(body)
        new.rename(self.file)

    def environment(self):
        return dict(os.environ, XDG_RUNTIME_DIR=str(self.path), NO_COLOR="1")

    def command(self, *arguments):
        return [str(BIN / "kantha"), *arguments]

    def run(self, *arguments, timeout_s=60, stdin=""):
        """Runs another verb to its end."""
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, input=stdin,
                              timeout=timeout_s, env=self.environment())

    def begin(self, *arguments):
        """Starts it and does not wait."""
        self.process = subprocess.Popen(
            self.command("up", "-f", str(self.file), "--listen", "127.0.0.1:0", *arguments),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            env=self.environment())
        threading.Thread(target=self._collect, daemon=True).start()

    def start(self, *arguments, timeout_s=90):
        self.begin(*arguments)
        return self.wait_ready(timeout_s)

    def wait_ready(self, timeout_s=90):
        ready = wait_for(lambda: self.line_with("ready: "), timeout_s, "ready line; " + self.output())
        self.port = int(re.search(r"127\.0\.0\.1:(\d+)", ready).group(1))
        return self

    def _collect(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def output(self):
        return "".join(self.lines[-40:])

    def line_with(self, text):
        return next((line for line in list(self.lines) if text in line), None)

    def stop(self, timeout_s=60):
        """Ctrl-C; gives the exit status."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout_s)

    def close(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self.folder.cleanup()

    # Processes.
    def nodeds(self):
        return sorted(pid for pid, command in children_of(self.process.pid).items()
                      if "kantha-noded" in command[0])

    def engines(self):
        return sorted(pid for noded in self.nodeds() for pid, command in children_of(noded).items()
                      if "kantha-engine" in command[0])

    def pods(self):
        """Pods as `kantha get -o json` shows them."""
        answer = self.run("get", "-o", "json")
        assert answer.returncode == 0, answer.stderr
        return json.loads(answer.stdout)

    # Requests.
    def request(self, method, path, body=None, timeout_s=60):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        try:
            data = None if body is None else json.dumps(body)
            fields = {"Content-Type": "application/json"}
            if self.key:
                fields["Authorization"] = f"Bearer {self.key}"
            connection.request(method, path, data, fields)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def healthy(self):
        try:
            return self.request("GET", "/health", timeout_s=5)[0] == 200
        except OSError:
            return False

    def complete(self, prompt, max_tokens=8, stream=False, **more):
        """A greedy completion; gives (text, finish reason)."""
        body = {"model": "smollm2-135m-instruct", "prompt": prompt, "max_tokens": max_tokens,
                "temperature": 0, "stream": stream, **more}
        status, answer = self.request("POST", "/v1/completions", body, timeout_s=180)
        assert status == 200, (status, answer)
        if not stream:
            choice = json.loads(answer)["choices"][0]
            return choice["text"], choice["finish_reason"]
        return read_stream(answer)


def read_stream(answer):
    """Joins a whole event stream; fails when it does not end as it must."""
    text, finish = "", None
    events = [line[6:] for line in answer.decode().split("\n") if line.startswith("data: ")]
    assert events and events[-1] == "[DONE]", events[-2:]
    for event in events[:-1]:
        chunk = json.loads(event)
        assert "error" not in chunk, chunk
        for choice in chunk["choices"]:
            delta = choice.get("delta", {}).get("content") if "delta" in choice else choice["text"]
            text += delta or ""
            finish = choice["finish_reason"] or finish
    return text, finish
