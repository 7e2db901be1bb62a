#!/bin/sh
# Runs a command with the mount point of a fresh filesystem on a loop device as its first argument:
#
#   benches/on_loop.sh xfs 6G target/release/create_tree --rounds 9
#
# The image is a sparse file in $IMAGE_DIR (/dev/shm). Needs root; leaves nothing behind.
set -eu

if [ $# -lt 3 ]; then
    sed -n '2,6s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
filesystem=$1 size=$2 command=$3
shift 3
PATH=$PATH:/usr/sbin:/sbin

work=$(mktemp -d "${IMAGE_DIR:-/dev/shm}/treering-bench.XXXXXX")
clean_up() {
    trap - EXIT INT TERM HUP
    if mountpoint -q "$work/mount"; then
        umount "$work/mount"
    fi
    rm -rf "$work/image" "$work/mount"
    rmdir "$work"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP

truncate -s "$size" "$work/image"
"mkfs.$filesystem" "$work/image" >"$work/mkfs.txt" 2>&1 || { cat "$work/mkfs.txt" >&2; exit 1; }
rm "$work/mkfs.txt"
mkdir "$work/mount"
mount -o loop "$work/image" "$work/mount"
mkdir "$work/mount/trees"
"$command" "$work/mount/trees" "$@"
