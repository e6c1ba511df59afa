"""A pod without a cluster: kantha-noded and kantha-engine as two containers would run them, with
one shared folder, one user, and no other place that can be written to. Standard library only."""

import hashlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import threading

from local_world import BIN, MODEL, children_of, wait_for

USER = 65532
TOKEN = "first-token"


class Container:
    """One program and its log."""

    def __init__(self, program, arguments, user):
        self.lines = []
        self.process = subprocess.Popen(
            [str(BIN / program), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, user=user, group=user,
            extra_groups=None if user is None else [],
            cwd="/proc", env={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"})
        threading.Thread(target=self._collect, daemon=True).start()

    def _collect(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def log(self):
        return "".join(self.lines[-30:])

    def line_with(self, text):
        return next((line for line in list(self.lines) if text in line), None)

    def term(self):
        self.process.send_signal(signal.SIGTERM)

    def kill(self):
        self.process.kill()
        return self.process.wait(10)

    def close(self):
        if self.process.poll() is None:
            self.kill()
        self.process.stdout.close()


class Pod:
    """The shared folder, the pod's configuration, and the kubelet's part: starting containers."""

    def __init__(self, grace_ms=3000):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-pod-")
        self.path = pathlib.Path(self.folder.name)
        self.user = USER if os.geteuid() == 0 else None
        self.grace = f"--endpoint-grace-ms={grace_ms}"
        self.noded = self.engine = self.address = self.admin_address = None
        self.closed = []
        (self.path / "run").mkdir()
        self.model = self.path / "model.gguf"
        shutil.copyfile(MODEL, self.model)  # one that the user can read
        self.write_token(TOKEN)
        self.write_source(self.config())
        if self.user is not None:
            for entry in (self.path, *self.path.rglob("*")):
                os.chown(entry, USER, USER)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for container in (self.noded, self.engine, *self.closed):
            if container is not None:
                container.close()
        self.folder.cleanup()

    def config(self, **engine):
        return json.dumps({
            "model": {"path": str(self.model), "name": "m"},
            "listen": [f"unix:{self.path}/run/engine.sock"],
            "engine": {"maxModelLen": 1024, "maxNumSeqs": 8, "kvCacheMemory": "64Mi", **engine},
            "drain": {"timeoutSeconds": 120}})

    def _replace(self, name, text):
        draft = self.path / (name + ".draft")
        draft.write_text(text)
        if self.user is not None:
            os.chown(draft, USER, USER)
        draft.rename(self.path / name)

    def write_token(self, token):
        self.token = token
        self._replace("token", token + "\n")

    def write_source(self, text):
        self._replace("source.json", text)

    def start_noded(self, *more):
        if self.noded:
            self.closed.append(self.noded)
        run = self.path / "run"
        self.noded = Container("kantha-noded", [
            "--pod=p-0", "--model=m", "--listen=127.0.0.1:0", "--admin-listen=127.0.0.1:0",
            f"--admin-token-file={self.path}/token", "--engine-external",
            f"--engine-config-source={self.path}/source.json",
            f"--engine-config={run}/engine.json", f"--engine-socket={run}/engine.sock",
            "--drain-timeout-ms=120000", self.grace, *more], self.user)
        line = wait_for(lambda: self.noded.line_with("pod is up"), 10, "noded: " + self.noded.log())
        ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", line)]
        self.address, self.admin_address = (("127.0.0.1", port) for port in ports)
        return self

    def start_engine(self):
        if self.engine:
            self.closed.append(self.engine)
        self.engine = Container(
            "kantha-engine",
            ["--supervise", f"--config={self.path}/run/engine.json", self.grace], self.user)
        return self

    def wait_ready(self, timeout_s=30):
        wait_for(lambda: self.status_of("/ready") == 200, timeout_s,
                 "a ready pod: " + self.noded.log() + (self.engine.log() if self.engine else ""))
        return self

    def engine_pids(self):
        """The engine proper: the children of its parent."""
        return sorted(children_of(self.engine.process.pid))

    # Requests.
    def call(self, method, path, body=None, address=None, headers=None, timeout_s=60):
        connection = http.client.HTTPConnection(*(address or self.address), timeout=timeout_s)
        try:
            data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, data, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def status_of(self, path):
        try:
            return self.call("GET", path, timeout_s=5)[0]
        except OSError:
            return None

    def admin(self, method, path, body=None, token=None):
        return self.call(method, path, body, self.admin_address,
                         {"Authorization": f"Bearer {token or self.token}"})

    def state(self):
        status, _, body = self.admin("GET", "/admin/v1/state")
        assert status == 200, (status, body)
        return json.loads(body)

    def complete(self, prompt="Once upon a time", **more):
        body = {"model": "m", "prompt": prompt, "max_tokens": 4, "temperature": 0, **more}
        return self.call("POST", "/v1/completions", body)


def hash_of(text):
    return hashlib.sha256(text.encode()).hexdigest()
