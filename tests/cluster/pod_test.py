#!/usr/bin/env python3
"""One pod of the operator's shape on a real kubelet, without an operator.

Run by `scripts/e2e pod` and by ctest as e2e_cluster_pod. Ends with 77 where no node can run.
"""

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import urllib.error
import urllib.request

from real_cluster import QUESTION, ROOT, Failure, RealCluster, Step, answer_of, expect_paris

TOKEN = "a-token-for-this-test"
LONG = QUESTION | {"max_tokens": 300, "stream": True, "ignore_eos": True, "messages": [
    {"role": "user", "content": "Tell me a long story about a river."}]}


class PodSteps:

    def __init__(self, cluster):
        self.cluster = cluster
        self.kubectl = cluster.kubectl

    def all_steps(self, programs):
        with Step("images imported"):
            self.cluster.bring_images(programs)
            self.cluster.bring_models()
        with Step("the pod is ready"):
            self.kubectl("apply", "-f", str(ROOT / "tests/cluster/pod.yaml"))
            self.kubectl("wait", "--for=condition=Ready", "pod/smollm2-0", "--timeout=120s",
                         seconds=130)
        with Step("a chat through the Service's ClusterIP"):
            expect_paris(*self.chat())
        with Step("the admin API knows its token"):
            self.admin_asks_for_the_token()
        with Step("a new engine image: noded, pod and address stay"):
            self.swap_the_image()
        with Step("a new engine configuration without a new pod"):
            self.push_a_configuration()
        with Step("kubelet and containerd killed and back: the pod did not notice"):
            self.kill_the_node_agents()
        with Step("deleted while it answers: the answer comes to its end"):
            self.delete_while_it_answers()

    def pod(self):
        return json.loads(self.kubectl("get", "pod", "smollm2-0", "-o", "json"))

    def address(self):
        return self.pod()["status"]["podIP"]

    def chat(self):
        address = self.kubectl("get", "service", "smollm2", "-o", "jsonpath={.spec.clusterIP}")
        url = f"http://{address}/v1/chat/completions"
        return self.cluster.await_true(
            10, "the ClusterIP answers",
            lambda: (answer := answer_of(url, QUESTION))[0] == 200 and answer)

    def admin(self, method, path, body=None, token=TOKEN):
        """(status, text)"""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"http://{self.address()}:8001/admin/v1/{path}", body,
                                         headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=40) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def admin_asks_for_the_token(self):
        for token in (None, "another"):
            if (status := self.admin("GET", "state", token=token)[0]) != 401:
                raise Failure(f"GET state with the token {token} got {status}, expected 401")
        status, text = self.admin("GET", "state")
        if status != 200:
            raise Failure(f"GET state with the token got {status} {text}")

    def containers(self, pod):
        return {c["name"]: (c["restartCount"], c["ready"], c["image"])
                for c in pod["status"]["containerStatuses"]}

    def swap_the_image(self):
        before = self.pod()
        # A label, for one image under two names would be called by the first of them.
        self.cluster.bring_images(["--tag", "next", "--label", "step=next", "kantha-engine"])
        self.kubectl("patch", "pod", "smollm2-0", "--type=strategic", "-p", json.dumps(
            {"spec": {"containers": [{"name": "engine", "image": "localhost/kantha-engine:next"}]}}))
        self.cluster.await_true(60, "the engine runs from its new image", lambda: (
            lambda c: c["engine"][0] == 1 and c["engine"][1] and c["engine"][2].endswith(":next"))(
                self.containers(self.pod())))
        after = self.pod()
        if self.containers(after)["noded"] != self.containers(before)["noded"]:
            raise Failure(f"noded did not stay as it was: {self.containers(after)}")
        for field in ("podIP", "startTime"):
            if after["status"][field] != before["status"][field]:
                raise Failure(f"{field} changed")
        self.cluster.await_true(60, "the pod is ready again", self.answers)

    def answers(self):
        status, _ = answer_of(f"http://{self.address()}:8000/v1/chat/completions", QUESTION)
        return status == 200

    def push_a_configuration(self):
        pod = self.pod()
        config = json.loads(pod["metadata"]["annotations"]["serving.kantha.dev/engine-config"])
        config["engine"]["maxNumSeqs"] = 8
        text = json.dumps(config).encode()
        status, answer = self.admin("PUT", "engine-config", text)
        if status != 202:
            raise Failure(f"PUT engine-config got {status} {answer}, expected 202")
        digest = hashlib.sha256(text).hexdigest()
        self.cluster.await_true(60, "an engine with the new configuration",
                                lambda: digest in self.admin("GET", "state")[1])
        self.cluster.await_true(60, "the pod answers again", self.answers)
        if self.containers(self.pod()) != self.containers(pod):
            raise Failure(f"containers were restarted: {self.containers(self.pod())}")

    def kill_the_node_agents(self):
        before = self.containers(self.pod())
        run = self.cluster.run
        for name in ("kubelet", "containerd"):
            os.kill(int((run / f"{name}.pid").read_text()), signal.SIGKILL)
        if not self.answers():
            raise Failure("without kubelet and containerd the pod does not answer")
        for name in ("containerd", "kubelet"):
            subprocess.run([ROOT / "scripts/cluster", "restart", name, "--run", run], check=True,
                           timeout=600)
        # A log goes through both of them.
        self.cluster.await_true(180, "the node works again", lambda: "noded" in self.kubectl(
            "logs", "smollm2-0", "-c", "noded", check=False))
        if self.containers(self.pod()) != before:
            raise Failure(f"containers were restarted: {self.containers(self.pod())}")

    def delete_while_it_answers(self):
        url = f"http://{self.address()}:8000/v1/chat/completions"
        request = urllib.request.Request(url, json.dumps(LONG).encode(),
                                         {"Content-Type": "application/json"})
        ended = []
        with urllib.request.urlopen(request, timeout=60) as stream:
            stream.readline()
            deletion = threading.Thread(target=lambda: ended.append(self.kubectl(
                "delete", "pod", "smollm2-0", "--timeout=70s", seconds=80)))
            deletion.start()
            lines = [line.strip() for line in stream if line.strip()]
            deletion.join()
        if lines[-1] != b"data: [DONE]":
            raise Failure(f"the stream ended with {lines[-1]!r}")
        if not ended:
            raise Failure("the pod was not deleted within 70 s")


def main():
    with RealCluster("--proxy") as cluster:
        PodSteps(cluster).all_steps(sys.argv[1:])
    print("e2e pod passed", flush=True)


if __name__ == "__main__":
    main()
