#!/bin/sh
# Builds the release as one static program: with musl when that target and its C compiler are
# installed, otherwise with this machine's own libc, linked statically where that can be done. The
# program ends up at the place `--path` prints.
#
#   scripts/build.sh            build, then say where the program is
#   scripts/build.sh --path     only print where the program is, or would be
#   scripts/build.sh --for aarch64   the program for guests of another architecture, in the
#                               target directory of that; needs aarch64-linux-gnu-gcc and
#                               libc6-dev-arm64-cross; also after --demo
#   scripts/build.sh --demo     the quick build of `make demo`, not for measuring; also before --path
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"

target=${CARGO_TARGET_DIR:-target}
profile=release
if [ "${1:-}" = --demo ]; then
    profile=demo
    shift
fi
program="$target/$profile/treering"
other=
case "${1:-}" in
    '') ;;
    --for) other=${2:?the name of an architecture, such as aarch64} ;;
    --path) echo "$program"; exit 0 ;;
    *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac

# The bundled C code (SQLite, zstd) needs a C compiler for musl besides Rust's own part.
musl="$(uname -m)-unknown-linux-musl"
is_static=yes
host=$(rustc -vV | sed -n 's/^host: //p')
if [ -n "$other" ]; then
    triple="$other-unknown-linux-gnu"
    command -v "$other-linux-gnu-gcc" >/dev/null 2>&1 || {
        echo "build: no $other-linux-gnu-gcc (Debian: gcc-$other-linux-gnu, and its libc6-dev)" >&2
        exit 1
    }
    [ -d "$(rustc --print target-libdir --target "$triple")" ] || rustup target add "$triple"
    name=$(echo "$triple" | tr 'a-z-' 'A-Z_')
    export "CARGO_TARGET_${name}_LINKER=$other-linux-gnu-gcc"
elif [ -d "$(rustc --print target-libdir --target "$musl" 2>/dev/null)" ] &&
    command -v musl-gcc >/dev/null 2>&1; then
    triple=$musl
elif [ -e "$(cc -print-file-name=libc.a)" ]; then
    triple=$host
else
    echo "build: no libc.a here (package libc6-dev): the program will need this machine's libraries"
    triple=$host
    is_static=
fi
# Only for the program: what runs during the build has to load macros. A static program cannot look
# up getrandom(2) when it runs, and would need /dev/urandom: it is linked instead.
if [ -n "$is_static" ] && [ "$triple" != "$musl" ]; then
    name=$(echo "$triple" | tr 'a-z-' 'A-Z_')
    flags="-C target-feature=+crt-static --cfg getrandom_backend=\"linux_getrandom\""
    export "CARGO_TARGET_${name}_RUSTFLAGS=$flags"
fi
# No path of this machine gets into what is shipped: two builds in two places are equal.
if [ "$profile" = release ]; then
    name=$(echo "$triple" | tr 'a-z-' 'A-Z_')
    here=$(pwd -P)
    cargo=${CARGO_HOME:-${HOME:-/root}/.cargo}
    flags=$(printenv "CARGO_TARGET_${name}_RUSTFLAGS" || true)
    flags="$flags --remap-path-prefix=$here=/treering --remap-path-prefix=$cargo=/cargo"
    export "CARGO_TARGET_${name}_RUSTFLAGS=$flags"
    export CFLAGS="${CFLAGS:-} -ffile-prefix-map=$here=/treering -ffile-prefix-map=$cargo=/cargo"
fi
cargo build --profile "$profile" --package treering --target "$triple"
if [ -n "$other" ]; then
    program="$target/$triple/$profile/treering"
    echo "built $program ($(du -h "$program" | cut -f1), for guests)"
    exit
fi
mkdir -p "$target/$profile"
ln -f "$target/$triple/$profile/treering" "$program"
echo "built $program ($(du -h "$program" | cut -f1), for $triple)"
