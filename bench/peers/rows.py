"""What is compared: the loads that are run, and the rows that are read from them. Data only."""

import dataclasses
from dataclasses import dataclass

from table import HIGHER, LOWER

LLAMA, VLLM = "llama.cpp", "vllm"
LLAMA_TYPES = ("Q4_0", "Q8_0", "BF16")  # beside the file's own
ANY = "any"
AVX2 = " avx2"


@dataclass(frozen=True)
class Load:
    """One run of `kantha bench` in compare mode."""

    flags: tuple
    per_round: int  # requests to each server in a round; 0: as many as come in the time
    servers: tuple  # which peers take part
    types: bool = False  # also llama.cpp with its other weight types


LOADS = {
    "one": Load(("--concurrency", "1", "--input-tokens", "133", "--output-tokens", "128"), 3,
                (LLAMA, VLLM), types=True),
    "prefill": Load(("--concurrency", "1", "--input-tokens", "512", "--output-tokens", "1"), 6,
                    (LLAMA, VLLM), types=True),
    "sixteen": Load(("--concurrency", "16", "--input-tokens", "133", "--output-tokens", "64"), 32,
                    (LLAMA, VLLM)),
    "prefix": Load(("--concurrency", "8", "--workload", "shared-prefix", "--prefix-tokens", "600",
                    "--output-tokens", "32"), 24, (LLAMA, VLLM)),
    "open": Load(("--rate", "2", "--input-tokens", "233", "--output-tokens", "48"), 0,
                 (LLAMA, VLLM)),
    "avx2": Load(("--concurrency", "1", "--input-tokens", "133", "--output-tokens", "128"), 3,
                 (LLAMA,)),
}


# --- figures: from the measures of one round (docs/bench.md, JSON) to one number or None ----------


def at(measures, path):
    value = measures
    for key in path.split("."):
        value = value.get(key) if isinstance(value, dict) else None
    return value


def decode_rate(measures):
    tpot_ms = at(measures, "tpot_ms.p50")
    return 1000 / tpot_ms if tpot_ms else None


def prefill_rate(measures):
    tokens, ttft_ms = at(measures, "input_tokens.mean"), at(measures, "ttft_ms.p50")
    return tokens * 1000 / ttft_ms if tokens and ttft_ms else None


def figure(path):
    return lambda measures: at(measures, path)


@dataclass(frozen=True)
class Row:
    """One line of the table."""

    name: str
    title: str
    unit: str
    better: str
    limit: float
    aim: float
    load: str = ""  # of LOADS; rows without one measure by themselves (alone.py)
    read: object = None
    against: str = ""  # LLAMA with the same file, "llama.cpp *" any of its types, VLLM, ANY

    @property
    def is_ratio(self):
        return bool(self.load)


ROWS = (
    Row("decode", "decode, 1 stream", "tok/s", HIGHER, 2.5, 4, "one", decode_rate, LLAMA),
    Row("decode-best", "  vs llama.cpp's best type", "tok/s", HIGHER, 1.5, 2.2, "one", decode_rate,
        "llama.cpp *"),
    Row("prefill", "prefill 512", "tok/s", HIGHER, 6, 8, "prefill", prefill_rate, LLAMA),
    Row("prefill-best", "  vs the best peer", "tok/s", HIGHER, 1.6, 2.2, "prefill", prefill_rate,
        ANY),
    Row("streams16", "16 streams, output", "tok/s", HIGHER, 3.5, 5, "sixteen",
        figure("output_tokens_per_s"), VLLM),
    Row("ttft", "TTFT, 133 tokens", "ms", LOWER, 1.7, 2.2, "one", figure("ttft_ms.p50"), ANY),
    Row("prefix", "shared prefix of 600, 8 streams", "tok/s", HIGHER, 4, 5.5, "prefix",
        figure("output_tokens_per_s"), VLLM),
    Row("open-ttft", "2 requests/s: TTFT p95", "ms", LOWER, 2, 3, "open", figure("ttft_ms.p95"),
        VLLM),
    Row("open-itl", "2 requests/s: ITL p95", "ms", LOWER, 3, 5, "open", figure("itl_ms.p95"),
        VLLM),
    Row("avx2", "decode, 1 stream, AVX2 only", "tok/s", HIGHER, 1.2, 2, "avx2", decode_rate,
        LLAMA),
    Row("share", "decode, share of the bandwidth probe", "", HIGHER, 0.70, 0.90),
    Row("share-big", "  random weights of 0.5 GB, worst type", "", HIGHER, 0.85, 0.95),
    Row("gemm", "products of 512 rows, share of int8 probe", "", HIGHER, 0.60, 0.70),
    Row("start", "start to first token, warm cache", "s", LOWER, 1, 0.4),
    Row("busy", "ITL p50 with a busy process / quiet", "", LOWER, 2.2, 1.6),
)
NAMES = tuple(row.name for row in ROWS)


def candidates(row, names, others):
    """Which servers of `names` the row compares with; `others`, named by URL, count everywhere."""
    def counts(name):
        plain = name.removesuffix(AVX2)
        return (name in others or row.against == ANY or plain == row.against or
                (row.against == "llama.cpp *" and plain.split(" ")[0] == LLAMA))
    return [name for name in names if counts(name)]


def with_seconds(load, rounds, seconds):
    """The flags that say how much: requests, or time for an open loop, and at most `seconds`."""
    flags = list(load.flags) + ["--rounds", str(rounds), "--duration", f"{seconds:g}"]
    return flags + (["--requests", str(load.per_round * rounds)] if load.per_round else [])


def as_dict(row):
    wanted = ("name", "title", "unit", "better")
    return {key: value for key, value in dataclasses.asdict(row).items() if key in wanted} | {
        "is_ratio": row.is_ratio}
