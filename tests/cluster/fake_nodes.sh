# Sourced by scripts/cluster: nodes without a kubelet, whose pods kwok calls Running and Ready.
# shellcheck shell=bash

# fake_node_list N: their objects. Beside a real node they are tainted, so that only pods which
# tolerate kwok.x-k8s.io/node land on them.
fake_node_list() {
  local number taints='[]'
  [ -z "$node" ] || taints='[{key: kwok.x-k8s.io/node, value: fake, effect: NoSchedule}]'
  for ((number = 0; number < $1; number++)); do
    cat <<YAML
---
apiVersion: v1
kind: Node
metadata:
  name: fake-$number
  annotations: {kwok.x-k8s.io/node: fake, node.alpha.kubernetes.io/ttl: "0"}
  labels:
    kubernetes.io/arch: amd64
    kubernetes.io/hostname: fake-$number
    kubernetes.io/os: linux
    topology.kubernetes.io/zone: zone-$((number % 3))
    type: kwok
spec: {taints: $taints}
status:
  allocatable: {cpu: "1000", memory: 4Ti, pods: "1000"}
  capacity: {cpu: "1000", memory: 4Ti, pods: "1000"}
YAML
  done
}

start_fake_nodes() {
  start kwok "$(binary kwok "$version")" --kubeconfig "$run/kubeconfig" \
    --config "$root/tests/cluster/kwok.yaml"
  fake_node_list "$fake_nodes" | in_cluster create -f - >/dev/null
}

# One list of all: `kubectl wait` asks for each node, five a second, and a hundred outlast it.
fake_nodes_are_ready() {
  local ready='{range .items[*]}{.status.conditions[?(@.type=="Ready")].status}{"\n"}{end}'
  [ "$(in_cluster get node -l type=kwok -o "jsonpath=$ready" | grep -c True)" = "$fake_nodes" ]
}

await_fake_nodes() {
  wait_for 120 kwok fake_nodes_are_ready
}
