"""Our engine beside its peers, in one run on one machine. Started by scripts/bench; see README.md.

Exit status: 0 done, 1 nothing could be measured, 2 usage, 130 interrupted.
"""

import argparse
import contextlib
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import alone
import llama_cpp
import rows
import table
import vllm_cpu
from rows import AVX2, LLAMA, LLAMA_TYPES, LOADS, NAMES, ROWS, VLLM
from servers import Remote, Unavailable, end_group, die_with_parent, say
from table import OURS

SCHEMA = "kantha.bench-peers/1"
KNOWN = (LLAMA, VLLM)
BUSY_SECONDS = 4
REQUEST_SECONDS = 120  # no single request takes longer; a slow server then has failures


def names_in(text, known, what):
    out = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in out if name not in known]
    if unknown or not out:
        raise argparse.ArgumentTypeError(
            f"{what}: expected some of {', '.join(known)}, got \"{text}\"")
    return out


def peers_in(text):
    """{name: URL, or None for those that we start}."""
    out = {}
    for part in text.split(","):
        name, mark, url = part.strip().partition("=")
        is_url = mark and name and name != OURS and url.startswith("http://")
        if not is_url and part.strip() not in KNOWN:
            raise argparse.ArgumentTypeError(
                f"expected llama.cpp, vllm or NAME=http://HOST:PORT, got \"{part}\"")
        out[name] = url if is_url else None
    return out


def whole(low, high):
    def read(text):
        if not text.isdigit() or not low <= int(text) <= high:
            raise argparse.ArgumentTypeError(f"expected an integer in [{low}, {high}], "
                                             f"got \"{text}\"")
        return int(text)
    return read


def options(arguments):
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measures kantha-engine beside its peers on this "
        "machine, in turns, and prints a table with ratios and limits.")
    parser.add_argument("--peers", nargs="?", const="llama.cpp,vllm", type=peers_in, metavar="LIST",
                        help="all rows, beside llama.cpp,vllm (the default list) or any server as "
                        "NAME=http://HOST:PORT")
    parser.add_argument("--start", action="store_true",
                        help="only the start to the first token; no peers")
    parser.add_argument("--only", type=lambda text: names_in(text, NAMES, "rows"), metavar="ROW,…",
                        help="some of: " + ", ".join(NAMES))
    parser.add_argument("--rounds", type=whole(1, 100), default=5, help="of each load (5)")
    parser.add_argument("--seconds", type=whole(1, 3600), default=60,
                        help="at most, per load and server over all rounds; the open loop takes "
                        "all of it (60)")
    parser.add_argument("--model", type=pathlib.Path, help="a GGUF file; default: the small model")
    parser.add_argument("--out", type=pathlib.Path, help="write the results there as JSON")
    chosen = parser.parse_args(arguments)
    if chosen.peers is None and not chosen.start and not chosen.only:
        parser.error("say --peers, --start or --only ROW")
    chosen.peers = chosen.peers or {}
    if chosen.start:
        chosen.only = ["start"]
    chosen.model = chosen.model or (llama_cpp.load_script("fetch-model").models_folder() /
                                    "SmolLM2-135M-Instruct.Q4_1.gguf")
    if not chosen.model.is_file():
        parser.error(f"--model: {chosen.model} is not a file")
    return chosen


class Comparison:
    """One run: the servers that are up, what was measured, and what could not be."""

    def __init__(self, chosen, bin_folder, log_folder):
        self.chosen = chosen
        self.bin = bin_folder
        self.logs = log_folder
        self.rows = [row for row in ROWS if not chosen.only or row.name in chosen.only]
        self.servers = {}  # name → Server or Remote, all ready
        self.llama = None
        self.notes = []
        self.measures = {}  # load → {server: [measures of a round]}
        self.values = {}  # row that stands alone → its values
        self.details = {}
        self.seed = time.time_ns() % 1_000_000

    def note(self, text):
        """Said aloud, and kept for the report."""
        say(text)
        self.notes.append(text)

    # --- servers ----------------------------------------------------------------------------------

    def keep(self, server):
        self.servers[server.name] = server
        seconds = server.wait_ready()
        if seconds is not None:
            say(f"{server.name} is ready after {seconds:.1f} s")

    def attempt(self, what, step):
        """Runs a step that may be impossible here; then it is left out aloud."""
        try:
            return step()
        except (Unavailable, OSError, subprocess.SubprocessError) as e:
            self.note(f"SKIPPED: {what}: {e}")
            server = self.servers.pop(what, None)
            if server:
                server.end()
            return None

    def start_ours(self, name=OURS, environment=None):
        return alone.start_engine(name, self.bin / "kantha-engine", self.chosen.model, self.logs,
                                  environment)

    def start_llama(self, kind):
        name = f"{LLAMA} {kind}" if kind else LLAMA
        model = self.chosen.model
        if kind:
            model = llama_cpp.quantised(self.llama, model, kind)
        self.keep(llama_cpp.start(name, self.llama, model, self.logs))

    def start_vllm(self):
        self.keep(vllm_cpu.start(VLLM, vllm_cpu.ensure(), self.chosen.model, self.logs))

    def start_peers(self, loads):
        peers = self.chosen.peers
        wanted = {name for load in loads for name in LOADS[load].servers}
        if LLAMA in peers and LLAMA in wanted:
            self.llama = self.attempt(LLAMA, llama_cpp.ensure)
        if self.llama and any(load != "avx2" for load in loads):
            kinds = LLAMA_TYPES if any(LOADS[load].types for load in loads) else ()
            for kind in ("", *kinds):
                name = f"{LLAMA} {kind}" if kind else LLAMA
                self.attempt(name, lambda k=kind: self.start_llama(k))
        if VLLM in peers and VLLM in wanted:
            self.attempt(VLLM, self.start_vllm)
        for name, url in peers.items():
            if url:
                self.servers[name] = Remote(name, url)

    def end_servers(self):
        while self.servers:
            self.servers.popitem()[1].end()

    # --- measuring --------------------------------------------------------------------------------

    def bench(self, servers, flags):
        """One `kantha bench`; its JSON report. One that hangs is told to end and to report."""
        patience_s = len(servers) * (self.chosen.seconds * 2 + 60) + REQUEST_SECONDS
        path = pathlib.Path(self.logs) / "report.json"
        path.unlink(missing_ok=True)
        command = [self.bin / "kantha", "bench", "--api", "completions", "--quiet", "--json", path,
                   "--timeout", REQUEST_SECONDS, "--seed", self.seed, *flags]
        self.seed += 1  # no server has seen the prompts of another load
        for server in servers:
            command += ["--url", f"{server.name.replace(' ', '-')}={server.url}"]
        log = pathlib.Path(self.logs) / "bench.log"
        with open(log, "wb") as out:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL,
                                       stdout=out, stderr=out, start_new_session=True,
                                       preexec_fn=die_with_parent)
            try:
                process.wait(patience_s)
            except subprocess.TimeoutExpired:
                self.note(f"SLOW: a load did not end within {patience_s} s and was cut short")
                process.send_signal(signal.SIGINT)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(REQUEST_SECONDS)
            finally:
                end_group(process)
        if not path.exists():
            raise Unavailable(f"kantha bench ended with status {process.returncode}: "
                              f"{log.read_text(errors='replace').strip()[-300:]}")
        return json.loads(path.read_text(encoding="utf-8"))

    def taking_part(self, load):
        def takes(name):
            plain = name.split(" ")[0]
            if name == OURS or self.chosen.peers.get(name):
                return True
            return plain in load.servers and (load.types or " " not in name)
        return [server for name, server in self.servers.items() if takes(name)]

    def measure(self, name, servers):
        load = LOADS[name]
        say(f"load {name}: " + ", ".join(server.name for server in servers))
        flags = rows.with_seconds(load, self.chosen.rounds, self.chosen.seconds)
        report = self.bench(servers, [*flags, "--warmup", "2"])
        self.measures[name] = {}
        for server, target in zip(servers, report["targets"]):
            trouble = target["not_measured"]
            broken = sorted({text for round in target["rounds"] for text in round["invalid"]})
            failed = sum(round["failed"] for round in target["rounds"])
            if trouble or broken or failed:
                why = trouble or "; ".join(broken) or f"{failed} requests failed"
                self.note(f"NOT CLEAN: {server.name} in load {name}: {why}")
            if not trouble:
                self.measures[name][server.name] = target["rounds"]

    def measure_avx2(self):
        """Both sides without AVX-512: ours by its switch, llama.cpp by another build."""
        servers = dict(self.servers)
        self.servers = {name: server for name, server in servers.items()
                        if isinstance(server, Remote)}
        ours = {"KANTHA_CPU_ISA": "avx2"}
        try:
            self.keep(self.start_ours(OURS + AVX2, ours))
            if self.llama:
                self.attempt(LLAMA + AVX2, lambda: self.keep(llama_cpp.start(
                    LLAMA + AVX2, self.llama, self.chosen.model, self.logs, "avx2")))
            order = sorted(self.servers.values(), key=lambda server: server.name != OURS + AVX2)
            self.measure("avx2", order)
            found = self.measures["avx2"]
            self.measures["avx2"] = {name.removesuffix(AVX2): found[name] for name in found}
        finally:
            self.end_servers_named(AVX2)
            self.servers = servers

    def end_servers_named(self, suffix):
        for name in [name for name in self.servers if name.endswith(suffix)]:
            self.servers.pop(name).end()

    def measure_busy(self):
        server = self.start_ours("kantha busy")
        try:
            server.wait_ready()
            flags = ["--concurrency", "1", "--input-tokens", "133", "--output-tokens", "128",
                     "--rounds", "1", "--warmup", "1", "--duration", str(BUSY_SECONDS)]

            def once():
                return self.bench([server], flags)["targets"][0]["measures"] or {}
            return alone.busy_ratios(once, self.chosen.rounds)
        finally:
            server.end()

    def measure_share_big(self):
        shares = alone.random_shares(self.bin / "kantha-forward-bench", self.chosen.rounds)
        self.details["share-big"] = shares
        return [min(shares.values())]

    def measure_alone(self, row):
        steps = {
            "start": lambda: alone.start_seconds(lambda: self.start_ours("kantha start"),
                                                 self.chosen.model),
            "busy": self.measure_busy,
            "share": lambda: [alone.probe_share(self.bin / "kantha-forward-bench",
                                                self.chosen.model, self.chosen.rounds)],
            "share-big": self.measure_share_big,
            "gemm": lambda: [alone.probe_share(self.bin / "kantha-forward-bench",
                                               self.chosen.model, self.chosen.rounds, (),
                                               alone.GEMM)],
        }
        say(f"measuring {row.name}")
        self.values[row.name] = self.attempt(row.name, steps[row.name]) or []

    def run(self):
        """Rows that stand alone go first, while no other server is there."""
        for row in self.rows:
            if not row.is_ratio:
                self.measure_alone(row)
        loads = [name for name in LOADS if any(row.load == name for row in self.rows)]
        if "avx2" in loads and LLAMA in self.chosen.peers:
            self.llama = self.llama or self.attempt(LLAMA, llama_cpp.ensure)
        if "avx2" in loads:
            self.attempt("avx2", self.measure_avx2)
        others = [load for load in loads if load != "avx2"]
        if others:
            self.keep(self.start_ours())
            self.start_peers(others)
        for load in others:
            self.attempt(load, lambda l=load: self.measure(l, self.taking_part(LOADS[l])))

    # --- results ----------------------------------------------------------------------------------

    def result(self, row):
        base = rows.as_dict(row)
        if not row.is_ratio:
            values = self.values.get(row.name, [])
            return {**base, "figures": {OURS: values}, **table.judge_value(row, values)}
        figures = {name: [row.read(round) for round in rounds]
                   for name, rounds in self.measures.get(row.load, {}).items()}
        others = [name for name, url in self.chosen.peers.items() if url]
        names = rows.candidates(row, [name for name in figures if name != OURS], others)
        return {**base, "figures": figures, **table.judge_ratio(row, figures, names)}

    def report(self):
        results = [self.result(row) for row in self.rows]
        return {"schema": SCHEMA, "machine": machine(), "model": self.chosen.model.name,
                "rounds": self.chosen.rounds, "seconds": self.chosen.seconds, "notes": self.notes,
                "rows": results, "details": self.details}


def machine():
    cpu = ""
    for line in pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            cpu = line.partition(":")[2].strip()
            break
    return {"cpu": cpu, "threads": len(os.sched_getaffinity(0)),
            "load_average": round(os.getloadavg()[0], 2)}


def columns(report):
    seen = {}
    for row in report["rows"]:
        for name in row["figures"]:
            seen[name] = True
    seen.pop(OURS, None)
    return [OURS, *seen]


def is_measured(report):
    return any(value is not None for row in report["rows"]
               for value in row["figures"].get(OURS, []))


def show(report, out):
    print(table.table(report["rows"], columns(report)))
    for note in report["notes"]:
        print(note)
    if out:
        out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def interrupted(number, _):
    raise KeyboardInterrupt(number)


def main(arguments):
    chosen = options(arguments)
    signal.signal(signal.SIGTERM, interrupted)
    bin_folder = pathlib.Path(os.environ["KANTHA_BIN_DIR"])
    status = 0
    with tempfile.TemporaryDirectory(prefix="kantha-bench-") as logs:
        comparison = Comparison(chosen, bin_folder, logs)
        load, threads = os.getloadavg()[0], len(os.sched_getaffinity(0))
        if load > 0.3 * threads:
            comparison.note(f"NOT QUIET: load average {load:.1f} on {threads} threads")
        try:
            comparison.run()
        except Unavailable as e:
            comparison.note(f"ERROR: {e}")
        except KeyboardInterrupt:
            comparison.note("INTERRUPTED: what was measured until then")
            status = 130
        finally:
            comparison.end_servers()
        report = comparison.report()
    show(report, chosen.out)
    return status or (0 if is_measured(report) else 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
