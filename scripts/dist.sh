#!/bin/sh
# Makes what is published, in target/dist: the program, a tar.gz with it, a Debian package, the spec
# of an RPM (and the RPM where rpmbuild is installed), the SBOM, and the checksums of all.
#
#   scripts/dist.sh [DIR]    into another directory
#
# Two runs on the same sources give the same bytes, wherever the checkout is: times are those of the
# last commit (SOURCE_DATE_EPOCH), paths in the program are replaced, archives are sorted.
set -eu

cd "$(dirname "$0")/.."
PATH="$PATH:${HOME:-/root}/.cargo/bin"
umask 022
export LC_ALL=C TZ=UTC

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
    SOURCE_DATE_EPOCH=$(git -c safe.directory='*' log -1 --format=%ct 2>/dev/null || echo 315532800)
fi
export SOURCE_DATE_EPOCH

version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
dist=${1:-${CARGO_TARGET_DIR:-target}/dist}
architecture=$(uname -m)
target=$(rustc -vV | sed -n 's/^host: //p')

scripts/build.sh
program=$(scripts/build.sh --path)
rm -rf "$dist"
mkdir -p "$dist"
dist=$(cd "$dist" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

cargo xtask licenses "$target" >"$scratch/licenses"
cargo xtask sbom "$target" >"$dist/treering-$version.cdx.json"
install -m 755 "$program" "$dist/treering"

# All that is below it gets the one time.
stamp() { find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

# The texts that go with the program into the folder $1.
documents() {
    install -d "$1"
    install -m 644 README.md CHANGELOG.md LICENSE-APACHE LICENSE-MIT "$1"
    install -m 644 "$scratch/licenses" "$1/LICENSES-OF-DEPENDENCIES"
    install -m 644 "$dist/treering-$version.cdx.json" "$1/sbom.cdx.json"
    cp -r --no-preserve=mode docs examples "$1"
}

# The archive: a prefix to be unpacked anywhere, and the script that installs from it.
name=treering-$version-$architecture-linux
tree=$scratch/$name
PREFIX=/ DESTDIR=$tree scripts/install.sh "$program" >/dev/null
documents "$tree/share/doc/treering"
install -m 755 scripts/install.sh "$tree/install.sh"
stamp "$tree"
tar --create --directory "$scratch" --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" \
    --owner=0 --group=0 --numeric-owner "$name" | gzip -9 -n >"$dist/$name.tar.gz"

# The Debian package: depends on nothing, what it uses where it is there is suggested.
deb() {
    tree=$scratch/deb
    PREFIX=/usr DESTDIR=$tree ZSH_COMPLETIONS=share/zsh/vendor-completions \
        scripts/install.sh "$program" >/dev/null
    documents "$tree/usr/share/doc/treering"
    doc=$tree/usr/share/doc/treering
    cat LICENSE-MIT LICENSE-APACHE "$doc/LICENSES-OF-DEPENDENCIES" >"$doc/copyright"
    rm "$doc/LICENSE-APACHE" "$doc/LICENSE-MIT" "$doc/LICENSES-OF-DEPENDENCIES"
    mv "$doc/CHANGELOG.md" "$doc/changelog"
    gzip -9 -n "$doc/changelog" "$tree"/usr/share/man/man1/*.1
    mkdir "$tree/DEBIAN"
    (cd "$tree" && find usr -type f | sort | xargs -d '\n' md5sum) >"$tree/DEBIAN/md5sums"
    cat >"$tree/DEBIAN/control" <<END
Package: treering
Version: $version
Architecture: $1
Maintainer: ${DEB_MAINTAINER:-The treering authors <treering@localhost>}
Installed-Size: $(du -k -s --apparent-size "$tree/usr" | cut -f 1)
Suggests: e2fsprogs, xfsprogs, btrfs-progs, fio
Section: utils
Priority: optional
Description: filesystem aging, benchmarks and comparisons
 Measures how a filesystem behaves in use, how it ages, and whether a change
 made it better or worse. Runs the workloads of compilebench, fs_mark, FFSB,
 fio, filebench, bonnie++, dbench and blogbench, compares filesystems in
 interleaved rounds, and keeps every result.
END
    stamp "$tree"
    dpkg-deb --root-owner-group -Zxz --build "$tree" "$dist/treering_${version}_$1.deb" >/dev/null
}
if command -v dpkg-deb >/dev/null 2>&1; then
    deb "$(dpkg --print-architecture)"
else
    echo "dist: no dpkg-deb here: no Debian package"
fi

# The RPM takes its files from the archive.
spec=$dist/treering.spec
sed -e "s/@VERSION@/$version/" -e "s/@ARCHIVE@/$name/" scripts/treering.spec.in >"$spec"
if command -v rpmbuild >/dev/null 2>&1; then
    rpmbuild -bb --quiet --target "$architecture" \
        --define "_topdir $scratch/rpm" --define "_sourcedir $dist" --define "_rpmdir $scratch/rpms" \
        --define "_buildhost localhost" --define "use_source_date_epoch_as_buildtime 1" \
        --define "clamp_mtime_to_source_date_epoch 1" "$spec"
    mv "$scratch"/rpms/*/*.rpm "$dist/"
fi

(cd "$dist" && find . -type f ! -name SHA256SUMS | sed 's,^\./,,' | sort | xargs sha256sum >SHA256SUMS)
cat "$dist/SHA256SUMS"
echo "in $dist"
