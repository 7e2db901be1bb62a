#!/bin/sh
# The demonstration: builds treering quickly, compares filesystems, prints the answer and names the
# page with its charts. Root compares xfs and btrfs with ext4 on a loop image, or
# those of them that can be made here; others compare the disk of this checkout with memory. Removes
# what it makes, but for the page and the results.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin:/usr/sbin:/sbin"

target=${CARGO_TARGET_DIR:-target}
scripts/build.sh --demo
treering=$(readlink -f "$(scripts/build.sh --demo --path)")

show() {
    echo
    echo "\$ treering $*"
    "$treering" "$@"
}

# A plan of its own for each time: what an earlier demonstration measured stays out of this one.
name="demo-$(date +%Y%m%d-%H%M%S)"
# Those of the three that can be made and mounted here, with commas between.
here=$("$treering" lab filesystems --format csv |
    sed -n 's/^filesystems,\(ext4\|xfs\|btrfs\),yes,.*/\1/p' | tr '\n' ',' | sed 's/,$//')
if [ "$(id -u)" = 0 ] && [ "$here" = ext4,xfs,btrfs ]; then
    plan="$target/demo/$name.toml"
    trap 'rm -f "$plan"' EXIT
    trap 'exit 130' INT TERM
    cp examples/plans/demo.toml "$plan"
    show compare "$plan" --quiet
elif [ "$(id -u)" = 0 ] && [ "$here" != "${here#*,}" ]; then
    show compare --filesystems "$here" --size 1GiB --name "$name" --rounds 7 --no-warm-up --quiet \
        --primary operation_seconds -- --dataset linux-6.1-small --initial-dirs 2 --runs 5
else
    # Files in /dev/shm are in memory. A variant has the name of its directory as it is typed.
    work=$(mktemp -d "$target/demo/XXXXXX") memory=$(mktemp -d /dev/shm/XXXXXX)
    trap 'rm -rf "$work" "$memory"' EXIT
    trap 'exit 130' INT TERM
    mkdir "$work/disk"
    ln -s "$memory" "$work/memory"
    (cd "$work" && show compare --directories disk,memory --name "$name" --rounds 8 --quiet \
        --workload fs_mark --primary create/files_per_second -- --files 500 --size 4K)
fi

page="$target/demo/report.html"
"$treering" report --plan "$name" --format html --output "$page"
echo
echo "The same with charts: $page"
echo "What to try next on this machine: $(scripts/build.sh --demo --path) doctor"
