"""What an exchange costs on this machine at this moment: a bare server beside the one under test,
and how long threads wait for a core."""

import os
import subprocess
import sys

from engine_process import Connection, share

SLOWER = 4  # so many times a bare exchange a limit may become on a machine that is busy
SERVER = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    peer = listener.accept()[0]
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while peer.recv(65536):
        peer.sendall(b"HTTP/1.1 429 No\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
"""


class ProbeServer:
    """Answers each request of less than 64 KiB at once, without reading it."""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-S", "-c", SERVER],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        self.peer = Connection(("127.0.0.1", int(self.process.stdout.readline())))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.peer.close()
        self.process.kill()
        self.process.wait(10)
        self.process.stdout.close()

    def call(self, *request):
        return self.peer.call(*request)


class CoreWait:
    """How long some threads have waited for a core, where the kernel tells it."""

    def __init__(self, *thread_ids):
        self.files = []
        for thread_id in thread_ids:
            try:
                self.files.append(os.open(f"/proc/{thread_id}/schedstat", os.O_RDONLY))
            except FileNotFoundError:
                pass

    def seconds(self):
        return sum(int(os.pread(file, 100, 0).split()[1]) for file in self.files) * 1e-9

    def close(self):
        for file in self.files:
            os.close(file)


def limit_beside(probe_times, part, limit_s):
    """The limit of a quantile, or what a busy machine makes of it."""
    return max(limit_s, SLOWER * share(probe_times, part))
