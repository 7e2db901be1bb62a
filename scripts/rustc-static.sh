#!/bin/sh
# Stands between cargo and rustc (RUSTC_WRAPPER) when `cargo xtask ci` builds the tests that boot
# kernels: in a guest the program needs to be static, and the one of the tests is not. Whenever cargo
# has the program compiled, it is also compiled and linked statically, from the same libraries, to
# deps/treering-static beside it. That costs a fraction of a build of its own.
set -eu

"$@"
case " $* " in
    *" --crate-name treering "*" --crate-type bin "*) ;;
    *) exit 0 ;;
esac
# The last of each option counts. The metadata keeps what is reused in incremental builds apart.
exec "$@" -C target-feature=+crt-static -C metadata=static -C extra-filename=-static
