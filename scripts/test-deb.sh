#!/bin/sh
# Installs the Debian package that scripts/dist.sh has made into an empty root, and runs the program
# there, where nothing else is, with an empty environment; then removes it. Needs root and dpkg.
#
#   scripts/test-deb.sh [PACKAGE]
set -eu

cd "$(dirname "$0")/.."
package=${1:-$(ls -t "${CARGO_TARGET_DIR:-target}"/dist/*.deb 2>/dev/null | head -n 1)}
skip() { echo "skipped: $*"; exit 0; }
[ -n "$package" ] || skip "there is no Debian package; make dist"
[ "$(id -u)" = 0 ] || skip "needs root to install a package"
command -v dpkg >/dev/null 2>&1 || skip "dpkg is not installed"

fail() { echo "test-deb: $*"; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates" "$root/var/log" "$root/work"
touch "$root/var/lib/dpkg/status" "$root/var/lib/dpkg/available"

dpkg --root="$root" --force-script-chrootless --install "$package" >/dev/null
chroot=$(PATH="$PATH:/usr/sbin:/sbin" command -v chroot)
inside() { env -i "$chroot" "$root" "$@"; }
inside /usr/bin/treering --version || fail "the program does not start"
inside /usr/bin/treering list --store /none 2>/dev/null && fail "a store that is not there was read"
inside /usr/bin/treering run fs_mark --dir /work --files 100 --size 4KB --no-store --quiet ||
    fail "a run failed"
[ -z "$(ls -A "$root/work")" ] || fail "the run has left $(ls -A "$root/work")"
inside /usr/bin/treering dataset list | grep -q linux-6.1 || fail "the data sets are not there"
for file in man/man1/treering.1.gz man/man1/treering-fs_mark.1.gz doc/treering/copyright \
    bash-completion/completions/treering zsh/vendor-completions/_treering; do
    [ -s "$root/usr/share/$file" ] || fail "no $file"
done
dpkg --root="$root" --verify treering || fail "files differ from the package's list"
dpkg --root="$root" --purge treering >/dev/null
left=$(find "$root" -path "$root/var" -prune -o -type f -print)
[ -z "$left" ] || fail "left behind: $left"
echo "test-deb: installed, run in an empty root and removed"
