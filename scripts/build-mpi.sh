#!/bin/sh
# Builds treering-mpi: treering that runs a workload on many clients, started by mpirun or srun. It
# needs an MPI library with its mpicc, and libclang; it is linked with both libc and MPI of this
# machine, and runs where the same MPI is.
#
#   scripts/build-mpi.sh            the release, for measuring: target/release/treering-mpi
#   scripts/build-mpi.sh --tests    what tests run, one for each MPI here: target/mpi/treering-mpi.*
#
# A treering without MPI in target/release or target/debug stays as it is.
#
# MPICC names the compiler of the MPI to build with: MPICC=mpicc.mpich.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
target=${CARGO_TARGET_DIR:-target}

# cargo puts treering with MPI where treering without MPI is: that one waits aside meanwhile, and is
# back when this script ends, however it ends.
place='' aside=''
put_back() {
    if [ -n "$aside" ] && [ -e "$aside" ]; then mv -f "$aside" "$place"; fi
}
trap put_back EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# build PROFILE_FOLDER RESULT [OPTION ...]
build() {
    place="$target/$1/treering" aside="$target/$1/treering.without-mpi" result=$2
    shift 2
    # One that an earlier build could not put back.
    put_back
    if [ -e "$place" ]; then mv -f "$place" "$aside"; fi
    # What was made for another MPI stays valid for cargo, which does not look at MPICC.
    cargo clean --quiet --package mpi-sys "$@"
    cargo build --quiet --package treering --features mpi "$@"
    mv -f "$place" "$result"
    put_back
}

case "${1:-}" in
    '')
        build release "$target/release/treering-mpi" --release
        echo "built $target/release/treering-mpi with ${MPICC:-mpicc}" ;;
    --tests)
        mkdir -p "$target/mpi"
        for flavour in openmpi mpich; do
            command -v "mpicc.$flavour" >/dev/null 2>&1 || continue
            export MPICC="mpicc.$flavour"
            build debug "$target/mpi/treering-mpi.$flavour"
        done
        ls "$target/mpi" ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
