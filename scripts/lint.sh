#!/usr/bin/env bash
# Checks everything and says everything that is wrong, not only the first.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit
scripts/need.sh go golangci_lint gofumpt stylua luacheck || exit

bad=0
check() {
  local name=$1
  shift
  if "$@"; then echo "lint: $name: ok"; else echo "lint: $name: FAILED" && bad=1; fi
}

nothing_to_format() {
  local files
  files=$(.tools/bin/gofumpt -l cmd engine internal rplugin test) || return
  [[ -z $files ]] || { printf 'not formatted, run make fmt:\n%s\n' "$files" && return 1; }
}

tidy() { go mod tidy -diff && go mod verify >/dev/null; }

shell_parses() {
  local file
  for file in scripts/*.sh .ci/run; do bash -n "$file" || return; done
}

check gofumpt nothing_to_format
check go.mod tidy
check golangci-lint .tools/bin/golangci-lint run ./...
check stylua .tools/bin/stylua --check lua plugin test
check luacheck luacheck --quiet lua plugin test
check shell shell_parses
exit $bad
