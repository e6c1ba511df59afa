# Sourced by scripts/cluster: etcd, the API server, the controllers and the scheduler.
# shellcheck shell=bash

# kubectl with this cluster's kubeconfig.
in_cluster() { "$(binary kubectl "$version")" --kubeconfig "$run/kubeconfig" "$@"; }

# answers PATH [REGEX]: does the API server answer to the administrator, and so? A small process,
# for it is asked often while others need the processor to start.
answers() {
  local pki=$run/pki
  curl -sf --max-time 2 --cacert "$pki/ca.crt" --cert "$pki/admin.crt" --key "$pki/admin.key" \
    "$server$1" | grep -qE "${2-}"
}

start_etcd() {
  local port=$1 peer_port=$2 pki=$run/pki
  # Each address asks for a certificate: other people on the machine cannot reach the store.
  start etcd "$(binary etcd "$version")" --data-dir "$run/etcd" --unsafe-no-fsync \
    --listen-client-urls "https://127.0.0.1:$port" \
    --advertise-client-urls "https://127.0.0.1:$port" \
    --listen-peer-urls "https://127.0.0.1:$peer_port" \
    --initial-advertise-peer-urls "https://127.0.0.1:$peer_port" \
    --initial-cluster "default=https://127.0.0.1:$peer_port" \
    --client-cert-auth --trusted-ca-file "$pki/ca.crt" \
    --cert-file "$pki/etcd.crt" --key-file "$pki/etcd.key" \
    --peer-client-cert-auth --peer-trusted-ca-file "$pki/ca.crt" \
    --peer-cert-file "$pki/etcd.crt" --peer-key-file "$pki/etcd.key"
}

start_api_server() {
  local port=$1 etcd_port=$2 pki=$run/pki
  start kube-apiserver "$(binary kube-apiserver "$version")" \
    --etcd-servers="https://127.0.0.1:$etcd_port" --etcd-cafile="$pki/ca.crt" \
    --etcd-certfile="$pki/etcd.crt" --etcd-keyfile="$pki/etcd.key" \
    --bind-address="$address" --advertise-address="$address" --secure-port="$port" \
    --tls-cert-file="$pki/apiserver.crt" --tls-private-key-file="$pki/apiserver.key" \
    --client-ca-file="$pki/ca.crt" --authorization-mode=Node,RBAC \
    --enable-admission-plugins="$admission" --allow-privileged=true \
    --service-cluster-ip-range="$services" --endpoint-reconciler-type="$reconciler" \
    --service-account-issuer=https://kubernetes.default.svc \
    --service-account-key-file="$pki/sa.pub" --service-account-signing-key-file="$pki/sa.key" \
    --kubelet-client-certificate="$pki/kubelet-client.crt" \
    --kubelet-client-key="$pki/kubelet-client.key" \
    --kubelet-preferred-address-types=InternalIP \
    --requestheader-client-ca-file="$pki/front-proxy-ca.crt" \
    --requestheader-allowed-names=front-proxy \
    --requestheader-extra-headers-prefix=X-Remote-Extra- \
    --requestheader-group-headers=X-Remote-Group --requestheader-username-headers=X-Remote-User \
    --proxy-client-cert-file="$pki/front-proxy.crt" \
    --proxy-client-key-file="$pki/front-proxy.key" \
    --enable-aggregator-routing=true "${api_server_flags[@]}"
}

# start_controller PROGRAM NAME PORT FLAGS…: one of those that watch the API server.
start_controller() {
  local program=$1 name=$2 port=$3
  shift 3
  start "$program" "$(binary "$program" "$version")" --kubeconfig="$name.kubeconfig" \
    --authentication-kubeconfig="$name.kubeconfig" --authorization-kubeconfig="$name.kubeconfig" \
    --leader-elect=false --bind-address=127.0.0.1 --secure-port="$port" "$@"
}

# In: $address $services $admission $hpa_sync. Out: $server.
start_api() {
  read -ra ports < <(free_ports 5)
  server=https://$address:${ports[0]}
  # An address of loopback cannot be an endpoint: the Service `kubernetes` then has none.
  reconciler=none
  [ "$address" = 127.0.0.1 ] || reconciler=lease
  make_certificates "${services%.0/*}.1"
  start_etcd "${ports[1]}" "${ports[2]}"
  start_api_server "${ports[0]}" "${ports[1]}"
}

await_api() { wait_for 120 kube-apiserver answers /readyz; }

start_controllers() {
  start_controller kube-controller-manager controller-manager "${ports[3]}" \
    --root-ca-file=pki/ca.crt --service-account-private-key-file=pki/sa.key \
    --cluster-signing-cert-file=pki/ca.crt --cluster-signing-key-file=pki/ca.key \
    --use-service-account-credentials --horizontal-pod-autoscaler-sync-period="$hpa_sync"
  start_controller kube-scheduler scheduler "${ports[4]}"
}

# Without its ServiceAccount no pod can be made in a namespace: the controllers are at work.
await_controllers() {
  wait_for 120 kube-controller-manager answers /api/v1/namespaces/default/serviceaccounts/default
  wait_for 120 kube-scheduler curl -skf --max-time 2 "https://127.0.0.1:${ports[4]}/readyz"
}
