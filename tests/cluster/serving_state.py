"""One ModelServing as the tests use it: its edits, and all of its namespace as a comparable value."""

import concurrent.futures
import json
import re

from api_access import SERVINGS, await_true

# Where the objects of a namespace are that an operator or a user makes.
KINDS = {
    "serviceaccounts": "/api/v1", "configmaps": "/api/v1", "services": "/api/v1",
    "secrets": "/api/v1", "pods": "/api/v1", "poddisruptionbudgets": "/apis/policy/v1",
    "modelservings": SERVINGS}
OWN = {("serviceaccounts", "default"), ("configmaps", "kube-root-ca.crt")}  # every namespace's own
# What is another one for each object, or comes from others than operator and user.
VARYING = {
    "metadata": ("uid", "resourceVersion", "creationTimestamp", "managedFields", "namespace",
                 "selfLink", "generateName"),
    "services": ("clusterIP", "clusterIPs"), "pods": ("nodeName",)}
NOTE = "example.com/note"  # the annotation by which a user's edit of a child is known


def path_of(kind, namespace, name=""):
    return f"{KINDS[kind]}/namespaces/{namespace}/{kind}" + (f"/{name}" if name else "")


def serving(name="m", replicas=1, **spec):
    return {"apiVersion": "serving.kantha.dev/v1alpha1", "kind": "ModelServing",
            "metadata": {"name": name, "labels": {"team": "blue"}},
            "spec": {"model": {"source": {"hostPath": "/models/m.gguf"}}, "replicas": replicas,
                     "drain": {"timeoutSeconds": 5}} | spec}


class Serving:
    """The ModelServing `m` of a namespace, which a user makes, changes and deletes."""

    def __init__(self, api, namespace):
        self.api, self.namespace = api, namespace
        self.path = path_of("modelservings", namespace, "m")

    def create(self, replicas=1):
        self.api.create(path_of("modelservings", self.namespace), serving(replicas=replicas))

    def scale(self, replicas):
        self.api.merge(self.path, {"spec": {"replicas": replicas}})

    def merge(self, change):
        self.api.merge(self.path, change)

    def delete(self):
        self.api.delete(self.path)

    def live(self):
        return self.api.find(self.path)

    def condition(self, kind):
        live = self.live() or {}
        return next((c for c in live.get("status", {}).get("conditions", [])
                     if c["type"] == kind), {})

    def settled(self, replicas):
        """Whether all is done that the object asks for, and the operator has said so."""
        live = self.live()
        status = (live or {}).get("status", {})
        if status.get("observedGeneration") != (live or {}).get("metadata", {}).get("generation"):
            return False
        pods = [pod for pod in self.api.items(path_of("pods", self.namespace))
                if pod["metadata"]["name"].startswith("m-")]
        return (len(pods) == replicas == status.get("readyReplicas", 0) == status.get("replicas")
                and self.condition("Progressing").get("reason") == "Complete"
                and not any("karpenter.sh/do-not-disrupt" in p["metadata"].get("annotations", {})
                            for p in pods))

    def await_settled(self, replicas, seconds=30):
        """Once half the time is over, pods that the fake kubelet forgot are shown to it again."""
        try:
            await_true(seconds / 2, "", lambda: self.settled(replicas))
        except AssertionError:
            print(f"{self.namespace}/m is late: {self.summary()}", flush=True)
            self.nudge()
            await_true(seconds / 2, lambda: f"{self.namespace}/m with {replicas} pods is settled; "
                       f"{self.summary()}", lambda: self.settled(replicas))

    def summary(self):
        """What a reader of a failed test needs of the object and its pods, on one line."""
        live = self.live() or {}
        status = live.get("status", {})
        conditions = {c["type"]: c.get("reason") for c in status.get("conditions", [])}
        pods = [(p["metadata"]["name"], p["status"].get("phase"), p["spec"].get("nodeName"),
                 p["status"].get("podIP"), p["metadata"].get("deletionTimestamp"))
                for p in self.api.items(path_of("pods", self.namespace))]
        return (f"generation {live.get('metadata', {}).get('generation')}, seen "
                f"{status.get('observedGeneration')}, ready {status.get('readyReplicas')}, "
                f"{conditions}, pods {pods}")

    def nudge(self):
        """kwok keeps what it has to do under a pod's name, and may lose that of a quick successor."""
        for pod in self.api.items(path_of("pods", self.namespace)):
            ends = "deletionTimestamp" in pod["metadata"]
            if pod["spec"].get("nodeName") and (ends or "podIP" not in pod["status"]):
                print(f"kwok forgot {self.namespace}/{pod['metadata']['name']}", flush=True)
                self.api.merge(path_of("pods", self.namespace, pod["metadata"]["name"]),
                               {"metadata": {"annotations": {"example.com/shown": "again"}}})

    def await_gone(self, seconds=30):
        await_true(seconds, lambda: f"nothing is left in {self.namespace}: "
                   f"{sorted(self.end_state())}", lambda: not self.end_state())

    def children(self):
        """(kind, object) of everything in the namespace that is the user's or the operator's."""
        for kind in KINDS:
            for found in self.api.items(path_of(kind, self.namespace)):
                if (kind, found["metadata"]["name"]) not in OWN:
                    yield kind, found

    def note_children(self):
        """A user annotates what is there now. The result is for missing_notes()."""
        noted = []
        for kind, found in list(self.children()):
            if found["metadata"].get("deletionTimestamp"):
                continue
            name = found["metadata"]["name"]
            self.api.merge(path_of(kind, self.namespace, name),
                           {"metadata": {"annotations": {NOTE: "keep"}}})
            noted.append((kind, name, found["metadata"]["uid"]))
        return noted

    def missing_notes(self, noted):
        """Those of the annotated objects that are still there but lost the user's annotation."""
        lost = []
        for kind, name, uid in noted:
            live = self.api.find(path_of(kind, self.namespace, name))
            if live and live["metadata"]["uid"] == uid:
                if live["metadata"].get("annotations", {}).get(NOTE) != "keep":
                    lost.append((kind, name))
        return lost

    def end_state(self):
        """{(kind, name): object} without what differs between two runs; owners are checked ones."""
        found = with_plain_ordinals(list(self.children()))
        uid = next((o["metadata"]["uid"] for k, o in found if k == "modelservings"), None)
        return {(kind, one["metadata"]["name"]): comparable(kind, one, uid)
                for kind, one in found}


def with_plain_ordinals(children):
    """Pods of `m` get the names of a fleet that was never scaled in: which of them went is by what
    they held and where they were, and is no difference between two runs."""
    pods = [one for kind, one in children if kind == "pods" and re.fullmatch(
        r"m-\d+", one["metadata"]["name"])]
    new = {}
    for number, pod in enumerate(sorted(pods, key=lambda p: int(p["metadata"]["name"][2:]))):
        name = pod["metadata"]["name"]
        new[name] = json.loads(re.sub(rf"\b{name}\b", f"m-{number}", json.dumps(pod)))
        labels = new[name]["metadata"].get("labels", {})
        if labels.get("serving.kantha.dev/ordinal") == name[2:]:
            labels["serving.kantha.dev/ordinal"] = str(number)
    return [(kind, new.get(one["metadata"]["name"], one) if kind == "pods" else one)
            for kind, one in children]


# How a pod came to its revision; what it was told and runs is compared.
HISTORY = ("born-revision", "retold-from", "verified-revision", "spared",
           "image-told-at-restart", "told-at-restart")


def comparable(kind, thing, owner_uid):
    meta, spec = thing["metadata"], thing.get("spec", {})
    edits = [entry["fieldsV1"] for entry in meta.get("managedFields", [])
             if entry["manager"] == "user"]
    for key in VARYING["metadata"]:
        meta.pop(key, None)
    for key in VARYING.get(kind, ()):
        spec.pop(key, None)
    meta.get("annotations", {}).pop(NOTE, None)
    if kind == "pods":
        for name in HISTORY:
            meta.get("annotations", {}).pop("serving.kantha.dev/" + name, None)
        meta["labels"].pop("topology.kubernetes.io/zone", None)  # of the node that it got
    if not meta.get("annotations"):
        meta.pop("annotations", None)
    for owner in meta.get("ownerReferences", []):
        owner["uid"] = "its ModelServing" if owner["uid"] == owner_uid else "SOMEBODY ELSE"
    if kind == "secrets":
        thing["data"] = {key: len(value) for key, value in thing["data"].items()}
    if kind in ("pods", "poddisruptionbudgets"):
        thing.pop("status", None)
    for condition in thing.get("status", {}).get("conditions", []):
        condition.pop("lastTransitionTime", None)
        condition.pop("observedGeneration", None)
    # What was good before and since when, and how it came to be so, may differ.
    for key in ("observedGeneration", "rollout", "decisions", "taking"):
        thing.get("status", {}).pop(key, None)
    meta.pop("generation", None)
    for volume in spec.get("volumes", []) if kind == "pods" else []:
        volume.pop("projected", None)
    if kind == "modelservings":
        thing["edits of the user"] = [{k: v for k, v in e.items() if k != "f:metadata"}
                                      for e in edits]
    return thing


def difference(is_, was):
    """Words for the first things in which two end states differ."""
    out = []
    for key in sorted(set(is_) | set(was)):
        if key not in is_ or key not in was:
            out.append(f"{key} is {'there' if key in is_ else 'not there'}")
        elif is_[key] != was[key]:
            out += [f"{key}.{field}: {json.dumps(is_[key].get(field))[:900]} is not "
                    f"{json.dumps(was[key].get(field))[:900]}"
                    for field in set(is_[key]) | set(was[key])
                    if is_[key].get(field) != was[key].get(field)]
    return "\n".join(out[:6])


def at_once(function, cases, workers=6):
    """function(case) for all cases, some at a time; an AssertionError with all failures."""
    failures = []
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        running = {pool.submit(function, case): case for case in cases}
        for done in concurrent.futures.as_completed(running):
            error = done.exception()
            if error:
                failures.append(f"{running[done]}: {error}")
    if failures:
        raise AssertionError(f"{len(failures)} of {len(running)} cases failed\n" +
                             "\n".join(failures))
