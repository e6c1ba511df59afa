# Sourced by scripts/cluster: a real node, containerd, kubelet and kube-proxy in own namespaces.
#
# One process holds a network, a mount and a process namespace in which everything of the node runs.
# When it is killed, the kernel ends all processes of the node, drops its mounts and removes its
# bridge, its rules and its link to the host: nothing of this machine is changed, so nothing has to
# be put back, however the end came. What remains are cgroups and files; `down` removes those.
#
#   host 10.160+i.255.1 ─── 10.160+i.255.2 node ── bridge 10.160+i.0.1 ── pods 10.160+i.0.0/24
#   (the API server)        (kubelet, kube-proxy)                    Services 10.96+i.0.0/16
# shellcheck shell=bash

node_name=node-1
pause_image=localhost/kantha-pause:1

# Why a node cannot run here; nothing when it can.
node_obstacle() {
  local tool
  if [ "$(id -u)" -ne 0 ]; then
    echo "a kubelet needs root"
    return
  fi
  for tool in containerd runc ctr ip nsenter unshare openssl; do
    command -v $tool >/dev/null ||
      { echo "$tool is not installed (scripts/setup cluster)"; return; }
  done
  [ -x "$(plugin_folder)/bridge" ] ||
    { echo "there are no CNI plugins (scripts/setup cluster)"; return; }
  unshare --mount --net --pid --fork --kill-child --mount-proc bash -c '
    mount --make-rshared / && mount -t tmpfs tmpfs /mnt && ip link add kt-probe type bridge &&
    ip link add kt-a type veth peer name kt-b' >/dev/null 2>&1 ||
    { echo "this kernel or container makes no namespaces, mounts, bridges or links"; return; }
  local probe=/sys/fs/cgroup/memory
  [ -d $probe ] || probe=/sys/fs/cgroup
  { mkdir "$probe/kantha-probe-$$" && rmdir "$probe/kantha-probe-$$"; } 2>/dev/null ||
    echo "no cgroup can be made in $probe"
}

plugin_folder() {
  local folder
  for folder in /usr/lib/cni /opt/cni/bin /usr/libexec/cni; do
    [ ! -x $folder/bridge ] || break
  done
  echo $folder
}

in_node() { nsenter -t "$(cat "$run/node.pid")" -m -n -p -- "$@"; }

# start_in_node NAME COMMAND…: NAME.pid is the command's number as the host sees it.
start_in_node() {
  local name=$1
  shift
  start "$name" nsenter -t "$(cat "$run/node.pid")" -m -n -p -- "$@"
  note_child "$name"
}

# The first number whose networks nobody here routes yet.
free_network() {
  local number
  for ((number = 0; number < 64; number++)); do
    if [ -z "$(ip -4 route show root "10.$((160 + number)).0.0/16")" ] &&
      [ -z "$(ip -4 route show root "10.$((96 + number)).0.0/16")" ]; then
      echo $number
      return
    fi
  done
  fail "every network from 10.96.0.0/16 on is in use"
}

# Out: $address, $services and $pods; the namespaces with their link to the host.
start_namespaces() {
  local link=kt-$id init='' tries number lock
  cp "$root/tests/cluster/namespaces.sh" "$run/"
  start namespaces unshare --mount --net --pid --fork --kill-child --mount-proc \
    bash "$run/namespaces.sh" "$run"
  for ((tries = 0; tries < 600; tries++)); do
    [ ! -e "$run/namespaces.ready" ] || break
    sleep 0.05
  done
  [ -e "$run/namespaces.ready" ] || { tail -n 5 "$run/namespaces.log" >&2; fail "no namespaces"; }
  init=$(cat "/proc/$(cat "$run/namespaces.pid")/task/$(cat "$run/namespaces.pid")/children")
  echo "${init%% *}" >"$run/node.pid"

  exec {lock}>/run/lock/kantha-cluster
  flock -w 30 "$lock" || fail "another cluster does not finish making its network"
  number=$(free_network)
  address=10.$((160 + number)).255.1
  node_address=10.$((160 + number)).255.2
  pods=10.$((160 + number)).0.0/24
  services=10.$((96 + number)).0.0/16
  ip link add "$link" type veth peer name host netns "$(cat "$run/node.pid")"
  ip addr add "$address/30" dev "$link"
  ip link set "$link" up
  in_node ip addr add "$node_address/30" dev host
  in_node ip link set host up
  ip route add "$pods" via "$node_address" dev "$link"
  ip route add "$services" via "$node_address" dev "$link"
  exec {lock}>&-
}

write_containerd_config() {
  local snapshotter=overlayfs
  mkdir -p "$run/containerd" "$run/cni"
  in_node bash -c '
    cd "$1" && mkdir -p probe/{lower,upper,work,merged} &&
    mount -t overlay overlay -o lowerdir=probe/lower,upperdir=probe/upper,workdir=probe/work \
      probe/merged && umount probe/merged' - "$run/containerd" 2>/dev/null || snapshotter=native
  rm -rf "$run/containerd/probe"
  cat >"$run/containerd.toml" <<TOML
version = 2
root = "$run/containerd/root"
state = "$run/containerd/state"
[grpc]
  address = "$run/containerd.sock"
[plugins."io.containerd.internal.v1.opt"]
  path = "$run/containerd/opt"
[plugins."io.containerd.grpc.v1.cri"]
  restrict_oom_score_adj = true
  sandbox_image = "$pause_image"
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "$(plugin_folder)"
    conf_dir = "$run/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "$snapshotter"
TOML
  cat >"$run/cni/10-pods.conflist" <<JSON
{"cniVersion": "0.4.0", "name": "pods", "plugins": [
  {"type": "bridge", "bridge": "pods", "isGateway": true, "ipMasq": false, "hairpinMode": true,
   "ipam": {"type": "host-local", "dataDir": "$run/cni/leases", "ranges": [[{"subnet": "$pods"}]],
            "routes": [{"dst": "0.0.0.0/0"}]}},
  {"type": "portmap", "capabilities": {"portMappings": true}}]}
JSON
}

start_containerd() {
  write_containerd_config
  start_in_node containerd containerd -c "$run/containerd.toml"
}

containerd_answers() { timeout 5 ctr -a "$run/containerd.sock" version; }

await_containerd() {
  wait_for 120 containerd containerd_answers
  "$root/scripts/images" --pause "$run/pause.tar" --name "$pause_image" >/dev/null
  ctr -a "$run/containerd.sock" -n k8s.io images import "$run/pause.tar" >/dev/null
}

# cgroup v1 has a tree for each controller, v2 one for all; where both are, v2 is in `unified`.
cgroup_folders() {
  if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    echo "/sys/fs/cgroup/kantha-$id"
  else
    printf '%s\n' /sys/fs/cgroup/*/ | sed "s|\$|kantha-$id|"
  fi
}

make_cgroups() {
  local folder file
  for folder in $(cgroup_folders); do
    mkdir -p "$folder"
    for file in cpuset.cpus cpuset.mems; do  # on v1 an empty set holds no process
      [ ! -f "$folder/$file" ] || [ -f "$folder/cgroup.controllers" ] ||
        cat "${folder%/*}/$file" >"$folder/$file"
    done
  done
}

remove_cgroups() {
  local folder
  for folder in $(cgroup_folders); do
    [ ! -d "$folder" ] || find "$folder" -depth -type d -exec rmdir {} + 2>/dev/null || return
  done
}

start_kubelet() {
  make_cgroups
  cat >"$run/kubelet.yaml" <<YAML
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
address: $node_address
healthzBindAddress: 127.0.0.1
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: true}
  x509: {clientCAFile: $run/pki/ca.crt}
authorization: {mode: Webhook}
cgroupDriver: cgroupfs
cgroupRoot: /kantha-$id
clusterDNS: []
clusterDomain: cluster.local
containerRuntimeEndpoint: unix://$run/containerd.sock
enforceNodeAllocatable: []
evictionHard: {memory.available: 50Mi, nodefs.available: 1%, imagefs.available: 1%}
failCgroupV1: false
failSwapOn: false
imageGCHighThresholdPercent: 100
podLogsDir: $run/pod-logs
resolvConf: ""
volumePluginDir: $run/volume-plugins
YAML
  start_in_node kubelet "$(binary kubelet "$kubernetes_version")" \
    --kubeconfig="$run/node.kubeconfig" --config="$run/kubelet.yaml" --root-dir="$run/kubelet" \
    --hostname-override="$node_name" --node-ip="$node_address"
}

kubelet_answers() { in_node curl -sf --max-time 2 http://127.0.0.1:10248/healthz; }

# A kubelet ends at once when containerd does not listen yet. Like the first one, this one starts
# when containerd has answered; should it end nevertheless, it is started again, as by systemd.
restart_kubelet() {
  local tries
  wait_for 120 containerd containerd_answers
  for ((tries = 0; tries < 5; tries++)); do
    start_again kubelet
    ! wait_for 120 kubelet kubelet_answers || return 0
    ! running kubelet || return 1
    sleep 1
  done
  return 1
}

await_node() {
  wait_for 120 kubelet answers "/api/v1/nodes/$node_name?pretty=false" \
    '"type":"Ready","status":"True"'
}

# start_proxy MODE
start_proxy() {
  echo "$1" >"$run/proxy-mode"
  cat >"$run/kube-proxy.yaml" <<YAML
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: $1
bindAddress: 127.0.0.1
clientConnection: {kubeconfig: $run/kube-proxy.kubeconfig}
clusterCIDR: $pods
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
healthzBindAddress: 127.0.0.1:10256
hostnameOverride: $node_name
metricsBindAddress: 127.0.0.1:10249
nodePortAddresses: [127.0.0.0/8]
YAML
  start_in_node kube-proxy "$(binary kube-proxy "$kubernetes_version")" \
    --config="$run/kube-proxy.yaml"
}

# The API server through its Service, from the host: the way of every other ClusterIP.
proxy_works() {
  wait_for "$1" kube-proxy curl -skf --max-time 2 "https://${services%.0/*}.1/readyz"
}

await_proxy() {
  proxy_works 40 && return
  say "kube-proxy does not work with nftables here; trying iptables"
  kill "$(cat "$run/kube-proxy.pid")" 2>/dev/null || true
  mv "$run/kube-proxy.log" "$run/kube-proxy-nftables.log"
  start_proxy iptables
  proxy_works 60
}
