"""The charts on a real API server (scripts/cluster), with every helm that can be had.

No operator runs here (nothing pulls its image): what counts is what the API server takes, what it lets
the operator's account do, and what a second release is told. Only what comes before an uninstall is
run, from $KANTHA_BIN_DIR, with the arguments and the account of its pod. Exits with 77 where there is no helm.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

import chart
from chart import CRDS, KANTHA, ROOT, merged, parse
from chart_test import CASES, CLUSTER_RIGHTS, LEASE_RIGHTS, RIGHTS, TEAMS

HELM = None  # a chart.Helm with a kubeconfig
CLUSTER = None

DEFINITION = "modelservings.serving.kantha.dev"
HOME = "kantha-system"
ACCOUNT = f"system:serviceaccount:{HOME}:kantha-operator"
VERBS = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"]
OTHERS = [("", "namespaces"), ("", "pods/exec"), ("", "pods/eviction"),
          ("", "serviceaccounts/token"), ("apps", "deployments"), ("batch", "jobs"),
          ("rbac.authorization.k8s.io", "roles"), ("rbac.authorization.k8s.io", "clusterroles"),
          ("apiextensions.k8s.io", "customresourcedefinitions")]
SERVING = """
apiVersion: serving.kantha.dev/v1alpha1
kind: ModelServing
metadata: {name: m, namespace: team-a}
spec: {model: {source: {hostPath: /models/m.gguf}}}
"""


class Cluster:
    """A control plane of this test's own."""

    def __init__(self):
        self.run = tempfile.mkdtemp(prefix="kantha-charts-")
        self.script = str(ROOT / "scripts" / "cluster")
        self.kubeconfig = None

    def start(self):
        run = subprocess.run(
            [self.script, "up", "--run", self.run, "--admission",
             "OwnerReferencesPermissionEnforcement"],
            stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, check=False)
        if run.returncode == 0:
            self.kubeconfig = run.stdout.strip().splitlines()[-1]
            environment = (pathlib.Path(self.run) / "env").read_text(encoding="utf-8")
            self.path = re.search(r"PATH=['\"]?([^:'\"]+)", environment)[1]
        return run.returncode

    def stop(self):
        subprocess.run([self.script, "down", "--run", self.run], check=False,
                       stdin=subprocess.DEVNULL)
        shutil.rmtree(self.run, ignore_errors=True)

    def kubectl(self, *arguments, stdin=None, check=True):
        """(what it printed, what it complained of)"""
        run = subprocess.run([os.path.join(self.path, "kubectl"), "--kubeconfig", self.kubeconfig,
                              *arguments], input=stdin, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, check=False, timeout=60)
        if check and run.returncode != 0:
            raise AssertionError(f"kubectl {' '.join(arguments)}: {run.stderr}")
        return run.stdout, run.stderr

    def apply(self, text, *arguments, check=True):
        return self.kubectl("apply", "-f", "-", *arguments, stdin=text, check=check)

    def namespace(self, name, **labels):
        self.apply(json.dumps({"apiVersion": "v1", "kind": "Namespace",
                               "metadata": {"name": name, "labels": labels}}))


def allowed(user, namespace):
    """{(group, resource): verbs} that the user may, of those that this test asks for."""
    asked = sorted(set(CLUSTER_RIGHTS) | set(LEASE_RIGHTS)) + OTHERS
    reviews = []
    for group, full in asked:
        resource, _, subresource = full.partition("/")
        for verb in VERBS:
            reviews.append({
                "apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                "spec": {"user": user, "resourceAttributes": {
                    "verb": verb, "group": group, "resource": resource, "namespace": namespace,
                    "subresource": subresource, "name": "x"}}})
    answer, _ = CLUSTER.kubectl("create", "-f", "-", "-o", "json", stdin=json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": reviews}))
    found = {}
    for review in documents(answer):
        if review["status"].get("allowed"):
            spec = review["spec"]["resourceAttributes"]
            name = "/".join(filter(None, (spec["resource"], spec.get("subresource"))))
            found.setdefault((spec.get("group", ""), name), set()).add(spec["verb"])
    return found


def documents(text):
    """JSON objects one after another, or in one List."""
    decoder, at, found = json.JSONDecoder(), 0, []
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        found += value["items"] if value["kind"] == "List" else [value]
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def until(wanted, ask):
    """What `ask` says once it says what is wanted, or after half a minute."""
    deadline = time.monotonic() + 30
    while (said := ask()) != wanted and time.monotonic() < deadline:
        time.sleep(0.2)
    return said


class InstalledTest(unittest.TestCase):
    def setUp(self):
        for name in ("team-a", "team-b", "team-c", "elsewhere"):
            CLUSTER.namespace(name)
        CLUSTER.namespace(HOME, **{"pod-security.kubernetes.io/enforce": "restricted",
                                   "pod-security.kubernetes.io/warn": "restricted"})
        self.installed = []
        self.addCleanup(self.uninstall_all)

    def install(self, release, folder, namespace, values=None):
        self.installed.append((release, namespace))
        return HELM.run("upgrade", "--install", release, folder, "-n", namespace, "-f", "-",
                        "--reset-values", "--kubeconfig", CLUSTER.kubeconfig, stdin=json.dumps(values or {}))

    def refusal(self, *arguments):
        with self.assertRaises(chart.Refused) as caught:
            self.install(*arguments)
        self.installed.pop()
        return str(caught.exception)

    def uninstall(self, release, namespace):
        self.installed.remove((release, namespace))
        # Nothing runs the Job that comes before, but in the test that is about it.
        return HELM.run("uninstall", release, "-n", namespace, "--ignore-not-found", "--no-hooks",
                        "--kubeconfig", CLUSTER.kubeconfig)

    def uninstall_all(self):
        for release, namespace in dict.fromkeys(self.installed):
            HELM.run("uninstall", release, "-n", namespace, "--ignore-not-found", "--no-hooks",
                     "--kubeconfig", CLUSTER.kubeconfig)

    def define(self, values=None):
        self.install("kantha-crds", CRDS, "default", values)
        CLUSTER.kubectl("wait", "--for=condition=Established", f"crd/{DEFINITION}")


class TakenTest(InstalledTest):
    def test_the_api_server_takes_each_case_without_a_warning(self):
        for name in ("a", "b", "123", "0x10", "1e3"):
            CLUSTER.namespace(name)
        for title, values, _ in CASES:
            objects = [o for o in parse(HELM.text(values=values))
                       if o["apiVersion"] != "monitoring.coreos.com/v1"]
            with self.subTest(title):
                text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
                _, complaint = CLUSTER.apply(text, "--dry-run=server", "--validate=strict")
                self.assertEqual(complaint, "")

    def test_a_dry_run_on_the_server(self):
        for folder, namespace in ((CRDS, "default"), (KANTHA, HOME)):
            text = HELM.run("install", folder.name, folder, "-n", namespace, "--dry-run=server",
                            "--kubeconfig", CLUSTER.kubeconfig)
            self.assertIn("kind: ClusterRole", text)
        self.assertEqual(CLUSTER.kubectl("-n", HOME, "get", "deployment", "-o", "name")[0], "")


class RightsTest(InstalledTest):
    def test_everywhere_exactly_the_table(self):
        self.install("kantha", KANTHA, HOME)
        self.assertEqual(allowed(ACCOUNT, "elsewhere"), CLUSTER_RIGHTS)
        self.assertEqual(allowed(ACCOUNT, ""), CLUSTER_RIGHTS)

    def test_in_listed_namespaces_and_nowhere_else(self):
        self.install("kantha", KANTHA, HOME, TEAMS)
        for namespace, expected in (("team-a", RIGHTS), ("team-b", RIGHTS), ("elsewhere", {}),
                                    ("", {})):
            self.assertEqual(allowed(ACCOUNT, namespace), expected, namespace)
        self.install("kantha", KANTHA, HOME, {"watchNamespaces": ["team-b", "team-c"]})
        self.assertEqual(allowed(ACCOUNT, "team-a"), {})
        self.assertEqual(allowed(ACCOUNT, "team-c"), RIGHTS)

    def test_its_own_lease_and_no_other(self):
        self.install("kantha", KANTHA, HOME, TEAMS)
        for name, verb, answer in (("kantha-operator", "get", "yes"),
                                   ("kantha-operator", "update", "yes"),
                                   ("kantha-operator", "patch", "yes"),
                                   ("kantha-operator", "delete", "no"), ("other", "get", "no"),
                                   ("other", "update", "no")):
            said, _ = CLUSTER.kubectl("auth", "can-i", verb, f"lease/{name}", "-n", HOME,
                                      "--as", ACCOUNT, check=False)
            self.assertEqual(said.strip(), answer, (name, verb))

    def test_children_with_owners_where_rights_on_owners_are_enforced(self):
        self.define()
        self.install("kantha", KANTHA, HOME, TEAMS)
        CLUSTER.apply(SERVING)
        self.addCleanup(CLUSTER.kubectl, "-n", "team-a", "delete", "kms", "m")
        owner = json.loads(CLUSTER.kubectl("-n", "team-a", "get", "kms", "m", "-o", "json")[0])
        children = self.children(owner["metadata"]["uid"])
        # For some seconds after a definition came, this admission plugin does not know the kind.
        until("", lambda: re.sub("(?s)^.*cannot find RESTMapping.*$", "unknown", CLUSTER.apply(
            json.dumps(children[-1]), "--as", ACCOUNT, "--dry-run=server", check=False)[1]))
        for child in children:
            with self.subTest(child["kind"]):
                for flags in ((), ("--server-side", "--field-manager=kantha-operator")):
                    CLUSTER.apply(json.dumps(child), "--as", ACCOUNT, *flags)
        CLUSTER.kubectl("create", "-f", "-", "--as", ACCOUNT, stdin=json.dumps({
            "apiVersion": "v1", "kind": "Event", "type": "Normal", "reason": "Tested",
            "metadata": {"generateName": "m.", "namespace": "team-a"},
            "involvedObject": {"kind": "ModelServing", "name": "m", "namespace": "team-a"}}))
        self.bind("edit", "stranger")
        child["metadata"]["name"] = "of-a-stranger"
        _, complaint = CLUSTER.apply(json.dumps(child), "--as", "stranger", check=False)
        self.assertIn("cannot set blockOwnerDeletion", complaint)

    @staticmethod
    def children(uid):
        metadata = {"name": "m-0", "namespace": "team-a", "ownerReferences": [{
            "apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing", "name": "m",
            "uid": uid, "controller": True, "blockOwnerDeletion": True}]}
        selector = {"serving.kantha.dev/name": "m"}
        core = {"apiVersion": "v1", "metadata": metadata}
        return [
            {**core, "kind": "ServiceAccount"},
            {**core, "kind": "Secret", "stringData": {"a": "b"}},
            {**core, "kind": "Service", "spec": {"ports": [{"port": 80}], "selector": selector}},
            {**core, "kind": "Pod", "spec": {"containers": [{"name": "c", "image": "a/b:1"}]}},
            {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": metadata,
             "spec": {"maxUnavailable": 1, "selector": {"matchLabels": selector}}},
            {**core, "kind": "ConfigMap", "data": {"a": "b"}}]

    def bind(self, role, user):
        CLUSTER.kubectl("-n", "team-a", "create", "rolebinding", user, f"--user={user}",
                        f"--clusterrole={role}")
        self.addCleanup(CLUSTER.kubectl, "-n", "team-a", "delete", "rolebinding", user)

    def test_people_may_what_their_role_says(self):
        self.define()
        bound = set()
        for role, verb, resource, answer in (
                ("view", "list", DEFINITION, "yes"), ("view", "create", DEFINITION, "no"),
                ("view", "patch", f"{DEFINITION}/m --subresource=scale", "no"),
                ("edit", "create", DEFINITION, "yes"),
                ("edit", "patch", f"{DEFINITION}/m --subresource=scale", "yes"),
                ("edit", "patch", f"{DEFINITION}/m --subresource=status", "no"),
                ("admin", "delete", DEFINITION, "yes")):
            with self.subTest(role=role, verb=verb, resource=resource):
                if role not in bound:
                    self.bind(role, f"person-{role}")
                    bound.add(role)
                question = ("auth", "can-i", verb, *resource.split(), "-n", "team-a",
                            "--as", f"person-{role}")
                # A controller gathers the aggregated roles.
                said = until(answer, lambda q=question: CLUSTER.kubectl(*q, check=False)[0].strip())
                self.assertEqual(said, answer)


class OwnershipTest(InstalledTest):
    def test_a_second_release_that_watches_everything_is_refused(self):
        self.install("kantha", KANTHA, HOME)
        for values in ({}, TEAMS):
            said = self.refusal("other", KANTHA, "elsewhere", values)
            self.assertIn("every namespace is already watched by another Kantha operator "
                          f"(release {HOME}/kantha)", said)
            self.assertIn("docs/install.md", said)

    def test_namespaces_are_shared_out_once(self):
        self.install("kantha", KANTHA, HOME, TEAMS)
        self.install("other", KANTHA, "elsewhere", {"watchNamespaces": ["team-c"]})
        for values in ({"watchNamespaces": ["team-c", "team-b"]}, {}):
            said = self.refusal("third", KANTHA, "default", values)
            self.assertRegex(said, r"namespace team-[abc] is already watched by another Kantha "
                                   r"operator \(release (kantha-system/kantha|elsewhere/other)\)")
        # An upgrade into another's namespace is refused as an install is; one's own way is free.
        with self.assertRaisesRegex(chart.Refused, "namespace team-a is already watched"):
            self.install("other", KANTHA, "elsewhere", {"watchNamespaces": ["team-c", "team-a"]})
        self.install("kantha", KANTHA, HOME, {"watchNamespaces": ["team-a"]})
        self.install("other", KANTHA, "elsewhere", {"watchNamespaces": ["team-c", "team-b"]})
        self.uninstall("other", "elsewhere")
        self.install("kantha", KANTHA, HOME)

    def test_helm_itself_refuses_where_the_check_is_off(self):
        self.install("kantha", KANTHA, HOME, TEAMS)
        off = {"ownership": {"check": False}}
        said = self.refusal("other", KANTHA, "elsewhere", merged(TEAMS, off))
        self.assertIn("invalid ownership metadata", said)

    def test_one_who_may_not_read_cluster_roles_is_told_by_whom(self):
        kinds = ("roles,rolebindings,serviceaccounts,services,deployments.apps,"
                 "poddisruptionbudgets.policy,networkpolicies.networking.k8s.io")
        CLUSTER.kubectl("create", "clusterrole", "installer", "--verb=get", f"--resource={kinds}")
        CLUSTER.kubectl("create", "clusterrolebinding", "installer", "--user=installer",
                        "--clusterrole=installer")
        for kind in ("clusterrole", "clusterrolebinding"):
            self.addCleanup(CLUSTER.kubectl, "delete", kind, "installer")
        with self.assertRaisesRegex(chart.Refused, "clusterroles.* forbidden"):
            HELM.run("install", "x", KANTHA, "-n", HOME, "--set", "watchNamespaces={team-a}",
                     "--dry-run=server", "--kube-as-user", "installer",
                     "--kubeconfig", CLUSTER.kubeconfig)
        text = HELM.run("install", "x", KANTHA, "-n", HOME, "--set", "watchNamespaces={team-a}",
                        "--set", "ownership.check=false", "--dry-run=server",
                        "--kube-as-user", "installer", "--kubeconfig", CLUSTER.kubeconfig)
        self.assertIn("kind: Role", text)


class LifeTest(InstalledTest):
    def test_an_uninstall_leaves_nothing_of_the_operator(self):
        values = merged(TEAMS, {"networkPolicy": {"models": {"enabled": True}}})
        self.install("kantha", KANTHA, HOME, values)
        self.install("kantha", KANTHA, HOME)  # from some namespaces to all
        kinds = ("deployments,services,serviceaccounts,roles,rolebindings,clusterroles,"
                 "clusterrolebindings,networkpolicies,poddisruptionbudgets")
        ours = ("get", kinds, "-A", "-l", "app.kubernetes.io/name=kantha-operator", "-o", "name")
        self.assertEqual(len(CLUSTER.kubectl(*ours)[0].split()), 9)
        self.uninstall("kantha", HOME)
        self.assertEqual(CLUSTER.kubectl(*ours)[0], "")

    def test_before_an_uninstall_nothing_is_held_back_any_more(self):
        program = pathlib.Path(os.environ.get("KANTHA_BIN_DIR", "/nonexistent")) / "kantha-operator"
        if not program.exists():
            self.skipTest(f"there is no {program}: name its folder in KANTHA_BIN_DIR")
        self.define()
        for team in ("team-a", "team-c"):
            CLUSTER.apply(SERVING.replace("{name: m,", "{name: m, finalizers: "
                                          "[serving.kantha.dev/drain],").replace("team-a", team))
            self.addCleanup(CLUSTER.kubectl, "-n", team, "delete", "kms", "m", "--ignore-not-found",
                            "--wait=false")
        self.install("kantha", KANTHA, HOME, TEAMS)
        CLUSTER.apply(json.dumps({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": "kantha-operator", "namespace": HOME},
            "spec": {"holderIdentity": "crashed", "leaseDurationSeconds": 2}}))
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            uninstall = pool.submit(HELM.run, "uninstall", "kantha", "-n", HOME, "--timeout", "90s",
                                    "--kubeconfig", CLUSTER.kubeconfig)
            said = self.run_as_kubelet(program, "app.kubernetes.io/name=kantha-uninstall")
            uninstall.result()
        self.installed.remove(("kantha", HOME))
        self.assertIn("ModelServing team-a/m is released", said)
        self.assertIn("released 1 of 1 ModelServings", said)
        self.assertIn(f"Lease {HOME}/kantha-operator is deleted", said)
        left = CLUSTER.kubectl("-n", HOME, "get", "jobs,roles,rolebindings,networkpolicies,leases,"
                               "deployments", "-o", "name")[0]
        self.assertEqual(left, "")
        CLUSTER.kubectl("-n", "team-a", "delete", "kms", "m", "--timeout=10s")
        held = json.loads(CLUSTER.kubectl("-n", "team-c", "get", "kms", "m", "-o", "json")[0])
        self.assertEqual(held["metadata"]["finalizers"], ["serving.kantha.dev/drain"],
                         "another operator's")
        CLUSTER.kubectl("-n", "team-c", "patch", "kms", "m", "--type=merge", "-p",
                        '{"metadata":{"finalizers":null}}')

    def run_as_kubelet(self, program, selector):
        """Runs the program as the pod that comes up says, with its account's rights; its words."""
        pods = ("-n", HOME, "get", "pods", "-l", selector, "-o", "json")
        deadline = time.monotonic() + 60
        while not (found := json.loads(CLUSTER.kubectl(*pods)[0])["items"]):
            self.assertLess(time.monotonic(), deadline, "the Job has no pod")
            time.sleep(0.2)
        name, spec = found[0]["metadata"]["name"], found[0]["spec"]
        token = CLUSTER.kubectl("-n", HOME, "create", "token", spec["serviceAccountName"])[0]
        config = json.loads(CLUSTER.kubectl("config", "view", "--raw", "--flatten", "-o", "json")[0])
        config["users"] = [{"name": user["name"], "user": {"token": token.strip()}}
                           for user in config["users"]]
        with tempfile.NamedTemporaryFile("w", suffix=".json") as kubeconfig:
            json.dump(config, kubeconfig)
            kubeconfig.flush()
            run = subprocess.run([program, *spec["containers"][0]["args"], "--kubeconfig",
                                  kubeconfig.name], text=True, stdout=subprocess.PIPE,
                                 stderr=subprocess.STDOUT, check=False, timeout=60)
        phase = "Failed" if run.returncode else "Succeeded"
        CLUSTER.kubectl("-n", HOME, "patch", "pod", name, "--subresource=status", "--type=merge",
                        "-p", json.dumps({"status": {"phase": phase, "containerStatuses": [{
                            "name": spec["containers"][0]["name"], "image": "x", "imageID": "x",
                            "ready": False, "restartCount": 0, "state": {"terminated": {
                                "exitCode": run.returncode}}}]}}))
        self.assertEqual(run.returncode, 0, run.stdout)
        return run.stdout

    def test_the_definition_is_renewed_and_stays(self):
        self.define()
        CLUSTER.apply(SERVING)
        self.addCleanup(CLUSTER.kubectl, "-n", "team-a", "delete", "kms", "m", check=False)
        with tempfile.TemporaryDirectory() as folder:
            newer = pathlib.Path(folder) / "kantha-crds"
            shutil.copytree(CRDS, newer)
            for path in (newer / "files").glob("*.yaml"):
                text = path.read_text(encoding="utf-8")
                path.write_text(text.replace("shortNames: [kms]", "shortNames: [kms, kmsx]"))
            self.install("kantha-crds", newer, "default")
        self.assertEqual(self.short_names(), ["kms", "kmsx"])
        self.uninstall("kantha-crds", "default")
        self.assertIn("/m", CLUSTER.kubectl("-n", "team-a", "get", DEFINITION, "-o", "name")[0])
        self.define()  # and is taken up again
        self.assertIn("/m", CLUSTER.kubectl("-n", "team-a", "get", DEFINITION, "-o", "name")[0])

    def test_a_definition_that_was_applied_by_hand_is_taken_over_as_documented(self):
        CLUSTER.kubectl("delete", "crd", DEFINITION, "--ignore-not-found", "--wait")
        for path in (ROOT / "crds").glob("*.yaml"):
            CLUSTER.apply(path.read_text(encoding="utf-8").replace("[kms]", "[kms, older]"))
        self.assertIn("cannot be imported", self.refusal("kantha-crds", CRDS, "default"))
        self.installed.append(("kantha-crds", "default"))
        flags = ["--take-ownership"]
        if "--force-conflicts" in HELM.run("upgrade", "--help"):
            flags.append("--force-conflicts")
        HELM.run("upgrade", "--install", "kantha-crds", CRDS, *flags,
                 "--kubeconfig", CLUSTER.kubeconfig)
        self.assertEqual(self.short_names(), ["kms"])

    def short_names(self):
        return json.loads(CLUSTER.kubectl("get", "crd", DEFINITION, "-o",
                                          "jsonpath={.spec.names.shortNames}")[0])

    def test_without_keep_it_goes(self):
        self.define({"keep": False})
        self.uninstall("kantha-crds", "default")
        CLUSTER.kubectl("wait", "--for=delete", f"crd/{DEFINITION}", "--timeout=30s")

    def test_the_notes_miss_the_definition_where_it_is_missing(self):
        CLUSTER.kubectl("delete", "crd", DEFINITION, "--ignore-not-found", "--wait")
        self.assertIn("does not know ModelServing", self.install("kantha", KANTHA, HOME))
        self.define()
        self.assertNotIn("does not know ModelServing", self.install("kantha", KANTHA, HOME))

    def test_the_documented_way_out_of_a_finalizer_without_its_operator(self):
        self.define()
        CLUSTER.apply(SERVING.replace("{name: m,",
                                      "{name: m, finalizers: [serving.kantha.dev/drain],"))
        CLUSTER.kubectl("-n", "team-a", "delete", "kms", "m", "--wait=false")
        guide = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")
        command = re.search(r"kubectl (-n team-a patch kms) smollm2 (.*)", guide)
        CLUSTER.kubectl(*command[1].split(), "m", *command[2].replace("'", "").split())
        CLUSTER.kubectl("-n", "team-a", "wait", "--for=delete", "kms/m", "--timeout=10s")


def main():
    global HELM, CLUSTER  # pylint: disable=global-statement
    helms = chart.helms()
    if not helms:
        print("install_test: SKIPPED, there is no helm: run scripts/cluster build",
              file=sys.stderr)
        return 77
    CLUSTER = Cluster()
    status = CLUSTER.start()
    try:
        if status != 0:
            print(f"install_test: scripts/cluster up ended with {status}", file=sys.stderr)
            return status
        for version, binary in helms.items():
            print(f"== helm {version}", flush=True)
            HELM = chart.Helm(binary)
            if not unittest.main(exit=False).result.wasSuccessful():
                return 1
        return 0
    finally:
        CLUSTER.stop()


if __name__ == "__main__":
    sys.exit(main())
