# Sourced by scripts/cluster: up, down and status of one cluster.
# shellcheck shell=bash

clusters_folder() { echo "${XDG_RUNTIME_DIR:-/tmp}"; }

# The run folders of this user's clusters: those in the default place, and links to the others.
known_clusters() {
  local folder
  for folder in "$(clusters_folder)"/kantha-cluster-*; do
    [ ! -f "$folder/id" ] || (cd "$folder" && pwd -P)
  done
}

make_run_folder() {
  if [ -z "$run" ]; then
    run=$(mktemp -d "$(clusters_folder)/kantha-cluster-XXXXXX")
  else
    run=$(realpath -m "$run")
    # The path of a Unix socket has an end, and configuration files take it as it is.
    [[ $run =~ ^[A-Za-z0-9/._-]{1,80}$ ]] ||
      fail "--run: expected a path of at most 80 letters, digits and ._-, got $run"
    mkdir -p "$run"
    run=$(cd "$run" && pwd -P)
    [ -z "$(ls -A "$run")" ] || fail "--run: $run is not empty; scripts/cluster down --run $run"
  fi
  chmod 700 "$run"
  id=$(od -An -N3 -tx1 /dev/urandom | tr -d ' \n')
  echo "$id" >"$run/id"
  [[ $run == "$(clusters_folder)"/kantha-cluster-* ]] ||
    ln -sfn "$run" "$(clusters_folder)/kantha-cluster-$id"
}

needed_binaries() {
  build_binaries "$version" "${kubernetes_names[@]:0:4}"
  local names=(etcd)
  [ -z "$node" ] || names+=(kubelet)
  [ -z "$proxy" ] || names+=(kube-proxy)
  [ "$fake_nodes" -eq 0 ] || names+=(kwok)
  build_binaries "$kubernetes_version" "${names[@]}"
}

cluster_up() {
  local obstacle started tool
  for tool in openssl curl python3; do
    command -v $tool >/dev/null || fail "$tool is not installed (scripts/setup cluster)"
  done
  if [ -n "$node" ]; then
    obstacle=$(node_obstacle)
    if [ -n "$obstacle" ]; then
      say "no node can run here: $obstacle"
      exit 77
    fi
  fi
  needed_binaries
  started=${EPOCHREALTIME/[.,]/}
  make_run_folder
  trap 'abandon' EXIT
  address=127.0.0.1
  services=10.96.0.0/16
  # Whatever can start beside another does so; the waits come after.
  [ -z "$node" ] || start_namespaces
  start_api
  [ -z "$node" ] || start_containerd
  await_api
  start_controllers
  if [ -n "$node" ]; then
    await_containerd
    start_kubelet
  fi
  [ -z "$proxy" ] || start_proxy nftables
  [ "$fake_nodes" -eq 0 ] || start_fake_nodes
  await_controllers
  [ -z "$node" ] || await_node
  [ -z "$proxy" ] || await_proxy
  [ "$fake_nodes" -eq 0 ] || await_fake_nodes
  write_environment
  trap - EXIT
  local tenths=$(((${EPOCHREALTIME/[.,]/} - started) / 100000))
  say "Kubernetes $version at $server after $((tenths / 10)).$((tenths % 10)) s"
  say "for a shell: . $run/env; to end it: scripts/cluster down --run $run"
  echo "$run/kubeconfig"
}

# up failed: end what it started; the logs stay.
abandon() {
  trap - EXIT
  say "up failed; its logs are in $run"
  keep=1
  end_cluster || true
}

write_environment() {
  cat >"$run/env" <<SHELL
export KUBECONFIG=$run/kubeconfig
export PATH=$(cache_folder)/v$version:$(cache_folder)/v$kubernetes_version:\$PATH
SHELL
  cat >"$run/cluster.json" <<JSON
{"version": "$version", "server": "$server", "services": "$services", "pods": "${pods-}",
 "containerd": "$run/containerd.sock", "proxy_mode": "$(cat "$run/proxy-mode" 2>/dev/null)",
 "node": "${node:+$node_name}", "fake_nodes": $fake_nodes}
JSON
}

# Everything in the node first, in one blow: nothing in there has to be asked.
end_cluster() {
  local holder status=0
  id=$(cat "$run/id")
  holder=$(cat "$run/node.pid" 2>/dev/null || true)
  if [ -n "$holder" ] && is_ours "$holder"; then
    kill -KILL "$holder" 2>/dev/null || true
  fi
  end_processes || status=1
  # A link outlives its namespace by some milliseconds, cgroups the last process in them.
  ! ip link show "kt-$id" >/dev/null 2>&1 || ip link del "kt-$id" 2>/dev/null || true
  local tries
  for ((tries = 0; tries < 50; tries++)); do
    ! remove_cgroups || break
    sleep 0.1
  done
  [ $tries -lt 50 ] || { say "cgroups kantha-$id cannot be removed"; status=1; }
  rm -f "$run"/*.pid "$run/id" "$(clusters_folder)/kantha-cluster-$id"
  [ -n "$keep" ] || rm -rf --one-file-system "$run"
  return $status
}

# choose_cluster: $run, or the only cluster there is.
choose_cluster() {
  if [ -z "$run" ]; then
    local found
    mapfile -t found < <(known_clusters)
    [ ${#found[@]} -le 1 ] ||
      fail "there are ${#found[@]} clusters; choose one with --run: ${found[*]}"
    run=${found[0]-}
  fi
  [ ! -d "$run" ] || run=$(cd "$run" && pwd -P)
}

cluster_down() {
  local status=0 folder
  if [ -n "$all" ]; then
    for folder in $(known_clusters); do
      run=$folder
      end_cluster || status=1
    done
    return $status
  fi
  choose_cluster
  if [ -z "$run" ] || [ ! -f "$run/id" ]; then
    say "there is no cluster${run:+ in $run}"
    return 0
  fi
  end_cluster
}

cluster_restart() {
  choose_cluster
  [ -n "$run" ] && [ -f "$run/id" ] || fail "there is no cluster${run:+ in $run}"
  local names
  names=$(cd "$run" && printf '%s ' *.command)
  names=${names//.command/}
  case " $names" in
    *" namespaces "*) names=${names/namespaces /} ;;
  esac
  [[ " $names" == *" $name "* ]] || fail "restart: $name is none of $names"
  case $name in
    containerd) start_again containerd && wait_for 120 containerd containerd_answers ;;
    kubelet) restart_kubelet ;;
    *) start_again "$name" ;;
  esac
}

cluster_status() {
  local folders status=0
  if [ -n "$run" ]; then folders=("$run"); else mapfile -t folders < <(known_clusters); fi
  for run in "${folders[@]}"; do
    [ -f "$run/id" ] || { echo "no cluster in $run"; status=1; continue; }
    run=$(cd "$run" && pwd -P)
    describe_cluster || status=1
  done
  [ ${#folders[@]} -gt 0 ] || { echo "no cluster"; return 1; }
  return $status
}

describe_cluster() {
  local file name pid status=0
  echo "$run"
  [ ! -f "$run/cluster.json" ] || sed 's/^/  /' "$run/cluster.json"
  for file in "$run"/*.pid; do
    name=$(basename "$file" .pid)
    pid=$(cat "$file" 2>/dev/null || true)
    if running "$name"; then
      printf '  %-24s runs   %8d  %4d MiB\n' "$name" "$pid" \
        "$(($(sed -n 's/^VmRSS:[^0-9]*\([0-9]*\).*/\1/p' "/proc/$pid/status") / 1024))"
    else
      printf '  %-24s ENDED  %8s\n' "$name" "$pid"
      status=1
    fi
  done
  return $status
}
