"""Rights that are taken away and given back, tokens and authorities that are replaced."""

import json
import shutil
import subprocess
import time

from api_access import Refused, await_true
from faulty_world import RBAC, ROLE, SYSTEM, TestsTogether, together
from serving_state import KINDS, Serving, at_once, path_of

# Verbs that only an object which somebody else has left or is fighting about needs.
RARE = {("secrets", "get"), ("secrets", "patch"), ("services", "get"), ("serviceaccounts", "get"),
        ("serviceaccounts", "patch"), ("configmaps", "get"), ("configmaps", "patch"),
        ("poddisruptionbudgets", "get"), ("poddisruptionbudgets", "patch"), ("events", "patch"),
        ("modelservings/finalizers", "update")}
# The chart gives them for the names' sake: owned children go with their owner.
UNUSED = {("services", "delete"), ("serviceaccounts", "delete"), ("poddisruptionbudgets", "delete")}
# And those that only an object with autoscaling or a claim needs.
UNUSED |= {("modelservings/scale", "patch"), ("persistentvolumeclaims", "get"),
           ("nodes", "get")} | {
    ("horizontalpodautoscalers", verb) for verb in ("get", "create", "patch", "delete")}


def damage(one):
    """A user takes from the Service what the operator puts there."""
    one.api.merge(path_of("services", one.namespace, "m"),
                  {"metadata": {"labels": {"app.kubernetes.io/name": None}}})


def mended(one):
    live = one.api.find(path_of("services", one.namespace, "m")) or {"metadata": {}}
    return "app.kubernetes.io/name" in live["metadata"].get("labels", {})


def complete(one):
    """Two pods are settled, and nothing else is missing."""
    return one.settled(2) and {kind for kind, _ in one.end_state()} == set(KINDS)


STEPS = [(lambda s: s.create(2), complete), (damage, mended),
         (lambda s: s.scale(1), lambda s: s.settled(1)),
         (lambda s: s.delete(), lambda s: not s.end_state())]


class AccessFaults(TestsTogether):
    """Each test has operators, namespaces and rights of its own."""

    def rules(self):
        return self.world.api.get(f"{RBAC}/clusterroles/{ROLE}")["rules"]

    def verbs(self):
        return [(group, resource, verb) for rule in self.rules() for group in rule["apiGroups"]
                for resource in rule["resources"] for verb in rule["verbs"]]

    def give(self, namespace, account, missing=None):
        """The chart's rules for one namespace, but for one verb of one resource."""
        rules = [{"apiGroups": [group], "resources": [resource], "verbs": [verb]}
                 for group, resource, verb in self.verbs() if (resource, verb) != missing]
        path = f"{RBAC}/namespaces/{namespace}"
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
                "metadata": {"name": "operator"}, "rules": rules}
        try:
            self.world.api.create(f"{path}/roles", role)
        except Refused:
            self.world.api.call("PUT", f"{path}/roles/operator", role)
            return
        self.world.api.create(f"{path}/rolebindings", {
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
            "metadata": {"name": "operator"}, "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "operator"},
            "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}]})

    def outsider(self, server, account, namespaces):
        """An operator that has no right but those given here: not of the operators' namespace."""
        path = "/api/v1/namespaces/default/serviceaccounts"
        self.world.api.create(path, {"apiVersion": "v1", "kind": "ServiceAccount",
                                     "metadata": {"name": account}})
        made = self.world.api.call("POST", f"{path}/{account}/token", {
            "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
            "spec": {"expirationSeconds": 3600}})
        kubeconfig, token = self.world.kubeconfig(server, account)
        token.write_text(made["status"]["token"])
        for namespace in namespaces:
            await_true(20, f"{account} has its rights in {namespace}",
                       lambda: self.may_list(account, namespace))
        flags = [part for name in namespaces for part in ("--namespace", name)]
        return self.world.operator(kubeconfig, account, *flags)

    def may_list(self, account, namespace):
        """Whether the API server knows the rights already that it was told of."""
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {
            "user": f"system:serviceaccount:default:{account}", "resourceAttributes": {
                "namespace": namespace, "verb": "list", "resource": "serviceaccounts"}}}
        return self.world.api.call("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                                   review)["status"].get("allowed")

    @staticmethod
    def says(one, operator, words):
        """Whether a condition, an event or a line of the log about the object has the words."""
        told = json.dumps((one.live() or {}).get("status", {}))
        told += json.dumps([e.get("message") for e in one.api.items(
            f"/api/v1/namespaces/{one.namespace}/events")])
        told += "".join(line for line in operator.text().splitlines()
                        if one.namespace in line or "event" in line)
        return words in told.replace("\\", "")

    def without(self, operator, namespace, missing):
        """The object's life without one verb: each step is done, or said not to be possible."""
        one = Serving(self.world.api, namespace)
        resource, verb = missing
        words = f'cannot {verb} resource "{resource}"'
        named = None
        for number, (step, is_done) in enumerate(STEPS):
            step(one)
            # A missing right may also show after the step that would need it.
            await_true(30, lambda: f"{namespace}: step {number} without {missing} is done or "
                       f"{words!r} is said: {json.dumps((one.live() or {}).get('status'))}",
                       lambda: (named is None and self.says(one, operator, words)) or is_done(one))
            if named is None and self.says(one, operator, words):
                named = number
                self.give(namespace, operator.account)
                await_true(60, lambda: f"{namespace}: step {number} is done with the right "
                           f"{missing} again: {json.dumps((one.live() or {}).get('status'))}",
                           lambda: is_done(one))
        return named

    @together
    def test_f33_a_missing_right_is_named_and_the_rest_works(self):
        missing = [(resource, verb) for _, resource, verb in self.verbs()
                   if verb not in ("list", "watch") and (resource, verb) not in RARE | UNUSED
                   and (resource, verb) != ("configmaps", "delete")]
        self.assertGreaterEqual(len(missing), 12)
        namespaces = {pair: self.world.namespace(f"no-{pair[1]}-{pair[0].replace('/', '-')}")
                      for pair in missing}
        for pair, namespace in namespaces.items():
            self.give(namespace, "poor", pair)
        operator = self.outsider(self.world.server(), "poor",
                                 namespaces.values())
        named = {}

        def live_without(pair):
            named[pair] = self.without(operator, namespaces[pair], pair)
        try:
            at_once(live_without, missing, len(missing))
        except AssertionError as error:
            error.add_note(operator.text()[-4000:])
            raise
        self.assertTrue(operator.is_alive())
        operator.end()
        self.assertEqual([pair for pair in missing if named[pair] is None], [])

    @together
    def test_f33_lost_sight_of_a_kind_is_named_and_comes_back(self):
        """list and watch are taken from a running operator, for one kind in each namespace."""
        kinds = ["modelservings", "pods", "services", "serviceaccounts", "configmaps",
                 "poddisruptionbudgets"]
        names = {kind: self.world.namespace(f"blind-{kind}") for kind in kinds}
        names["sound"] = self.world.namespace("blind-not")
        proxy = self.world.proxy()
        for namespace in names.values():
            self.give(namespace, "blind")
        operator = self.outsider(proxy.server, "blind", names.values())
        ones = {kind: Serving(self.world.api, namespace) for kind, namespace in names.items()}
        for one in ones.values():
            one.create(1)
        for one in ones.values():
            one.await_settled(1)
        for kind in kinds:
            self.give_all_but_sight(names[kind], "blind", kind)
        proxy.control.cut()  # a watch that runs is not ended by a right that ends
        for kind in kinds:
            words = f'resource "{kind}" in API group'
            await_true(30, f"the lost sight of {kind} is named",
                       lambda: self.says(ones[kind], operator, words))
        ones["sound"].scale(2)
        ones["sound"].await_settled(2)
        for kind in kinds:
            if kind not in ("modelservings", "pods"):
                ones[kind].scale(2)
                await_true(30, f"{kind}: two pods although one kind is not seen", lambda: len(
                    self.world.api.items(path_of("pods", names[kind]))) == 2)
        requests = len(proxy.control.requests())
        time.sleep(5)
        requests = len(proxy.control.requests()) - requests
        self.assertLess(requests, 60, "no hot loop")
        for kind in kinds:
            self.give(names[kind], "blind")
        for kind in kinds:
            ones[kind].scale(3)
        for kind in kinds:
            ones[kind].await_settled(3, 60)
        operator.end()

    def give_all_but_sight(self, namespace, account, kind):
        self.give(namespace, account, (kind, "list"))
        role = self.world.api.get(f"{RBAC}/namespaces/{namespace}/roles/operator")
        role["rules"] = [rule for rule in role["rules"]
                         if not (rule["resources"] == [kind] and rule["verbs"] == ["watch"])]
        self.world.api.call("PUT", f"{RBAC}/namespaces/{namespace}/roles/operator", role)

    @together
    def test_f33_an_operator_starts_although_it_sees_nothing_of_one_namespace(self):
        blind, sound = self.world.namespace("start-blind"), self.world.namespace("start-sound")
        self.give(blind, "starter")
        self.give_all_but_sight(blind, "starter", "pods")
        self.give(sound, "starter")
        operator = self.outsider(self.world.server(),
                                 "starter", [blind, sound])
        for namespace in (blind, sound):
            Serving(self.world.api, namespace).create(1)
        Serving(self.world.api, sound).await_settled(1)
        one = Serving(self.world.api, blind)
        self.assertEqual(self.world.api.items(path_of("pods", blind)), [])
        await_true(30, "the pods that cannot be listed are named",
                   lambda: self.says(one, operator, 'resource "pods" in API group'))
        self.give(blind, "starter")
        one.await_settled(1, 60)
        operator.end()

    def refused_requests(self, proxy):
        return [r for r in proxy.control.requests() if r["status"] == 401]

    def secret(self, name):
        self.world.api.create(f"/api/v1/namespaces/{SYSTEM}/secrets", {
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
        return name

    def revoke(self, name, token):
        """Ends a token, and waits until the API server, which remembers tokens, knows."""
        self.world.api.delete(f"/api/v1/namespaces/{SYSTEM}/secrets/{name}")
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
                  "spec": {"token": token}}
        await_true(30, f"the token of {name} has ended", lambda: not self.world.api.call(
            "POST", "/apis/authentication.k8s.io/v1/tokenreviews", review)["status"].get(
                "authenticated"))

    @together
    def test_f34_a_token_is_rotated(self):
        """As a kubelet does it: the new one is in the file before the old one ends. Then without."""
        namespace, proxy = self.world.namespace("token"), self.world.proxy()
        kubeconfig, file = self.world.kubeconfig(proxy.server, "rotated")
        tokens = {name: self.world.token("rotated", self.secret(f"token-{name}"))
                  for name in "abc"}
        file.write_text(tokens["a"])
        operator = self.world.operator(kubeconfig, "rotated", "--namespace", namespace)
        one = Serving(self.world.api, namespace)
        one.create(1)
        one.await_settled(1)
        file.write_text(tokens["b"])
        time.sleep(1.2)  # files are looked at once a second
        self.revoke("token-a", tokens["a"])
        proxy.control.cut()
        one.scale(2)
        one.await_settled(2)
        self.assertEqual(self.refused_requests(proxy), [])
        self.revoke("token-b", tokens["b"])
        proxy.control.cut()
        await_true(20, "a request is refused with 401", lambda: self.refused_requests(proxy))
        self.assertTrue(operator.is_alive())
        file.write_text(tokens["c"])
        written = time.monotonic()
        one.scale(1)
        one.await_settled(1, 60)
        print(f"with a token again after {time.monotonic() - written:.1f} s", flush=True)
        ended = len(self.refused_requests(proxy))
        one.scale(2)
        one.await_settled(2)
        self.assertEqual(len(self.refused_requests(proxy)), ended)
        self.assertLess(ended, 80, "no hot loop")
        operator.end()

    def authority(self, name):
        """Another authority and a certificate of it for the API server; its bundle's path."""
        folder = self.world.path / name
        folder.mkdir()
        script = """
            openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 9 \
              -keyout ca.key -out ca.crt -subj "/CN=$1"
            openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
              -keyout server.key -subj /CN=kube-apiserver |
            openssl x509 -req -CA ca.crt -CAkey ca.key -days 9 -out server.crt -extfile <(
              echo subjectAltName=IP:127.0.0.1)"""
        subprocess.run(["bash", "-ec", script, "-", name], check=True, cwd=folder, timeout=30,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return folder

    def show(self, proxy, folder):
        proxy.control.call("POST", "/certificate", {"cert": str(folder / "server.crt"),
                                                    "key": str(folder / "server.key")})
        proxy.control.cut()

    @together
    def test_f34_the_authority_is_replaced(self):
        """Bundle first, then the server's certificate, and once in the wrong order."""
        namespace, proxy = self.world.namespace("authority"), self.world.proxy()
        bundle = self.world.path / "bundle.crt"
        shutil.copy(self.world.run / "pki/ca.crt", bundle)
        second, third = self.authority("second"), self.authority("third")
        kubeconfig, _ = self.world.kubeconfig(proxy.server, "trusting", bundle)
        operator = self.world.operator(kubeconfig, "trusting", "--namespace", namespace)
        one = Serving(self.world.api, namespace)
        one.create(1)
        one.await_settled(1)
        with open(bundle, "a", encoding="ascii") as file:
            file.write((second / "ca.crt").read_text())
        self.show(proxy, second)
        one.scale(2)
        one.await_settled(2, 20)
        self.show(proxy, third)  # nobody told the operator
        one.scale(1)
        time.sleep(3)
        self.assertTrue(operator.is_alive())
        self.assertEqual(len(self.world.api.items(path_of("pods", namespace))), 2)
        changed = time.monotonic()
        new = bundle.with_suffix(".new")
        shutil.copy(third / "ca.crt", new)
        new.rename(bundle)
        one.await_settled(1, 60)
        print(f"with a bundle again after {time.monotonic() - changed:.1f} s", flush=True)
        operator.end()
