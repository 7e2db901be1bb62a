#!/bin/sh
# The demonstration: builds treering quickly, ages a small kernel tree on the filesystem this checkout
# stands on, and shows what was measured and where it is kept; as root it compares ext4, xfs and
# btrfs after that. Removes its files.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"

target=${CARGO_TARGET_DIR:-target}
treering=$(scripts/build.sh --demo --path)
scripts/build.sh --demo

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

# Root also sees filesystems compared: made anew on a loop image in each round, and taken away.
if [ "$(id -u)" = 0 ] && command -v mkfs.xfs mkfs.btrfs >/dev/null 2>&1; then
    show compare examples/plans/demo.toml
    show report --plan demo --format html --output "$target/demo/report.html"
    echo "The same page with charts: $target/demo/report.html"
else
    echo
    echo "As root, 'treering compare examples/plans/demo.toml' compares ext4, xfs and btrfs here."
fi

data=${TREERING_DATA:-${XDG_DATA_HOME:-$HOME/.local/share}/treering}
echo
echo "The results are kept in $data/results.treering;"
echo "$treering list | show | report | export reads them."
