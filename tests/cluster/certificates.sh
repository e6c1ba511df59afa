# Sourced by scripts/cluster: two authorities, one certificate for each component, kubeconfigs.
# shellcheck shell=bash

# authority NAME
authority() {
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 365 \
    -keyout "$1.key" -out "$1.crt" -subj "/CN=$1" 2>/dev/null
}

# certificate NAME SUBJECT AUTHORITY [NAMES]
certificate() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$1.key" \
    -subj "$2" 2>/dev/null |
    openssl x509 -req -CA "$3.crt" -CAkey "$3.key" -days 365 -out "$1.crt" -extfile <(
      echo "extendedKeyUsage=serverAuth,clientAuth"
      [ -z "${4-}" ] || echo "subjectAltName=$4"
    ) 2>/dev/null
}

# kubeconfig CERTIFICATE FILE: whoever has the certificate, at this cluster's API server.
kubeconfig() {
  local pki=$run/pki
  (
    umask 077
    cat >"$2" <<YAML
apiVersion: v1
kind: Config
current-context: kantha
contexts: [{name: kantha, context: {cluster: kantha, user: $1}}]
clusters:
- name: kantha
  cluster:
    server: $server
    certificate-authority-data: $(base64 -w 0 "$pki/ca.crt")
users:
- name: $1
  user:
    client-certificate-data: $(base64 -w 0 "$pki/$1.crt")
    client-key-data: $(base64 -w 0 "$pki/$1.key")
YAML
  )
}

make_certificates() {
  local service_ip=$1
  mkdir -m 700 "$run/pki"
  (
    cd "$run/pki"
    authority ca
    authority front-proxy-ca
    certificate apiserver "/CN=kube-apiserver" ca \
      "IP:127.0.0.1,IP:$address,IP:$service_ip,DNS:localhost,DNS:kubernetes,\
DNS:kubernetes.default,DNS:kubernetes.default.svc,DNS:kubernetes.default.svc.cluster.local"
    certificate etcd "/CN=etcd" ca "IP:127.0.0.1"
    certificate admin "/O=system:masters/CN=admin" ca
    certificate controller-manager "/CN=system:kube-controller-manager" ca
    certificate scheduler "/CN=system:kube-scheduler" ca
    certificate node "/O=system:nodes/CN=system:node:$node_name" ca
    certificate kube-proxy "/CN=system:kube-proxy" ca
    certificate kubelet-client "/O=system:masters/CN=apiserver-kubelet" ca
    certificate front-proxy "/CN=front-proxy" front-proxy-ca
    openssl genrsa -out sa.key 2048 2>/dev/null
    openssl rsa -in sa.key -pubout -out sa.pub 2>/dev/null
  )
  kubeconfig admin "$run/kubeconfig"
  kubeconfig controller-manager "$run/controller-manager.kubeconfig"
  kubeconfig scheduler "$run/scheduler.kubeconfig"
  kubeconfig node "$run/node.kubeconfig"
  kubeconfig kube-proxy "$run/kube-proxy.kubeconfig"
}
