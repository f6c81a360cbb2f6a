#!/usr/bin/env bash
# Brings what a make target needs and this machine lacks. With everything there
# it does nothing, so that the targets work offline after their first run.
#
#   scripts/need.sh THING…     THING is one of the functions need_* below
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
bin=$root/.tools/bin

golangci_lint=2.15.0
gofumpt=0.12.0
stylua=2.5.2

die() { printf 'need.sh: %s\n' "$*" >&2; exit 1; }

# packages COMMAND=PACKAGE…: installs the packages whose command is not there.
packages() {
  local pair missing=()
  for pair; do
    command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}")
  done
  ((${#missing[@]})) || return 0
  command -v apt-get >/dev/null || die "install ${missing[*]} yourself: this machine has no apt-get"
  ((EUID == 0)) || die "as root: apt-get install ${missing[*]}"
  printf 'need.sh: installing %s\n' "${missing[*]}" >&2
  apt-get -qq update
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install "${missing[@]}" >/dev/null
}

# The race detector is linked in C; the tests hand patches to git and patch, and
# make an ordinary user; programs in Python and attr do what a shell cannot.
need_test() {
  packages gcc=gcc git=git patch=patch useradd=passwd bwrap=bubblewrap python3=python3 setfattr=attr
  [[ -e /usr/include/stdlib.h ]] || {
    ((EUID == 0)) || die "as root: apt-get install libc6-dev"
    apt-get -qq update
    apt-get -qq -y --no-install-recommends install libc6-dev >/dev/null
  }
}

need_bench() { packages bwrap=bubblewrap useradd=passwd; }

need_go() {
  command -v go >/dev/null || die "Go is not installed; version $(sed -n 's/^go //p' "$root/go.mod") or newer is needed to build"
}

need_golangci_lint() {
  [[ $("$bin/golangci-lint" --version 2>/dev/null) == *" $golangci_lint "* ]] && return
  echo "need.sh: building golangci-lint $golangci_lint (a few minutes, once)" >&2
  GOBIN=$bin CGO_ENABLED=0 go install "github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v$golangci_lint"
}

need_gofumpt() {
  [[ $("$bin/gofumpt" --version 2>/dev/null) == *"v$gofumpt "* ]] && return
  GOBIN=$bin CGO_ENABLED=0 go install "mvdan.cc/gofumpt@v$gofumpt"
}

need_stylua() {
  [[ $("$bin/stylua" --version 2>/dev/null) == "stylua $stylua" ]] && return
  packages npm=npm
  # The package picks the binary of this machine as an optional dependency.
  npm install --silent --no-audit --no-fund --no-save --prefix "$root/.tools/npm" "@johnnymorganz/stylua-bin@$stylua" >&2
  mkdir -p "$bin"
  ln -sf ../npm/node_modules/.bin/stylua "$bin/stylua"
  "$bin/stylua" --version >/dev/null || die "stylua was installed and does not run"
}

need_luacheck() { packages luacheck=lua-check; }

for thing; do
  declare -F "need_$thing" >/dev/null || die "nothing is known about $thing"
  "need_$thing"
done
