"""Clients that stream all the time while something happens to the pods. Standard library only."""

import http.client
import json
import threading
import zlib


def expected_text(prompt, count):
    """What every build of scripted_engine.py that is right answers."""
    return "".join(f" {zlib.crc32(f'{prompt}/{i}'.encode()) % 1000}" for i in range(count))


def streamed_text(events):
    """The text of a stream that came to its end; None of any other."""
    lines = [line[6:] for line in events.split("\n") if line.startswith("data: ")]
    if not lines or lines[-1] != "[DONE]":
        return None
    chunks = [json.loads(line) for line in lines[:-1]]
    if any("error" in chunk for chunk in chunks):
        return None
    return "".join(choice["text"] for chunk in chunks for choice in chunk["choices"])


class Load:
    """Clients that stream without a pause, and what they met."""

    def __init__(self, port, clients=6, host="127.0.0.1", tokens=8):
        self.host = host
        self.tokens = tokens
        self.port = port
        self.ended = threading.Event()
        self.whole = self.cut = self.refused = self.wrong = 0
        self.problems = []
        self.lock = threading.Lock()
        self.threads = [threading.Thread(target=self.run, args=(i,), daemon=True)
                        for i in range(clients)]
        for thread in self.threads:
            thread.start()

    def run(self, client):
        number = 0
        while not self.ended.is_set():
            number += 1
            try:
                self.one(f"{client}/{number}")
            except (OSError, http.client.HTTPException) as error:
                with self.lock:
                    self.cut += 1
                    self.problems.append(repr(error))

    def one(self, prompt):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=40)
        try:
            connection.request("POST", "/v1/completions", json.dumps({
                "model": "m", "prompt": prompt, "max_tokens": self.tokens, "temperature": 0,
                "stream": True}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        whole = streamed_text(text) if answer.status == 200 else None
        with self.lock:
            if answer.status != 200 or '"choices"' not in text:
                self.refused += 1  # nothing of an answer had come
                self.problems.append(f"{answer.status} {text[-200:]}")
            elif whole is None:
                self.cut += 1
                self.problems.append(text[-300:])
            else:
                self.whole += 1
                self.wrong += whole != expected_text(prompt, self.tokens)

    def end(self):
        self.ended.set()
        for thread in self.threads:
            thread.join(60)
