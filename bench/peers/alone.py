"""Rows that need no peer: start, a busy neighbour, and shares of the bandwidth probe."""

import http.client
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from servers import Server, Spinner, Unavailable, say

START_RUNS = 10
RANDOM_TYPES = ("Q4_0", "Q4_1", "Q8_0", "Q4_K", "Q6_K", "BF16")
RANDOM_MEGABYTES = "512"
RANDOM_MODEL = pathlib.Path(__file__).resolve().parents[1] / "kernels" / "random_model.py"
SHARE = re.compile(r"(?m)^decode 1 share of read .*median +([0-9.]+)")
GEMM = re.compile(r"(?m)^products share of int8 .*median +([0-9.]+)")


def read_whole(path):
    """Brings a file into the page cache."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def first_token(port, deadline):
    """Asks until a streamed answer's first event has come."""
    body = json.dumps({"prompt": "The capital of France is", "max_tokens": 1, "stream": True,
                       "temperature": 0})
    while time.perf_counter() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        try:
            connection.request("POST", "/v1/completions", body,
                               {"Content-Type": "application/json"})
            answer = connection.getresponse()
            if answer.status == 200 and answer.readline().startswith(b"data: {"):
                return
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.002)
    raise Unavailable("no first token within 60 s")


def start_seconds(start_ours, model, runs=START_RUNS):
    """Seconds from the start of our engine's process to its first token, for each run."""
    read_whole(model)
    seconds = []
    for _ in range(runs):
        server = start_ours()
        try:
            first_token(server.port, server.started + 60)
            seconds.append(time.perf_counter() - server.started)
        finally:
            server.end()
    return seconds


def busy_ratios(run_bench, rounds):
    """ITL p50 beside a busy process over ITL p50 without, in turns. `run_bench` gives measures."""
    def itl_ms():
        measures = run_bench()
        return (measures.get("itl_ms") or {}).get("p50")

    ratios = []
    for _ in range(rounds):
        quiet = itl_ms()
        with Spinner():
            busy = itl_ms()
        ratios.append(busy / quiet if quiet and busy else None)
    return ratios


def probe_share(program, model, rounds, flags=("--one-stream",), figure=SHARE):
    """What share of the same second's bandwidth probe one stream's decode reads; or of the int8
    probe the matrix products of 512 rows reach."""
    if not os.access(program, os.X_OK):
        raise Unavailable(f"{program} is not there; build with -DWITH_BENCH=ON")
    threads = str(len(os.sched_getaffinity(0)))
    run = subprocess.run([program, model, *flags, "-t", threads, "-r", str(rounds)],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, text=True, check=False, timeout=600)
    found = figure.search(run.stdout)
    if run.returncode != 0 or not found:
        raise Unavailable(f"{pathlib.Path(program).name} ended with status {run.returncode} and "
                          f"without the figure: {run.stdout.strip()[-200:]}")
    return float(found[1])


def random_shares(program, rounds, types=RANDOM_TYPES):
    """{weight type: share} for models of random weights that no cache holds."""
    shares = {}
    with tempfile.TemporaryDirectory(prefix="kantha-random-") as folder:
        for kind in types:
            file = pathlib.Path(folder) / f"{kind}.gguf"
            subprocess.run([sys.executable, "-B", RANDOM_MODEL, kind, RANDOM_MEGABYTES, file],
                           check=True, stdout=subprocess.DEVNULL)
            shares[kind] = probe_share(program, file, rounds)
            file.unlink()
    say("share of the bandwidth probe, random weights: " +
        ", ".join(f"{kind} {share:.2f}" for kind, share in shares.items()))
    return shares


def start_engine(name, engine, model, log_folder, environment=None):
    return Server(name, [engine, "--model", model, "--listen", "127.0.0.1:{port}"], log_folder,
                  environment, ready_path="/ready")
