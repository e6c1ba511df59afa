"""A world that asks for API keys: who comes in, for which model, how often, and a list that changes
while it serves. One real engine; standard library only."""

import http.client
import json
import unittest

from local_world import MODEL, World

SERVED = "smollm2-135m-instruct"
SPEC = """\
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata:
  name: keys
spec:
  model:
    name: {served}
    source:
      hostPath: {model}
  replicas: 1
  engine:
    config:
      maxModelLen: 1024
      maxNumSeqs: 8
      kvCacheMemory: 128Mi
  gateway:
    authSecret: door-keys
  drain:
    timeoutSeconds: 10
"""


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.world = World(name="keys")
        cls.addClassCleanup(cls.world.close)
        cls.world.write_spec(text=SPEC.format(served=SERVED, model=MODEL))
        (cls.world.path / "door-keys").mkdir()
        cls.made = {}
        cls.entries = []
        for tenant, more in (("blue", {}), ("red", {"models": ["another-model"]}),
                             ("green", {"requestsPerMinute": 2}),
                             ("grey", {"tokensPerMinute": 30})):
            made = cls.world.run("key", "new", "--tenant", tenant)
            cls.made[tenant] = made.stdout.strip()
            cls.entries.append({**json.loads(made.stderr), **more})
        cls.write_keys(cls.entries)
        cls.world.start()

    @classmethod
    def write_keys(cls, entries):
        folder = cls.world.path / "door-keys"
        draft = folder / "draft"
        draft.write_text(json.dumps({"keys": entries}))
        draft.rename(folder / "keys.json")

    def call(self, method, path, body=None, key=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.world.port, timeout=60)
        try:
            fields = dict(headers or {})
            if key:
                fields["Authorization"] = f"Bearer {key}"
            connection.request(method, path, body and json.dumps(body), fields)
            answer = connection.getresponse()
            return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()
        finally:
            connection.close()

    def complete(self, key, **more):
        body = {"model": SERVED, "prompt": "Once upon a time", "max_tokens": 4, **more}
        return self.call("POST", "/v1/completions", body, key)

    def test_probes_are_open_and_nothing_else_is(self):
        for path in ("/live", "/ready", "/health", "/startup", "/version"):
            self.assertEqual(self.call("GET", path)[0], 200, path)
        for path in ("/metrics", "/v1/models", "//v1/models", "/v1/../metrics", "/live/../metrics",
                     "/%6cive", "/admin/v1/state", "/nothing"):
            self.assertEqual(self.call("GET", path)[0], 401, path)
        self.assertEqual(self.complete(None)[0], 401)
        self.assertEqual(self.complete("kantha-wrong")[0], 401)

    def test_a_listed_key_comes_in_and_a_stream_runs(self):
        status, headers, body = self.complete(self.made["blue"])
        self.assertEqual(status, 200, body)
        self.assertIn("x-request-id", headers)
        self.assertEqual(json.loads(body)["usage"]["completion_tokens"], 4)
        status, _, body = self.complete(self.made["blue"], stream=True, priority=-5,
                                        kantha={"tenant": "somebody-else"})
        self.assertEqual(status, 200, body)
        self.assertIn(b"data: [DONE]", body)
        status, _, body = self.call("GET", "/v1/models", headers={"x-api-key": self.made["blue"]})
        self.assertEqual((status, json.loads(body)["data"][0]["id"]), (200, SERVED))

    def test_another_models_key_is_forbidden(self):
        status, _, body = self.complete(self.made["red"])
        self.assertEqual(status, 403, body)
        self.assertEqual(json.loads(body)["error"]["code"], "model_not_allowed")

    def test_the_third_request_of_two_a_minute_waits(self):
        answers = [self.complete(self.made["green"]) for _ in range(3)]
        self.assertEqual([status for status, *_ in answers], [200, 200, 429])
        self.assertEqual(answers[0][1]["x-ratelimit-remaining-requests"], "1")
        self.assertGreater(int(answers[2][1]["retry-after"]), 20)
        self.assertEqual(json.loads(answers[2][2])["error"]["code"], "rate_limit_exceeded")

    def test_tokens_are_charged_as_used_also_in_a_stream(self):
        status, _, body = self.complete(self.made["grey"], max_tokens=40, stream=True,
                                        ignore_eos=True)
        self.assertEqual(status, 200, body)
        status, headers, body = self.complete(self.made["grey"])
        self.assertEqual(status, 429, body)
        self.assertEqual(json.loads(body)["error"]["type"], "tokens")
        self.assertGreater(int(headers["retry-after"]), 5)
        _, _, page = self.call("GET", "/metrics", key=self.made["blue"])
        used = [line for line in page.decode().splitlines()
                if line.startswith("kantha_noded_tokens_total") and 'tenant="grey"' in line
                and 'kind="output"' in line]
        self.assertEqual(float(used[0].split()[-1]), 40)

    def test_z_the_list_changes_while_it_serves(self):
        """Last, because it leaves a list of one."""
        made = self.world.run("key", "new", "--tenant", "new")
        self.write_keys([json.loads(made.stderr)])
        self.assertEqual(self.complete(self.made["blue"])[0], 401)
        self.assertEqual(self.complete(made.stdout.strip())[0], 200)
        (self.world.path / "door-keys" / "keys.json").write_text("{")
        self.assertEqual(self.complete(made.stdout.strip())[0], 200, "the old list stays")
        page = self.call("GET", "/metrics", key=made.stdout.strip())[2].decode()
        self.assertRegex(page, r"kantha_noded_api_keys_stale\{[^}]*\} 1")
        self.write_keys([])
        self.assertEqual(self.complete(made.stdout.strip())[0], 401)


class WithoutAList(unittest.TestCase):
    def test_a_world_whose_list_is_missing_does_not_start(self):
        world = World(name="nokeys")
        self.addCleanup(world.close)
        world.write_spec(text=SPEC.format(served=SERVED, model=MODEL))
        missing = world.run("up", "-f", str(world.file), "--listen", "127.0.0.1:0")
        self.assertNotEqual(missing.returncode, 0)
        self.assertIn(str(world.path / "door-keys" / "keys.json"), missing.stderr + missing.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
