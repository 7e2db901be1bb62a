#!/bin/sh
# The demonstration: builds treering quickly, makes a comparison whose verdict is clear, says it in
# one sentence, and names the page with its charts. Root compares btrfs with ext4 on a loop image;
# without root, or where one of them cannot be made, the disk of this checkout is compared with
# memory. Removes what it makes, but for the page and the results.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin:/usr/sbin:/sbin"

target=${CARGO_TARGET_DIR:-target}
treering=$(scripts/build.sh --demo --path)
scripts/build.sh --demo

show() {
    echo
    echo "\$ treering $*"
    "$treering" "$@"
}

# A plan of its own for each time: what an earlier demonstration measured stays out of this one.
name="demo-$(date +%Y%m%d-%H%M%S)"
if [ "$(id -u)" = 0 ] && command -v mkfs.ext4 >/dev/null 2>&1 &&
    command -v mkfs.btrfs >/dev/null 2>&1; then
    plan="$target/demo/$name.toml"
    trap 'rm -f "$plan"' EXIT
    trap 'exit 130' INT TERM
    cp examples/plans/demo.toml "$plan"
    show compare "$plan" --quiet
else
    # Files in /dev/shm are in memory.
    disk=$(mktemp -d "$target/demo/disk.XXXXXX")
    memory=$(mktemp -d /dev/shm/memory.XXXXXX)
    trap 'rm -rf "$disk" "$memory"' EXIT
    trap 'exit 130' INT TERM
    show compare --directories "$disk,$memory" --name "$name" --rounds 8 --quiet \
        --workload fs_mark --primary create/files_per_second -- --files 500 --size 4K
fi

page="$target/demo/report.html"
"$treering" report --plan "$name" --format html --output "$page"
sentence=$("$treering" report --plan "$name" --format json |
    sed -n 's/.*"verdicts":\["\([^"]*\)".*/\1/p')
echo
echo "In one sentence: $sentence"
echo "The same with charts: $page"
echo "What to try next on this machine: $treering doctor"
