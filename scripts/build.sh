#!/bin/sh
# Builds the release: static with musl when that target and its C compiler are installed, otherwise
# for this machine's own libc. The program ends up at the place `--path` prints.
#
#   scripts/build.sh            build, then say where the program is
#   scripts/build.sh --path     only print where the program is, or would be
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"

target=${CARGO_TARGET_DIR:-target}
triple="$(uname -m)-unknown-linux-musl"

# The bundled C code (SQLite, zstd) needs a C compiler for musl besides Rust's own part.
if [ -d "$(rustc --print target-libdir --target "$triple" 2>/dev/null)" ] &&
    command -v musl-gcc >/dev/null 2>&1; then
    program="$target/$triple/release/treering"
    set -- "${1:-}" --target "$triple"
else
    program="$target/release/treering"
    set -- "${1:-}"
fi

case "$1" in
    --path) echo "$program"; exit 0 ;;
    '') shift ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
cargo build --release --package treering "$@"
echo "built $program ($(du -h "$program" | cut -f1))"
