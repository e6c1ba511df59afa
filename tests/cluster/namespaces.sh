#!/bin/bash
# usage: unshare --mount --net --pid --fork --mount-proc bash namespaces.sh RUN
# The first process in a node's namespaces: makes them a machine of its own, then reaps orphans.
set -eu
run=$1
# The node's processes share its mounts (kubelet and runc ask for it); the host does not see them.
mount --make-rshared /
for folder in /run/containerd /run/runc /run/netns /var/lib/cni /var/lib/kubelet /var/lib/kantha \
  /var/log/containers
do
  mkdir -p $folder
  mount -t tmpfs tmpfs $folder
done
# A kubelet sets these for the whole kernel; here it sets a file that looks like them.
for name in vm/overcommit_memory vm/panic_on_oom kernel/panic kernel/panic_on_oops \
  kernel/keys/root_maxkeys kernel/keys/root_maxbytes; do
  mkdir -p "$run/sysctl/${name%/*}"
  cat /proc/sys/$name >"$run/sysctl/$name"
  mount --bind "$run/sysctl/$name" /proc/sys/$name
done
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
# So that an answer from pod to pod over the bridge finds its way back through a ClusterIP.
modprobe br_netfilter 2>/dev/null || true
echo 1 2>/dev/null >/proc/sys/net/bridge/bridge-nf-call-iptables || true
touch "$run/namespaces.ready"
# bash reaps whatever is handed to it while it waits for its own child.
while :; do
  sleep 3600
done
