"""Answers as a client sees them: what came, and when. Standard library only."""

import http.client
import json
import threading
import time


class Stream:
    """One streamed answer: what came and when. `cut_after` closes the connection early."""

    def __init__(self, engine, path="/v1/completions", cut_after=None, timeout_s=120, **body):
        self.sent_at = time.monotonic()
        self.times = []   # of chunks that carry text
        self.text = ""
        self.chunks = []
        self.error = None
        self.done = False
        self.status = None
        connection = http.client.HTTPConnection(*engine.address, timeout=timeout_s)
        try:
            data = json.dumps({"stream": True, **body})
            connection.request("POST", path, data, {"Content-Type": "application/json"})
            response = connection.getresponse()
            self.status = response.status
            self.headers = dict(response.getheaders())
            if self.status != 200:
                self.error = json.loads(response.read())["error"]
                self.answered_at = time.monotonic()
                return
            self.read(response, cut_after)
        finally:
            connection.close()

    def read(self, response, cut_after):
        for line in response:
            if not line.startswith(b"data: "):
                continue
            if line.startswith(b"data: [DONE]"):
                self.done = True
                continue
            chunk = json.loads(line[6:])
            if "error" in chunk:
                self.error = chunk["error"]
                continue
            self.chunks.append(chunk)
            for choice in chunk["choices"]:
                text = choice.get("text") or choice.get("delta", {}).get("content")
                if text:
                    self.times.append(time.monotonic())
                    self.text += text
            if cut_after is not None and len(self.times) >= cut_after:
                return

    @property
    def ttft_s(self):
        return self.times[0] - self.sent_at

    @property
    def gaps_s(self):
        return [later - earlier for earlier, later in zip(self.times, self.times[1:])]


def complete(engine, **body):
    """Status and answer of a text completion."""
    status, _, data = engine.call("POST", "/v1/completions", body, timeout_s=120)
    return status, json.loads(data)


def in_parallel(calls):
    """Runs each call on a thread of its own; their values in order, or the first error."""
    values = [None] * len(calls)
    errors = []

    def run(index):
        try:
            values[index] = calls[index]()
        except Exception as error:  # noqa: BLE001 - raised again below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(calls))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return values


def quantile(values, share):
    """The value below which `share` of them lie (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def words(count, start=0):
    """Distinct plain words, about one to two tokens each."""
    stems = "river stone cloud amber north paper light wheel green salt".split()
    return " ".join(f"{stems[(start + i) % 10]} {(start + i * 7) % 97}" for i in range(count))
