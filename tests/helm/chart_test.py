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
from chart_cases import (READ, RIGHTS, CLUSTER_RIGHTS, ACTIVATOR_RIGHTS, UNINSTALL_RIGHTS,
                         UNINSTALL, LEASE_RIGHTS, DEFAULT, TEAMS, DIGEST, PEER, GUARDED, MONITORED,
                         WATCHED, CASES, REFUSALS)

HELM = None  # a chart.Helm; the suite runs once for each


def rights(role):
    found = {}
    for rule in role["rules"]:
        for group, resource in itertools.product(rule["apiGroups"], rule["resources"]):
            found.setdefault((group, resource), set()).update(rule["verbs"])
    return found


def is_hook(obj):
    return obj["metadata"].get("annotations", {}).get("helm.sh/hook") == "pre-delete"


def of_activator(obj):
    return obj["metadata"]["labels"].get("app.kubernetes.io/name") == "kantha-activator"


def lasting(objects):
    """Without what is there only before an uninstall."""
    return [obj for obj in objects if not is_hook(obj)]


def pod_specs(objects):
    for obj in of_kind(objects, "Deployment", "Job"):
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
        dots = "." if obj["kind"] == "APIService" else ""
        self.assertRegex(metadata["name"], rf"^[a-z0-9]([-a-z0-9{dots}]*[a-z0-9])?$")
        if obj["kind"] == "Service":
            self.assertRegex(metadata["name"], r"^[a-z]")
        everywhere = obj["kind"].startswith("Cluster") or obj["kind"] == "APIService"
        self.assertEqual("namespace" in metadata, not everywhere, metadata)
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
        self.check_activator(objects)
        objects = [o for o in objects if not of_activator(o)]
        deployment = only(objects, "Deployment")["spec"]
        labels = deployment["template"]["metadata"]["labels"]
        selectors = [deployment["selector"]["matchLabels"], only(objects, "Service")["spec"]["selector"]]
        selectors += [o["spec"]["selector"]["matchLabels"]
                      for o in of_kind(objects, "PodDisruptionBudget", "ServiceMonitor")]
        selectors += [o["spec"]["podSelector"]["matchLabels"] for o in of_kind(objects, "NetworkPolicy")
                      if o["metadata"]["name"] != "kantha-models" and not is_hook(o)]
        for selector in selectors:
            self.assertEqual(set(selector), {"app.kubernetes.io/name", "app.kubernetes.io/instance"})
            self.assertLessEqual(selector.items(), labels.items())

    def check_activator(self, objects):
        """Its selectors take its pods and none of the operator's; nothing of it has a token."""
        its = [o for o in objects if of_activator(o)]
        if not its:
            return
        template = only(its, "Deployment")["spec"]["template"]
        self.assertIs(template["spec"]["automountServiceAccountToken"], False)
        operator = next(o for o in of_kind(objects, "Deployment") if not of_activator(o))["spec"]
        selectors = [only(its, "Service")["spec"]["selector"],
                     only(its, "Deployment")["spec"]["selector"]["matchLabels"]]
        selectors += [o["spec"]["selector"]["matchLabels"]
                      for o in of_kind(its, "PodDisruptionBudget")]
        selectors += [o["spec"]["podSelector"]["matchLabels"] for o in of_kind(its, "NetworkPolicy")]
        for selector in selectors:
            self.assertLessEqual(selector.items(), template["metadata"]["labels"].items())
            self.assertFalse(selector.items() <= operator["template"]["metadata"]["labels"].items())
        self.assertFalse(operator["selector"]["matchLabels"].items()
                         <= template["metadata"]["labels"].items())

    def check_roles(self, objects, namespace):
        has_activator = any(of_activator(o) for o in objects)
        objects = [o for o in objects if o["kind"] != "Deployment" or not of_activator(o)]
        account = only(objects, "Deployment")["spec"]["template"]["spec"]["serviceAccountName"]
        roles = {(o["kind"], o["metadata"].get("namespace"), o["metadata"]["name"]): o
                 for o in of_kind(objects, "Role", "ClusterRole")
                 if not o["metadata"]["name"].endswith("-metrics-reader")}
        bindings = [o for o in of_kind(objects, "RoleBinding", "ClusterRoleBinding")
                    if not self.is_of_the_metrics_api(o, account, namespace)]
        self.assertEqual(len(bindings), len(roles))
        for binding in bindings:
            self.assertEqual(binding["subjects"], [
                {"kind": "ServiceAccount", "name": account, "namespace": namespace}])
            ref = binding["roleRef"]
            role = roles.pop((ref["kind"], binding["metadata"].get("namespace"), ref["name"]))
            self.assertEqual(is_hook(binding), is_hook(role))
            if of_activator(role):
                self.assertEqual(rights(role), {("discovery.k8s.io", "endpointslices"): {"list"}})
                continue
            is_lease = role["metadata"]["name"].endswith("-lease")
            if is_hook(role):
                self.assertLessEqual(rights(role).items(), UNINSTALL_RIGHTS.items())
                self.assertTrue(all(rule["resourceNames"] for rule in role["rules"]))
            else:
                of_all = CLUSTER_RIGHTS if role["kind"] == "ClusterRole" else RIGHTS
                of_all = {**of_all, **(ACTIVATOR_RIGHTS if has_activator else {})}
                self.assertEqual(rights(role), LEASE_RIGHTS if is_lease else of_all)
        self.assertEqual(roles, {})

    def is_of_the_metrics_api(self, binding, account, namespace):
        """Roles of the API server's own, and the HPA's right to read what the operator serves."""
        operator = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
        hpa = {"kind": "ServiceAccount", "name": "horizontal-pod-autoscaler",
               "namespace": "kube-system"}
        wanted = {
            "system:auth-delegator": ("ClusterRoleBinding", None, operator),
            "extension-apiserver-authentication-reader": ("RoleBinding", "kube-system", operator),
            "kantha-operator-metrics-reader": ("ClusterRoleBinding", None, hpa)}
        role = binding["roleRef"]["name"]
        if role not in wanted and not role.endswith("-metrics-reader"):
            return False
        kind, home, subject = wanted.get(role, wanted["kantha-operator-metrics-reader"])
        self.assertEqual((binding["kind"], binding["metadata"].get("namespace"),
                          binding["subjects"]), (kind, home, [subject]))
        return True

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
                self.assertEqual(names(lasting(objects)), expected)

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

    def test_the_shared_folder_for_weights_is_told_with_its_bound(self):
        cache = {"hostPath": "/var/lib/kantha", "quotaBytes": 2_000_000_000_000}
        found = self.arguments({"modelCache": cache})
        self.assertIn("--model-cache-host-path=/var/lib/kantha", found)
        self.assertIn("--model-cache-quota=2000000000000", found)

    def test_the_operator_knows_each_argument(self):
        source = ROOT / "operator" / "options.cc"
        if not source.exists():
            self.skipTest("there is no operator/options.cc yet")
        known = set(re.findall(r'"(--[a-z-]+)"', source.read_text(encoding="utf-8")))
        some = merged(TEAMS, {"images": {"modelPullSecrets": ["s"]}, "modelCache": {"hostPath": "/a"}})
        for values in ({}, some):
            self.assertLessEqual({a.partition("=")[0] for a in self.arguments(values)}, known)
            command, *flags = UninstallTest.arguments(values)
            self.assertIn(f'"{command}"', source.read_text(encoding="utf-8"))
            self.assertLessEqual({a.partition("=")[0] for a in flags}, known)

    def test_activators_are_found_and_known_by_a_token(self):
        objects = HELM.objects(values={"activator": {"enabled": True, "holdSeconds": 120},
                                       "metricsApi": {"enabled": True}})
        mine = next(o for o in of_kind(objects, "Deployment") if of_activator(o))["spec"]["template"]
        operator = next(o for o in of_kind(objects, "Deployment")
                        if not of_activator(o))["spec"]["template"]
        arguments = operator["spec"]["containers"][0]["args"]
        self.assertIn("--activator-service=kantha-system/kantha-operator-activator", arguments)
        told = mine["spec"]["containers"][0]["args"]
        self.assertIn("--hold-timeout-seconds=120", told)
        source = (ROOT / "noded/activator/activator_options.cc").read_text(encoding="utf-8")
        for argument in told:
            self.assertIn(f'"{argument.partition("=")[0]}', source)
        for template in (mine, operator):
            secrets = {v["secret"]["secretName"] for v in template["spec"]["volumes"]}
            self.assertIn("kantha-operator-activator", secrets)
        self.assertGreater(mine["spec"]["terminationGracePeriodSeconds"], 120)

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


class UninstallTest(unittest.TestCase):
    """The Job before `helm uninstall`."""

    @staticmethod
    def arguments(values):
        job = only(HELM.objects(values=values), "Job")["spec"]
        return job["template"]["spec"]["containers"][0]["args"]

    def test_all_of_it_is_a_hook_that_goes_when_it_has_succeeded(self):
        hooks = [o for o in HELM.objects() if is_hook(o)]
        self.assertEqual(names(hooks), UNINSTALL)
        for hook in hooks:
            notes = hook["metadata"]["annotations"]
            self.assertEqual(notes["helm.sh/hook-delete-policy"],
                             "before-hook-creation,hook-succeeded")
            self.assertEqual(int(notes["helm.sh/hook-weight"]) < 0, hook["kind"] != "Job",
                             "rights come first")

    def test_it_can_be_switched_off(self):
        objects = HELM.objects(values={"uninstall": {"releaseFinalizers": False}})
        self.assertEqual(names(objects), DEFAULT)

    def test_it_ends_the_operator_and_releases_what_that_watches(self):
        self.assertEqual(self.arguments(TEAMS), [
            "release-finalizers", "--namespace=team-a", "--namespace=team-b", "--leader-elect",
            "--lease-name=kantha-operator", "--lease-namespace=kantha-system",
            "--deployment=kantha-operator", "--timeout=100"])
        alone = {"replicas": 1, "leaderElection": {"enabled": False}, "fullnameOverride": "op",
                 "uninstall": {"timeoutSeconds": 60}}
        self.assertEqual(self.arguments(alone), [
            "release-finalizers", "--lease-namespace=kantha-system", "--deployment=op",
            "--timeout=40"])
        role = only(HELM.objects(values=alone), "Role", "op-uninstall")
        self.assertEqual(role["rules"], [{"apiGroups": ["apps"], "resources": ["deployments/scale"],
                                          "resourceNames": ["op"], "verbs": ["patch"]}])

    def test_it_is_bounded_and_runs_as_and_where_the_operator_does(self):
        values = {"images": {"pullSecrets": ["one"], "registry": "r.example.com"},
                  "nodeSelector": {"a": "b"}, "priorityClassName": "p", "commonLabels": {"b": "2"},
                  "tolerations": [{"key": "infra", "operator": "Exists"}],
                  "uninstall": {"timeoutSeconds": 90}}
        objects = HELM.objects(values=values)
        job, deployment = only(objects, "Job"), only(objects, "Deployment")
        self.assertEqual((job["spec"]["activeDeadlineSeconds"], job["spec"]["backoffLimit"]), (90, 2))
        self.assertEqual(job["metadata"]["labels"]["b"], "2")
        mine, theirs = (o["spec"]["template"]["spec"] for o in (job, deployment))
        for key in ("serviceAccountName", "imagePullSecrets", "nodeSelector", "priorityClassName",
                    "tolerations", "securityContext"):
            self.assertEqual(mine[key], theirs[key], key)
        self.assertEqual(mine["containers"][0]["image"], theirs["containers"][0]["image"])
        self.assertEqual(mine["restartPolicy"], "Never")

    def test_its_pod_is_none_of_the_operator_s(self):
        objects = HELM.objects()
        labels = only(objects, "Job")["spec"]["template"]["metadata"]["labels"]
        policy = only(objects, "NetworkPolicy", "kantha-operator-uninstall")["spec"]
        self.assertLessEqual(policy["podSelector"]["matchLabels"].items(), labels.items())
        self.assertNotIn("ingress", policy)
        operator = only(objects, "NetworkPolicy", "kantha-operator")["spec"]
        self.assertEqual(policy["egress"], operator["egress"][:2])
        for selector in (operator["podSelector"]["matchLabels"],
                         only(objects, "Deployment")["spec"]["selector"]["matchLabels"]):
            self.assertFalse(selector.items() <= labels.items())


class RightsTest(unittest.TestCase):
    def test_the_operator_s_client_knows_no_other_resource(self):
        source = "".join((ROOT / "operator" / path).read_text(encoding="utf-8")
                         for path in ("kube/resource.h", "cluster/child_object.h",
                                      "cluster/node_marks.h", "cluster/reference_check.h",
                                      "cluster/activator_door.h"))
        known = re.findall(r'Resource k\w+\{"([^"]*)",\s*"[^"]*",\s*"([^"]*)"', source)
        all_rights = {*CLUSTER_RIGHTS, *LEASE_RIGHTS, *ACTIVATOR_RIGHTS}
        granted = {(group, name) for group, name in all_rights if "/" not in name}
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

    def test_alerts_and_dashboard_are_the_files_of_the_chart(self):
        rules = only(HELM.objects(values=WATCHED), "PrometheusRule")
        self.assertEqual(rules["metadata"]["labels"]["release"], "prom")
        self.assertEqual(rules["spec"], chart.yaml.safe_load(
            (KANTHA / "files/rules.yaml").read_text()))
        board = only(HELM.objects(values=WATCHED), "ConfigMap")
        self.assertEqual(board["metadata"]["labels"]["grafana_dashboard"], "1")
        self.assertEqual(
            chart.json.loads(board["data"]["kantha-rollouts.json"]),
            chart.json.loads((KANTHA / "files/rollouts-dashboard.json").read_text()))


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
                if "resources" in path[:-1]:
                    continue  # of Kubernetes, by a definition
                node = schema
                for key in path[:-1]:
                    node = node["properties"][key]
                if isinstance(node.get("additionalProperties"), dict):
                    continue  # a default key of a map whose keys are the user's
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
