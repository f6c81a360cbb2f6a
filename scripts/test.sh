#!/usr/bin/env bash
# Runs every test: as root, with an ordinary user that the tests make, or as the
# ordinary user who calls it (then the tests of privileged mode are skipped, and
# the closing lines say so).
#
#   scripts/test.sh [PACKAGE…]     default: all
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$(pwd -P)

reachable() { setpriv --reuid=65534 --regid=65534 --clear-groups test -r "$root/go.mod"; }

# The tests' ordinary user reads the checkout. A checkout below a folder that only
# root can walk (/root) is tested through a bind mount that nobody else sees.
if ((EUID == 0)) && ! reachable; then
  if [[ -n ${SANDBOX_TEST_REBOUND:-} ]]; then
    echo "test.sh: an ordinary user cannot read this checkout: chmod -R go+rX $SANDBOX_TEST_REBOUND" >&2
    exit 1
  fi
  mirror=/var/tmp/sandbox-checkout-$(printf %s "$root" | cksum | cut -d ' ' -f 1)
  mkdir -p "$mirror"
  trap 'rmdir "$mirror"' EXIT
  SANDBOX_TEST_REBOUND=$root unshare --mount --propagation private bash -c '
    mount --bind "$1" "$2" && cd "$2" && shift 2 && exec scripts/test.sh "$@"' bash "$root" "$mirror" "$@"
  exit
fi

scripts/need.sh go test
SANDBOX_NVIM_010=$(scripts/nvim.sh 0.10)
SANDBOX_NVIM_012=$(scripts/nvim.sh 0.12)
export SANDBOX_NVIM_010 SANDBOX_NVIM_012
# What a caller's editor or shell exports is not part of a test.
unset NVIM VIMRUNTIME VIM MYVIMRC SANDBOX
# The race detector sleeps a second before a process ends, and the tests start
# themselves again hundreds of times.
export GORACE="atexit_sleep_ms=0 ${GORACE:-}"

report=$root/.cache/testreport
CGO_ENABLED=0 go build -buildvcs=false -o "$report" ./internal/testreport

timeout=280s
[[ -z ${SANDBOX_LONG:-} ]] || timeout=60m
flags=()
((EUID == 0)) && flags+=(-no-skips)
# A test binary that is also a sandbox's init does without the race detector: it
# sleeps a second before a process ends, and an init's environment, which could
# forbid it, is empty on purpose.
run() { go test -buildvcs=false -count=1 -timeout="$timeout" -json "$@" 2>&1 || echo '{"Action":"fail","Package":"go test"}'; }
mapfile -t inits < <(grep -rlE --include='*_test.go' '\<(initproc\.Main|Reexec)\(' . | xargs -n 1 dirname | sort -u | xargs -r go list)
raced=() plain=()
for package in $(go list "${@:-./...}"); do
  if [[ " ${inits[*]} " == *" $package "* ]]; then plain+=("$package"); else raced+=("$package"); fi
done

# Results are of this machine, not only of this code: none is taken from a cache.
# What failed is the report's to say.
{
  ((${#raced[@]} == 0)) || CGO_ENABLED=1 run -race "${raced[@]}"
  ((${#plain[@]} == 0)) || run "${plain[@]}"
} | "$report" "${flags[@]}"
