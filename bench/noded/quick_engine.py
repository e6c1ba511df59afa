"""An engine that costs next to nothing, for measuring what stands before it. Standard library only.

  quick_engine.py PORT_FILE UNIX_SOCKET

Listens on both a TCP port (written to the file) and the socket, and speaks what kantha-noded asks
of an engine. A prompt "hold" gets one token and then nothing; any other gets max_tokens tokens at a
step each, all streams in the same step, as a real engine gives them.
"""

import asyncio
import json
import os
import pathlib
import sys
import time

STEP_S = 0.005
HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\n"
        b"Cache-Control: no-cache\r\nTransfer-Encoding: chunked\r\n\r\n")
CHUNK = ('data: {"id":"cmpl-0123456789abcdef01234567","object":"text_completion",'
         '"created":1700000000,"model":"m","system_fingerprint":"kantha-0123456789",'
         '"choices":[{"index":0,"text":" word","logprobs":null,"finish_reason":%s}],'
         '"kantha":{"token_ids":[%d]%s}}\n\n')
STARTED = time.monotonic()
running = {}  # connection → tokens that are left


def framed(text):
    data = text.encode()
    return b"%x\r\n%s\r\n" % (len(data), data)


def token(left, first=False):
    finish = '"length"' if left == 1 else "null"
    origin = ',"seed":7,"prompt_tokens":4' if first else ""
    return framed(CHUNK % (finish, 1000 + left, origin))


END = framed("data: [DONE]\n\n") + b"0\r\n\r\n"


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
        self.data = b""

    def connection_lost(self, _):
        running.pop(self, None)

    def data_received(self, data):
        self.data += data
        while b"\r\n\r\n" in self.data:
            head, _, rest = self.data.partition(b"\r\n\r\n")
            length = 0
            for line in head.split(b"\r\n")[1:]:
                if line.lower().startswith(b"content-length:"):
                    length = int(line.split(b":")[1])
            if len(rest) < length:
                return
            self.data = rest[length:]
            self.answer(head.split()[1], rest[:length])

    def answer(self, path, body):
        if path.startswith(b"/v1/"):
            return self.generate(json.loads(body))
        page = b"{}"
        if path == b"/admin/v1/state":
            page = json.dumps({"version": "quick", "phase": "ready", "pid": os.getpid(),
                               "uptime_ms": int((time.monotonic() - STARTED) * 1e3)}).encode()
        self.transport.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(page), page))

    def generate(self, body):
        count = body["max_tokens"]
        if body["prompt"] == "hold":
            return self.transport.write(HEAD + token(count, first=True))
        self.transport.write(HEAD + token(count, first=True) + (END if count == 1 else b""))
        if count > 1:
            running[self] = count - 1

    def step(self, left):
        self.transport.write(token(left) + (END if left == 1 else b""))


async def steps():
    while True:
        await asyncio.sleep(STEP_S)
        for connection, left in list(running.items()):
            connection.step(left)
            if left == 1:
                del running[connection]
            else:
                running[connection] = left - 1


async def main(port_file, socket_path):
    loop = asyncio.get_running_loop()
    await loop.create_unix_server(Connection, socket_path, backlog=2048)
    server = await loop.create_server(Connection, "127.0.0.1", 0, backlog=2048)
    draft = pathlib.Path(port_file + ".draft")
    draft.write_text(str(server.sockets[0].getsockname()[1]))
    draft.rename(port_file)
    await steps()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:3]))
