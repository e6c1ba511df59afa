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


def source(**of):
    return {"model": {"source": {"hostPath": None, **of}}}


def rings(*sizes):
    return {"rollout": {"rings": [{"name": f"r{i}", "size": size} for i, size in enumerate(sizes)]}}


def tolerations(**entry):
    return {"scheduling": {"tolerations": [entry]}}


PERCENT = "expected an integer in [1, 10000] or a percentage in [1%, 100%]"
NAME = ('expected at most 50 lower-case letters, digits and "-", beginning with a letter and '
        "ending with a letter or digit (pods, Services and labels are named after it), got ")

# (spec, what the user must read)
REFUSED = [
    (source(), "spec.model.source: Invalid value: expected exactly one of hostPath, pvc, http, "
               "image, got 0"),
    ({"model": {"source": {"pvc": {"claimName": "c", "path": "p"}}}},
     "spec.model.source: Invalid value: expected exactly one of hostPath, pvc, http, image, got 2"),
    ({"model": {"source": None}}, "spec.model.source: Required value"),
    ({"model": {"source": {"hostPath": "m.gguf"}}},
     "spec.model.source.hostPath: Invalid value: \"m.gguf\": expected the absolute path of a file"),
    ({"model": {"source": {"hostPath": "/models/"}}}, "expected the absolute path of a file"),
    ({"model": {"source": {"hostPath": "/a/../b"}}}, 'must not contain ".."'),
    ({"model": {"source": {"hostPath": "/a\nb"}}}, "contains control characters"),
    ({"model": {"name": "a\u0007b"}}, "spec.model.name: Invalid value: \"a\\ab\": contains control "
                                      "characters"),
    ({"model": {"name": "x" * 4097}}, "spec.model.name: Too long: may not be more than 4096"),
    (source(pvc={"claimName": "c"}), "spec.model.source.pvc.path: Required value"),
    (source(pvc={"claimName": "C", "path": "p"}),
     "spec.model.source.pvc.claimName: Invalid value: \"C\": expected the name of a "
     "PersistentVolumeClaim"),
    (source(pvc={"claimName": "c", "path": "/p"}), "without a leading \"/\""),
    (source(pvc={"claimName": "c", "path": "a/../../b"}), "without \"..\""),
    (source(http={"url": "ftp://x", "sha256": "a" * 64}),
     "spec.model.source.http.url: Invalid value: \"ftp://x\": expected an http or https URL"),
    (source(http={"url": "https://x", "sha256": "A" * 64}),
     "expected 64 lower-case hex digits"),
    (source(http={"url": "https://x", "sha256": "a" * 63}), "expected 64 lower-case hex digits"),
    (source(image={"reference": "a b", "path": "p"}), "expected an image reference without blanks"),
    (source(image={"reference": "a", "path": "/p"}), "expected the path of a file from the image"),
    ({"engine": {"image": "/usr/bin/engine"}},
     "spec.engine.image: Invalid value: \"/usr/bin/engine\": expected nothing or an image"),
    ({"engine": {"config": {"maxModelLen": 1}}},
     "spec.engine.config.maxModelLen: Invalid value: 1: expected 0 (the model's own) or at least "
     "2, got 1"),
    ({"engine": {"config": {"maxNumSeqs": 0}}}, "should be greater than or equal to 1"),
    ({"engine": {"config": {"blockSize": 257}}}, "should be less than or equal to 256"),
    ({"engine": {"config": {"kvCacheDtype": "fp8"}}},
     "Unsupported value: \"fp8\": supported values: \"auto\""),
    ({"engine": {"config": {"kvCacheMemory": "lots"}}},
     "spec.engine.config.kvCacheMemory: Invalid value: \"lots\": expected a quantity of at least "
     "1Mi, such as 512Mi or 2Gi"),
    ({"engine": {"config": {"kvCacheMemory": "1Ki"}}}, "expected a quantity of at least 1Mi"),
    ({"engine": {"config": {"kvCacheMemory": "-1Gi"}}}, "expected a quantity of at least 1Mi"),
    ({"engine": {"config": {"kvCacheMemory": 1}}}, "expected a quantity of at least 1Mi"),
    ({"engine": {"config": {"gpuMemoryUtilization": 1.5}}}, "should be less than or equal to 1"),
    ({"engine": {"config": {"ttftTargetMs": 99}}}, "should be greater than or equal to 100"),
    ({"replicas": -1}, "spec.replicas in body should be greater than or equal to 0"),
    ({"replicas": 10001}, "spec.replicas in body should be less than or equal to 10000"),
    ({"replicas": "two"}, "spec.replicas in body must be of type integer"),
    ({"autoscaling": {"minReplicas": 3}}, "spec.autoscaling.maxReplicas: Required value"),
    ({"autoscaling": {"minReplicas": 5, "maxReplicas": 2}},
     "spec.autoscaling.maxReplicas: Invalid value: expected at least minReplicas (5), got 2"),
    ({"autoscaling": {"minReplicas": 0, "maxReplicas": 3}}, "should be greater than or equal to 1"),
    ({"autoscaling": {"maxReplicas": 0}}, "should be greater than or equal to 1"),
    ({"autoscaling": {"maxReplicas": 2, "targetKvPressure": 0}}, "should be greater than 0"),
    ({"autoscaling": {"minReplicas": 2, "maxReplicas": 4}, "replicas": 7},
     "spec.replicas: Invalid value: expected 0 or a number that autoscaling allows, [2, 4], got 7"),
    ({"resources": {"cpu": "0"}},
     "spec.resources.cpu: Invalid value: \"0\": expected a quantity from 1m to 1024, such as 2 or "
     "500m"),
    ({"resources": {"cpu": "1025"}}, "expected a quantity from 1m to 1024"),
    ({"resources": {"memory": "0"}}, "expected a quantity of at least 1, such as 4Gi"),
    ({"resources": {"accelerator": {"resourceName": "gpu"}}},
     "expected an extended resource, domain/name, as in nvidia.com/gpu"),
    ({"resources": {"accelerator": {"resourceName": "kubernetes.io/batch-cpu"}}},
     "expected an extended resource"),
    ({"resources": {"accelerator": {"count": 1.5}}}, "must be of type int32"),
    ({"resources": {"accelerator": {"count": "2"}}}, "must be of type integer"),
    ({"resources": {"accelerator": {"count": 65}}}, "should be less than or equal to 64"),
    ({"scheduling": {"nodeSelector": {"a b": "c"}}},
     "spec.scheduling.nodeSelector: Invalid value: expected label names as keys"),
    ({"scheduling": {"nodeSelector": {"a": "c d"}}}, "expected label values"),
    (tolerations(operator="Equal"),
     "spec.scheduling.tolerations[0].key: Invalid value: is required unless operator is Exists"),
    (tolerations(operator="Exists", value="x"),
     "spec.scheduling.tolerations[0].value: Invalid value: must be empty when operator is Exists"),
    (tolerations(key="k", tolerationSeconds=3), "is for effect NoExecute only"),
    (tolerations(key="k", operator="Is"), "Unsupported value: \"Is\""),
    ({"scheduling": {"topologySpreadConstraints": [{"topologyKey": "z"}, {"topologyKey": "z"}]}},
     "spec.scheduling.topologySpreadConstraints[1]: Duplicate value"),
    ({"scheduling": {"topologySpreadConstraints": [{"topologyKey": "a b"}]}},
     "expected a label name"),
    ({"scheduling": {"priorityClassName": "High"}}, "expected the name of a PriorityClass"),
    (rings(0), "spec.rollout.rings[0].size: Invalid value: 0: " + PERCENT),
    (rings("0%"), "spec.rollout.rings[0].size: Invalid value: \"0%\": " + PERCENT),
    (rings("101%"), PERCENT), (rings("5"), PERCENT), (rings("x%"), PERCENT),
    (rings("1x%"), PERCENT), (rings("05%"), PERCENT), (rings("%"), PERCENT), (rings(""), PERCENT),
    (rings(5, "50%", 3), "spec.rollout.rings: Invalid value: rings grow: expected each size to be "
                         "at least that of the ring before it"),
    (rings("50%", "25%"), "rings grow: expected each percentage"),
    (rings("100%", "99%"), "rings grow"), (rings("10%", "9%"), "rings grow"),
    (rings(*range(1, 18)), "spec.rollout.rings: Too many: 17: must have at most 16 items"),
    ({"rollout": {"rings": [{"name": "a", "size": 1}, {"name": "a", "size": 2}]}},
     "spec.rollout.rings[1]: Duplicate value: {\"name\":\"a\"}"),
    ({"rollout": {"rings": [{"name": "A", "size": 1}]}},
     "spec.rollout.rings[0].name: Invalid value: \"A\": expected lower-case letters"),
    ({"rollout": {"maxUnavailable": 0}}, PERCENT + "; with 0 no pod could ever be updated"),
    ({"rollout": {"maxUnavailable": "0%"}}, "with 0 no pod could ever be updated"),
    ({"rollout": {"gates": {"maxErrorRatio": 2}}}, "should be less than or equal to 1"),
    ({"rollout": {"gates": {"goldenPrompts": {"configMap": "A"}}}},
     "expected the name of a ConfigMap"),
    ({"gateway": {"authSecret": "Keys"}}, "expected the name of a Secret"),
    ({"gateway": {"limits": {"requestsPerMinute": -1}}}, "should be greater than or equal to 0"),
    ({"drain": {"timeoutSeconds": 86401}}, "should be less than or equal to 86400"),
]

ACCEPTED = [
    {},
    {"replicas": 0},
    {"autoscaling": {"minReplicas": 2, "maxReplicas": 2}, "replicas": 2},
    {"autoscaling": {"minReplicas": 2, "maxReplicas": 4}, "replicas": 0},
    {"autoscaling": {"minReplicas": 2, "maxReplicas": 4}},
    {"model": {"name": "Org/Model-7B:v1.2 é"}},
    {"model": {"name": "é" * 4096}},
    source(pvc={"claimName": "weights", "path": "a/m.gguf"}),
    source(http={"url": "https://example.com/m", "sha256": "0" * 64}),
    source(image={"reference": "example.com/m@sha256:" + "a" * 64, "path": "m.gguf"}),
    {"engine": {"image": "example.com/engine@sha256:" + "a" * 64,
                "config": {"kvCacheMemory": 2097152}}},
    {"engine": {"config": {"kvCacheMemory": "1.5Gi"}}},
    {"resources": {"cpu": 2, "memory": "4Gi", "accelerator": {"count": 4}}},
    {"resources": {"cpu": "500m", "memory": "1e9"}},
    {"scheduling": {"nodeSelector": {"kubernetes.io/arch": "amd64", "empty": ""},
                    "tolerations": [{"operator": "Exists"}, {"key": "a.b/c", "value": "v"}],
                    "topologySpreadConstraints": [
                        {"topologyKey": "z"},
                        {"topologyKey": "z", "whenUnsatisfiable": "ScheduleAnyway"}]}},
    rings(1, "9%", "10%", 1, "99%", "100%", 7),
    {"rollout": {"maxUnavailable": "100%"}},
]

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
        self.assertEqual(spec["rollout"]["gates"]["maxTtftP95Ratio"], 1.25)
        self.assertEqual(spec["autoscaling"],
                         {"minReplicas": 1, "maxReplicas": 3, "targetKvPressure": 0.7})
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
