#!/usr/bin/env python3
"""The page that `kantha bench --html` writes: well-formed, alone, and without a complaint in Chromium.

Runs the program against a small server in this process. Without Chromium the last part is skipped,
aloud.
"""

import html.parser
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

BIN = os.environ.get("KANTHA_BIN_DIR", "build/dev/bin")
VOID = {"meta", "line", "rect", "br", "link", "img"}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(2)>"


class Server(http.server.BaseHTTPRequestHandler):
    """Streams five chunks; its model's name and its errors are hostile."""

    protocol_version = "HTTP/1.1"
    answered = 0

    def log_message(self, *_):
        pass

    def reply(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        models = {"data": [{"id": "model " + HOSTILE}]}
        self.reply(200 if self.path == "/v1/models" else 404, "application/json",
                   json.dumps(models).encode())

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        Server.answered += 1
        if not self.path.startswith("/v1/") or Server.answered % 7 == 0:
            return self.reply(500, "application/json",
                              json.dumps({"error": {"message": HOSTILE}}).encode())
        chunk = {"choices": [{"delta": {"content": "a"}}]}
        usage = {"choices": [{"delta": {}, "finish_reason": "length"}],
                 "usage": {"prompt_tokens": 9, "completion_tokens": 5}}
        events = [json.dumps(chunk)] * 5 + [json.dumps(usage), "[DONE]"]
        body = "".join(f"data: {event}\n\n" for event in events).encode()
        return self.reply(200, "text/event-stream", body)


class Page(html.parser.HTMLParser):
    """Collects tags and checks that each is closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes, self.texts = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            raise AssertionError(f"</{tag}> closes nothing")

    def handle_data(self, data):
        self.texts.append(data)


def complaints(chromium, page, folder):
    """Lines that Chromium wrote to its console for this page, and the page as it stood then."""
    run = subprocess.run(
        [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--user-data-dir={folder}/profile", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=90, check=False)
    return [line for line in run.stderr.split("\n") if "CONSOLE" in line], run.stdout


class PageTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kantha_page_"))
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}"
        cls.page = cls.folder / "report.html"
        run = subprocess.run(
            [f"{BIN}/kantha", "bench", "--url", f"one {HOSTILE}={url}", "--url", f"two={url}",
             "--url", "dead=http://127.0.0.1:1", "--concurrency", "2", "--requests", "20",
             "--rounds", "2", "--slo", "ttft:1000", "--html", str(cls.page), "--quiet"],
            capture_output=True, text=True, timeout=90, check=False)
        server.shutdown()
        server.server_close()
        assert cls.page.exists(), run.stdout + run.stderr
        cls.text = cls.page.read_text(encoding="utf-8")

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_every_tag_is_closed_in_order(self):
        page = Page(self.text)
        self.assertEqual(page.open, [])
        self.assertGreaterEqual(page.tags.count("polyline"), 8)
        self.assertGreaterEqual(page.tags.count("svg"), 5)

    def test_no_script_and_nothing_from_elsewhere(self):
        page = Page(self.text)
        for tag in ("script", "img", "link", "iframe", "object"):
            self.assertNotIn(tag, page.tags)
        for name, value in page.attributes:
            self.assertFalse(name in ("src", "href") or name.startswith("on"), (name, value))
        self.assertNotRegex(self.text, r"url\(|@import")

    def test_foreign_text_is_shown_as_text(self):
        texts = " ".join(Page(self.text).texts)
        for text in ("model " + HOSTILE, "one " + HOSTILE, "HTTP 500: " + HOSTILE):
            self.assertIn(text, texts)

    def test_no_figure_is_a_nan(self):
        self.assertIsNone(re.search(r"\b(nan|inf)\b", " ".join(Page(self.text).texts)))

    def test_chromium_draws_it_without_a_complaint(self):
        chromium = shutil.which("chromium") or shutil.which("chromium-browser")
        if chromium is None:
            print("\n*** SKIPPED: no chromium here, so nobody looked at the page ***", flush=True)
            self.skipTest("no chromium")
        found, dom = complaints(chromium, self.page, self.folder)
        self.assertEqual(found, [])
        self.assertIn("<polyline", dom)
        # The same look at a page that asks for something from elsewhere does find a complaint.
        broken = self.folder / "broken.html"
        broken.write_text(self.text.replace("<h1>", "<img src='http://127.0.0.1:1/x.png'><h1>"))
        found, _ = complaints(chromium, broken, self.folder)
        self.assertNotEqual(found, [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
