"""A Kubernetes with a real node for one test: started, spoken to, asked what went wrong, ended."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import traceback
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
HOME = "kantha-system"  # the operator's namespace
MODELS = pathlib.Path(os.environ.get("XDG_CACHE_HOME", pathlib.Path.home() / ".cache"),
                      "kantha/models")
MODELS_ON_NODE = "/var/lib/kantha/models"  # where examples/smollm2-cluster.yaml looks
SKIPPED = 77
QUESTION = {"model": "smollm2-135m-instruct", "temperature": 0, "max_tokens": 16, "messages": [
    {"role": "user", "content": "What is the capital of France?"}]}


class Failure(Exception):
    """What was expected and what came instead."""


class RealCluster:
    """`with RealCluster() as cluster`; every step has a limit in seconds."""

    def __init__(self, *options):
        # A short path: sockets are in it.
        self.run = pathlib.Path(tempfile.mkdtemp(prefix="kantha-e2e-", dir="/tmp"))
        self.options = options
        self.environment = {}
        self.started = time.monotonic()

    def __enter__(self):
        up = subprocess.run([ROOT / "scripts/cluster", "up", "--run", self.run, *self.options],
                            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, check=False,
                            timeout=3600)
        if up.returncode == SKIPPED:
            self.run.rmdir()
            print("=" * 80, "SKIPPED: this machine cannot run a node, so nothing was tested",
                  "=" * 80, sep="\n", flush=True)
            sys.exit(SKIPPED)
        if up.returncode != 0:
            raise Failure(f"scripts/cluster up ended with {up.returncode}")
        text = subprocess.run(["bash", "-c", f". {self.run}/env && env -0"], check=True,
                              stdout=subprocess.PIPE).stdout.decode()
        self.environment = dict(entry.split("=", 1) for entry in text.split("\0") if entry)
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None:
            traceback.print_exception(kind, error, trace)
            self.tell_everything()
        down = subprocess.run([ROOT / "scripts/cluster", "down", "--run", self.run], check=False,
                              timeout=60)
        if kind is None and down.returncode != 0:
            raise Failure("scripts/cluster down failed")
        print(f"{time.monotonic() - self.started:6.1f} s in all", flush=True)

    def tool(self, *command, given=None, seconds=60, check=True):
        """The standard output of kubectl or helm."""
        try:
            run = subprocess.run(command, input=given, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True, check=False, timeout=seconds,
                                 env=self.environment)
        except subprocess.TimeoutExpired as late:
            raise Failure(f"{' '.join(command)}: no end within {seconds} s") from late
        if check and run.returncode != 0:
            raise Failure(f"{' '.join(command)}: {run.stderr.strip()}")
        return run.stdout

    def kubectl(self, *arguments, **options):
        return self.tool("kubectl", *arguments, **options)

    def helm(self, *arguments):
        return self.tool("helm", *arguments, seconds=120)

    def install_charts(self, *values):
        """Both charts with the images of this tree, in a namespace of restricted pods."""
        self.kubectl("create", "namespace", HOME)
        self.kubectl("label", "namespace", HOME, "pod-security.kubernetes.io/enforce=restricted")
        self.helm("install", "kantha-crds", str(ROOT / "helm/kantha-crds"), "--set", "keep=false")
        images = [f"images.{name}.tag=dev" for name in ("operator", "noded", "engine")]
        self.helm("install", "kantha", str(ROOT / "helm/kantha"), "-n", HOME, "--set",
                  ",".join([*images, "images.pullPolicy=Never", *values]), "--wait",
                  "--timeout=90s")

    def objects(self, kind, *arguments):
        return json.loads(self.kubectl("get", kind, *arguments, "-o", "json"))["items"]

    def bring_models(self):
        """Mounts the cache of scripts/fetch-model where nodes keep models."""
        node = (self.run / "node.pid").read_text().strip()
        script = f'mkdir -p {MODELS_ON_NODE} && mount --bind -o ro "$1" {MODELS_ON_NODE}'
        subprocess.run(["nsenter", "-t", node, "-m", "bash", "-c", script, "-", MODELS],
                       check=True)

    def bring_images(self, programs):
        subprocess.run([ROOT / "scripts/images", "--bin", os.environ["KANTHA_BIN_DIR"], "--out",
                        self.run / "images", "--import", self.run / "containerd.sock", *programs],
                       check=True, stdin=subprocess.DEVNULL, timeout=120)

    def await_true(self, seconds, sentence, condition):
        """Asks until the condition returns something true, which is the result."""
        deadline = time.monotonic() + seconds
        while True:
            found = condition()
            if found:
                return found
            if time.monotonic() > deadline:
                raise Failure(f"{sentence}: not within {seconds} s")
            time.sleep(0.2)

    def tell_everything(self):
        """What a person would look at first after a failure."""
        for arguments in (
                ["get", "all,kms,leases,pdb,cm,sa,secrets", "-A", "-o", "wide"],
                ["get", "kms", "-A", "-o", "yaml"],
                ["get", "events", "-A", "--sort-by=.lastTimestamp"],
                ["describe", "pods", "-A"]):
            self.section("kubectl " + " ".join(arguments), self.kubectl_text(*arguments))
        for pod in self.kubectl_text("get", "pods", "-A", "--no-headers", "-o",
                                     "custom-columns=N:.metadata.namespace,P:.metadata.name,"
                                     "C:.spec.containers[*].name").splitlines():
            namespace, name, containers = pod.split()
            for container in containers.split(","):
                for previous in ([], ["--previous"]):
                    self.section(f"log of {namespace}/{name} {container} {' '.join(previous)}",
                                 self.kubectl_text("logs", "-n", namespace, name, "-c", container,
                                                   "--tail=60", *previous))
        status = subprocess.run([ROOT / "scripts/cluster", "status", "--run", self.run], text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        self.section("scripts/cluster status", status.stdout)
        for log in ("containerd.log", "kubelet.log", "kube-proxy.log"):
            text = (self.run / log).read_text() if (self.run / log).exists() else ""
            self.section(f"the end of {log}", "\n".join(text.splitlines()[-25:]))

    def kubectl_text(self, *arguments):
        try:
            return self.kubectl(*arguments, check=False, seconds=20)
        except (Failure, OSError) as failure:
            return str(failure)

    @staticmethod
    def section(title, text):
        if text.strip():
            print(f"---- {title}\n{text.rstrip()}", flush=True)


class Step:
    """`with Step("sentence")`: prints the sentence with the seconds that it took."""

    def __init__(self, sentence):
        self.sentence = sentence

    def __enter__(self):
        self.started = time.monotonic()

    def __exit__(self, kind, error, trace):
        word = "" if kind is None else "FAILED: "
        print(f"{time.monotonic() - self.started:6.1f} s  {word}{self.sentence}", flush=True)


def answer_of(url, question, seconds=60):
    """(status, the text) of a chat; status 0 when nobody answered."""
    request = urllib.request.Request(url, json.dumps(question).encode(),
                                     {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=seconds) as response:
            return response.status, text_of(json.load(response))
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def text_of(answer):
    return answer["choices"][0]["message"]["content"]


def expect_paris(status, text):
    if status != 200 or "Paris" not in text:
        raise Failure(f"a chat got {status} {text[:300]!r}, expected 200 and Paris")
