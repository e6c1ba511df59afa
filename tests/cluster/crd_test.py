#!/usr/bin/env python3
"""crds/ on a real API server: what it refuses, with which words, and what it makes of the rest.

Also the documents that the operator renders (tests/operator/serving/golden), as the server sees
them. KANTHA_TEST_CLUSTER=DIR uses a cluster that `scripts/cluster up --run DIR` has started.
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CRD = ROOT / "crds/serving.kantha.dev_modelservings.yaml"
GOLDEN = ROOT / "tests/operator/serving/golden"
SKIPPED = 77  # what ctest takes for "skipped"

RUN = None


def kubectl(*arguments, given=None, status=0):
    """Runs kubectl; gives both outputs together. `given` is text or an object."""
    text = given if given is None or isinstance(given, str) else json.dumps(given)
    done = subprocess.run(["bash", "-c", f'. "{RUN}/env" && exec kubectl "$@"', "-", *arguments],
                          input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, text=True, timeout=60)
    if status is not None and done.returncode != status:
        raise AssertionError(f"kubectl {' '.join(arguments)}: {done.returncode}: {done.stdout}")
    return done.stdout


def merged(base, change):
    out = copy.deepcopy(base)
    for key, value in change.items():
        if value is None:
            out.pop(key, None)
        elif isinstance(value, dict) and isinstance(out.get(key), dict):
            out[key] = merged(out[key], value)
        else:
            out[key] = value
    return out


def serving(spec=None, name="m"):
    """A ModelServing; `spec` is merged over the smallest one, None takes a field away."""
    smallest = {"model": {"source": {"hostPath": "/models/m.gguf"}}}
    return {"apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
            "metadata": {"name": name}, "spec": merged(smallest, spec or {})}


NAME = ('expected at most 50 lower-case letters, digits and "-", beginning with a letter and '
        "ending with a letter or digit (pods, Services and labels are named after it), got ")

# What is refused with which words, and what is accepted. operator/serving judges the same specs
# (cluster_object_test.cc), so that server and operator agree.
CASES = json.loads((ROOT / "tests/cluster/crd_cases.json").read_text())
REFUSED = [(case["spec"], case["words"]) for case in CASES["refused"]] + [
    ({"model": {"name": "x" * 4097}}, "spec.model.name: Too long: may not be more than 4096")]
ACCEPTED = CASES["accepted"] + [{"model": {"name": "é" * 4096}}]

NAMES_REFUSED = ["a" * 51, "a" * 63, "a" * 253, "a.b", "1abc"]


class CrdTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        kubectl("apply", "--server-side", "-f", str(CRD))
        kubectl("wait", "--for=condition=Established", "--timeout=30s", f"--filename={CRD}")
        kubectl("create", "namespace", "apps", status=None)

    def tearDown(self):
        kubectl("delete", "kms", "--all", "-n", "apps", "--wait=false")

    def create(self, thing, *flags, status=0):
        return kubectl("create", "-n", "apps", "-f", "-", *flags, given=thing, status=status)

    def test_every_rule_refuses_with_a_sentence(self):
        for spec, words in REFUSED:
            with self.subTest(json.dumps(spec)[:200]):
                said = self.create(serving(spec), "--dry-run=server", status=1)
                self.assertIn(words, said)
                # No rule may stumble over what another one has to say.
                self.assertNotIn("rule evaluation", said)

    def test_valid_objects_are_accepted(self):
        for spec in ACCEPTED:
            with self.subTest(json.dumps(spec)[:200]):
                self.create(serving(spec), "--dry-run=server")

    def test_examples_are_accepted(self):
        for example in sorted((ROOT / "examples").glob("*cluster*.yaml")):
            with self.subTest(example.name):
                kubectl("create", "-n", "apps", "--dry-run=server", "-f", str(example))

    def test_names_that_children_could_not_carry_are_refused(self):
        for name in NAMES_REFUSED:
            with self.subTest(name[:20]):
                said = self.create(serving(name=name), "--dry-run=server", status=1)
                self.assertIn("metadata.name: Invalid value: " + NAME + f'"{name}" with '
                              f"{len(name)} characters", said)
        self.create(serving(name="a" * 50), "--dry-run=server")

    def test_unknown_fields_are_pruned_with_a_warning(self):
        thing = serving({"replica": 3, "engine": {"config": {"maxNumSeq": 8}}})
        said = self.create(thing, "--validate=warn")
        self.assertIn('Warning: unknown field "spec.replica"', said)
        self.assertIn('Warning: unknown field "spec.engine.config.maxNumSeq"', said)
        live = json.loads(kubectl("get", "kms", "m", "-n", "apps", "-o", "json"))
        self.assertNotIn("replica", live["spec"])
        self.assertNotIn("maxNumSeq", live["spec"]["engine"]["config"])
        self.assertIn("unknown field", self.create(serving({"replica": 3}, "n"), status=1))

    def test_a_megabyte_is_pruned_or_refused(self):
        megabyte = "x" * (1 << 20)
        self.create(serving({"future": megabyte}), "--validate=ignore")
        live = kubectl("get", "kms", "m", "-n", "apps", "-o", "json")
        self.assertLess(len(live), 10_000)
        said = self.create(serving({"model": {"name": megabyte}}, "n"), status=1)
        self.assertIn("spec.model.name: Too long", said)
        large = serving(name="n")
        large["metadata"]["annotations"] = {"notes": megabyte}
        self.assertIn("metadata.annotations: Too long", self.create(large, status=1))

    def test_defaults_are_visible_and_replicas_has_none(self):
        self.create(serving({"autoscaling": {"maxReplicas": 3}}))
        spec = json.loads(kubectl("get", "kms", "m", "-n", "apps", "-o", "json"))["spec"]
        self.assertNotIn("replicas", spec)
        self.assertEqual(spec["engine"]["config"]["maxNumSeqs"], 64)
        self.assertEqual(spec["rollout"]["maxUnavailable"], 1)
        self.assertEqual(spec["rollout"]["gates"]["maxTtftP95Ratio"], 1.1)
        self.assertEqual(spec["autoscaling"],
                         {"minReplicas": 1, "maxReplicas": 3, "targetKvPressure": 0.7,
                          "idleSeconds": 600})
        self.assertEqual(spec["drain"], {"timeoutSeconds": 300})

    def write_status(self, name, status):
        kubectl("apply", "-n", "apps", "--server-side", "--subresource=status",
                "--field-manager=kantha-operator-status", "-f", "-",
                given={"apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
                       "metadata": {"name": name}, "status": status})

    def status(self):
        return json.loads((GOLDEN / "status.json").read_text())

    def test_the_operators_status_is_kept_whole_and_shown(self):
        self.create(serving())
        self.write_status("m", self.status())
        live = json.loads(kubectl("get", "kms", "m", "-n", "apps", "-o", "json"))
        self.assertEqual(live["status"], self.status())
        self.assertEqual(live["metadata"]["generation"], 1)
        rows = kubectl("get", "kms", "-n", "apps").splitlines()
        self.assertEqual(rows[0].split(), ["NAME", "MODEL", "READY", "DESIRED", "KV", "RING", "AGE"])
        self.assertEqual(rows[1].split()[:4], ["m", "m", "2", "2"])
        kubectl("wait", "-n", "apps", "--for=condition=Available", "--timeout=5s", "kms/m")
        self.assertIn("/m", kubectl("get", "kantha", "-n", "apps", "-o", "name"))

    def test_the_scale_subresource_has_replicas_and_a_selector(self):
        self.create(serving({"replicas": 2}))
        self.write_status("m", self.status())
        path = "/apis/serving.kantha.dev/v1alpha1/namespaces/apps/modelservings/m/scale"
        scale = json.loads(kubectl("get", "--raw", path))
        self.assertEqual(scale["spec"], {"replicas": 2})
        self.assertEqual(scale["status"], {
            "replicas": 2,
            "selector": "serving.kantha.dev/name=m,serving.kantha.dev/role=replica"})
        kubectl("scale", "-n", "apps", "kms/m", "--replicas=3")
        live = json.loads(kubectl("get", "kms", "m", "-n", "apps", "-o", "json"))
        self.assertEqual(live["spec"]["replicas"], 3)
        kubectl("scale", "-n", "apps", "kms/m", "--replicas=-1", status=1)

    def test_scaling_works_without_replicas_and_within_autoscalings_ends(self):
        self.create(serving({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}}))
        kubectl("scale", "-n", "apps", "kms/m", "--replicas=3")
        said = kubectl("scale", "-n", "apps", "kms/m", "--replicas=5", status=1)
        self.assertIn("expected 0 or a number that autoscaling allows, [2, 4], got 5", said)

    def test_an_object_of_an_older_definition_can_still_get_a_status(self):
        definition = json.loads(kubectl("get", "crd", "modelservings.serving.kantha.dev",
                                        "-o", "json"))
        older = [{"op": "remove", "path":
                  "/spec/versions/0/schema/openAPIV3Schema/x-kubernetes-validations"}]
        kubectl("patch", "crd", definition["metadata"]["name"], "--type=json", "-p",
                json.dumps(older))
        deadline = time.monotonic() + 30
        while True:
            said = self.create(serving(name="a.b"), status=None)
            if "created" in said:
                break
            self.assertLess(time.monotonic(), deadline, said)
        kubectl("apply", "--server-side", "--force-conflicts", "-f", str(CRD))
        while "created" in self.create(serving(name="c.d"), "--dry-run=server", status=None):
            self.assertLess(time.monotonic(), deadline)
        self.write_status("a.b", self.status())
        kubectl("label", "kms", "-n", "apps", "a.b", "team=x")
        live = json.loads(kubectl("get", "kms", "a.b", "-n", "apps", "-o", "json"))
        self.assertEqual(live["status"], self.status())

    def test_fields_are_explained(self):
        said = kubectl("explain", "kms.spec.engine.config.kvCacheMemory")
        self.assertIn("Bytes of the KV cache as a quantity", said)


class RenderedDocumentsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        for name, level in (("apps", "privileged"), ("strict", "restricted")):
            kubectl("create", "namespace", name, status=None)
            kubectl("label", "namespace", name, "--overwrite",
                    f"pod-security.kubernetes.io/enforce={level}")
            kubectl("create", "serviceaccount", "m", "-n", name, status=None)
        kubectl("create", "priorityclass", "high", "--value=5", status=None)

    def apply(self, document, status=0):
        return kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict",
                       "--field-manager=kantha-operator", "-f", "-", given=document, status=status)

    def documents(self):
        for path in sorted(GOLDEN.glob("*.json")):
            document = json.loads(path.read_text())
            if isinstance(document, dict) and "kind" in document:
                yield path.stem, document

    def test_every_document_is_valid(self):
        names = []
        for name, document in self.documents():
            with self.subTest(name):
                self.apply(document)
            names.append(name)
        self.assertGreaterEqual(len(names), 10)

    @unittest.skipUnless(os.environ.get("KANTHA_REWRITE_GOLDEN"), "writes golden/live anew")
    def test_write_what_the_server_makes_of_them(self):
        for name, document in self.documents():
            document["metadata"]["namespace"] = "live"
            kubectl("create", "namespace", "live", status=None)
            kubectl("create", "serviceaccount", "m", "-n", "live", status=None)
            kind = document["kind"].lower()
            kubectl("delete", kind, document["metadata"]["name"], "-n", "live", "--force",
                    status=None)
            kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                    "--field-manager=kantha-operator", given=document)
            live = json.loads(kubectl("get", kind, document["metadata"]["name"], "-n", "live",
                                      "-o", "json"))
            live["metadata"]["namespace"] = "apps"
            (GOLDEN / "live").mkdir(exist_ok=True)
            (GOLDEN / "live" / f"{name}.json").write_text(json.dumps(live, indent=1) + "\n")

    def test_pods_pass_the_restricted_standard_but_for_a_host_path(self):
        for name, document in self.documents():
            if document["kind"] != "Pod":
                continue
            with self.subTest(name):
                document["metadata"]["namespace"] = "strict"
                on_host = any("hostPath" in volume for volume in document["spec"]["volumes"])
                said = self.apply(document, status=1 if on_host else 0)
                if on_host:
                    self.assertIn("restricted volume types", said)
                    self.assertNotIn("container", said)


def main():
    global RUN
    RUN = os.environ.get("KANTHA_TEST_CLUSTER")
    if RUN:
        unittest.main()
    cache = pathlib.Path(os.environ.get("KANTHA_CLUSTER_CACHE",
                                        pathlib.Path.home() / ".cache/kantha/kubernetes"))
    if not list(cache.glob("v*/kube-apiserver")):
        print(f"SKIPPED: no Kubernetes in {cache}; scripts/cluster build makes one", flush=True)
        sys.exit(SKIPPED)
    cluster = ROOT / "scripts/cluster"
    with tempfile.TemporaryDirectory(prefix="kc-", dir="/tmp", ignore_cleanup_errors=True) as tmp:
        RUN = str(pathlib.Path(tmp) / "run")
        subprocess.run([cluster, "up", "--run", RUN], check=True, timeout=150,
                       stdout=subprocess.DEVNULL)
        try:
            unittest.main()
        finally:
            subprocess.run([cluster, "down", "--run", RUN], check=False, timeout=60)


if __name__ == "__main__":
    main()
