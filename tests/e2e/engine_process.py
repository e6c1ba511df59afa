"""One kantha-engine of its own, and raw HTTP to it. Standard library only."""

import contextlib
import http.client
import json
import os
import pathlib
import re
import socket
import struct
import subprocess
import tempfile
import threading
import time

BIN = pathlib.Path(os.environ["KANTHA_BIN_DIR"])
MODEL = os.environ["KANTHA_TEST_MODEL"]
CHAT, TEXT = "/v1/chat/completions", "/v1/completions"


def wait_for(condition, timeout_s, what):
    """Polls until condition() is true; gives its value. Fails with `what` at the deadline."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {timeout_s} s: {what}")
        time.sleep(0.002)


def dumped(body):
    return json.dumps(body).encode()


def share(values, part):
    """The part-quantile of some numbers."""
    return sorted(values)[min(int(len(values) * part), len(values) - 1)]


class Connection:
    """A keep-alive connection that costs next to nothing: one sendall, few recvs."""

    def __init__(self, address, timeout_s=300):
        self.socket = socket.create_connection(address, timeout=timeout_s)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, method, path, body=None):
        data = body if isinstance(body, bytes) else b"" if body is None else dumped(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(data)}\r\n\r\n"
        self.socket.sendall(head.encode() + data)

    def receive(self):
        """Status, headers and body of an answer with a Content-Length."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._some()
        head, _, body = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: *(\d+)", head).group(1))
        while len(body) < length:
            body += self._some()
        return int(head.split()[1]), head.decode(), body

    def read_until(self, text):
        data = b""
        while text not in data:
            data += self._some()
        return data

    def _some(self):
        piece = self.socket.recv(262144)
        if not piece:
            raise ConnectionError("closed by the server")
        return piece

    def call(self, method, path, body=None):
        self.send(method, path, body)
        return self.receive()

    def close(self):
        self.socket.close()

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Engine:
    """A running engine; closed at the end of the with block."""

    def __init__(self, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-door-")
        self.admin = self.folder.name + "/engine.sock"
        self.lines = []
        self.address = None
        self.process = subprocess.Popen(
            [str(BIN / "kantha-engine"), "--model", MODEL, "--listen", "127.0.0.1:0",
             "--listen", "unix:" + self.admin, *arguments],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        threading.Thread(target=self._collect, daemon=True).start()
        line = wait_for(lambda: self._line("127.0.0.1:"), 120, "listening line")
        self.address = ("127.0.0.1", int(re.search(r"127\.0\.0\.1:(\d+)", line).group(1)))

    def __enter__(self):
        wait_for(self._is_ready, 120, "ready engine " + "".join(self.lines[-5:]))
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait(10)
        self.process.stdout.close()
        self.folder.cleanup()

    def _collect(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def _line(self, text):
        return next((line for line in list(self.lines) if text in line), None)

    def _is_ready(self):
        assert self.process.poll() is None, "".join(self.lines)
        with contextlib.suppress(OSError):
            return self.call("GET", "/ready")[0] == 200
        return False

    def connect(self, timeout_s=300):
        return Connection(self.address, timeout_s)

    def call(self, method, path, body=None, timeout_s=300):
        connection = self.connect(timeout_s)
        try:
            return connection.call(method, path, body)
        finally:
            connection.close()

    def state(self):
        """/admin/v1/state, over the Unix socket."""
        peer = http.client.HTTPConnection("localhost", timeout=60)
        peer.sock = socket.socket(socket.AF_UNIX)
        peer.sock.settimeout(60)
        peer.sock.connect(self.admin)
        try:
            peer.request("GET", "/admin/v1/state")
            return json.loads(peer.getresponse().read())
        finally:
            peer.close()

    def metric(self, name, label=""):
        """The sum of a series' values whose labels contain `label`."""
        total = 0.0
        for line in self.call("GET", "/metrics")[2].decode().splitlines():
            if line.split("{")[0].split(" ")[0] == name and label in line:
                total += float(line.rsplit(" ", 1)[1])
        return total

    def post(self, body, path=TEXT):
        """Sends a request on a connection of its own and reads nothing."""
        connection = self.connect()
        connection.send("POST", path, body)
        return connection

    def is_idle(self):
        now = self.state()
        return (now["requests_running"] == now["requests_waiting"] == now["streams"] == 0 ==
                now["queue"]["requests_preparing"] == now["kv"]["blocks_active"])
