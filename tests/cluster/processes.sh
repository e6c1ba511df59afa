# Sourced by scripts/cluster: starting, finding and ending the processes of one cluster.
# Each of them, and so all that it starts, carries KANTHA_CLUSTER_RUN=<run folder> in its
# environment: a cluster finds its processes again although a pid file is lost, and never ends a
# process that only got an old number.
# shellcheck shell=bash

# free_ports N: so many ports of 127.0.0.1 that nobody has, below those that the kernel hands out.
free_ports() {
  python3 - "$1" <<'PYTHON'
import random
import socket
import sys

held = []
while len(held) < int(sys.argv[1]):
    listener = socket.socket()
    try:
        listener.bind(("127.0.0.1", random.randrange(20000, 30000)))
        held.append(listener)
    except OSError:
        listener.close()
print(*[listener.getsockname()[1] for listener in held])
PYTHON
}

# start NAME COMMAND…: in the background with NAME.log, NAME.pid and NAME.command.
start() {
  local name=$1
  shift
  printf '%q ' "$@" >"$run/$name.command"
  (
    cd "$run"
    # Nothing of the caller's is held: neither its output (a pipe would never end) nor its locks.
    exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-
    KANTHA_CLUSTER_RUN=$run exec setsid "$@"
  ) >>"$run/$name.log" 2>&1 </dev/null &
  echo $! >"$run/$name.pid"
  disown  # its end is no news of this shell's
}

# A command that nsenter starts is its child: NAME.pid becomes the command's own number.
note_child() {
  local outer child='' tries
  outer=$(cat "$run/$1.pid")
  for ((tries = 0; tries < 600; tries++)); do
    [ -e "/proc/$outer/exe" ] || return 0  # it has ended
    child=$(cat "/proc/$outer/task/$outer/children" 2>/dev/null || true)
    [ -z "$child" ] || break
    sleep 0.05
  done
  [ -z "$child" ] || echo "${child%% *}" >"$run/$1.pid"
}

# start_again NAME: with the same flags and ports, after ending it where it still runs.
start_again() {
  local name=$1 tries command
  for ((tries = 0; tries < 70; tries++)); do
    running "$name" || break
    [ $tries -ne 0 ] || kill "$(cat "$run/$name.pid")" 2>/dev/null || true
    [ $tries -ne 50 ] || kill -KILL "$(cat "$run/$name.pid")" 2>/dev/null || true
    sleep 0.1
  done
  ! running "$name" || fail "$name does not end"
  eval "command=($(cat "$run/$name.command"))"
  start "$name" "${command[@]}"
  [ "${command[0]}" != nsenter ] || note_child "$name"
}

# is_ours PID: does this process belong to the cluster in $run?
is_ours() {
  grep -qzxF "KANTHA_CLUSTER_RUN=$run" "/proc/$1/environ" 2>/dev/null
}

running() {
  local pid
  pid=$(cat "$run/$1.pid" 2>/dev/null) && [ -n "$pid" ] && is_ours "$pid"
}

our_pids() {
  grep -lzxF "KANTHA_CLUSTER_RUN=$run" /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3 || true
}

# end_processes: SIGTERM, a second, SIGKILL, five seconds.
end_processes() {
  local pids signal tries limit=10
  for signal in TERM KILL; do
    for ((tries = 0; tries < limit; tries++)); do
      pids=$(our_pids)
      [ -n "$pids" ] || return 0
      # shellcheck disable=SC2086
      [ $tries -gt 0 ] || kill -$signal $pids 2>/dev/null || true
      sleep 0.1
    done
    limit=50
  done
  say "these processes do not end: $(echo $pids)"
  return 1
}

# wait_for SECONDS NAME COMMAND…: until the command succeeds; NAME's end, too, ends the waiting.
wait_for() {
  local deadline=$((SECONDS + $1)) name=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    if ! running "$name"; then
      say "$name has ended; the end of $run/$name.log:"
      tail -n 8 "$run/$name.log" >&2
      return 1
    fi
    if [ $SECONDS -ge $deadline ]; then
      say "$name is not ready; the end of $run/$name.log:"
      tail -n 8 "$run/$name.log" >&2
      return 1
    fi
    sleep 0.1
  done
}
