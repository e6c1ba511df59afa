"""Weights that are fetched: a local world whose model is on an HTTP server."""

import hashlib
import http.server
import json
import os
import re
import signal
import threading
import unittest

from local_world import MODEL, World, wait_for

SPEC = """\
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata:
  name: fetched
spec:
  model:
    name: smollm2-135m-instruct
    source:
      http:
        url: {url}
        sha256: {sha256}
  replicas: 2
  engine:
    config:
      maxModelLen: 2048
      kvCacheMemory: 128Mi
  drain:
    timeoutSeconds: 5
"""


class Handler(http.server.BaseHTTPRequestHandler):
    """One file, with ranges; slow while the server says so."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        offset = int(found.group(1)) if found else 0
        server.offsets.append(offset)
        size = len(server.content)
        self.send_response(206 if offset else 200)
        if offset:
            self.send_header("Content-Range", f"bytes {offset}-{size - 1}/{size}")
        self.send_header("Content-Length", str(size - offset))
        self.send_header("ETag", '"weights"')
        self.end_headers()
        try:
            for at in range(offset, size, 1 << 20):
                self.wfile.write(server.content[at:at + (1 << 20)])
                if not server.fast.is_set():
                    server.fast.wait(0.2)
        except OSError:
            pass

    def log_message(self, *_):
        pass


class FileServer(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, content):
        super().__init__(("127.0.0.1", 0), Handler)
        self.content = content
        self.offsets = []
        self.fast = threading.Event()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/weights?signature=secret"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class FetchWorld(World):
    """A world with a cache of its own."""

    def environment(self):
        return dict(super().environment(), XDG_CACHE_HOME=str(self.path / "cache"))

    def condition(self, kind="WeightsReady"):
        answer = self.run("get", "-o", "json")
        if answer.returncode != 0:
            return {}
        for item in json.loads(answer.stdout)["items"]:
            for entry in item.get("status", {}).get("conditions", []):
                if entry["type"] == kind:
                    return entry
        return {}

    def cached(self):
        folder = self.path / "cache" / "kantha" / "models" / "fetched"
        return {entry.name: entry.stat().st_size for entry in folder.iterdir()}


class Fetch(unittest.TestCase):
    def test_a_wrong_digest_is_told_and_a_killed_download_goes_on(self):
        content = MODEL.read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        wrong = "ab" * 32
        server = FileServer(content)
        server.fast.set()
        world = FetchWorld(name="fetched")
        self.addCleanup(world.close)
        world.write_spec(text=SPEC.format(url=server.url, sha256=wrong))
        world.begin()

        # 1. The server's file is not the one that was asked for.
        def failed():
            condition = world.condition()
            return condition if condition.get("reason") == "FetchFailed" else None
        condition = wait_for(failed, 60, "FetchFailed; " + world.output())
        self.assertIn(f"wrong SHA-256: expected {wrong}", condition["message"])
        self.assertIn(digest, condition["message"])
        self.assertNotIn("secret", condition["message"])
        self.assertEqual(world.engines(), [], "no engine without weights")
        self.assertNotIn(wrong, world.cached())

        wait_for(lambda: len(server.offsets) == 2, 60, "the other pod has tried it, too")

        # 2. The right digest; one noded of two downloads. Both die in the middle of it.
        server.fast.clear()
        server.offsets.clear()
        world.write_spec(text=SPEC.format(url=server.url, sha256=digest))
        wait_for(lambda: world.cached().get(digest + ".part", 0) > (4 << 20), 60,
                 "some mebibytes; " + world.output())
        condition = world.condition()
        self.assertEqual(condition["reason"], "Fetching", condition)
        self.assertRegex(condition["message"], r"\d+ % of 94 MiB")
        self.assertEqual(server.offsets, [0], "one download for both pods")
        for pid in world.nodeds():
            os.kill(pid, signal.SIGKILL)
        wait_for(lambda: len(server.offsets) > 1, 60, "a second request; " + world.output())
        self.assertGreater(server.offsets[1], 4 << 20, "it goes on where it was")
        self.assertEqual(world.engines(), [])

        # 3. It comes to its end, and the engines serve.
        server.fast.set()
        world.wait_ready(120)
        self.assertEqual(world.condition()["reason"], "Loaded")
        self.assertEqual(world.cached()[digest], len(content))
        self.assertNotIn(digest + ".part", world.cached())
        text, _ = world.complete("The capital of France is", max_tokens=4)
        self.assertIn("Paris", text)
        self.assertEqual(len(server.offsets), 2)

        # 4. The next world finds them in the cache.
        self.assertEqual(world.stop(), 0)
        world.lines.clear()
        world.start()
        self.assertEqual(len(server.offsets), 2)


if __name__ == "__main__":
    unittest.main(verbosity=2)
