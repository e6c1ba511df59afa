"""Direct calls to a test cluster's API server as its administrator, without a process for each."""

import http.client
import json
import ssl
import time
import urllib.request
from urllib.parse import urlsplit

SERVINGS = "/apis/serving.kantha.dev/v1alpha1"
MERGE = "application/merge-patch+json"
FIELD_MANAGER = "user"  # who the edits of the tests come from, in managedFields


class Refused(Exception):
    """The API server answered with another status than 2xx."""

    def __init__(self, method, path, code, text):
        super().__init__(f"{method} {path}: {code} {text[:600]}")
        self.code = code
        self.text = text


class Api:
    """`run` is the folder of a cluster (scripts/cluster). Any thread."""

    def __init__(self, run):
        server = urlsplit(json.loads((run / "cluster.json").read_text())["server"])
        self.host, self.port = server.hostname, server.port
        self.context = ssl.create_default_context(cafile=run / "pki/ca.crt")
        self.context.load_cert_chain(run / "pki/admin.crt", run / "pki/admin.key")

    def ask(self, method, path, document=None, content="application/json", seconds=20):
        """(status, text)"""
        connection = http.client.HTTPSConnection(self.host, self.port, timeout=seconds,
                                                 context=self.context)
        try:
            body = json.dumps(document) if document is not None else None
            connection.request(method, path, body, {"Content-Type": content})
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def call(self, method, path, document=None, content="application/json"):
        code, text = self.ask(method, path, document, content)
        if not 200 <= code < 300:
            raise Refused(method, path, code, text)
        return json.loads(text)

    def get(self, path):
        return self.call("GET", path)

    def find(self, path):
        """The object, or None where it is not."""
        code, text = self.ask("GET", path)
        if code == 404:
            return None
        if code != 200:
            raise Refused("GET", path, code, text)
        return json.loads(text)

    def items(self, path):
        return self.get(path)["items"]

    def create(self, path, document):
        return self.call("POST", f"{path}?fieldManager={FIELD_MANAGER}", document)

    def merge(self, path, change):
        return self.call("PATCH", f"{path}?fieldManager={FIELD_MANAGER}", change, MERGE)

    def json_patch(self, path, *steps):
        return self.call("PATCH", f"{path}?fieldManager={FIELD_MANAGER}", list(steps),
                         "application/json-patch+json")

    def delete(self, path):
        return self.call("DELETE", path)

    def answers(self):
        try:
            return self.ask("GET", "/readyz", seconds=2)[0] == 200
        except OSError:
            return False


class ProxyControl:
    """The control address of fault_proxy.py."""

    def __init__(self, address):
        self.address = address

    def call(self, method, path, document=None):
        body = json.dumps(document).encode() if document is not None else None
        request = urllib.request.Request(self.address + path, body, method=method)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)

    def fault(self, kind, **keys):
        self.call("POST", "/faults", {"fault": kind} | keys)

    def clear(self):
        self.call("DELETE", "/faults")

    def faults(self):
        return self.call("GET", "/faults")

    def requests(self):
        return self.call("GET", "/requests")

    def cut(self):
        self.call("POST", "/cut")


def await_true(seconds, sentence, condition):
    """Asks until `condition()` is true, which is the result; an AssertionError with the sentence."""
    deadline = time.monotonic() + seconds
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > deadline:
            more = sentence() if callable(sentence) else sentence
            raise AssertionError(f"not within {seconds} s: {more}")
        time.sleep(0.05)
