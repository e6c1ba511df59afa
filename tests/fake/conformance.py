#!/usr/bin/env python3
"""One list of requests, asked of the fake API server and of a real one; the answers must be equal.

    conformance.py --fake PROGRAM                 the fake against the recorded answers
    conformance.py --fake PROGRAM --real KUBECONFIG    the fake against a real server, here and now
    conformance.py --record KUBECONFIG            records a real server's answers anew

Only what a controller can notice is compared: status, reason, details, messages without numbers, the
named fields, whether the resourceVersion moved, and who owns which fields.
"""

import argparse
import base64
import http.client
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import time

RECORDED = pathlib.Path(__file__).with_name("conformance_answers.json")

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
    "metadata": {"name": "looms.test.kantha.dev"},
    "spec": {
        "group": "test.kantha.dev", "scope": "Namespaced",
        "names": {"plural": "looms", "singular": "loom", "kind": "Loom", "listKind": "LoomList"},
        "versions": [{
            "name": "v1", "served": True, "storage": True,
            "subresources": {"status": {}, "scale": {
                "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer", "minimum": 0},
                    "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                    "threads": {"type": "array", "items": {"type": "string"}},
                    "rings": {"type": "array", "x-kubernetes-list-type": "map",
                              "x-kubernetes-list-map-keys": ["name"],
                              "items": {"type": "object", "required": ["name"], "properties": {
                                  "name": {"type": "string"}, "size": {"type": "integer"}}}}}},
                "status": {"type": "object", "properties": {
                    "replicas": {"type": "integer"}, "selector": {"type": "string"},
                    "conditions": {"type": "array", "x-kubernetes-list-type": "map",
                                   "x-kubernetes-list-map-keys": ["type"],
                                   "items": {"type": "object", "required": ["type"],
                                             "properties": {"type": {"type": "string"},
                                                            "status": {"type": "string"}}}}}},
            }}},
        }],
    },
}

NS = "/api/v1/namespaces/conf"
LOOMS = "/apis/test.kantha.dev/v1/namespaces/conf/looms"
PDBS = "/apis/policy/v1/namespaces/conf/poddisruptionbudgets"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/conf/leases"
APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
JSON6902 = "application/json-patch+json"


def obj(kind, name, version="v1", **rest):
    metadata = {"name": name, **rest.pop("meta", {})}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def loom(name, **rest):
    return obj("Loom", name, "test.kantha.dev/v1", **rest)


def pod(name, image="example.com/a:1", **rest):
    spec = {"containers": [{"name": "main", "image": image}], **rest.pop("spec", {})}
    return obj("Pod", name, spec=spec, **rest)


def delete(**options):
    return {"kind": "DeleteOptions", "apiVersion": "v1", **options}


# (name, method, path, body or None, content type or None, fields to compare)
# "@KEY.uid" and "@KEY.rv" in bodies and paths stand for what an object showed last.
STEPS = [
    ("namespace", "POST", "/api/v1/namespaces", obj("Namespace", "conf"), None, ["status.phase"]),
    ("no such path", "GET", "/api/v1/namespaces/conf/quilts", None, None, []),
    ("no such group", "GET", "/apis/none.kantha.dev/v1/looms", None, None, []),
    ("get absent", "GET", f"{NS}/configmaps/a", None, None, []),
    ("get absent custom", "GET", f"{LOOMS}/a", None, None, []),
    ("create", "POST", f"{NS}/configmaps", obj("ConfigMap", "a", data={"k": "1"}), None,
     ["data", "metadata.generation", "metadata.managedFields"]),
    ("create again", "POST", f"{NS}/configmaps", obj("ConfigMap", "a", data={"k": "2"}), None, []),
    ("create with a version", "POST", f"{NS}/configmaps",
     obj("ConfigMap", "b", meta={"resourceVersion": "5"}), None, []),
    ("create of the wrong kind", "POST", f"{NS}/configmaps", obj("Secret", "b"), None,
     ["-message"]),
    ("create in no namespace", "POST", "/api/v1/namespaces/none/configmaps",
     obj("ConfigMap", "b"), None, []),
    ("create in another namespace", "POST", f"{NS}/configmaps",
     obj("ConfigMap", "b", meta={"namespace": "default"}), None, []),
    ("create without a name", "POST", f"{NS}/configmaps",
     {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}, None, []),
    ("create with a bad name", "POST", f"{NS}/configmaps", obj("ConfigMap", "A_b"), None, []),
    ("put", "PUT", f"{NS}/configmaps/a",
     obj("ConfigMap", "a", meta={"resourceVersion": "@a.rv"}, data={"k": "3"}), None, ["data"]),
    ("put with an old version", "PUT", f"{NS}/configmaps/a",
     obj("ConfigMap", "a", meta={"resourceVersion": "1"}, data={"k": "4"}), None, []),
    ("put that changes nothing", "PUT", f"{NS}/configmaps/a",
     obj("ConfigMap", "a", data={"k": "3"}), None, ["data"]),
    ("put of an absent one", "PUT", f"{NS}/configmaps/zz", obj("ConfigMap", "zz"), None, []),
    ("put with another uid", "PUT", f"{NS}/configmaps/a",
     obj("ConfigMap", "a", meta={"uid": "x"}, data={"k": "3"}), None, ["-message"]),
    ("put with another name", "PUT", f"{NS}/configmaps/a", obj("ConfigMap", "b"), None, []),
    ("merge patch", "PATCH", f"{NS}/configmaps/a", {"data": {"k": None, "l": "1"}}, MERGE,
     ["data"]),
    ("merge patch with an old version", "PATCH", f"{NS}/configmaps/a",
     {"metadata": {"resourceVersion": "1"}, "data": {"k": "9"}}, MERGE, []),
    ("merge patch of an absent one", "PATCH", f"{NS}/configmaps/zz", {"data": {}}, MERGE, []),
    ("json patch", "PATCH", f"{NS}/configmaps/a",
     [{"op": "test", "path": "/data/l", "value": "1"},
      {"op": "replace", "path": "/data/l", "value": "2"}], JSON6902, ["data"]),
    ("json patch whose test fails", "PATCH", f"{NS}/configmaps/a",
     [{"op": "test", "path": "/data/l", "value": "1"}], JSON6902, []),
    ("json patch of an absent field", "PATCH", f"{NS}/configmaps/a",
     [{"op": "remove", "path": "/data/zz"}], JSON6902, []),
    ("unknown patch type", "PATCH", f"{NS}/configmaps/a", {}, "text/plain", []),
    ("apply without a manager", "PATCH", f"{NS}/configmaps/s", obj("ConfigMap", "s"), APPLY, []),
    ("apply makes", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", meta={"labels": {"x": "1"}}, data={"a": "1", "b": "1"}), APPLY,
     ["data", "metadata.labels", "metadata.managedFields"]),
    ("apply again", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", meta={"labels": {"x": "1"}}, data={"a": "1", "b": "1"}), APPLY,
     ["data"]),
    ("apply drops a field", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", data={"a": "1"}), APPLY,
     ["data", "metadata.labels", "metadata.managedFields"]),
    ("apply by another in conflict", "PATCH", f"{NS}/configmaps/s?fieldManager=two",
     obj("ConfigMap", "s", data={"a": "2"}), APPLY, []),
    ("apply by another, equal", "PATCH", f"{NS}/configmaps/s?fieldManager=two",
     obj("ConfigMap", "s", data={"a": "1", "c": "1"}), APPLY, ["data", "metadata.managedFields"]),
    ("apply drops a shared field", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", data={"d": "1"}), APPLY, ["data", "metadata.managedFields"]),
    ("apply by force", "PATCH", f"{NS}/configmaps/s?fieldManager=one&force=true",
     obj("ConfigMap", "s", data={"c": "2", "a": "3"}), APPLY, ["data", "metadata.managedFields"]),
    ("update of an applied field", "PATCH", f"{NS}/configmaps/s?fieldManager=edit",
     {"data": {"a": "4"}}, MERGE, ["data", "metadata.managedFields"]),
    ("apply against an update", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", data={"c": "2", "a": "3"}), APPLY, []),
    ("apply with a wrong uid", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", meta={"uid": "x"}), APPLY, []),
    ("apply of an absent one with a uid", "PATCH", f"{NS}/configmaps/t?fieldManager=one",
     obj("ConfigMap", "t", meta={"uid": "11111111-1111-1111-1111-111111111111"}), APPLY, []),
    ("apply of an absent one with a version", "PATCH", f"{NS}/configmaps/t?fieldManager=one",
     obj("ConfigMap", "t", meta={"resourceVersion": "5"}), APPLY, []),
    ("apply with an old version", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", meta={"resourceVersion": "1"}, data={"c": "2"}), APPLY, []),
    ("apply with managed fields", "PATCH", f"{NS}/configmaps/s?fieldManager=one",
     obj("ConfigMap", "s", meta={"managedFields": []}), APPLY, []),
    ("immutable", "POST", f"{NS}/configmaps",
     obj("ConfigMap", "im", immutable=True, data={"a": "1"}), None, ["data", "immutable"]),
    ("immutable changed", "PATCH", f"{NS}/configmaps/im", {"data": {"a": "2"}}, MERGE, []),
    ("immutable unset", "PATCH", f"{NS}/configmaps/im", {"immutable": None}, MERGE, []),
    ("immutable labelled", "PATCH", f"{NS}/configmaps/im", {"metadata": {"labels": {"a": "b"}}},
     MERGE, ["metadata.labels"]),
    ("delete with a wrong uid", "DELETE", f"{NS}/configmaps/a",
     delete(preconditions={"uid": "x"}), None, []),
    ("delete with an old version", "DELETE", f"{NS}/configmaps/a",
     delete(preconditions={"uid": "@a.uid", "resourceVersion": "1"}), None, []),
    ("delete", "DELETE", f"{NS}/configmaps/a", delete(preconditions={"uid": "@a.uid"}), None,
     ["status", "details"]),
    ("delete again", "DELETE", f"{NS}/configmaps/a", None, None, []),

    ("custom: create", "POST", LOOMS,
     loom("l", spec={"replicas": 2, "bogus": 1, "rings": [{"name": "a", "size": 1}]},
          status={"replicas": 9}), None,
     ["spec", "status", "metadata.generation", "metadata.managedFields"]),
    ("custom: bad values", "POST", LOOMS, loom("m", spec={"replicas": -1, "color": "green"}), None,
     ["-message"]),
    ("custom: bad type", "POST", LOOMS, loom("m", spec={"replicas": "two"}), None,
     ["-message"]),
    ("custom: put without a version", "PUT", f"{LOOMS}/l", loom("l", spec={"replicas": 3}), None,
     []),
    ("custom: put ignores status", "PUT", f"{LOOMS}/l",
     loom("l", meta={"resourceVersion": "@l.rv"}, spec={"replicas": 3}, status={"replicas": 9}),
     None, ["spec", "status", "metadata.generation"]),
    ("custom: label does not count", "PATCH", f"{LOOMS}/l", {"metadata": {"labels": {"a": "b"}}},
     MERGE, ["metadata.generation", "metadata.labels"]),
    ("custom: apply status", "PATCH", f"{LOOMS}/l/status?fieldManager=st",
     loom("l", meta={"labels": {"z": "z"}}, spec={"replicas": 7},
          status={"replicas": 1, "selector": "a=b",
                  "conditions": [{"type": "A", "status": "True"}]}), APPLY,
     ["spec", "status", "metadata.generation", "metadata.labels", "metadata.managedFields"]),
    ("custom: apply status by another", "PATCH", f"{LOOMS}/l/status?fieldManager=other",
     loom("l", status={"conditions": [{"type": "B", "status": "True"}]}), APPLY,
     ["status", "metadata.managedFields"]),
    ("custom: apply status drops", "PATCH", f"{LOOMS}/l/status?fieldManager=st",
     loom("l", status={"replicas": 1, "selector": "a=b"}), APPLY, ["status"]),
    ("custom: apply status in conflict", "PATCH", f"{LOOMS}/l/status?fieldManager=st",
     loom("l", status={"conditions": [{"type": "B", "status": "False"}]}), APPLY, []),
    ("custom: apply status of an absent one", "PATCH", f"{LOOMS}/none/status?fieldManager=st",
     loom("none", status={}), APPLY, []),
    ("custom: put status", "PUT", f"{LOOMS}/l/status",
     loom("l", meta={"resourceVersion": "@l.rv"}, spec={"replicas": 8}, status={"replicas": 2}),
     None, ["spec", "status", "metadata.generation"]),
    ("custom: get scale", "GET", f"{LOOMS}/l/scale", None, None, ["spec", "status", "kind"]),
    ("custom: patch scale", "PATCH", f"{LOOMS}/l/scale", {"spec": {"replicas": 5}}, MERGE,
     ["spec", "status"]),
    ("custom: after scale", "GET", f"{LOOMS}/l", None, None,
     ["spec", "status", "metadata.generation"]),
    ("custom: apply rings", "PATCH", f"{LOOMS}/l?fieldManager=r",
     loom("l", spec={"rings": [{"name": "b", "size": 2}, {"name": "c", "size": 3}]}), APPLY,
     ["spec", "metadata.generation", "metadata.managedFields"]),
    ("custom: apply one ring less", "PATCH", f"{LOOMS}/l?fieldManager=r",
     loom("l", spec={"rings": [{"name": "c", "size": 4}]}), APPLY, ["spec"]),
    ("custom: strategic patch", "PATCH", f"{LOOMS}/l", {"spec": {"replicas": 1}},
     "application/strategic-merge-patch+json", []),
    ("custom: no such subresource", "GET", f"{LOOMS}/l/soul", None, None, []),
    ("custom: add a finalizer", "PATCH", f"{LOOMS}/l?fieldManager=f",
     loom("l", meta={"finalizers": ["test.kantha.dev/hold"]}), APPLY,
     ["metadata.finalizers", "metadata.generation"]),
    ("custom: delete with a wrong uid", "DELETE", f"{LOOMS}/l",
     delete(preconditions={"uid": "x"}), None, []),
    ("custom: apply with a wrong uid", "PATCH", f"{LOOMS}/l?fieldManager=r",
     loom("l", meta={"uid": "x"}), APPLY, ["-message"]),
    ("custom: apply status with a wrong uid", "PATCH", f"{LOOMS}/l/status?fieldManager=st&force=true",
     loom("l", meta={"uid": "x"}, status={"replicas": 1}), APPLY, []),
    ("custom: merge patch with a wrong uid", "PATCH", f"{LOOMS}/l",
     {"metadata": {"uid": "x"}}, MERGE, ["-message"]),
    ("pod: no such subresource", "GET", f"{NS}/pods/p/soul", None, None, ["-message"]),
    ("custom: delete is held", "DELETE", f"{LOOMS}/l", delete(preconditions={"uid": "@l.uid"}),
     None, ["kind", "metadata.finalizers", "metadata.deletionGracePeriodSeconds",
            "metadata.generation"]),
    ("custom: delete is held again", "DELETE", f"{LOOMS}/l", None, None,
     ["kind", "metadata.generation"]),
    ("custom: another finalizer is refused", "PATCH", f"{LOOMS}/l",
     {"metadata": {"finalizers": ["test.kantha.dev/hold", "test.kantha.dev/more"]}}, MERGE,
     ["-message"]),
    ("custom: edit while deleting", "PATCH", f"{LOOMS}/l", {"spec": {"replicas": 6}}, MERGE,
     ["spec", "metadata.generation"]),
    ("custom: the last finalizer goes", "PATCH", f"{LOOMS}/l?fieldManager=f", loom("l"), APPLY,
     ["metadata.finalizers"]),
    ("custom: it is gone", "GET", f"{LOOMS}/l", None, None, []),
    ("custom: delete at once", "POST", LOOMS, loom("n", spec={}), None, ["spec"]),
    ("custom: deleted at once", "DELETE", f"{LOOMS}/n", None, None, ["status", "details"]),

    ("pod: no account", "POST", f"{NS}/pods", pod("p", spec={"serviceAccountName": "none"}), None,
     []),
    ("pod: no containers", "POST", f"{NS}/pods", obj("Pod", "p", spec={}), None, []),
    ("account", "POST", f"{NS}/serviceaccounts", obj("ServiceAccount", "acc"), None, []),
    ("pod: create", "POST", f"{NS}/pods",
     pod("p", spec={"serviceAccountName": "acc", "automountServiceAccountToken": False,
                    "terminationGracePeriodSeconds": 40, "nodeName": "n1"}), None,
     ["spec.containers", "spec.terminationGracePeriodSeconds", "spec.restartPolicy",
      "status.phase", "metadata.generation"]),
    ("pod: image in place", "PATCH", f"{NS}/pods/p?fieldManager=x",
     obj("Pod", "p", spec={"containers": [{"name": "main", "image": "example.com/a:2"}]}),
     APPLY, ["spec.containers", "metadata.generation"]),
    ("pod: image by force", "PATCH", f"{NS}/pods/p?fieldManager=x&force=true",
     obj("Pod", "p", spec={"containers": [{"name": "main", "image": "example.com/a:2"}]}),
     APPLY, ["spec.containers", "metadata.generation"]),
    ("pod: annotation", "PATCH", f"{NS}/pods/p", {"metadata": {"annotations": {"a": "1"}}}, MERGE,
     ["metadata.annotations", "metadata.generation"]),
    ("pod: fixed field", "PATCH", f"{NS}/pods/p", {"spec": {"restartPolicy": "Never"}}, MERGE,
     ["-message"]),
    ("pod: status", "PATCH", f"{NS}/pods/p/status",
     {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}, MERGE,
     ["status.phase", "metadata.generation"]),
    ("pod: status through the door is ignored", "PATCH", f"{NS}/pods/p",
     {"status": {"phase": "Failed"}}, MERGE, ["status.phase"]),
    ("pod: delete waits", "DELETE", f"{NS}/pods/p", delete(preconditions={"uid": "@p.uid"}), None,
     ["kind", "metadata.deletionGracePeriodSeconds", "metadata.generation"]),
    ("pod: delete again", "DELETE", f"{NS}/pods/p", None, None,
     ["kind", "metadata.deletionGracePeriodSeconds"]),
    ("pod: kill", "DELETE", f"{NS}/pods/p", delete(gracePeriodSeconds=0), None, ["kind"]),
    ("pod: gone", "GET", f"{NS}/pods/p", None, None, []),
    ("pod: unscheduled", "POST", f"{NS}/pods", pod("q", spec={"serviceAccountName": "acc"}), None,
     ["status.phase"]),
    ("pod: unscheduled goes at once", "DELETE", f"{NS}/pods/q", None, None, ["kind"]),
    ("pod: unscheduled gone", "GET", f"{NS}/pods/q", None, None, []),

    ("service", "PATCH", f"{NS}/services/web?fieldManager=one",
     obj("Service", "web", spec={"selector": {"a": "b"},
                                 "ports": [{"name": "http", "port": 80, "targetPort": "api"}]}),
     APPLY, ["spec.ports", "spec.type", "spec.selector", "spec.sessionAffinity"]),
    ("service again", "PATCH", f"{NS}/services/web?fieldManager=one",
     obj("Service", "web", spec={"selector": {"a": "b"},
                                 "ports": [{"name": "http", "port": 80, "targetPort": "api"}]}),
     APPLY, ["spec.ports"]),
    ("service selector replaced", "PATCH", f"{NS}/services/web?fieldManager=one",
     obj("Service", "web", spec={"selector": {"c": "d"},
                                 "ports": [{"name": "http", "port": 80, "targetPort": "api"}]}),
     APPLY, ["spec.selector"]),
    ("service: delete", "DELETE", f"{NS}/services/web", None, None, ["kind"]),
    ("budget", "PATCH", f"{PDBS}/b?fieldManager=one",
     obj("PodDisruptionBudget", "b", "policy/v1",
         spec={"maxUnavailable": 1, "selector": {"matchLabels": {"a": "b"}}}), APPLY,
     ["spec", "metadata.generation"]),
    ("budget changed", "PATCH", f"{PDBS}/b?fieldManager=one",
     obj("PodDisruptionBudget", "b", "policy/v1",
         spec={"maxUnavailable": 2, "selector": {"matchLabels": {"a": "b"}}}), APPLY,
     ["spec", "metadata.generation"]),
    ("lease", "POST", LEASES,
     obj("Lease", "le", "coordination.k8s.io/v1", spec={"holderIdentity": "a"}), None, ["spec"]),
    ("lease: stale put", "PUT", f"{LEASES}/le",
     obj("Lease", "le", "coordination.k8s.io/v1", meta={"resourceVersion": "1"},
         spec={"holderIdentity": "b"}), None, []),
    ("lease: put", "PUT", f"{LEASES}/le",
     obj("Lease", "le", "coordination.k8s.io/v1", meta={"resourceVersion": "@le.rv"},
         spec={"holderIdentity": "b"}), None, ["spec"]),

    ("list: first page", "GET", f"{NS}/configmaps?limit=1&labelSelector=page%3Dyes", None, None,
     ["kind", "items"]),
    ("list: make", "POST", f"{NS}/configmaps", obj("ConfigMap", "l1", meta={"labels": {
        "page": "yes"}}), None, []),
    ("list: make another", "POST", f"{NS}/configmaps", obj("ConfigMap", "l2", meta={"labels": {
        "page": "yes"}}), None, []),
    ("list: a page", "GET", f"{NS}/configmaps?limit=1&labelSelector=page%3Dyes", None, None,
     ["kind", "items", "+continue"]),
    ("list: a set selector", "GET", f"{NS}/configmaps?labelSelector=page+in+(yes,no)", None, None,
     ["items"]),
    ("list: a negative selector", "GET", f"{NS}/configmaps?labelSelector=page,page!%3Dyes", None,
     None, ["items"]),
    ("list: by name", "GET", f"{NS}/configmaps?fieldSelector=metadata.name%3Dl1", None, None,
     ["items"]),
    ("list: bad token", "GET", f"{NS}/configmaps?limit=1&continue=zz", None, None, ["-message"]),
    ("list: in the future", "GET", f"{NS}/configmaps?resourceVersion=900000000", None, None,
     ["-message"]),
    ("list: match without a version", "GET", f"{NS}/configmaps?resourceVersionMatch=Exact", None,
     None, []),
    ("list: version is no number", "GET", f"{NS}/configmaps?resourceVersion=abc", None, None,
     ["-message"]),
    ("watch list without its options", "GET",
     f"{NS}/configmaps?watch=true&sendInitialEvents=true", None, None, []),

    ("namespace terminates", "DELETE", "/api/v1/namespaces/conf", None, None,
     ["kind", "status.phase"]),
    ("create while it terminates", "POST", f"{NS}/configmaps", obj("ConfigMap", "late"), None,
     []),
]


class Server:
    """A connection to one API server and what its objects showed last."""

    def __init__(self, host, port, context=None):
        self.host, self.port, self.context = host, port, context
        self.seen = {}

    def ask(self, method, path, body, content_type):
        if self.context:
            link = http.client.HTTPSConnection(self.host, self.port, context=self.context,
                                               timeout=30)
        else:
            link = http.client.HTTPConnection(self.host, self.port, timeout=30)
        headers = {"User-Agent": "conformance/1", "Accept": "application/json",
                   "Content-Type": content_type or "application/json"}
        text = None if body is None else json.dumps(body)
        link.request(method, path, text, headers)
        answer = link.getresponse()
        data = answer.read()
        link.close()
        try:
            return answer.status, json.loads(data)
        except ValueError:
            return answer.status, data.decode(errors="replace").strip()

    def resolve(self, value):
        text = json.dumps(value)

        def place(match):
            return self.seen.get(match[1], {}).get(match[2], "unknown")

        return json.loads(re.sub(r"@([a-z0-9]+)\.(uid|rv)", place, text))


def plain(message):
    message = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}", "UID", message)
    message = re.sub(r" at \d{4}-\d\d-\d\dT[\d:]+Z", "", message)
    return re.sub(r"\d+", "N", message)


def without_dots(fields):
    return {k: without_dots(v) for k, v in sorted(fields.items()) if k != "."}


def owners(managed):
    found = [{"manager": m["manager"], "operation": m["operation"],
              "subresource": m.get("subresource", ""), "fields": without_dots(m["fieldsV1"])}
             for m in managed or []]
    return sorted(found, key=lambda m: (m["manager"], m["operation"], m["subresource"]))


def field(answer, path):
    at = answer
    for name in path.split("."):
        at = at.get(name) if isinstance(at, dict) else None
    if path == "metadata.managedFields":
        return owners(at)
    if path == "items":
        return [item["metadata"]["name"] for item in at or []]
    if path == "spec.containers":
        return [{k: c.get(k) for k in ("name", "image", "imagePullPolicy")} for c in at or []]
    return scrubbed(at)


def scrubbed(value):
    if isinstance(value, dict):
        return {k: "UID" if k == "uid" else scrubbed(v) for k, v in value.items()}
    return value


def digest(server, status, answer, fields):
    result = {"http": status}
    if not isinstance(answer, dict):
        return {**result, "text": answer}
    if answer.get("kind") == "Status" and answer.get("status") == "Failure":
        details = answer.get("details") or {}
        result |= {"reason": answer.get("reason"), "code": answer.get("code")}
        result["message"] = plain(answer.get("message", ""))
        result["details"] = {k: details.get(k) for k in ("name", "kind", "group")}
        result["causes"] = sorted((c.get("reason", ""), c.get("field", ""))
                                  for c in details.get("causes") or [])
        if "-message" in fields:
            result.pop("message")
            result.pop("causes")
    else:
        for path in fields:
            if path == "+continue":
                result[path] = bool((answer.get("metadata") or {}).get("continue"))
            elif not path.startswith("-"):
                result[path] = field(answer, path)
    metadata = answer.get("metadata") or {}
    if metadata.get("name") and answer.get("kind") != "Status":
        last = server.seen.get(metadata["name"], {})
        result["moved"] = last.get("rv") != metadata.get("resourceVersion")
        server.seen[metadata["name"]] = {"uid": metadata.get("uid", ""),
                                         "rv": metadata.get("resourceVersion", "")}
    return result


def play(server):
    server.ask("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", CRD, None)
    for _ in range(100):
        if server.ask("GET", "/apis/test.kantha.dev/v1/looms", None, None)[0] == 200:
            break
        time.sleep(0.1)
    results = {}
    for name, method, path, body, content_type, fields in STEPS:
        body = server.resolve(body)
        kind = content_type
        status, answer = server.ask(method, path, body, kind)
        results[name] = json.loads(json.dumps(digest(server, status, answer, fields)))
    server.ask("DELETE", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
               "looms.test.kantha.dev", None, None)
    return results


def value_of(text, key):
    match = re.search(rf"\b{key}:\s*\"?([^\"\s,}}]+)", text)
    return match[1] if match else None


def real_server(kubeconfig):
    """A kubeconfig with certificates as files or as data; read without a YAML library."""
    text = pathlib.Path(kubeconfig).read_text(encoding="utf-8")
    files = {}
    for key in ("certificate-authority", "client-certificate", "client-key"):
        files[key] = value_of(text, key)
        if data := value_of(text, key + "-data"):
            with tempfile.NamedTemporaryFile("wb", delete=False, suffix=".pem") as out:
                out.write(base64.b64decode(data))
            files[key] = out.name
    context = ssl.create_default_context(cafile=files["certificate-authority"])
    context.check_hostname = False
    context.load_cert_chain(files["client-certificate"], files["client-key"])
    host, port = re.search(r"https://([^:/]+):(\d+)", value_of(text, "server")).groups()
    return Server(host, int(port), context)


def differences(expected, got):
    for name, want in expected.items():
        have = got.get(name)
        if have == want:
            continue
        for key in sorted(set(want) | set(have or {})):
            if (have or {}).get(key) != want.get(key):
                yield (f"{name}: {key}\n    real: {json.dumps(want.get(key))}"
                       f"\n    fake: {json.dumps((have or {}).get(key))}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--fake")
    parser.add_argument("--real")
    parser.add_argument("--record")
    args = parser.parse_args()
    if args.record:
        answers = play(real_server(args.record))
        RECORDED.write_text(json.dumps(answers, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return 0
    expected = (play(real_server(args.real)) if args.real
                else json.loads(RECORDED.read_text(encoding="utf-8")))
    program = args.fake or os.path.join(os.environ["KANTHA_BIN_DIR"], "kantha-fake-api-server")
    with subprocess.Popen([program], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        host, port = line.split()[-1].rsplit(":", 1)
        try:
            got = play(Server(host, int(port)))
        finally:
            process.terminate()
    found = list(differences(expected, got))
    print("\n".join(found))
    print(f"{len(STEPS)} requests, {len(found)} differences", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
