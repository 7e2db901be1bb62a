#!/bin/sh
# Installs a program that is built, with its manual pages and the completions of bash, zsh and fish,
# or removes them again. With LINKS=1 also links with the names of the imitated tools, their pages
# and their completions; what has such a name and is not a link to treering stays as it is.
#
#   scripts/install.sh PROGRAM        install it
#   scripts/install.sh --uninstall    remove what was installed, links included
#
# PREFIX (/usr/local) and DESTDIR (none) say where, as usual. ZSH_COMPLETIONS and FISH_COMPLETIONS
# are folders below PREFIX, which distributions have in places of their own.
set -eu

prefix=${DESTDIR:-}${PREFIX:-/usr/local}
bin=$prefix/bin
man=$prefix/share/man/man1
bash=$prefix/share/bash-completion/completions
zsh=$prefix/${ZSH_COMPLETIONS:-share/zsh/site-functions}
fish=$prefix/${FISH_COMPLETIONS:-share/fish/vendor_completions.d}
tools='compilebench fs_mark ffsb fio filebench bonnie++ dbench blogbench mdtest ior'

is_our_link() { [ -L "$1" ] && [ "$(basename "$(readlink "$1")")" = treering ]; }

# Removes a page or a completion that this script has made for a tool.
remove_ours() {
    if [ -f "$1" ] && grep -q 'treering manual\|TREERING_COMPLETE' "$1"; then rm -f "$1"; fi
}

uninstall() {
    for tool in $tools; do
        if is_our_link "$bin/$tool"; then rm -f "$bin/$tool"; fi
        remove_ours "$man/$tool.1"
        remove_ours "$bash/$tool"
        remove_ours "$zsh/_$tool"
        remove_ours "$fish/$tool.fish"
    done
    rm -f "$bin/treering" "$man/treering.1" "$man"/treering-*.1 "$bash/treering" \
        "$zsh/_treering" "$fish/treering.fish"
    echo "removed treering from $prefix"
}

# The completions of these names, each in a file of its own, as shells look for them.
completions() {
    for name in "$@"; do
        words=$name
        [ "$name" != treering ] || words=
        # shellcheck disable=SC2086
        for shell in bash zsh fish; do
            "$bin/treering" completions "$shell" $words >"$scratch/$shell"
        done
        install -D -m 644 "$scratch/bash" "$bash/$name"
        install -D -m 644 "$scratch/zsh" "$zsh/_$name"
        install -D -m 644 "$scratch/fish" "$fish/$name.fish"
    done
}

links() {
    for tool in $tools; do
        if [ -e "$bin/$tool" ] && ! is_our_link "$bin/$tool"; then
            echo "left as it is, because it is not a link to treering: $bin/$tool"
            continue
        fi
        ln -sf treering "$bin/$tool"
        install -m 644 "$scratch/man/$tool.1" "$man/"
        completions "$tool"
    done
}

case "${1:-}" in
    --uninstall)
        uninstall
        exit
        ;;
    '' | -*)
        sed -n '2,/^set/s/^# \{0,1\}//p' "$0"
        exit 2
        ;;
esac

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
install -D -m 755 "$1" "$bin/treering"
mkdir "$scratch/man"
"$bin/treering" man --links "$scratch/man"
install -d "$man"
install -m 644 "$scratch"/man/treering*.1 "$man/"
completions treering
[ -z "${LINKS:-}" ] || links
echo "installed treering in $prefix"
