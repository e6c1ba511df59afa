# Sourced by up and test: runs the stages of a script with a log each.

# CI runners start without it; the model's cache and ccache live below it.
export HOME=${HOME:-$(getent passwd "$(id -u)" | cut -d: -f6)}

# stage NAME SENTENCE COMMAND…
# Output goes to build/NAME.log. A stage that takes longer than a second says so, and shows where it
# is: on a terminal in place, elsewhere in a line every half minute. A failure shows the log's end.
stage() {
  local name=$1 sentence=$2 log=build/$1.log status=0 watcher
  shift 2
  mkdir -p build
  local started=${EPOCHREALTIME/[.,]/}
  watch_stage "$sentence" "$log" &
  watcher=$!
  # shellcheck disable=SC2064
  trap "kill $watcher 2>/dev/null" EXIT  # Ctrl-C does not reach what runs in the background.
  "$@" >"$log" 2>&1 </dev/null || status=$?
  kill "$watcher" 2>/dev/null || true
  wait "$watcher" 2>/dev/null || true
  trap - EXIT
  local ms=$(((${EPOCHREALTIME/[.,]/} - started) / 1000))
  [ ! -t 2 ] || [ "$ms" -lt 900 ] || printf '\r\033[K' >&2
  if [ "$status" -ne 0 ]; then
    echo "$sentence: failed; the end of $PWD/$log:" >&2
    tail -n 40 "$log" >&2
    return "$status"
  fi
  [ "$ms" -lt 1000 ] || printf '%s: %d.%d s\n' "$sentence" $((ms / 1000)) $((ms % 1000 / 100)) >&2
}

watch_stage() {
  local sentence=$1 log=$2 waited=0 line
  # A fifo that nobody writes to is a sleep without a child process to leave behind.
  exec {never}<> <(:)
  while kill -0 "$$" 2>/dev/null; do
    if [ -t 2 ]; then
      read -r -t 1 -u "$never" _ || true
      line=$(tail -n 1 "$log" 2>/dev/null | tr '\r' '\n' | tail -n 1)
      printf '\r\033[K%s … %s' "$sentence" "${line:0:70}" >&2
    else
      read -r -t 30 -u "$never" _ || true
      waited=$((waited + 30))
      line=$(tail -n 1 "$log" 2>/dev/null)
      printf '%s … %d s: %s\n' "$sentence" "$waited" "${line:0:90}" >&2
    fi
  done
}

# build PRESET TARGET…: configures once, then builds.
build() {
  local preset=$1
  shift
  if [ ! -f "build/$preset/build.ninja" ]; then
    stage "configure-$preset" "configuring $preset" cmake --preset "$preset" || return
  fi
  stage "build-$preset" "building $preset" ninja -C "build/$preset" "$@"
}
