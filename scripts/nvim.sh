#!/usr/bin/env bash
# Brings a Neovim for tests and the demo into the project's cache and prints
# the path of its binary.
#
#   scripts/nvim.sh VERSION        VERSION is 0.10 or 0.12
#   scripts/nvim.sh --any          the first Neovim >= 0.10 there is: $PATH,
#                                  the cache, else 0.12 is brought
#
# Debian packages of a newer suite are unpacked into .cache/nvim/VERSION; the
# system's own package database is neither read nor changed, and no privilege is
# needed. After the first run it works offline, also when the checkout has moved.
#
# The unpacked editor brings its own libc. Its ELF header is pointed at that libc
# (patchelf) instead of being started through a loader: a loader would be what
# v:progpath names, and the terminal UI starts its server from v:progpath.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${SANDBOX_NVIM_CACHE:-$here/.cache/nvim}

say() { printf 'nvim.sh: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# is_version BINARY MAJOR.MINOR: it runs, and is that version.
is_version() {
  local line
  line=$(VIMRUNTIME='' "$1" --version 2>/dev/null | sed -n 1p) || return 1
  [[ $line == "NVIM v$2."* ]]
}

# new_enough BINARY: it runs, and is 0.10 or newer.
new_enough() {
  local line
  line=$("$1" --version 2>/dev/null | sed -n 1p) || return 1
  [[ $line =~ ^NVIM\ v([0-9]+)\.([0-9]+)\. ]] || return 1
  ((BASH_REMATCH[1] > 0 || BASH_REMATCH[2] >= 10))
}

platform() {
  arch=$(dpkg --print-architecture)
  case $arch in
    amd64) triplet=x86_64-linux-gnu loader=ld-linux-x86-64.so.2 ;;
    arm64) triplet=aarch64-linux-gnu loader=ld-linux-aarch64.so.1 ;;
    *) die "no recipe for the architecture $arch; install Neovim $version yourself and set SANDBOX_NVIM_${version/./}" ;;
  esac
}

# suite_of VERSION: the Debian suite that carries it.
suite_of() {
  case $1 in
    0.10) echo trixie ;;
    0.12) echo forky ;;
    *) die "usage: scripts/nvim.sh 0.10 | 0.12 | --any" ;;
  esac
}

# The mirror that this machine's apt already uses for Debian itself.
mirror() {
  local uri
  if [[ -n ${DEBIAN_MIRROR:-} ]]; then
    echo "$DEBIAN_MIRROR"
    return
  fi
  uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
    awk '$2 == "Debian" && $3 !~ /security/ && $4 == "main" { print $1; exit }')
  if [[ -z $uri ]]; then # before the first apt-get update there is no origin to look at
    uri=$(apt-get indextargets --no-release-info --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' 2>/dev/null |
      awk -v codename="$(. /etc/os-release && echo "${VERSION_CODENAME:-stable}")" \
        '($2 == codename || $2 == "stable") && $3 == "main" && $1 ~ /debian\/?$/ { print $1; exit }')
  fi
  [[ -n $uri ]] || die "no Debian mirror in this machine's apt sources; set DEBIAN_MIRROR"
  echo "$uri"
}

# aim TREE: points the binary in TREE at the libc in TREE, where TREE is now.
aim() {
  local root=$1/root ld libs="$1/root/usr/lib/$triplet:$1/root/lib/$triplet"
  ld=$(find "$root" -name "$loader" | sort | head -n 1)
  [[ -n $ld ]] || die "no $loader among the packages of $version"
  # RPATH, not RUNPATH: libraries of libraries are found in the tree too.
  cp "$root/usr/bin/nvim" "$1/bin/nvim.new"
  "$ld" --library-path "$libs" "$root/usr/bin/patchelf" --set-interpreter "$ld" \
    --force-rpath --set-rpath "$libs" "$1/bin/nvim.new"
  mv "$1/bin/nvim.new" "$1/bin/nvim"
  echo "$1" >"$1/aimed"
}

# aimed TREE: whether the binary in TREE points at TREE as it is called now. It
# may well run when it does not: through a path that another user cannot walk.
aimed() {
  [[ $(cat "$1/aimed" 2>/dev/null) == "$1" ]]
}

# parsers WORK TREE: Debian's Neovim has no tree-sitter parsers, without which
# :help and every .lua file (0.12: .md too) throw from ftplugin/. Their sources
# are packages.
parsers() {
  local cc src lang files
  cc=$(command -v cc || command -v gcc || true)
  if [[ -z $cc ]]; then
    say "no C compiler: Neovim $version comes without tree-sitter parsers"
    return
  fi
  mkdir "$1/ts"
  (cd "$1/ts" && apt-get -qq download tree-sitter-{vimdoc,lua,vim,query,markdown,markdown-inline}-src)
  for deb in "$1"/ts/*.deb; do dpkg-deb -x "$deb" "$1/ts/x"; done
  for src in "$1"/ts/x/usr/src/tree-sitter/*/*/parser/src; do
    lang=${src#"$1"/ts/x/usr/src/tree-sitter/}
    lang=${lang%%/*}
    files=("$src/parser.c")
    [[ -f $src/scanner.c ]] && files+=("$src/scanner.c")
    "$cc" -O1 -w -std=c11 -fPIC -shared -I "$src" -o "$2/lib/nvim/parser/$lang.so" "${files[@]}"
  done
}

# bring VERSION TREE
bring() {
  local suite work new=$2.new keyring=/usr/share/keyrings/debian-archive-keyring.gpg uri
  suite=$(suite_of "$1")
  command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null ||
    die "no apt-get here; install Neovim $1 yourself and set SANDBOX_NVIM_${1/./}"
  uri=$(mirror)
  say "bringing Neovim $1 (about 20 MB)"
  work=$(mktemp -d "${TMPDIR:-/tmp}/sandbox-nvim.XXXXXX")
  # shellcheck disable=SC2064 # the names are wanted as they are now
  trap "rm -rf '$work' '$new'" EXIT

  mkdir -p "$work"/{state/lists/partial,cache/archives/partial,etc/apt.conf.d,etc/preferences.d}
  : >"$work/state/status" # nothing is installed: apt resolves libc and everything else
  echo "deb [signed-by=$keyring] $uri $suite main" >"$work/etc/sources.list"
  cat >"$work/apt.conf" <<CONF
Dir::Etc "$work/etc/";
Dir::Etc::sourcelist "$work/etc/sources.list";
Dir::Etc::sourceparts "-";
Dir::Etc::parts "$work/etc/apt.conf.d";
Dir::Etc::preferencesparts "$work/etc/preferences.d";
Dir::State "$work/state";
Dir::State::Lists "$work/state/lists";
Dir::State::status "$work/state/status";
Dir::Cache "$work/cache";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Acquire::Retries "3";
CONF
  # What the machine says about proxies and about mirrors past their date holds here too.
  apt-config dump | grep -E '^Acquire::(Check-Valid-Until|Check-Date|http::|https::)' >>"$work/apt.conf" || true
  export APT_CONFIG=$work/apt.conf
  apt-get -qq update
  apt-get -qq -y --download-only install neovim patchelf >/dev/null

  rm -rf "$new"
  mkdir -p "$new"/{root,bin,share,lib/nvim/parser}
  for deb in "$work"/cache/archives/*.deb; do
    case ${deb##*/} in gcc-*-base_*) ;; *) dpkg-deb -x "$deb" "$new/root" ;; esac
  done
  rm -rf "$new"/root/usr/share/{doc,man,locale,applications,icons,lintian,bug} "$new"/root/{etc,var}
  ln -s ../root/usr/share/nvim "$new/share/nvim" # PREFIX/bin/nvim looks in PREFIX/share/nvim
  parsers "$work" "$new"
  unset APT_CONFIG

  rm -rf "$2"
  mv "$new" "$2"
  aim "$2"
  rm -rf "$work"
  trap - EXIT
}

if [[ ${1:-} == --any ]]; then
  for bin in "$(command -v nvim || true)" "$cache/0.12/bin/nvim" "$cache/0.10/bin/nvim"; do
    if [[ -n $bin ]] && new_enough "$bin"; then
      echo "$bin"
      exit 0
    fi
  done
  set -- 0.12
fi

version=${1:-}
suite_of "$version" >/dev/null
platform
tree=$cache/$version
mkdir -p "$cache"
exec 9>"$cache/.lock" # two runs at once: the second finds what the first brought
flock 9

if ! aimed "$tree" && [[ -x $tree/root/usr/bin/nvim ]]; then
  aim "$tree" # the checkout has moved
fi
if ! is_version "$tree/bin/nvim" "$version"; then
  bring "$version" "$tree"
fi
is_version "$tree/bin/nvim" "$version" ||
  die "the packages hold $("$tree/bin/nvim" --version 2>&1 | sed -n 1p), not Neovim $version"
echo "$tree/bin/nvim"
