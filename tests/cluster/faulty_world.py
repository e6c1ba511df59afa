"""A control plane with fake nodes, proxies before it and operators behind them, for fault tests."""

import atexit
import calendar
import concurrent.futures
import functools
import itertools
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.request

from api_access import Api, ProxyControl, Refused, await_true

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CRD = ROOT / "crds/serving.kantha.dev_modelservings.yaml"
VERSION = "1.37.2"
SYSTEM = "kantha-system"  # where the operators' accounts and their Lease are
RBAC = "/apis/rbac.authorization.k8s.io/v1"
ROLE = "kantha-operator-test"  # the chart's rules

# Every write of an operator with its time, and nothing else.
AUDIT_POLICY = f"""
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: Metadata
  userGroups: ["system:serviceaccounts:{SYSTEM}"]
  verbs: [create, update, patch, delete, deletecollection]
- level: None
"""


def operator_program():
    """The operator of $KANTHA_BIN_DIR; a clear line and an end where it is not."""
    folder = os.environ.get("KANTHA_BIN_DIR")
    program = pathlib.Path(folder or "/nonexistent") / "kantha-operator"
    if not program.exists():
        sys.exit(f"faults_test: no kantha-operator in KANTHA_BIN_DIR={folder}: build it first")
    return program


def cluster_cache():
    default = pathlib.Path.home() / ".cache/kantha/kubernetes"
    return pathlib.Path(os.environ.get("KANTHA_CLUSTER_CACHE", default))


def need_kubernetes(version):
    folder = cluster_cache() / f"v{version}"
    if not (folder / "kube-apiserver").exists():
        sys.exit(f"faults_test: no Kubernetes in {folder}: "
                 f"scripts/cluster build --version {version} makes one")


class OperatorProcess:
    """One kantha-operator. `account` is who it is to the API server."""

    def __init__(self, account, log, process):
        self.account, self.log, self.process = account, log, process

    def text(self):
        return self.log.read_text(errors="replace")

    def page(self, path):
        """The text of a page of the operator, or None while it does not answer."""
        served = re.search(r"pages are served listen=(\S+)", self.text())
        if not served:
            return None
        try:
            with urllib.request.urlopen(f"http://{served[1]}{path}", timeout=5) as answer:
                return answer.read().decode()
        except OSError:
            return None

    def state(self):
        return json.loads(self.page("/debug/state") or "{}")

    def leads(self):
        return self.state().get("leading", False)

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1]
        user, system = fields.split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def is_alive(self):
        return self.process.poll() is None

    def kill(self, number=signal.SIGKILL, seconds=20):
        """Sends the signal and awaits the end; the exit status."""
        self.process.send_signal(number)
        return self.process.wait(seconds)

    def end(self):
        if self.is_alive():
            self.process.kill()
        self.process.wait(20)


class Proxy:
    """One fault_proxy.py; `control` tells it what to break."""

    def __init__(self, run, kubeconfig):
        self.process = subprocess.Popen(
            [sys.executable, "-B", HERE / "fault_proxy.py", "--run", run, "--kubeconfig",
             kubeconfig], stdout=subprocess.PIPE)
        told = json.loads(self.process.stdout.readline())
        self.server = told["server"]
        self.control = ProxyControl(told["control"])

    def end(self):
        self.process.terminate()
        self.process.wait(10)
        self.process.stdout.close()


@functools.cache
def shared_world():
    """The one world of all tests of a process; it ends with the process."""
    operator_program()
    need_kubernetes(VERSION)
    world = FaultyWorld()
    atexit.register(world.end)
    return world


class WorldTest(unittest.TestCase):
    """Tests in the shared world; each says how long it took."""

    @classmethod
    def setUpClass(cls):
        cls.world = shared_world()

    def setUp(self):
        began = time.monotonic()
        self.addCleanup(lambda: print(f"{time.monotonic() - began:.1f} s", end=" ", flush=True))


def together(test):
    """A test that begins when its class does, beside the others so marked: it mostly waits."""
    @functools.wraps(test)
    def joined(self):
        began = self.running.get(test.__name__)
        if began is None:
            test(self)
        else:
            began.result(300)
    joined.alone = test
    return joined


class TestsTogether(WorldTest):
    """Runs its tests marked @together at one time, unless single ones were asked for."""

    running = {}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.running = {}
        if any("." in argument for argument in sys.argv[1:]):
            return
        tests = {name: getattr(cls, name).alone for name in dir(cls)
                 if hasattr(getattr(cls, name), "alone")}
        pool = concurrent.futures.ThreadPoolExecutor(len(tests))
        cls.addClassCleanup(pool.shutdown)
        cls.running = {name: pool.submit(cls(name).run_alone, test)
                       for name, test in tests.items()}

    def run_alone(self, test):
        began = time.monotonic()
        try:
            test(self)
        finally:
            self.doCleanups()
            print(f"\n{test.__name__}: {time.monotonic() - began:.1f} s", flush=True)


class FaultyWorld:
    """Everything that one test module needs; end() leaves nothing behind."""

    def __init__(self, *options):
        self.program = operator_program()
        self.folder = tempfile.TemporaryDirectory(prefix="kw-", dir="/tmp",
                                                  ignore_cleanup_errors=True)
        self.path = pathlib.Path(self.folder.name)
        self.run = self.path / "run"
        self.audit = self.path / "audit.log"
        self.processes, self.proxies = [], []
        self.numbers = itertools.count(1)  # next() of it is safe in several threads
        policy = self.path / "audit.yaml"
        policy.write_text(AUDIT_POLICY)
        flags = [f"--audit-policy-file={policy}", f"--audit-log-path={self.audit}",
                 "--audit-log-mode=blocking"]
        try:
            subprocess.run([ROOT / "scripts/cluster", "up", "--run", self.run, "--kwok", "2",
                            *[part for flag in flags for part in ("--api-server-flag", flag)],
                            *options], check=True, timeout=150, stdout=subprocess.DEVNULL)
            self.api = Api(self.run)
            self.prepare()
        except BaseException:
            self.end()
            raise

    def end(self):
        for process in self.processes:
            process.end()
        for proxy in self.proxies:
            proxy.end()
        subprocess.run([ROOT / "scripts/cluster", "down", "--run", self.run], check=False,
                       timeout=60)
        self.folder.cleanup()

    def shell(self, *command, given=None):
        script = f'. "{self.run}/env" && exec "$@"'
        done = subprocess.run(["bash", "-c", script, "-", *command], input=given, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              timeout=60)
        if done.returncode != 0:
            raise AssertionError(f"{' '.join(map(str, command))}: {done.stderr}")
        return done.stdout

    def stop(self, program):
        """Kills one of the control plane's programs; restart() brings it back."""
        pid = int((self.run / f"{program}.pid").read_text())
        os.kill(pid, signal.SIGKILL)
        await_true(20, f"{program} has ended", lambda: has_ended(pid))

    def restart(self, program):
        subprocess.run([ROOT / "scripts/cluster", "restart", program, "--run", self.run],
                       check=True, timeout=60)

    def prepare(self):
        """The kind, the namespace of the operators, and the chart's rules for every account in it."""
        self.define()
        self.namespace(SYSTEM)
        everyone = [{"kind": "Group", "apiGroup": "rbac.authorization.k8s.io",
                     "name": f"system:serviceaccounts:{SYSTEM}"}]
        for template, path in (("clusterrole", RBAC),
                               ("lease-role", f"{RBAC}/namespaces/{SYSTEM}")):
            role = self.rendered(template)
            kind = role["kind"]
            role["metadata"] = {"name": ROLE}
            self.api.create(f"{path}/{kind.lower()}s", role)
            self.api.create(f"{path}/{kind.lower()}bindings", {
                "apiVersion": role["apiVersion"], "kind": f"{kind}Binding",
                "metadata": role["metadata"], "subjects": everyone, "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": kind,
                    "name": ROLE}})

    def server(self):
        return f"https://{self.api.host}:{self.api.port}"

    def define(self):
        self.shell("kubectl", "apply", "--server-side", "-f", CRD)
        self.shell("kubectl", "wait", "--for=condition=Established", "--timeout=30s", "-f", CRD)
        # The garbage collector looks for new kinds twice a minute, and at its start.
        self.restart("kube-controller-manager")

    def lease_names(self, *names):
        """Extends the chart's rule for its one lease to these."""
        path = f"{RBAC}/namespaces/{SYSTEM}/roles/{ROLE}"
        role = self.api.get(path)
        for rule in role["rules"]:
            if "resourceNames" in rule:
                rule["resourceNames"] = list(names)
        self.api.call("PUT", path, role)

    def rendered(self, template, *options):
        """The one document that a template of the chart makes."""
        text = self.shell("helm", "template", "kantha", ROOT / "helm/kantha", "--namespace",
                          SYSTEM, "--show-only", f"templates/{template}.yaml", "--set",
                          "leaderElection.leaseName=kantha-operator", *options)
        return json.loads(self.shell("kubectl", "create", "--dry-run=client", "-o", "json", "-f",
                                     "-", given=text))

    def namespace(self, name):
        """Makes a namespace in which pods can be made."""
        self.api.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace",
                                               "metadata": {"name": name}})
        await_true(20, f"the account of namespace {name}", lambda: self.api.find(
            f"/api/v1/namespaces/{name}/serviceaccounts/default"))
        return name

    def proxy(self):
        number = next(self.numbers)
        made = Proxy(self.run, self.path / f"proxy-{number}.kubeconfig")
        self.proxies.append(made)
        return made

    def account(self, name):
        """Makes a ServiceAccount of the operators."""
        path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts"
        try:
            self.api.create(path, {"apiVersion": "v1", "kind": "ServiceAccount",
                                   "metadata": {"name": name}})
        except Refused as refused:
            if refused.code != 409:
                raise
        return name

    def token(self, account, bound_to=None):
        """A token of an account; it ends with the Secret `bound_to` when one is named."""
        spec = {"expirationSeconds": 3600}
        if bound_to:
            spec["boundObjectRef"] = {"kind": "Secret", "apiVersion": "v1", "name": bound_to}
        made = self.api.call(
            "POST", f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/{account}/token",
            {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec})
        return made["status"]["token"]

    def kubeconfig(self, server, account, ca_file=None):
        """A kubeconfig that names files for the token and the authority; the token's file too."""
        number = next(self.numbers)
        token_file = self.path / f"token-{number}"
        self.account(account)
        token_file.write_text(self.token(account))
        path = self.path / f"operator-{number}.kubeconfig"
        path.write_text(json.dumps({
            "apiVersion": "v1", "kind": "Config", "current-context": "k",
            "contexts": [{"name": "k", "context": {"cluster": "k", "user": "k",
                                                   "namespace": SYSTEM}}],
            "clusters": [{"name": "k", "cluster": {
                "server": server, "certificate-authority": str(ca_file or self.run / "pki/ca.crt")
            }}], "users": [{"name": "k", "user": {"tokenFile": str(token_file)}}]}))
        path.chmod(0o600)
        return path, token_file

    def operator(self, kubeconfig, account, *flags):
        """Starts an operator; without flags it serves all namespaces and needs no lease."""
        number = next(self.numbers)
        log = self.path / f"{account}-{number}.log"
        with open(log, "wb") as output:
            process = subprocess.Popen(
                [self.program, "--kubeconfig", kubeconfig, "--listen", "127.0.0.1:0",
                 "--noded-image", "localhost/kantha-noded:dev", "--engine-image",
                 "localhost/kantha-engine:dev", *flags], stdout=output, stderr=output,
                stdin=subprocess.DEVNULL)
        made = OperatorProcess(account, log, process)
        self.processes.append(made)
        return made

    def writes(self, account=None, since=0.0):
        """What operators wrote and the API server accepted: audit events, oldest first."""
        out = []
        name = f"system:serviceaccount:{SYSTEM}:{account}"
        for line in self.audit.read_text().splitlines(keepends=True):
            if not line.endswith("\n"):
                break  # it is being written
            event = json.loads(line)
            if account and event["user"]["username"] != name:
                continue
            if not 200 <= event.get("responseStatus", {}).get("code", 0) < 300:
                continue
            if time_of(event) >= since:
                out.append(event)
        return sorted(out, key=time_of)


def has_ended(pid):
    """Gone, or waiting for somebody to take note of it."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def lease_path(name):
    return f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/{name}"


def time_of(event):
    """When the API server had finished with a request, in seconds since 1970."""
    text = event["stageTimestamp"].rstrip("Z")
    whole, _, part = text.partition(".")
    return calendar.timegm(time.strptime(whole, "%Y-%m-%dT%H:%M:%S")) + float(f"0.{part or 0}")
