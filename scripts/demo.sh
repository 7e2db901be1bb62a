#!/bin/sh
# The demonstration: builds the release, ages a small kernel tree on the filesystem this checkout
# stands on, and shows what was measured and where it is kept. Needs no root; removes its files.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"

target=${CARGO_TARGET_DIR:-target}
treering="$target/release/treering"
cargo build --release --package treering

mkdir -p "$target/demo"
place=$(mktemp -d "$target/demo/tree.XXXXXX")
trap 'rm -rf "$place"' EXIT
trap 'exit 130' INT TERM

show() {
    echo
    echo "\$ treering $*"
    "$treering" "$@"
}

show run compilebench --dir "$place" --dataset linux-6.1-small --initial-dirs 3 --runs 12
show list
show show last

data=${TREERING_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/treering}
echo
echo "The results are kept in $data/results.treering;"
echo "$treering list | show | export reads them."
