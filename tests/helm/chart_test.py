"""What the charts under helm/ render, for dozens of values, with every helm that can be had.

    python3 tests/helm/chart_test.py            # all; exits with 77 where there is no helm
    python3 tests/helm/chart_test.py --write    # renews the tables of values in the READMEs
"""

import itertools
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

import chart
from chart import CRDS, KANTHA, ROOT, merged, names, nested, of_kind, only, walk

HELM = None  # a chart.Helm; the suite runs once for each

READ = {"get", "list", "watch"}
CHILD = READ | {"create", "patch", "delete"}
RIGHTS = {  # all that the operator may do in a namespace that it watches
    ("serving.kantha.dev", "modelservings"): READ | {"patch"},
    ("serving.kantha.dev", "modelservings/status"): {"patch"},
    ("serving.kantha.dev", "modelservings/finalizers"): {"update"},
    ("", "pods"): CHILD,
    ("", "services"): CHILD,
    ("", "serviceaccounts"): CHILD,
    ("", "configmaps"): CHILD,
    ("policy", "poddisruptionbudgets"): CHILD,
    ("", "secrets"): {"get", "create", "patch"},
    ("", "events"): {"create", "patch"},
}
LEASE_RIGHTS = {("coordination.k8s.io", "leases"): {"get", "create", "update", "patch"}}

ALWAYS = {"Deployment/kantha-operator", "Service/kantha-operator",
          "ServiceAccount/kantha-operator", "NetworkPolicy/kantha-operator",
          "PodDisruptionBudget/kantha-operator", "Role/kantha-operator-lease",
          "RoleBinding/kantha-operator-lease"}
CLUSTER_WIDE = {"ClusterRole/kantha-operator", "ClusterRoleBinding/kantha-operator"}
DEFAULT = ALWAYS | CLUSTER_WIDE
TEAMS = {"watchNamespaces": ["team-a", "team-b"]}
TEAM_ROLES = {f"{kind}/{team}/kantha-operator" for kind in ("Role", "RoleBinding")
              for team in TEAMS["watchNamespaces"]}
DIGEST = "sha256:" + "0123456789abcdef" * 4
PEER = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}},
         "podSelector": {"matchLabels": {"app.kubernetes.io/name": "prometheus"}}}]
GUARDED = {"networkPolicy": {"models": {"enabled": True, "namespaces": ["a", "b"]}}}
MONITORED = {"monitoring": {"serviceMonitor": {"enabled": True, "labels": {"release": "prom"}},
                            "podMonitor": {"enabled": True}}}

# (what is so, values, the objects that come out)
CASES = [
    ("the defaults watch every namespace", {}, DEFAULT),
    ("a list of namespaces has a role in each", TEAMS, ALWAYS | TEAM_ROLES),
    ("the release's own namespace may be watched", {"watchNamespaces": ["kantha-system"]},
     ALWAYS | {"Role/kantha-operator", "RoleBinding/kantha-operator"}),
    ("namespaces named by digits stay text", {"watchNamespaces": ["123", "0x10", "1e3"]},
     ALWAYS | {f"{kind}/{n}/kantha-operator" for kind in ("Role", "RoleBinding")
               for n in ("123", "0x10", "1e3")}),
    ("one replica has no budget", {"replicas": 1}, DEFAULT - {"PodDisruptionBudget/kantha-operator"}),
    ("no budget on request", {"podDisruptionBudget": {"enabled": False}},
     DEFAULT - {"PodDisruptionBudget/kantha-operator"}),
    ("without election there is no right to leases",
     {"replicas": 1, "leaderElection": {"enabled": False}},
     DEFAULT - {"PodDisruptionBudget/kantha-operator", "Role/kantha-operator-lease",
                "RoleBinding/kantha-operator-lease"}),
    ("roles may be somebody else's", {"rbac": {"create": False}},
     ALWAYS - {"Role/kantha-operator-lease", "RoleBinding/kantha-operator-lease"}),
    ("roles in namespaces may be somebody else's", merged(TEAMS, {"rbac": {"create": False}}),
     ALWAYS - {"Role/kantha-operator-lease", "RoleBinding/kantha-operator-lease"}),
    ("the account may be there already", {"serviceAccount": {"create": False, "name": "robot"}},
     DEFAULT - {"ServiceAccount/kantha-operator"}),
    ("the account may have another name", {"serviceAccount": {"name": "robot"}},
     DEFAULT - {"ServiceAccount/kantha-operator"} | {"ServiceAccount/robot"}),
    ("the account has annotations", {"serviceAccount": {"annotations": {"a.example.com/role": "x"}}},
     DEFAULT),
    ("the operator's policy can be left out", {"networkPolicy": {"operator": {"enabled": False}}},
     DEFAULT - {"NetworkPolicy/kantha-operator"}),
    ("the operator's policy takes addresses and peers",
     {"networkPolicy": {"operator": {"apiServerCidrs": ["10.0.0.1/32", "fd00::/8"],
                                     "apiServerPorts": [6443], "metricsFrom": PEER}}}, DEFAULT),
    ("model pods are guarded where named", GUARDED,
     DEFAULT | {"NetworkPolicy/a/kantha-models", "NetworkPolicy/b/kantha-models"}),
    ("model pods are guarded in the watched namespaces",
     merged(TEAMS, {"networkPolicy": {"models": {"enabled": True}}}),
     ALWAYS | TEAM_ROLES | {"NetworkPolicy/team-a/kantha-models",
                            "NetworkPolicy/team-b/kantha-models"}),
    ("model pods are guarded with peers",
     merged(GUARDED, {"networkPolicy": {"models": {"apiFrom": PEER, "metricsFrom": PEER}}}),
     DEFAULT | {"NetworkPolicy/a/kantha-models", "NetworkPolicy/b/kantha-models"}),
    ("monitors", MONITORED,
     DEFAULT | {"ServiceMonitor/kantha-operator", "PodMonitor/kantha-operator-models"}),
    ("monitors of some namespaces", merged(TEAMS, MONITORED),
     ALWAYS | TEAM_ROLES | {"ServiceMonitor/kantha-operator", "PodMonitor/kantha-operator-models"}),
    ("a test pod", {"helmTest": {"enabled": True, "image": "example.com/busybox:1.37"}},
     DEFAULT | {"Pod/kantha-operator-ready"}),
    ("another name", {"fullnameOverride": "op"},
     {o.replace("kantha-operator", "op") for o in ALWAYS} | CLUSTER_WIDE),
    ("another name of the lease", {"leaderElection": {"leaseName": "my.lease"}}, DEFAULT),
    ("images by digest", {"images": {i: {"digest": DIGEST, "tag": "ignored"}
                                     for i in ("operator", "noded", "engine")}}, DEFAULT),
    ("images of a mirror, with secrets",
     {"images": {"registry": "mirror.example.com:5000/kantha/", "pullPolicy": "Always",
                 "pullSecrets": ["pull", "pull.two"]}}, DEFAULT),
    ("images without a registry", {"images": {"registry": ""}}, DEFAULT),
    ("scheduling", {"nodeSelector": {"kubernetes.io/os": "linux"},
                    "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoSchedule"},
                                    {"operator": "Exists", "effect": "NoExecute",
                                     "tolerationSeconds": 5}],
                    "affinity": {"podAntiAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"topologyKey": "kubernetes.io/hostname", "labelSelector": {
                                "matchLabels": {"app.kubernetes.io/name": "kantha-operator"}}}]}},
                    "priorityClassName": "system-cluster-critical"}, DEFAULT),
    ("a spread of one's own", {"topologySpreadConstraints": [
        {"maxSkew": 2, "topologyKey": "rack", "whenUnsatisfiable": "DoNotSchedule",
         "labelSelector": {"matchLabels": {"a": "b"}}}]}, DEFAULT),
    ("labels and annotations", {"podLabels": {"cost-centre": "7"}, "commonLabels": {"team": "ml"},
                                "podAnnotations": {"example.com/a": "with: colon # and hash\n"}},
     DEFAULT),
    ("labels of a user do not replace selectors",
     {"podLabels": {"app.kubernetes.io/name": "evil", "app.kubernetes.io/instance": "evil"},
      "commonLabels": {"app.kubernetes.io/instance": "evil"}}, DEFAULT),
    ("numbers", {"workers": 1, "qps": 10000, "burst": 20000, "logLevel": "debug",
                 "terminationGracePeriodSeconds": 600}, DEFAULT),
    ("more arguments", {"extraArgs": ["--a=b c", "--quote=\"'{{ x }}'"]}, DEFAULT),
    ("own resources", {"resources": {"requests": {"cpu": 1, "memory": "100M"},
                                     "limits": {"cpu": "1500m", "memory": "1Gi"}}}, DEFAULT),
    ("a switched-off check of ownership", {"ownership": {"check": False}}, DEFAULT),
    ("another chart's globals", {"global": {"imageRegistry": "x"}}, DEFAULT),
]

# (values, what the message names)
REFUSALS = [
    ({"replicaCount": 2}, "replicaCount"),
    ({"images": {"engine": {"pullPolicy": "Always"}}}, "pullPolicy"),
    ({"networkPolicy": {"enabled": True}}, "enabled"),
    ({"monitoring": {"podMonitor": {"namespaces": []}}}, "namespaces"),
    ({"affinity": {"nodeAntiAffinity": {}}}, "nodeAntiAffinity"),
    ({"tolerations": [{"keys": "a"}]}, "keys"),
    ({"resources": {"request": {}}}, "request"),
    ({"networkPolicy": {"models": {"apiFrom": [{"pods": {}}]}}}, "pods"),
    ({"networkPolicy": {"models": {"apiFrom": [{}]}}}, "/networkPolicy/models/apiFrom/0"),
    ({"replicas": 0}, "/replicas"),
    ({"replicas": 3}, "/replicas"),
    ({"replicas": "2"}, "/replicas"),
    ({"replicas": 1.5}, "/replicas"),
    ({"watchNamespaces": "team-a"}, "/watchNamespaces"),
    ({"watchNamespaces": ["Team"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["a.b"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["a", "a"]}, "/watchNamespaces"),
    ({"watchNamespaces": ["*"]}, "/watchNamespaces/0"),
    ({"watchNamespaces": ["n" * 64]}, "/watchNamespaces/0"),
    ({"images": {"engine": {"digest": "sha256:12"}}}, "/images/engine/digest"),
    ({"images": {"noded": {"tag": "a b"}}}, "/images/noded/tag"),
    ({"images": {"noded": {"repository": ""}}}, "/images/noded/repository"),
    ({"images": {"registry": "https://example.com"}}, "/images/registry"),
    ({"images": {"operator": {"tag": 1.10}}}, "/images/operator/tag"),
    ({"images": {"operator": {"tag": "latest"}}}, "images.operator.tag"),
    ({"images": {"pullPolicy": "Sometimes"}}, "/images/pullPolicy"),
    ({"logLevel": "loud"}, "/logLevel"),
    ({"qps": -1}, "/qps"),
    ({"extraArgs": ["-x"]}, "/extraArgs/0"),
    ({"extraArgs": "--x"}, "/extraArgs"),
    ({"podLabels": {"a": 1}}, "/podLabels/a"),
    ({"podAnnotations": ["a"]}, "/podAnnotations"),
    ({"resources": {"limits": {"memory": "lots"}}}, "/resources/limits/memory"),
    ({"fullnameOverride": "1st"}, "/fullnameOverride"),
    ({"networkPolicy": {"operator": {"apiServerPorts": [70000]}}}, "apiServerPorts/0"),
    ({"networkPolicy": {"operator": {"apiServerPorts": []}}}, "apiServerPorts"),
    ({"networkPolicy": {"operator": {"apiServerCidrs": ["10.0.0.1"]}}}, "apiServerCidrs/0"),
    ({"networkPolicy": {"models": {"enabled": True}}}, "networkPolicy.models.namespaces"),
    (merged(TEAMS, GUARDED), "networkPolicy.models.namespaces: a"),
    ({"leaderElection": {"enabled": False}}, "leaderElection.enabled"),
    ({"helmTest": {"enabled": True}}, "helmTest.image"),
    ({"helmTest": {"enabled": True, "image": "busybox"}}, "/helmTest/image"),
    ({"monitoring": {"serviceMonitor": {"interval": "often"}}}, "serviceMonitor/interval"),
    ({"terminationGracePeriodSeconds": 0}, "/terminationGracePeriodSeconds"),
]


def rights(role):
    found = {}
    for rule in role["rules"]:
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def pod_specs(objects):
    for obj in of_kind(objects, "Deployment"):
        yield obj["spec"]["template"]["spec"]
    for obj in of_kind(objects, "Pod"):
        yield obj["spec"]


class SoundTest(unittest.TestCase):
    """Base: what holds for whatever values."""

    def check_sound(self, objects, release="kantha", namespace="kantha-system"):
        identities = [chart.identity(o) for o in objects]
        self.assertEqual(len(identities), len(set(identities)), identities)
        for obj in objects:
            self.check_metadata(obj)
            self.check_no_nulls(obj, chart.identity(obj))
        self.check_selectors(objects)
        self.check_roles(objects, namespace)
        for spec in pod_specs(objects):
            self.check_restricted(spec)

    def check_metadata(self, obj):
        metadata = obj["metadata"]
        self.assertLessEqual(len(metadata["name"]), 63, metadata)
        self.assertRegex(metadata["name"], r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
        if obj["kind"] == "Service":
            self.assertRegex(metadata["name"], r"^[a-z]")
        self.assertEqual("namespace" in metadata, not obj["kind"].startswith("Cluster"), metadata)
        if "namespace" in metadata:
            self.assertIsInstance(metadata["namespace"], str)
        for key, value in metadata["labels"].items():
            self.assertRegex(value, r"^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$", key)
        for key in ("name", "instance", "managed-by"):
            self.assertIn(f"app.kubernetes.io/{key}", metadata["labels"], metadata)
        for key, value in metadata.get("annotations", {}).items():
            self.assertIsInstance(value, str, key)

    def check_no_nulls(self, value, path):
        self.assertIsNotNone(value, path)
        if isinstance(value, (dict, list)):
            pairs = value.items() if isinstance(value, dict) else enumerate(value)
            for key, inner in pairs:
                self.check_no_nulls(inner, f"{path}.{key}")

    def check_selectors(self, objects):
        deployment = only(objects, "Deployment")["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        selectors = [deployment["selector"]["matchLabels"], only(objects, "Service")["spec"]["selector"]]
        selectors += [o["spec"]["selector"]["matchLabels"]
                      for o in of_kind(objects, "PodDisruptionBudget", "ServiceMonitor")]
        selectors += [o["spec"]["podSelector"]["matchLabels"] for o in of_kind(objects, "NetworkPolicy")
                      if o["metadata"]["name"] != "kantha-models"]
        for selector in selectors:
            self.assertEqual(set(selector), {"app.kubernetes.io/name", "app.kubernetes.io/instance"})
            self.assertLessEqual(selector.items(), labels.items())

    def check_roles(self, objects, namespace):
        account = only(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
        roles = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o
                 for o in of_kind(objects, "Role", "ClusterRole")}
        bindings = of_kind(objects, "RoleBinding", "ClusterRoleBinding")
        self.assertEqual(len(bindings), len(roles))
        for binding in bindings:
            self.assertEqual(binding["subjects"], [
                {"kind": "ServiceAccount", "name": account, "namespace": namespace}])
            ref = binding["roleRef"]
            role = roles.pop((ref["kind"], binding["metadata"].get("namespace"), ref["name"]))
            is_lease = role["metadata"]["name"].endswith("-lease")
            self.assertEqual(rights(role), LEASE_RIGHTS if is_lease else RIGHTS)
        self.assertEqual(roles, {})

    def check_restricted(self, spec):
        """Pod Security 'restricted', and a bit more."""
        self.assertNotIn("hostPath", str(spec.get("volumes", "")))
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            self.assertFalse(spec.get(key, False))
        context = spec["securityContext"]
        self.assertEqual((context["runAsNonRoot"], context["runAsUser"], context["runAsGroup"]),
                         (True, 65532, 65532))
        self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
        for container in spec["containers"] + spec.get("initContainers", []):
            self.assertEqual(container["securityContext"], {
                "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                "runAsNonRoot": True, "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"}})
            self.assertTrue(container["resources"]["requests"])
            self.assertTrue(container["resources"]["limits"])
            self.assertRegex(container["image"], r"(:[^:/]+|@sha256:[0-9a-f]{64})$")


class ObjectsTest(SoundTest):
    def test_each_case_renders_the_objects_that_it_should(self):
        for title, values, expected in CASES:
            with self.subTest(title):
                objects = HELM.objects(values=values)
                self.check_sound(objects)
                self.assertEqual(names(objects), expected)

    def test_names_stay_valid_for_long_and_odd_releases(self):
        seen = set()
        for release in ("a", "r" * 53, "r" * 52 + "s", "kantha", "my-kantha-operator", "1st", "a.b",
                        "9" * 53, "k" * 30 + ".kantha", "x-kantha"):
            for values in (MONITORED, {"helmTest": {"enabled": True, "image": "a/b:1"}}):
                with self.subTest(release):
                    objects = HELM.objects(values=values, release=release, namespace="n" * 63)
                    self.check_sound(objects, release, "n" * 63)
            name = only(objects, "Deployment")["metadata"]["name"]
            self.assertNotIn(name, seen)
            seen.add(name)

    def test_a_namespace_of_digits_stays_text(self):
        self.check_sound(HELM.objects(namespace="123", values=merged(GUARDED, MONITORED)),
                         namespace="123")

    def test_the_tidy_name(self):
        for release, name in (("kantha", "kantha-operator"), ("kantha-operator", "kantha-operator"),
                              ("prod", "prod-kantha-operator")):
            deployment = only(HELM.objects(release=release), "Deployment")
            self.assertEqual(deployment["metadata"]["name"], name)

    def test_every_switch_alone_and_in_pairs(self):
        switches = [(path, not value) for path, value in walk(chart.default_values(KANTHA))
                    if isinstance(value, bool)]
        self.assertGreater(len(switches), 8)
        needed = {"helmTest.enabled": {"helmTest": {"image": "example.com/busybox:1"}},
                  "networkPolicy.models.enabled": GUARDED,
                  "leaderElection.enabled": {"replicas": 1}}
        for pair in itertools.combinations_with_replacement(switches, 2):
            values = {}
            for path, value in pair:
                values = merged(merged(needed.get(".".join(path), {}), values), nested(path, value))
            with self.subTest(values=values):
                self.check_sound(HELM.objects(values=values))

    def test_no_value_at_all_renders_or_is_named(self):
        for path, default in walk(chart.default_values(KANTHA)):
            for nothing in (None,) + (({},) if isinstance(default, dict) else ()):
                with self.subTest(path=path, nothing=nothing):
                    try:
                        self.check_sound(HELM.objects(values=nested(path, nothing)))
                    except chart.Refused as refused:
                        self.assertIn(path[-1], str(refused))
                        self.assertNotIn("nil pointer", str(refused))

    def test_a_wrong_value_is_refused_by_its_name(self):
        for values, named in REFUSALS:
            with self.subTest(values=values):
                refusal = HELM.refusal(values=values)
                self.assertIn(named, refusal)
                self.assertNotIn("nil pointer", refusal)

    def test_every_value_refuses_a_wrong_type(self):
        paths = list(walk(chart.default_values(KANTHA)))
        groups = [path for path, default in paths if isinstance(default, dict)]
        leaves = [path for path, default in paths if not isinstance(default, dict)]
        self.assertGreater(len(leaves), 40)
        for wrong, chosen in ([], groups), ({"a": "b"}, leaves):
            for depth in range(1, 5):  # those of one depth at once: a message names them all
                values, level = {}, [path for path in chosen if len(path) == depth]
                for path in level:
                    values = merged(values, nested(path, wrong))
                refusal = HELM.refusal(values=values)
                for path in level:
                    self.assertIn(f"'/{'/'.join(path)}'", refusal)


class OperatorTest(unittest.TestCase):
    @staticmethod
    def spec(values=None):
        return only(HELM.objects(values=values), "Deployment")["spec"]["template"]["spec"]

    def arguments(self, values=None):
        return self.spec(values)["containers"][0]["args"]

    def test_arguments_by_default(self):
        self.assertEqual(self.arguments(), [
            "--leader-elect", "--lease-name=kantha-operator", "--lease-namespace=kantha-system",
            "--noded-image=localhost/kantha-noded:0.1.0",
            "--engine-image=localhost/kantha-engine:0.1.0", "--image-pull-policy=IfNotPresent",
            "--listen=0.0.0.0:8080", "--workers=8", "--qps=200", "--burst=400", "--log-level=info"])

    def test_arguments_follow_the_values(self):
        found = self.arguments(merged(TEAMS, {
            "images": {"registry": "r.example.com/", "pullPolicy": "Never",
                       "modelPullSecrets": ["pull-a", "pull-b"], "engine": {"tag": "2", "digest": DIGEST}, "noded": {"tag": "1.2"}},
            "leaderElection": {"leaseName": "l"}, "workers": 9, "qps": 1000, "burst": 2000,
            "logLevel": "debug", "extraArgs": ["--a=b"]}))
        self.assertEqual(found, [
            "--namespace=team-a", "--namespace=team-b", "--leader-elect", "--lease-name=l",
            "--lease-namespace=kantha-system", "--noded-image=r.example.com/kantha-noded:1.2",
            f"--engine-image=r.example.com/kantha-engine@{DIGEST}", "--image-pull-policy=Never",
            "--image-pull-secret=pull-a", "--image-pull-secret=pull-b", "--listen=0.0.0.0:8080", "--workers=9", "--qps=1000", "--burst=2000",
            "--log-level=debug", "--a=b"])

    def test_the_operator_knows_each_argument(self):
        source = ROOT / "operator" / "options.cc"
        if not source.exists():
            self.skipTest("there is no operator/options.cc yet")
        known = set(re.findall(r'"(--[a-z-]+)"', source.read_text(encoding="utf-8")))
        for values in ({}, merged(TEAMS, {"images": {"modelPullSecrets": ["s"]}})):
            self.assertLessEqual({a.partition("=")[0] for a in self.arguments(values)}, known)

    def test_no_election_no_lease(self):
        values = {"replicas": 1, "leaderElection": {"enabled": False}}
        self.assertFalse([a for a in self.arguments(values) if a.startswith("--lea")])
        deployment = only(HELM.objects(values=values), "Deployment")
        self.assertEqual(deployment["spec"]["strategy"], {"type": "Recreate"})

    def test_probes_and_port(self):
        container = self.spec()["containers"][0]
        self.assertEqual(container["ports"],
                         [{"name": "http", "containerPort": 8080, "protocol": "TCP"}])
        for probe, path in (("livenessProbe", "/live"), ("readinessProbe", "/ready")):
            self.assertEqual(container[probe]["httpGet"], {"path": path, "port": "http"})
            self.assertGreaterEqual(container[probe]["timeoutSeconds"], 2)

    def test_scheduling_and_secrets_come_through(self):
        values = next(v for title, v, _ in CASES if title == "scheduling")
        spec = self.spec(merged(values, {"images": {"pullSecrets": ["one"]}}))
        for key, value in values.items():
            self.assertEqual(spec[key], value)
        self.assertEqual(spec["imagePullSecrets"], [{"name": "one"}])
        self.assertEqual([c["topologyKey"] for c in spec["topologySpreadConstraints"]],
                         ["kubernetes.io/hostname", "topology.kubernetes.io/zone"])

    def test_labels_and_annotations_come_through(self):
        objects = HELM.objects(values={"podLabels": {"a": "1"}, "commonLabels": {"b": "2"},
                                       "podAnnotations": {"c": "3"}})
        template = only(objects, "Deployment")["spec"]["template"]["metadata"]
        self.assertLessEqual({"a": "1", "b": "2"}.items(), template["labels"].items())
        self.assertEqual(template["annotations"]["c"], "3")
        for obj in objects:
            self.assertEqual(obj["metadata"]["labels"]["b"], "2", chart.identity(obj))
        self.assertNotIn("a", only(objects, "Service")["metadata"]["labels"])

    def test_the_token_is_mounted_by_the_pod_alone(self):
        objects = HELM.objects()
        self.assertIs(only(objects, "ServiceAccount")["automountServiceAccountToken"], False)
        self.assertIs(self.spec()["automountServiceAccountToken"], True)

    def test_the_version_is_the_source_tree_s(self):
        project = re.search(r"project\(kantha VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())
        for folder in (KANTHA, CRDS):
            text = (folder / "Chart.yaml").read_text()
            self.assertIn(f"\nappVersion: {project[1]}\n", text)
            self.assertIn(f"\nversion: {project[1]}\n", text)


class RightsTest(unittest.TestCase):
    def test_the_operator_s_client_knows_no_other_resource(self):
        source = (ROOT / "operator" / "kube" / "resource.h").read_text(encoding="utf-8")
        known = re.findall(r'Resource k\w+\{"([^"]*)",\s*"[^"]*",\s*"([^"]*)"', source)
        granted = {(group, name) for group, name in set(RIGHTS) | set(LEASE_RIGHTS)
                   if "/" not in name}
        self.assertEqual(set(known), granted)

    def test_nothing_is_a_wildcard(self):
        for values in ({}, TEAMS):
            for role in of_kind(HELM.objects(values=values), "Role", "ClusterRole"):
                self.assertNotIn("*", str(role["rules"]))
        for role in of_kind(HELM.objects(CRDS), "ClusterRole"):
            self.assertNotIn("*", str(role["rules"]))

    def test_single_namespaces_need_nothing_of_the_cluster_s(self):
        for obj in HELM.objects(values=merged(TEAMS, merged(MONITORED, {
                "networkPolicy": {"models": {"enabled": True}}}))):
            self.assertFalse(obj["kind"].startswith("Cluster"), obj["kind"])

    def test_the_lease_is_held_by_its_name(self):
        role = only(HELM.objects(values={"leaderElection": {"leaseName": "x"}}), "Role",
                    "kantha-operator-lease")
        for rule in role["rules"]:
            self.assertEqual(rule.get("resourceNames"),
                             None if rule["verbs"] == ["create"] else ["x"])

    def test_roles_say_whose_they_are(self):
        for values, kind in (({}, "ClusterRole"), (TEAMS, "Role")):
            for role in of_kind(HELM.objects(values=values, release="r", namespace="n"), kind):
                if role["metadata"]["name"] == "kantha-operator":
                    self.assertEqual(role["metadata"]["annotations"],
                                     {"serving.kantha.dev/release": "n/r"})

    def test_people_get_their_rights_through_the_cluster_s_own_roles(self):
        roles = {role["metadata"]["name"]: role for role in
                 of_kind(HELM.objects(CRDS), "ClusterRole")}
        write = READ | {"create", "update", "patch", "delete", "deletecollection"}
        for name, verbs, scale in (("view", READ, {"get"}),
                                   ("edit", write, {"get", "update", "patch"}),
                                   ("admin", write, {"get", "update", "patch"})):
            role = roles.pop(f"kantha-modelservings-{name}")
            self.assertEqual(
                role["metadata"]["labels"][f"rbac.authorization.k8s.io/aggregate-to-{name}"], "true")
            self.assertEqual(rights(role), {
                ("serving.kantha.dev", "modelservings"): verbs,
                ("serving.kantha.dev", "modelservings/status"): {"get"},
                ("serving.kantha.dev", "modelservings/scale"): scale})
        self.assertEqual(roles, {})
        no_roles = HELM.objects(CRDS, values={"aggregateRoles": {"create": False}})
        self.assertEqual(of_kind(no_roles, "ClusterRole"), [])


class PolicyTest(unittest.TestCase):
    @staticmethod
    def policy(values, name="kantha-operator"):
        return of_kind([o for o in HELM.objects(values=values) if o["metadata"]["name"] == name],
                       "NetworkPolicy")[0]["spec"]

    @staticmethod
    def ports(rule):
        return {(p["port"], p["protocol"]) for p in rule["ports"]}

    def test_the_operator_reaches_dns_the_api_server_and_node_daemons_only(self):
        spec = self.policy({"networkPolicy": {"operator": {"apiServerCidrs": ["10.0.0.1/32"],
                                                           "apiServerPorts": [6443]}}})
        self.assertEqual(spec["policyTypes"], ["Ingress", "Egress"])
        dns, api, admin = spec["egress"]
        self.assertEqual(self.ports(dns), {(53, "UDP"), (53, "TCP")})
        self.assertEqual(self.ports(api), {(6443, "TCP")})
        self.assertEqual(api["to"], [{"ipBlock": {"cidr": "10.0.0.1/32"}}])
        self.assertEqual(self.ports(admin), {(8001, "TCP")})
        self.assertEqual(admin["to"], [{
            "namespaceSelector": {},
            "podSelector": {"matchLabels": {"serving.kantha.dev/role": "replica"}}}])

    def test_only_the_watched_namespaces_are_reached(self):
        peer = self.policy(TEAMS)["egress"][2]["to"][0]
        self.assertEqual(peer["namespaceSelector"]["matchExpressions"], [
            {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["team-a", "team-b"]}])
        self.assertEqual(peer["podSelector"]["matchLabels"], {"serving.kantha.dev/role": "replica"})

    def test_the_operator_is_reached_for_metrics_only(self):
        for peers, expected in (([], [{"namespaceSelector": {}}]), (PEER, PEER)):
            ingress = self.policy({"networkPolicy": {"operator": {"metricsFrom": peers}}})["ingress"]
            self.assertEqual(len(ingress), 1)
            self.assertEqual(self.ports(ingress[0]), {(8080, "TCP")})
            self.assertEqual(ingress[0]["from"], expected)

    def test_model_pods_take_admin_calls_from_the_operator_and_prometheus_only(self):
        spec = self.policy(merged(GUARDED, {"networkPolicy": {"models": {"metricsFrom": PEER}}}),
                           "kantha-models")
        self.assertEqual(spec["podSelector"], {"matchLabels": {"serving.kantha.dev/role": "replica"}})
        api, admin = spec["ingress"]
        self.assertEqual((self.ports(api), api.get("from")), ({(8000, "TCP")}, None))
        self.assertEqual(self.ports(admin), {(8001, "TCP")})
        self.assertEqual(admin["from"], [{
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kantha-system"}},
            "podSelector": {"matchLabels": {"app.kubernetes.io/name": "kantha-operator",
                                            "app.kubernetes.io/instance": "kantha"}}}] + PEER)

    def test_model_pods_take_requests_as_configured_and_from_one_another(self):
        spec = self.policy(merged(GUARDED, {"networkPolicy": {"models": {"apiFrom": PEER}}}),
                           "kantha-models")
        self.assertEqual(spec["ingress"][0]["from"], PEER + [
            {"podSelector": {"matchLabels": {"serving.kantha.dev/role": "replica"}}}])


class MonitorTest(unittest.TestCase):
    def test_monitors_point_at_ports_that_exist(self):
        objects = HELM.objects(values=merged(TEAMS, MONITORED))
        service = only(objects, "ServiceMonitor")
        self.assertEqual(service["metadata"]["labels"]["release"], "prom")
        port = service["spec"]["endpoints"][0]["port"]
        self.assertIn(port, [p["name"] for p in only(objects, "Service")["spec"]["ports"]])
        pods = only(objects, "PodMonitor")["spec"]
        self.assertEqual(pods["podMetricsEndpoints"][0]["port"], "admin")
        self.assertEqual(pods["namespaceSelector"], {"matchNames": ["team-a", "team-b"]})
        pods = only(HELM.objects(values=MONITORED), "PodMonitor")["spec"]
        self.assertEqual(pods["namespaceSelector"], {"any": True})


class DefinitionTest(unittest.TestCase):
    def test_the_chart_s_copy_is_the_definition_of_the_source_tree(self):
        sources = {p.name: p.read_bytes() for p in (ROOT / "crds").glob("*.yaml")}
        copies = {p.name: p.read_bytes() for p in (CRDS / "files").glob("*.yaml")}
        self.assertTrue(sources)
        self.assertTrue(sources == copies, "run: cp crds/*.yaml helm/kantha-crds/files/")

    def test_it_renders_unchanged_but_for_labels_and_annotations(self):
        rendered = {o["metadata"]["name"]: o for o in HELM.objects(CRDS)
                    if o["kind"] == "CustomResourceDefinition"}
        for path in (ROOT / "crds").glob("*.yaml"):
            source = chart.parse(path.read_text(encoding="utf-8"))
            self.assertEqual(len(source), 1, f"{path}: one definition in a file")
            found = rendered.pop(source[0]["metadata"]["name"])
            self.assertEqual(found["spec"], source[0]["spec"])
            self.assertEqual(found["apiVersion"], source[0]["apiVersion"])
            for kind in ("labels", "annotations"):
                self.assertLessEqual(source[0]["metadata"].get(kind, {}).items(),
                                     found["metadata"].get(kind, {}).items())
        self.assertEqual(rendered, {})

    def test_it_stays_unless_told_otherwise(self):
        for values, kept in (({}, "keep"), ({"keep": False}, None),
                             ({"annotations": {"a": "b"}}, "keep")):
            for obj in of_kind(HELM.objects(CRDS, values=values), "CustomResourceDefinition"):
                annotations = obj["metadata"].get("annotations", {})
                self.assertEqual(annotations.get("helm.sh/resource-policy"), kept)
                self.assertEqual(annotations.get("a"), values.get("annotations", {}).get("a"))

    def test_nonsense_is_refused_by_its_name(self):
        for values, named in (({"kep": True}, "kep"), ({"keep": "yes"}, "/keep"),
                              ({"aggregateRoles": None}, "aggregateRoles"),
                              ({"aggregateRoles": {"delete": True}}, "delete")):
            self.assertIn(named, HELM.refusal(CRDS, values=values))


class PackageTest(unittest.TestCase):
    def test_lint_is_clean(self):
        for folder in (KANTHA, CRDS):
            text = HELM.run("lint", "--strict", "--kube-version", chart.KUBERNETES, folder)
            self.assertNotRegex(text, r"\[(WARNING|ERROR)\]")

    def test_a_package_renders_what_its_folder_does(self):
        with tempfile.TemporaryDirectory() as target:
            for folder in (KANTHA, CRDS):
                HELM.run("package", folder, "-d", target)
                package = next(pathlib.Path(target).glob(f"{folder.name}-[0-9]*.tgz"))
                self.assertEqual(HELM.text(package), HELM.text(folder))

    def test_it_may_be_part_of_another_chart(self):
        with tempfile.TemporaryDirectory() as parent:
            folder = pathlib.Path(parent)
            shutil.copytree(KANTHA, folder / "charts" / "kantha")
            (folder / "Chart.yaml").write_text("apiVersion: v2\nname: all\nversion: 1.0.0\n")
            (folder / "values.yaml").write_text("global: {a: b}\nkantha: {replicas: 1}\n")
            objects = HELM.objects(folder)
            self.assertEqual(only(objects, "Deployment")["spec"]["replicas"], 1)
            self.assertIn("foo", HELM.refusal(folder, values={"kantha": {"foo": 1}}))


class ValuesTest(unittest.TestCase):
    """Values, their schema and the tables of the READMEs tell the same."""

    def check_schema(self, node, path):
        if "$ref" in node:
            return
        types = node.get("type", [])
        if "object" in types and path[-1:] not in (["nodeAffinity"], ["podAffinity"],
                                                  ["podAntiAffinity"], ["global"]):
            if "properties" in node:
                self.assertIs(node.get("additionalProperties"), False, path)
            else:
                self.assertIn("type", node.get("additionalProperties", {}), path)
        self.assertTrue(types or "enum" in node, path)
        for key, inner in node.get("properties", {}).items():
            self.assertTrue(inner.get("description", "").endswith("."), path + [key])
            self.check_schema(inner, path + [key])
        if "items" in node:
            self.check_schema(node["items"], path + ["[]"])

    def test_the_schema_knows_and_describes_every_value_and_no_other(self):
        for folder in (KANTHA, CRDS):
            schema = chart.schema(folder)
            self.check_schema(schema, [])
            for name, node in schema.get("definitions", {}).items():
                self.check_schema(node, [name])
            comments = chart.described(folder / "values.yaml")
            for path, default in walk(chart.default_values(folder)):
                if path[0] == "resources" and len(path) > 1:
                    continue  # of Kubernetes, by a definition
                node = schema
                for key in path[:-1]:
                    node = node["properties"][key]
                self.assertEqual(set(node["properties"]) - {"global"},
                                 set(self.group(folder, path[:-1])))
                comment = comments.get(".".join(path))
                if comment:
                    self.assertEqual(node["properties"][path[-1]]["description"], comment)
                else:
                    self.assertTrue(isinstance(default, dict), f"{path} has no comment")

    @staticmethod
    def group(folder, path):
        values = chart.default_values(folder)
        for key in path:
            values = values[key]
        return values

    def test_the_readme_has_every_value(self):
        for folder in (KANTHA, CRDS):
            text = (folder / "README.md").read_text(encoding="utf-8")
            self.assertTrue(with_table(text, folder) == text,
                            f"{folder.name}/README.md: run tests/helm/chart_test.py --write")


def table(folder):
    comments = chart.described(folder / "values.yaml")
    lines = ["| value | default | |", "|---|---|---|"]
    for path, default in walk(chart.default_values(folder)):
        name = ".".join(path)
        if name in comments:
            shown = chart.json.dumps(default, ensure_ascii=False)
            lines.append(f"| `{name}` | `{shown}` | {comments[name].replace('|', '¦')} |")
    return "\n".join(lines)


def with_table(text, folder):
    begin, end = "<!-- values -->\n", "<!-- end of values -->\n"
    before, _, rest = text.partition(begin)
    _, found, after = rest.partition(end)
    assert found, f"{folder.name}/README.md has no line {end}"
    return before + begin + table(folder) + "\n" + end + after


def write_tables():
    for folder in (KANTHA, CRDS):
        path = folder / "README.md"
        path.write_text(with_table(path.read_text(encoding="utf-8"), folder), encoding="utf-8")


def main():
    global HELM  # pylint: disable=global-statement
    if "--write" in sys.argv:
        write_tables()
        return 0
    helms = chart.helms()
    if not helms:
        print("chart_test: SKIPPED, there is no helm: run scripts/cluster build helm, or set "
              "KANTHA_HELM", file=sys.stderr)
        return 77
    for version, binary in helms.items():
        print(f"== helm {version}", flush=True)
        HELM = chart.Helm(binary)
        if not unittest.main(exit=False).result.wasSuccessful():
            return 1
    return 0


if __name__ == "__main__":
    os.environ.setdefault("PYTHONDONTWRITEBYTECODE", "1")
    sys.exit(main())
