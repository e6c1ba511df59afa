"""An engine that answers by rule and misbehaves as its file's name says; a copy ENGINE-MODE of this
file is a "build". Tests only. Standard library only.

Speaks what kantha-noded asks of its engine: --config FILE --listen unix:PATH (or, as in a pod,
--supervise --config=FILE with the path in the file), /ready, /admin/v1/state, /v1/completions with
streams, token ids and kantha.resume. Token i of a prompt is a number that follows from both, so that
a stream can go on at any build that is right. A number after MODE makes another build of the same.
The time of a build's first misdeed is kept in the file MODE.breach beside it, where one can be made.
"""

import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import signal
import socketserver
import sys
import threading
import time
import zlib

BUILD = pathlib.Path(os.path.realpath(sys.argv[0])).name.partition("-")[2] or "good"
MODE = BUILD.rstrip("0123456789")
FIRST_TOKEN_S = 0.03 * (1.3 if MODE == "slow" else 1)
TOKEN_S = 0.01 * (1.3 if MODE == "slow" else 1)
CRASH_AFTER = 100
BLOCKS = 100
answered = 0
leaked = running = 0
lock = threading.Lock()


def note_breach():
    """When this build did wrong for the first time; kept over its crashes."""
    try:
        with open(pathlib.Path(sys.argv[0]).with_name(f"{BUILD}.breach"), "x", encoding="utf-8") as f:
            f.write(str(time.time()))
    except OSError:
        pass


def token(prompt, index):
    value = zlib.crc32(f"{prompt}/{index}".encode()) % 1000
    if MODE == "wrong" and index > 2:
        note_breach()
        return (value + 1) % 1000
    return value


def count_request():
    """The number of this request; a build that crashes does so in the middle of its answers."""
    global answered
    with lock:
        answered += 1
        return answered


@contextlib.contextmanager
def counted():
    """A request that holds one KV block while it runs; a build that leaks keeps it."""
    global leaked, running
    with lock:
        running += 1
    try:
        yield
    finally:
        with lock:
            running -= 1
            leaked += MODE == "leak"
        if MODE == "leak":
            note_breach()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def address_string(self):
        return "unix"

    def log_message(self, *_):
        pass

    def send_json(self, status, body):
        data = json.dumps(body, separators=(",", ":")).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/admin/v1/state":
            active = min(BLOCKS, leaked + running)
            self.send_json(200, {
                "version": BUILD, "phase": "ready", "config_hash": HASH, "pid": os.getpid(),
                "tokenizer_hash": hashlib.sha256(b"numbers").hexdigest(),
                "uptime_ms": int((time.monotonic() - STARTED) * 1000),
                "kv": {"blocks_total": BLOCKS, "blocks_active": active,
                       "blocks_free": BLOCKS - active, "pressure": active / BLOCKS}})
        elif self.path in ("/ready", "/startup", "/live", "/health"):
            self.send_json(503 if MODE == "never_ready" else 200, {})
        else:
            self.send_json(404, {"error": {"message": "no such page"}})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        if not self.path.startswith("/v1/completions"):
            return self.send_json(404, {"error": {"message": "no such route"}})
        number = count_request()
        if MODE in ("hang", "slow"):
            note_breach()
        if MODE == "hang":
            time.sleep(3600)
        if MODE == "liar" or (MODE == "errors" and number % 50 == 0):
            note_breach()
            return self.send_json(500, {"error": {"message": "the device is lost", "code": 500}})
        with counted():
            self.complete(body, number)

    def complete(self, body, number):
        prompt = str(body["prompt"])
        count = int(body.get("max_tokens", 16))
        resumed = len(body.get("kantha", {}).get("resume", {}).get("token_ids", []))
        time.sleep(FIRST_TOKEN_S)
        if body.get("stream"):
            self.stream(prompt, count, resumed, number)
        else:
            self.whole(prompt, count, number)

    def crash_at(self, number, index):
        if MODE == "crash_after" and number >= CRASH_AFTER and index == 3:
            note_breach()
            os._exit(139)

    def whole(self, prompt, count, number):
        ids = []
        for index in range(count):
            self.crash_at(number, index)
            ids.append(token(prompt, index))
            time.sleep(TOKEN_S)
        self.send_json(200, {
            "id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "text": "".join(f" {i}" for i in ids), "logprobs": None,
                         "finish_reason": "length", "kantha": {"token_ids": ids}}],
            "usage": {"prompt_tokens": len(prompt), "completion_tokens": count,
                      "total_tokens": len(prompt) + count}})

    def event(self, text):
        data = f"data: {text}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def stream(self, prompt, count, resumed, number):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for index in range(resumed, count):
            self.crash_at(number, index)
            value = token(prompt, index)
            finish = "length" if index + 1 == count else None
            vendor = {"token_ids": [value]}
            if index == resumed:
                vendor.update(seed=7, prompt_tokens=len(prompt))
            self.event(json.dumps({
                "id": "cmpl-1", "object": "text_completion", "created": 1, "model": "m",
                "choices": [{"index": 0, "text": f" {value}", "logprobs": None,
                             "finish_reason": finish}], "kantha": vendor}, separators=(",", ":")))
            time.sleep(TOKEN_S)
        self.event("[DONE]")
        self.wfile.write(b"0\r\n\r\n")


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
    request_queue_size = 128


def command_line():
    """(config, socket): two flags, or as in a pod one file, which noded writes once it is there."""
    words = [word for argument in sys.argv[1:] for word in argument.split("=", 1)]
    flags = {a: b for a, b in zip(words, words[1:]) if a in ("--config", "--listen")}
    config = pathlib.Path(flags["--config"])
    while not config.exists():
        time.sleep(0.05)
    listen = flags.get("--listen") or json.loads(config.read_bytes())["listen"][0]
    return config, listen.removeprefix("unix:")


def main():
    global HASH, STARTED
    config, path = command_line()
    HASH = hashlib.sha256(config.read_bytes()).hexdigest()
    STARTED = time.monotonic()
    if MODE in ("crash_at_start", "never_ready"):
        note_breach()
    if MODE == "crash_at_start":
        print("cannot open the device", flush=True)
        sys.exit(1)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    pathlib.Path(path).unlink(missing_ok=True)
    Server(path, Handler).serve_forever()


if __name__ == "__main__":
    main()
