#!/bin/sh
# Makes a repository with a history of so many commits, the same every time: a tree of small sources in
# which each commit changes some files, adds a few and removes a few. Nothing is downloaded.
#
#   sh examples/played/repository.sh DIRECTORY [COMMITS]
set -eu
directory=$1
commits=${2:-1000}
mkdir "$directory"
git -C "$directory" init -q
awk -v commits="$commits" '
# A generator of Lehmer: the same in every awk.
function random(below) {
    state = (state * 16807) % 2147483647
    return state % below
}
function text(name, bytes,    all) {
    if (length(line) == 0) {
        line = "the quick brown fox jumps over the lazy dog, and what it wrote is compressible.\n"
        while (length(line) < 65536) line = line line
    }
    all = name " " random(1000000) "\n"
    return all substr(line, 1, bytes)
}
function write_file(name,    content) {
    # Most sources are small, some are large.
    size = 500 + random(6000)
    if (random(8) == 0) size += random(40000)
    content = text(name, size)
    printf "M 100644 inline %s\ndata %d\n%s\n", name, length(content), content
}
function new_name() {
    made++
    return "part" random(40) "/module" random(6) "/file" made ".c"
}
BEGIN {
    state = 20261124
    for (step = 0; step < commits; step++) {
        printf "commit refs/heads/main\ncommitter A <a@example.org> %d +0000\n", 1700000000 + step * 3600
        printf "data 4\nstep\n"
        if (step == 0) {
            for (file = 0; file < 2400; file++) { names[count++] = new_name(); write_file(names[count - 1]) }
        } else {
            changed = 4 + random(20)
            split("", touched)
            for (change = 0; change < changed; change++) {
                place = random(count)
                if (!(place in touched)) { touched[place] = 1; write_file(names[place]) }
            }
            added = random(4)
            for (file = 0; file < added; file++) { names[count++] = new_name(); write_file(names[count - 1]) }
            removed = random(4)
            for (file = 0; file < removed; file++) {
                place = random(count - 8)
                if (place in touched) continue
                printf "D %s\n", names[place]
                count--
                names[place] = names[count]
                delete touched[place]
                if (count in touched) touched[place] = 1
            }
        }
        printf "\n"
    }
}' | git -C "$directory" fast-import --quiet
git -C "$directory" symbolic-ref HEAD refs/heads/main
