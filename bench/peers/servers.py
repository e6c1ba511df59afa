"""Server processes of a comparison: started on a free loopback port, and ended with us."""

import contextlib
import ctypes
import http.client
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

PR_SET_PDEATHSIG = 1
LOG_LINES_SHOWN = 8
libc = ctypes.CDLL(None)


class Unavailable(Exception):
    """A peer or a program that cannot be had; the text says why, in one line."""


def say(text):
    print(f"bench: {text}", file=sys.stderr, flush=True)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def die_with_parent():
    """Runs in the child: even if this script is killed with SIGKILL, the child ends."""
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def end_group(process, grace_s=5):
    """SIGTERM to the process group, SIGKILL after the grace; returns once the process is gone."""
    for kind, patience_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, 10)):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, kind)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(patience_s)
            break
    with contextlib.suppress(ProcessLookupError):  # what the leader left behind
        os.killpg(process.pid, signal.SIGKILL)


class Server:
    """One engine on 127.0.0.1. `command` holds "{port}" where the port belongs."""

    def __init__(self, name, command, log_folder, environment=None, ready_path="/health",
                 ready_within_s=60):
        self.name = name
        self.port = free_port()
        self.ready_path = ready_path
        self.ready_within_s = ready_within_s
        self.log = pathlib.Path(log_folder) / (name.replace(" ", "-").replace("/", "-") + ".log")
        words = [str(word).replace("{port}", str(self.port)) for word in command]
        self.started = time.perf_counter()
        with open(self.log, "wb") as log:
            try:
                self.process = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    env=os.environ | (environment or {}), start_new_session=True,
                    preexec_fn=die_with_parent)
            except OSError as e:
                raise Unavailable(f"{name} does not start: {e}") from e

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def _answers(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", self.ready_path)
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def wait_ready(self):
        """Seconds from the start until it answers; Unavailable with its last lines if never."""
        deadline = self.started + self.ready_within_s
        while not self._answers():
            if self.process.poll() is not None:
                raise Unavailable(f"{self.name} ended with status {self.process.returncode} "
                                  f"before it was ready:{self.last_lines()}")
            if time.perf_counter() > deadline:
                raise Unavailable(f"{self.name} was not ready within {self.ready_within_s} s:"
                                  f"{self.last_lines()}")
            time.sleep(0.02)
        return time.perf_counter() - self.started

    def last_lines(self):
        lines = self.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:]
        return "".join(f"\n    {line[:200]}" for line in lines) or " it said nothing"

    def end(self):
        end_group(self.process)


class Remote:
    """A server that somebody else runs; we only ask it."""

    def __init__(self, name, url):
        self.name = name
        self.url = url

    def wait_ready(self):
        return None

    def end(self):
        pass


class Spinner:
    """A process that keeps one core busy, as a neighbour on the machine would."""

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", "while True: pass"],
                                        stdin=subprocess.DEVNULL, start_new_session=True,
                                        preexec_fn=die_with_parent)

    def __exit__(self, *_):
        end_group(self.process)
