"""The charts under helm/ as a test sees them: helm to render with, objects, values and schemas."""

import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

try:
    import yaml
except ImportError:
    sys.exit("the tests of the charts need PyYAML: scripts/setup test")

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHARTS = ROOT / "helm"
KANTHA = CHARTS / "kantha"
CRDS = CHARTS / "kantha-crds"
KUBERNETES = "1.37.2"  # to render for; a helm's own notion depends on how it was built


def cluster_cache():
    """Where scripts/cluster keeps what it built, one folder for each version."""
    return (os.environ.get("KANTHA_CLUSTER_CACHE")
            or os.path.expanduser("~/.cache/kantha/kubernetes"))


def found_helms():
    """Every helm that is there already, newest place first, each version once."""
    places = sorted(glob.glob(os.path.join(cluster_cache(), "*", "helm*")), reverse=True)
    places += [os.environ.get("KANTHA_HELM", ""), shutil.which("helm") or ""]
    helms = {}
    for place in places:
        if place and os.access(place, os.X_OK):
            version = subprocess.run([place, "version", "--short"], stdout=subprocess.PIPE,
                                     stderr=subprocess.DEVNULL, text=True, check=False)
            if version.returncode == 0:
                helms.setdefault(version.stdout.strip(), place)
    return helms


def helms():
    """{version: path}; built by scripts/cluster where none is there; empty if that fails, too."""
    found = found_helms()
    script = ROOT / "scripts" / "cluster"
    if not found and os.access(script, os.X_OK):
        subprocess.run([str(script), "build", "helm"], check=False, stdin=subprocess.DEVNULL)
        found = found_helms()
    return found


class Refused(Exception):
    """Helm rendered nothing; the text is what it told the user."""


class Helm:
    """One helm binary with folders of its own, so that nobody's plugins or caches play a part."""

    def __init__(self, binary):
        self.binary = binary
        self.home = tempfile.TemporaryDirectory(prefix="kantha-helm-")

    def run(self, *arguments, stdin=None):
        env = {name: value for name, value in os.environ.items()
               if not name.startswith(("HELM_", "KUBE"))}
        for kind in ("CACHE", "CONFIG", "DATA"):
            env[f"HELM_{kind}_HOME"] = os.path.join(self.home.name, kind.lower())
        run = subprocess.run([self.binary, *map(str, arguments)], input=stdin, text=True, env=env,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                             timeout=120)
        if run.returncode != 0:
            raise Refused(run.stdout + run.stderr)
        return run.stdout

    def text(self, chart=KANTHA, values=None, release="kantha", namespace="kantha-system",
             arguments=()):
        return self.run("template", release, chart, "-n", namespace, "-f", "-",
                        "--kube-version", KUBERNETES, *arguments, stdin=json.dumps(values or {}))

    def objects(self, *arguments, **options):
        return parse(self.text(*arguments, **options))

    def refusal(self, *arguments, **options):
        """What the user reads; the empty text when it rendered."""
        try:
            self.text(*arguments, **options)
        except Refused as refused:
            return str(refused)
        return ""


class StrictLoader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """YAML that refuses a key given twice, as an API server's strict decoding does."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        twice = {key for key in keys if keys.count(key) > 1}
        if twice:
            raise yaml.YAMLError(f"line {node.start_mark.line + 1}: twice: {sorted(twice)}")
        return super().construct_mapping(node, deep)


def parse(text):
    documents = yaml.load_all(text, Loader=StrictLoader)  # a SafeLoader: it makes plain data only
    return [document for document in documents if document is not None]


def of_kind(objects, *kinds):
    return [o for o in objects if o["kind"] in kinds]


def only(objects, kind, name=None):
    found = [o for o in of_kind(objects, kind) if name in (None, o["metadata"]["name"])]
    assert len(found) == 1, f"{len(found)} of {kind} {name or ''}"
    return found[0]


def names(objects):
    """{'Kind/name', 'Kind/namespace/name'}: a namespace other than the release's is shown."""
    return {identity(o) for o in objects}


def identity(obj, home="kantha-system"):
    place = obj["metadata"].get("namespace", home)
    return "/".join([obj["kind"]] + ([place] if place != home else []) + [obj["metadata"]["name"]])


def default_values(chart):
    return yaml.safe_load((chart / "values.yaml").read_text(encoding="utf-8"))


def schema(chart):
    return json.loads((chart / "values.schema.json").read_text(encoding="utf-8"))


def walk(values, path=()):
    """(path, value) of each value and each group of values, from the outside in."""
    for key, value in values.items():
        yield path + (key,), value
        if isinstance(value, dict):
            yield from walk(value, path + (key,))


def nested(path, value):
    for key in reversed(path):
        value = {key: value}
    return value


def merged(one, other):
    result = dict(one)
    for key, value in other.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


def described(path):
    """{dotted path: the text of its '# -- ' comment} of a values.yaml."""
    found, stack, text = {}, [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        if comment := re.match(r" *# (-- )?(.*)$", line):
            text = [comment[2]] if comment[1] else text + [comment[2]] if text else []
        elif key := re.match(r"( *)(\w+):", line):
            stack = stack[:len(key[1]) // 2] + [key[2]]
            if text:
                found[".".join(stack)] = " ".join(text)
            text = []
        else:
            text = []
    return found
