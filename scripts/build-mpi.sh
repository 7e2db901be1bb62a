#!/bin/sh
# Builds treering-mpi: treering that runs a workload on many clients, started by mpirun or srun. It
# needs an MPI library with its mpicc, and libclang; it is linked with both libc and MPI of this
# machine, and runs where the same MPI is.
#
#   scripts/build-mpi.sh            the release, for measuring: target/release/treering-mpi
#   scripts/build-mpi.sh --tests    what tests run, one for each MPI here: target/mpi/treering-mpi.*
#
# MPICC names the compiler of the MPI to build with: MPICC=mpicc.mpich.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
target=${CARGO_TARGET_DIR:-target}

build() {
    # What was made for another MPI stays valid for cargo, which does not look at MPICC.
    cargo clean --quiet --package mpi-sys "$@"
    cargo build --quiet --package treering --features mpi "$@"
}

case "${1:-}" in
    '')
        build --release
        mv -f "$target/release/treering" "$target/release/treering-mpi"
        echo "built $target/release/treering-mpi with ${MPICC:-mpicc}" ;;
    --tests)
        mkdir -p "$target/mpi"
        for flavour in openmpi mpich; do
            command -v "mpicc.$flavour" >/dev/null 2>&1 || continue
            export MPICC="mpicc.$flavour"
            build
            mv -f "$target/debug/treering" "$target/mpi/treering-mpi.$flavour"
        done
        ls "$target/mpi" ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
