#!/bin/sh
# Installs what `make demo` and `make test` need beyond a Rust toolchain. Runs as often as you like:
# it asks what is there first and touches the package lists only when something is missing. Root
# gets it installed (Debian and its kin); anybody else is told what to install, and how.
#
#   scripts/setup.sh            all, also the tools for tests on real filesystems; with
#                               TREERING_KERNELS=1 in the environment also two kernels for guests,
#                               with TREERING_MPI=1 also MPI, GlusterFS, and treering-mpi for tests
#   scripts/setup.sh --build    only what the program itself needs to be built
#   scripts/setup.sh --demo     and to compare ext4, xfs and btrfs
#
# Exit code: 0 when the tests can run (without the filesystem tools those tests skip themselves),
# 1 when something is missing that nothing runs without.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin:/usr/sbin:/sbin"

say() { echo "setup: $*"; }
# A command, a path as a pattern, or a library by its name, which ends in .so.
have() {
    case "$1" in
        # shellcheck disable=SC2086
        /*) ls -d $1 >/dev/null 2>&1 ;;
        *.so) ls /usr/lib/"$1" /usr/lib/*/"$1" /usr/lib/llvm-*/lib/"$1" 2>/dev/null | grep -q . ;;
        *) command -v "$1" >/dev/null 2>&1 ;;
    esac
}

# "command package": what is asked for and what brings it.
BUILD='cc gcc libc6-dev'
TEST='g++ g++
make make
git git'
DEMO='mkfs.ext4 e2fsprogs
mkfs.xfs xfsprogs
mkfs.btrfs btrfs-progs
losetup mount'
LAB="$DEMO"'
mkfs.f2fs f2fs-tools
blkid util-linux
cryptsetup cryptsetup-bin
pvcreate lvm2
mdadm mdadm
make-bcache bcache-tools
mkfs.fat dosfstools
mkfs.exfat exfatprogs
mkfs.ntfs ntfs-3g
mkfs.jfs jfsutils
mkfs.nilfs2 nilfs-tools
mkfs.reiserfs reiserfsprogs
mkfs.gfs2 gfs2-utils
mkfs.erofs erofs-utils
mkudffs udftools
mksquashfs squashfs-tools
genisoimage genisoimage
xorriso xorriso
hformat hfsutils
sfdisk fdisk
parted parted
cpio cpio
modprobe kmod
/lib/modules/*/build/Makefile linux-headers-amd64
grub-install grub2-common
/usr/lib/grub/i386-pc grub-pc-bin
busybox busybox-static
fio fio
strace strace
qemu-system-x86_64 qemu-system-x86'

# Only where TREERING_MPI=1 asks for it: two MPI libraries, and a filesystem for many clients.
MPI='mpicc.openmpi openmpi-bin libopenmpi-dev
mpicc.mpich mpich libmpich-dev
libclang.so libclang-dev llvm
gluster glusterfs-server glusterfs-client
ip iproute2'

# The packages of a list whose command is not here.
missing() {
    echo "$1" | while read -r command packages; do
        [ -z "$command" ] || have "$command" || echo "$packages"
    done
}

# The packages in one line.
line() { echo "$*" | tr '\n' ' ' | sed 's/ *$//'; }

install_packages() {
    export DEBIAN_FRONTEND=noninteractive
    # shellcheck disable=SC2086
    set -- $1
    say "installing $*"
    apt-get update -q >/dev/null || say "the package lists could not be refreshed"
    apt-get install -q -y --no-install-recommends "$@" >/dev/null && return 0
    # One package that does not exist here must not keep the others away.
    for package in "$@"; do
        apt-get install -q -y --no-install-recommends "$package" >/dev/null ||
            say "could not install $package"
    done
}

# The toolchain: recent enough, with the two components the tests use.
check_rust() {
    if ! have cargo || ! have rustc; then
        say "no Rust toolchain; install one (https://rustup.rs), then run this again"
        return 1
    fi
    wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
    found=$(rustc --version | sed 's/^rustc \([0-9.]*\).*/\1/')
    oldest=$(printf '%s\n%s\n' "$wanted" "$found" | sort -V | head -n 1)
    if [ "$oldest" != "$wanted" ]; then
        say "Rust $wanted or newer is needed, $found is here (rustup update)"
        return 1
    fi
    [ "$scope" = build ] && return 0
    for pair in "cargo-clippy clippy" "rustfmt rustfmt"; do
        command=${pair% *} component=${pair#* }
        "$command" --version >/dev/null 2>&1 && continue
        have rustup && rustup component add "$component" && continue
        say "no $component; rustup component add $component"
        return 1
    done
}

# Two kernels for the tests that boot guests, in target/kernels: only where TREERING_KERNELS=1 asks
# for them, since they are 60 MB. The oldest and the newest of Debian's small ones.
fetch_kernels() {
    folder=target/kernels
    [ -z "$(ls "$folder" 2>/dev/null)" ] || return 0
    kernels() {
        apt-cache search --names-only '^linux-image-[0-9]+\.[0-9]+\.[0-9]+.*-cloud-amd64$' |
            cut -d ' ' -f 1 | sort -V
    }
    [ -n "$(kernels)" ] || apt-get update -q >/dev/null
    mkdir -p "$folder"
    for package in $(kernels | sed -n '1p;$p'); do
        say "fetching $package"
        (cd "$folder" && apt-get download -q "$package" >/dev/null 2>&1) ||
            say "could not fetch $package"
    done
}

scope=all
case "${1:-}" in
    '') ;;
    --build) scope=build ;;
    --demo) scope=build LAB=$DEMO ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

needed=$BUILD
if [ "$scope" = all ]; then
    needed="$BUILD
$TEST"
fi

[ "${1:-}" != --build ] || LAB=
absent=$(line "$(missing "$needed"; missing "$LAB")")
if [ -n "$absent" ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        install_packages "$absent"
    elif have apt-get; then
        say "missing: $absent"
        say "to install: sudo apt-get install --no-install-recommends $absent"
    else
        say "missing: $absent (names of Debian's packages)"
    fi
fi

status=0
absent=$(line "$(missing "$needed")")
if [ -n "$absent" ]; then
    say "nothing goes on without: $absent"
    status=1
fi
if [ "$scope" = all ]; then
    absent=$(line "$(missing "$LAB")")
    [ -z "$absent" ] || say "tests that need $absent will skip themselves"
fi
if [ "$scope" = all ] && [ "${TREERING_KERNELS:-}" = 1 ]; then
    if [ "$(id -u)" = 0 ] && have apt-get; then
        fetch_kernels
    else
        say "kernel packages are fetched by root, with apt-get: tests in guests will skip themselves"
    fi
fi
check_rust || status=1
if [ "$scope" = all ] && [ "${TREERING_MPI:-}" = 1 ]; then
    absent=$(line "$(missing "$MPI")")
    if [ -n "$absent" ] && [ "$(id -u)" = 0 ] && have apt-get; then
        install_packages "$absent"
    elif [ -n "$absent" ]; then
        say "tests on many clients need: $absent"
    fi
    say "building treering-mpi for each MPI library that is here"
    scripts/build-mpi.sh --tests >/dev/null || say "tests on many clients will skip themselves"
fi
exit $status
