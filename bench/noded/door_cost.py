"""What the door costs: one pod's kantha-noded against its engine. Standard library only.

  door_cost.py BIN_FOLDER [--model FILE.gguf] [--rounds 5] [--requests 200]

Without a model the engine is quick_engine.py, which costs next to nothing, so that small
differences show; with one the first two figures are taken with kantha-engine, too. Requests to the
door and to the engine's own port are sent in turns by one client. Prints a line per figure and its
limit.
"""

import argparse
import json
import os
import pathlib
import re
import selectors
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
IDLE_STREAMS = 1000
KEYS = {"keys": [{"sha256": "ab" * 32, "tenant": "blue"}]}


def wait_for(condition, timeout_s, what):
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise RuntimeError(f"not within {timeout_s} s: {what}")
        time.sleep(0.02)


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class Client:
    """A keep-alive connection; a system call or two for each request."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(self, path, body, more=b""):
        data = b"" if body is None else json.dumps(body).encode()
        self.socket.sendall(b"%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s" % (
            b"GET" if body is None else b"POST", path, more, len(data), data))

    def read_until(self, text):
        data = b""
        while text not in data:
            piece = self.socket.recv(1 << 16)
            if not piece:
                raise ConnectionError(data[-300:])
            data += piece
        return data

    def first_token_s(self, body):
        start = time.perf_counter()
        self.send(b"/v1/completions", body)
        data = self.read_until(b"data: {")
        passed = time.perf_counter() - start
        if not data.startswith(b"HTTP/1.1 200 "):
            raise RuntimeError(data[:300])
        if not data.endswith(b"0\r\n\r\n"):
            self.read_until(b"0\r\n\r\n")
        return passed

    def close(self):
        self.socket.close()


class Pod:
    """kantha-noded before an engine that runs beside it and has a port of its own."""

    def __init__(self, folder, model=None, *arguments):
        self.folder = tempfile.TemporaryDirectory(prefix="kantha-door-cost-")
        self.path = pathlib.Path(self.folder.name)
        self.processes = []
        engine_socket = str(self.path / "engine.sock")
        self.engine_port = (self.start_engine(folder, model, engine_socket) if model
                            else self.start_quick_engine(engine_socket))
        (self.path / "engine.json").write_text("{}")
        log = self.run(folder / "kantha-noded", "--listen", "127.0.0.1:0",
                       "--admin", f"unix:{self.path}/admin.sock", "--engine-external",
                       "--engine-config", str(self.path / "engine.json"),
                       "--engine-socket", engine_socket, *arguments)
        self.noded = self.processes[-1].pid
        self.port = self.port_in(log, "pod is up")
        wait_for(self.is_ready, 60, "a ready pod; " + log.read_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait(10)
        self.folder.cleanup()

    def run(self, *command):
        log = self.path / f"log-{len(self.processes)}"
        with open(log, "w", encoding="utf-8") as file:
            self.processes.append(subprocess.Popen(
                [str(part) for part in command], stdin=subprocess.DEVNULL, stdout=file,
                stderr=file))
        return log

    def port_in(self, log, words):
        line = wait_for(lambda: re.search(rf"(?m)^.*{words}.*127\.0\.0\.1:(\d+).*$",
                                          log.read_text()), 60, words)
        return int(line.group(1))

    def start_quick_engine(self, engine_socket):
        port = self.path / "port"
        self.run(sys.executable, HERE / "quick_engine.py", port, engine_socket)
        wait_for(port.exists, 20, "the quick engine")
        return int(port.read_text())

    def start_engine(self, folder, model, engine_socket):
        log = self.run(folder / "kantha-engine", "--model", model, "--listen", "127.0.0.1:0",
                       "--listen", "unix:" + engine_socket)
        return self.port_in(log, "listening")

    def is_ready(self):
        client = Client(self.port)
        client.send(b"/ready", None)
        status = client.read_until(b"\r\n\r\n")
        client.close()
        return status.startswith(b"HTTP/1.1 200 ")

    def cpu_s(self):
        """Of noded's one thread, in nanoseconds' steps."""
        return int(pathlib.Path(f"/proc/{self.noded}/schedstat").read_text().split()[0]) * 1e-9

    def resident_mib(self):
        text = pathlib.Path(f"/proc/{self.noded}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text).group(1)) / 1024


def first_token(pod, rounds, requests):
    """What the door adds, in ms: (p50 of each round, p99 of each round, engine's own p50)."""
    body = {"prompt": "Hi", "max_tokens": 1, "temperature": 0, "ignore_eos": True, "stream": True}
    clients = {"door": Client(pod.port), "engine": Client(pod.engine_port)}
    added = {0.5: [], 0.99: []}
    own = []
    for way in clients.values():
        for _ in range(20):
            way.first_token_s(body)
    for _ in range(rounds):
        times = {"door": [], "engine": []}
        for i in range(requests):
            for way in ("door", "engine") if i % 2 else ("engine", "door"):
                times[way].append(clients[way].first_token_s(body))
        for share, values in added.items():
            values.append((quantile(times["door"], share) -
                           quantile(times["engine"], share)) * 1e3)
        own.append(quantile(times["engine"], 0.5) * 1e3)
    for way in clients.values():
        way.close()
    return added[0.5], added[0.99], own


def token_us(pod, streams, tokens):
    """Microseconds of noded's CPU for each token of some streams at once, everything counted."""
    body = {"prompt": "Once upon a time", "max_tokens": tokens, "temperature": 0,
            "ignore_eos": True, "stream": True}
    clients = [Client(pod.port) for _ in range(streams)]
    before = pod.cpu_s()
    chooser = selectors.DefaultSelector()
    for client in clients:
        client.send(b"/v1/completions", body)
        client.tail = b""
        chooser.register(client.socket, selectors.EVENT_READ, client)
    count = 0
    while chooser.get_map():
        for key, _ in chooser.select(120):
            piece = key.data.socket.recv(1 << 16)
            count += piece.count(b"data: {")
            key.data.tail = (key.data.tail + piece)[-8:]
            if key.data.tail.endswith(b"0\r\n\r\n"):
                chooser.unregister(key.fileobj)
    used = pod.cpu_s() - before
    for client in clients:
        client.close()
    if count < streams * tokens * 0.95:
        raise RuntimeError(f"{count} tokens of {streams * tokens}")
    return used / count * 1e6


def idle_streams(pod, count, seconds):
    """(MiB with so many streams that wait, MiB that they cost, share of a core meanwhile)."""
    before = pod.resident_mib()
    clients = [Client(pod.port) for _ in range(count)]
    for client in clients:
        client.send(b"/v1/completions", {"prompt": "hold", "max_tokens": 9, "stream": True})
    for client in clients:
        client.read_until(b"data: {")
    after = pod.resident_mib()
    share = idle_share(pod, seconds)
    for client in clients:
        client.close()
    return after, after - before, share


def idle_share(pod, seconds):
    """Share of a core that noded uses while nobody asks for anything."""
    before, start = pod.cpu_s(), time.monotonic()
    time.sleep(seconds)
    return (pod.cpu_s() - before) / (time.monotonic() - start)


def refusals(pod, count, connections=32):
    """Requests without a right key: (refusals a second, refusals a second of noded's CPU)."""
    clients = [Client(pod.port) for _ in range(connections)]
    start, before = time.monotonic(), pod.cpu_s()
    for _ in range(count // connections):
        for client in clients:
            client.send(b"/v1/completions", {}, b"Authorization: Bearer wrong\r\n")
        for client in clients:
            if not client.read_until(b"}}").startswith(b"HTTP/1.1 401 "):
                raise RuntimeError("an answer is no refusal")
    done = count // connections * connections
    rates = done / (time.monotonic() - start), done / (pod.cpu_s() - before)
    for client in clients:
        client.close()
    return rates


def keyed_pod(folder):
    with tempfile.NamedTemporaryFile("w", suffix=".json", delete=False) as file:
        json.dump(KEYS, file)
    pod = Pod(folder, None, "--api-keys-file", file.name)
    os.unlink(file.name)
    return pod


def spread(values, digits=3):
    return (f"{quantile(values, 0.5):.{digits}f} "
            f"({min(values):.{digits}f} to {max(values):.{digits}f})")


def report(folder, model, rounds, requests):
    for engine in [None, model] if model else [None]:
        name = "kantha-engine" if engine else "a quick engine"
        with Pod(folder, engine) as pod:
            p50, p99, own = first_token(pod, rounds, requests)
            ratio = [1 + more / base for more, base in zip(p50, own)]
            print(f"first token, {name}: {spread(own)} ms at its own port; the door adds "
                  f"{spread(p50)} ms at p50 (limit 0.3), {spread(p99)} ms at p99 (limit 1); "
                  f"ratio of p50 {spread(ratio)}; {rounds} rounds of {requests} in turns")
            costs = [token_us(pod, 16, 32 if engine else 200) for _ in range(rounds)]
            print(f"token, {name}: {spread(costs, 1)} us of noded's CPU, 16 streams (limit 20)")
    with Pod(folder) as pod:
        share = idle_share(pod, 10)
        whole, more, busy = idle_streams(pod, IDLE_STREAMS, 10)
    print(f"idle: {share * 100:.2f} % of a core without requests (limit 1), {busy * 100:.2f} % "
          f"with {IDLE_STREAMS} streams that wait, {whole:.0f} MiB then, {more:.0f} of them for "
          "the streams (limit 100)")
    with keyed_pod(folder) as pod:
        rates = [refusals(pod, 10_000) for _ in range(rounds)]
    print(f"refusals: {spread([rate for _, rate in rates], 0)} a second of noded's CPU "
          f"(limit 10000), {spread([rate for rate, _ in rates], 0)} a second by the clock")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("bin", type=pathlib.Path)
    parser.add_argument("--model", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=200)
    options = parser.parse_args()
    report(options.bin.resolve(), options.model, options.rounds, options.requests)


if __name__ == "__main__":
    main()
