#!/usr/bin/env python3
"""usage: fault_proxy.py --run RUN --kubeconfig FILE

A proxy before the API server of the cluster in RUN (scripts/cluster) that breaks what it is told to.
It ends TLS with the API server's own certificate, speaks HTTP/1.1 to both sides, and writes FILE, the
administrator's kubeconfig with the proxy's address. Prints one line when it is ready:
{"server": …, "control": …}.

A client's bearer token is passed on; a client without one acts as the administrator, for its
certificate cannot be passed on. Upgraded connections (exec, port-forward) are not carried.

The control address takes, as HTTP with JSON:
  POST   /faults   a fault: {"fault": KIND, "method": REGEX, "path": REGEX, "after": N, "times": N, …}
                   The path is matched with its query ("watch=true" is a watch). `after` requests that
                   match are spared, then `times` (1 unless given; 0: all) are struck. The first fault
                   that matches a request counts.
  DELETE /faults   forget them all
  GET    /faults   those that are left, with how often each struck
  GET    /requests what was asked: [{"method", "path", "status", "fault"}]; status 0: no answer
  POST   /cut      end every connection of clients now
  POST   /certificate  {"cert": FILE, "key": FILE}: show this one to clients that come from now on

Faults (KIND and its further keys):
  status           answer `code` with `message` (and `retry_after`), the server is not asked
  status_after     ask the server, then answer so: the write has happened
  drop             end the connection, the server is not asked
  drop_after       ask the server, then end the connection without an answer
  delay            wait `seconds`, then ask the server
  delay_after      ask the server, then wait `seconds`
  blackhole        never answer
  cut              pass `events` lines of a watch and half of the next one, then end the connection
  stall            pass `events` lines of a watch, then nothing; the connection stays
  expire           pass `events` lines of a watch, then the event ERROR with status 410
"""

import argparse
import asyncio
import json
import pathlib
import re
import ssl
import sys
from urllib.parse import urlsplit

HEAD_BYTES_MAX = 65536
BODY_BYTES_MAX = 16 << 20
IDLE_SECONDS_MAX = 600
KINDS = {"status", "status_after", "drop", "drop_after", "delay", "delay_after", "blackhole", "cut",
         "stall", "expire"}


class Fault:
    """What to break, and how often still."""

    def __init__(self, given):
        if given.get("fault") not in KINDS:
            raise ValueError(f"fault: expected one of {sorted(KINDS)}, got {given.get('fault')}")
        self.given = given
        self.kind = given["fault"]
        self.method = re.compile(given.get("method", ""))
        self.path = re.compile(given.get("path", ""))
        self.after = given.get("after", 0)
        self.times = given.get("times", 1)
        self.seen = self.struck = 0

    def strikes(self, method, path):
        if self.times and self.struck >= self.times:
            return False
        if not self.method.search(method) or not self.path.search(path):
            return False
        self.seen += 1
        if self.seen <= self.after:
            return False
        self.struck += 1
        return True


class Message:
    """One HTTP request or response without its body: first line and headers as they came."""

    def __init__(self, head):
        lines = head.decode("latin-1").split("\r\n")
        self.first = lines[0]
        self.headers = [line.split(":", 1) for line in lines[1:] if ":" in line]

    def get(self, name):
        return next((v.strip() for k, v in self.headers if k.lower() == name), "")

    def set(self, name, value):
        self.headers = [h for h in self.headers if h[0].lower() != name.lower()]
        if value is not None:
            self.headers.append([name, f" {value}"])

    def encoded(self):
        lines = [self.first] + [f"{k}:{v}" for k, v in self.headers]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def read_message(reader):
    try:
        return Message((await reader.readuntil(b"\r\n\r\n"))[:-4])
    except asyncio.IncompleteReadError:
        return None


async def body_parts(message, reader, until_close):
    """The parts of a body, without the framing of chunks, as they come."""
    if message.get("transfer-encoding").lower() == "chunked":
        while True:
            size = int((await reader.readline()).split(b";")[0], 16)
            part = await reader.readexactly(size + 2)
            if size == 0:
                return
            yield part[:-2]
    elif length := message.get("content-length"):
        left = int(length)
        if left > BODY_BYTES_MAX:
            raise ValueError(f"a body of {left} bytes, at most {BODY_BYTES_MAX}")
        while left:
            part = await reader.read(min(left, 65536))
            if not part:
                raise ConnectionError("the body ended early")
            left -= len(part)
            yield part
    elif until_close:
        while part := await reader.read(65536):
            yield part


async def whole_body(message, reader, until_close=False):
    return b"".join([part async for part in body_parts(message, reader, until_close)])


def chunk(part):
    return f"{len(part):x}\r\n".encode() + part + b"\r\n"


def plain_answer(code, document, headers=""):
    body = json.dumps(document).encode()
    return (f"HTTP/1.1 {code} Fault\r\nContent-Type: application/json\r\n{headers}"
            f"Content-Length: {len(body)}\r\n\r\n").encode() + body


def status_document(code, message):
    reason = {409: "Conflict", 410: "Expired", 429: "TooManyRequests", 403: "Forbidden",
              404: "NotFound", 500: "InternalError", 503: "ServiceUnavailable"}.get(code, "")
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": message, "reason": reason, "code": code}


class Cut(Exception):
    """The client's connection is to end here, without a farewell."""


class FaultProxy:

    def __init__(self, server, ours, to_server):
        self.host, self.port = urlsplit(server).hostname, urlsplit(server).port
        self.ours, self.to_server = ours, to_server
        self.faults, self.requests, self.clients = [], [], set()
        self.tasks = set()  # asyncio itself holds them weakly: one that waits would be collected

    async def serve(self, reader, writer):
        """One connection of a client, request by request."""
        self.clients.add(writer)
        task = asyncio.current_task()
        self.tasks.add(task)
        try:
            while message := await asyncio.wait_for(read_message(reader), IDLE_SECONDS_MAX):
                await self.one_request(message, reader, writer)
        except (Cut, OSError, ValueError, EOFError, asyncio.TimeoutError,
                asyncio.LimitOverrunError):
            pass
        finally:
            self.clients.discard(writer)
            writer.transport.abort()
            self.tasks.discard(task)

    async def one_request(self, message, reader, writer):
        method, path, _ = message.first.split(" ", 2)
        body = await whole_body(message, reader)
        fault = next((f for f in self.faults if f.strikes(method, path)), None)
        record = {"method": method, "path": path, "status": 0,
                  "fault": fault.kind if fault else None}
        self.requests.append(record)
        if fault:
            await self.strike_before(fault, writer, record)
            if fault.kind == "status":
                return
        message.set("Transfer-Encoding", None)
        message.set("Expect", None)
        message.set("Host", f"{self.host}:{self.port}")
        message.set("Connection", "close")
        message.set("Content-Length", len(body) if body else None)
        context = self.to_server[bool(message.get("authorization"))]
        from_server, server = await asyncio.open_connection(self.host, self.port, ssl=context,
                                                            limit=HEAD_BYTES_MAX)
        try:
            server.write(message.encoded() + body)
            await server.drain()
            answer = await read_message(from_server)
            if answer is None:
                raise Cut
            await self.pass_answer(answer, method, fault, from_server, writer, record)
        finally:
            server.transport.abort()

    async def strike_before(self, fault, writer, record):
        if fault.kind == "drop":
            raise Cut
        if fault.kind == "blackhole":
            await asyncio.sleep(IDLE_SECONDS_MAX)
            raise Cut
        if fault.kind == "delay":
            await asyncio.sleep(fault.given.get("seconds", 1))
        if fault.kind == "status":
            await self.answer_status(fault, writer, record)

    async def answer_status(self, fault, writer, record):
        code = fault.given.get("code", 500)
        wait = fault.given.get("retry_after")
        record["status"] = code
        writer.write(plain_answer(code, status_document(code, fault.given.get("message", "a fault")),
                                  f"Retry-After: {wait}\r\n" if wait is not None else ""))
        await writer.drain()

    async def pass_answer(self, answer, method, fault, from_server, writer, record):
        kind = fault.kind if fault else None
        status = int(answer.first.split(" ")[1])
        if kind in ("status_after", "drop_after", "delay_after"):
            body = b"" if method == "HEAD" else await whole_body(answer, from_server, True)
            if kind == "drop_after":
                raise Cut
            if kind == "status_after":
                await self.answer_status(fault, writer, record)
                return
            await asyncio.sleep(fault.given.get("seconds", 1))
            parts = one_part(body)
        elif method == "HEAD" or status in (204, 304):
            parts = one_part(b"")
        else:
            parts = body_parts(answer, from_server, True)
        record["status"] = status
        head = Message(answer.encoded())  # a copy: `parts` still reads by the server's framing
        head.set("Connection", None)
        head.set("Content-Length", None)
        head.set("Transfer-Encoding", "chunked")
        writer.write(head.encoded())
        if kind in ("cut", "stall", "expire"):
            await self.break_watch(fault, parts, writer)
            return
        async for part in parts:
            writer.write(chunk(part))
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()

    async def break_watch(self, fault, parts, writer):
        """Passes so many events, which are lines, then does what the fault says."""
        left, rest = fault.given.get("events", 0), b""
        async for part in parts:
            rest += part
            while left > 0 and b"\n" in rest:
                line, rest = rest.split(b"\n", 1)
                writer.write(chunk(line + b"\n"))
                await writer.drain()
                left -= 1
            if left == 0 and (rest or fault.kind != "cut"):
                break
        if fault.kind == "cut":
            writer.write(chunk(rest[:max(1, len(rest) // 2)])[:-2])
            await writer.drain()
            writer.close()  # what was written goes out first, unlike at an abort
            await writer.wait_closed()
            raise Cut
        if fault.kind == "stall":
            await asyncio.sleep(IDLE_SECONDS_MAX)
            raise Cut
        event = {"type": "ERROR", "object": status_document(410, "too old resource version")}
        writer.write(chunk(json.dumps(event).encode() + b"\n") + b"0\r\n\r\n")
        await writer.drain()

    async def control(self, reader, writer):
        """One request to the control address."""
        try:
            message = await asyncio.wait_for(read_message(reader), 10)
            method, path, _ = message.first.split(" ", 2)
            body = await asyncio.wait_for(whole_body(message, reader), 10)
            code, document = self.obey(method, path, body)
            writer.write(plain_answer(code, document, "Connection: close\r\n"))
            await writer.drain()
        except (AttributeError, OSError, ValueError, EOFError, asyncio.TimeoutError):
            pass
        finally:
            writer.close()

    def obey(self, method, path, body):
        if (method, path) == ("POST", "/faults"):
            try:
                self.faults.append(Fault(json.loads(body)))
            except (ValueError, TypeError, re.error) as error:
                return 400, {"error": str(error)}
        elif (method, path) == ("DELETE", "/faults"):
            self.faults.clear()
        elif (method, path) == ("POST", "/cut"):
            for client in list(self.clients):
                client.transport.abort()
        elif (method, path) == ("POST", "/certificate"):
            try:
                given = json.loads(body)
                self.ours.load_cert_chain(given["cert"], given["key"])
            except (KeyError, OSError, ValueError, TypeError) as error:
                return 400, {"error": str(error)}
        elif (method, path) == ("GET", "/requests"):
            return 200, self.requests
        elif (method, path) != ("GET", "/faults"):
            return 404, {"error": f"{method} {path} is nothing that I know"}
        return 200, [f.given | {"struck": f.struck} for f in self.faults]


async def one_part(body):
    if body:
        yield body


def contexts(pki):
    """TLS towards clients, and towards the server without and with a token of the client's own."""
    ours = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    ours.load_cert_chain(pki / "apiserver.crt", pki / "apiserver.key")
    ours.set_alpn_protocols(["http/1.1"])
    administrator = ssl.create_default_context(cafile=pki / "ca.crt")
    administrator.load_cert_chain(pki / "admin.crt", pki / "admin.key")
    stranger = ssl.create_default_context(cafile=pki / "ca.crt")
    return ours, {False: administrator, True: stranger}


async def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n", maxsplit=1)[0].partition(": ")[2])
    parser.add_argument("--run", type=pathlib.Path, required=True)
    parser.add_argument("--kubeconfig", type=pathlib.Path, required=True)
    given = parser.parse_args()
    server = json.loads((given.run / "cluster.json").read_text())["server"]
    ours, to_server = contexts(given.run / "pki")
    proxy = FaultProxy(server, ours, to_server)
    listening = await asyncio.start_server(proxy.serve, "127.0.0.1", 0, ssl=ours,
                                           limit=HEAD_BYTES_MAX)
    controlling = await asyncio.start_server(proxy.control, "127.0.0.1", 0, limit=HEAD_BYTES_MAX)
    address = "https://127.0.0.1:{}".format(listening.sockets[0].getsockname()[1])
    given.kubeconfig.write_text((given.run / "kubeconfig").read_text().replace(server, address))
    given.kubeconfig.chmod(0o600)
    print(json.dumps({"server": address, "control": "http://127.0.0.1:{}".format(
        controlling.sockets[0].getsockname()[1])}), flush=True)
    async with listening, controlling:
        await asyncio.gather(listening.serve_forever(), controlling.serve_forever())


if __name__ == "__main__":
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        sys.exit(0)
