#!/usr/bin/env bash
# make demo: brings a Neovim if there is none, then runs test/demo.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
if ! scripts/nvim.sh --any >/dev/null; then
  # Without a terminal the demo does not open it.
  [[ ! -t 0 ]] || exit 1
  echo "demo.sh: going on without a Neovim" >&2
fi
CGO_ENABLED=0 go build -buildvcs=false -o .cache/demo ./test/demo
exec .cache/demo -root "$PWD"
