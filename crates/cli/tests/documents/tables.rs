//! Commands that are not run as printed, each with the reason; and the preparation of their
//! directory.

/// Replacements in commands: the printed text, its replacement, and the reason. Applied in this
/// order.
pub(crate) const INSTEAD: &[(&str, &str, &str)] = &[
    ("/dev/sdb1", "$DISK", "a disk of the reader's: a loop device here"),
    ("/dev/sdc1", "$DISK", "a disk of the reader's"),
    ("/dev/sdb", "$DISK", "a disk of the reader's"),
    ("-s /path/of/the/four/datasets", "-s DATASETS", "a placeholder"),
    (" [--patched DIR] [--compiled DIR] [--patched-compiled DIR]", "", "not to be typed"),
    (" [--patched DIR]", "", "not to be typed"),
    ("record NAME --clean DIR", "record mine --replace --clean tree", "placeholders"),
    ("import DIR [--name NAME]", "import DATASETS --name other", "placeholders"),
    (
        "run compilebench … ",
        "run compilebench --dir /mnt/test --dataset linux-6.1-small ",
        "stands for any options",
    ),
    (
        "compare examples/plans/threads.toml",
        "compare threads.toml --resume",
        "takes minutes: a smaller plan of the same name, which ran before",
    ),
    ("compare … ", "compare --filesystems ext4,xfs ", "stands for any options"),
    ("--with-fio=/opt/fio/bin/fio", "--with-fio", "a fio of the reader's own"),
    ("/usr/share/dbench/client.txt", "$LOAD", "comes with dbench, which may be absent"),
    ("-c client.txt", "-c $LOAD", "comes with dbench"),
    ("/usr/share ", "examples ", "a large tree of the reader's, slow to read from a cold disk"),
    ("in 1 2 3 4 5 6;", "in 1;", "six times the same command"),
    (
        "in 1 2 3; do for fill in 25% 65%; do for runs in 0 60;",
        "in 1; do for fill in 25%; do for runs in 60;",
        "twelve times the same commands",
    ),
    ("label 0192a3b4 0192a3c1", "label last", "trials of the reader's"),
    ("exclude 0192a3b4", "exclude last", "a trial of the reader's"),
    ("include 0192a3b4", "include last", "a trial of the reader's"),
    (
        "-- grep -r 'not in any file' /mnt/aged/w",
        "-- grep -rc '' /mnt/aged/w",
        "grep ends with 1, and treering with it, where it finds nothing; and it has no child that \
         stays in the directory when it is interrupted",
    ),
    ("yes > /dev/null & yes > /dev/null &", ":", "loads the machine of the other tests"),
    ("echo 3 > /proc/sys/vm/drop_caches", ":", "empties the caches of the other tests"),
    ("echo 3 >/proc/sys/vm/drop_caches", ":", "empties the caches of the other tests"),
    (
        "--plan kernels --by kernel",
        "--plan kernels --by kernel --help",
        "needs trials of several kernels",
    ),
];

/// Pages of use whose first example is not run: a part of it that cannot, and the reason.
pub(crate) const FIRST_NOT_RUN: &[(&str, &str, &str)] = &[
    ("docs/arm64.md", "arm64.deb", "boots a kernel package; tests/cli/arm64.rs does"),
    ("docs/clients.md", "mpirun", "needs MPI; tests/cli/mpi.rs runs the same"),
    ("docs/kernel-check.md", "A.deb", "reads kernel packages; tests/cli/kernel_check.rs does"),
    ("docs/kernels.md", ".deb", "boots kernel packages; tests/cli/kernels.rs does"),
    (
        "docs/my-patch.md",
        "git:v6.11",
        "builds kernels; crates/conduct/src/kernels builds stand-ins",
    ),
    ("docs/reboots.md", "--yes", "reboots the machine; tests/cli/reboots.rs does on directories"),
    ("docs/schedulers.md", "srun", "needs a cluster; tests/cli/mpi.rs runs its command"),
];

/// Other blocks that are not run, with the reasons; identified by a part of their text.
pub(crate) const NOT_RUN: &[(&str, &str)] = &[
    ("apt-get download linux-source", "builds two kernels from sources of a distribution"),
    ("record_dataset linux-6.1 $trees", "reads the two kernels"),
    ("CARGO_PROFILE_RELEASE_LTO=fat", "builds the release once more"),
    ("--kernel A.deb --kernel B.deb", "boots kernel packages; tests/cli/kernels.rs does"),
    ("vng --disable-kvm", "boots a kernel package by virtme-ng, which may be absent"),
    ("find k -name '*.ko'", "reads an unpacked kernel package"),
    ("make -s -j2 bzImage modules", "builds Linux; crates/conduct/src/kernels builds stand-ins"),
    ("--icount --kernel A.deb", "boots a kernel package; tests/cli/kernels.rs does"),
    (
        "compare dm-crypt-workqueues",
        "needs dm-crypt, or boots a kernel package; tests/cli/kernels.rs does",
    ),
    (
        "compare raid5-stripe-cache",
        "needs md, or boots a kernel package; tests/cli/kernels.rs does",
    ),
    ("compare bcache-modes", "needs bcache, or boots a kernel package; tests/cli/kernels.rs does"),
    ("treering compare ages", "takes half an hour; tests/cli/aging.rs has a smaller plan of ages"),
    ("--hold-full 95%", "fills its filesystem; tests/cli/aging.rs has filesystems of its own"),
    ("age /mnt/test --resume", "goes on with an interrupted run; tests/cli/aging.rs has some"),
    ("--save old-mail", "unmounts what it saves; tests/cli/images.rs has filesystems of its own"),
    ("treering age extract", "reads a repository of the reader's; tests/cli/aging.rs makes one"),
    ("/mnt/unaged/linux-300", "directories of the reader's; tests/cli/fresh_copy.rs has some"),
    ("--profile ./plain.toml", "ages and defragments a filesystem of the reader's"),
    ("--profile ./heap.toml", "needs root; crates/tools/age/tests/maintenance.rs has filesystems"),
    ("--remount-every 10 ", "unmounts what it ages; tests/cli/aging.rs has filesystems of its own"),
    ("--profile many.toml", "draws ten million files"),
    ("--with-io500 ./io500", "an io500 of the reader's; tests/cli/io500.rs has one in its place"),
    ("-n 4 ./io500 config.ini", "the original, which is not here"),
    ("treering-mpi", "needs MPI; tests/cli/mpi.rs runs it"),
    ("mpirun --oversubscribe --mca", "needs MPI, and originals; tests/cli/drop_ins.rs runs ours"),
    ("cargo vendor --locked vendor", "builds the release and installs it; `make dist` does"),
    ("git bisect run ./judge.sh", "builds and mounts what a reader bisects"),
    ("git bisect run ../judge.sh", "builds what a reader bisects; bisection.rs has a repository"),
];

/// Exit codes of commands whose page names none, identified by a part of their words, with the
/// reasons.
pub(crate) const EXITS: &[(&str, &str, &str)] = &[
    ("import mail.txt cut.txt --strict", "1", "the numbers of cut.txt are not stored"),
    ("--gate --format markdown", "0 1 5", "one build against itself: the verdict is chance"),
    (
        "report --baseline \"$step-good\"",
        "0 1 5",
        "the reader's builds; the gate's codes are tested in tests/cli",
    ),
    (
        "history --by label --gate",
        "1",
        "a level of the prepared table is worse from its 11th point",
    ),
];

/// Shell commands run before those of one page, behind `PREPARE`.
pub(crate) const PREPARE_FOR: &[(&str, &str)] = &[
    ("docs/history.md", HISTORY),
    ("docs/history.md", FILESYSTEMS),
    ("docs/sweeps.md", SWEEP),
    ("docs/report.md", FILESYSTEMS),
    ("docs/compare.md", FINISHED),
];

/// Fourteen days of an anchor and of a variant that is slower from 17 November on, and a trial
/// that has a kernel.
const HISTORY: &str = r#"
echo time,version,variant,metric,value,unit,direction > days.csv
for day in 07 08 09 10 11 12 13 14 15 16 17 18 19 20; do
    value=10
    [ $day -lt 17 ] || value=14
    echo "2026-11-$day,1.$day,ext4,parse,10.${day#0},s,lower" >> days.csv
    echo "2026-11-$day,1.$day,xfs,parse,$value.${day#0},s,lower" >> days.csv
done
treering import days.csv
treering run fs_mark --dir /mnt/test --files 5 --quiet
"#;

/// A finished campaign of a sweep, under the name of the page's.
const SWEEP: &str = r#"
mkdir /mnt/sweep
cat > threads.toml <<'END'
rounds = 2
[[variant]]
name = "here"
device = { directory = "/mnt/sweep" }
[[job]]
name = "make"
workload = "fs_mark"
options = { files = 20, size = "4K" }
sweep = { threads = [1, 2, 4] }
END
treering compare threads.toml --quiet
"#;

/// A finished campaign of two directories, under the name of the page's.
const FILESYSTEMS: &str = r#"
cat > filesystems.toml <<'END'
rounds = 2
[[variant]]
name = "ext4"
device = { directory = "/mnt/old" }
[[variant]]
name = "xfs"
device = { directory = "/mnt/new" }
[[job]]
workload = "fs_mark"
options = { files = 20, size = "4K" }
END
treering compare filesystems.toml --quiet
"#;

/// A plan that ran to its end.
const FINISHED: &str = r#"
cat > plan.toml <<'END'
rounds = 2
[[variant]]
name = "one"
device = { directory = "/mnt/old" }
[[variant]]
name = "other"
device = { directory = "/mnt/new" }
[[job]]
workload = "fs_mark"
options = { files = 20, size = "4K" }
END
treering compare plan.toml --quiet
"#;

/// Blocks that need an external program, identified by a part of their text; skipped if it is
/// absent.
pub(crate) const NEEDS: &[(&str, &str)] = &[
    ("--with-fio", "fio"),
    ("run fio --check", "fio"),
    ("-- fio ", "fio"),
    ("-- python3 ", "python3"),
];

/// Fakes of external programs, with the reasons.
pub(crate) const STUBS: &[(&str, &str, &str)] = &[
    (
        "make",
        "[ ! -d /mnt/test ] || dd if=/dev/zero of=/mnt/test/made bs=64k count=4 conv=fsync",
        "builds the release, or what a reader has in a directory",
    ),
    ("cargo", ":", "builds take minutes; CI builds all examples"),
    ("git", "echo 0123abc", "the tests do not run in a repository"),
];

/// Shell commands run before those of the pages: make the directories, devices and files that the
/// pages name.
pub(crate) const PREPARE: &str = r#"
set -e
export LIMIT=600
mount --bind "$ROOM" /mnt
mount -t tmpfs -o size=2g treering /dev/shm
mkdir -p /mnt/srv/build /mnt/test/src /mnt/t /mnt/old /mnt/new /mnt/empty /mnt/aged /mnt/xfs
mkdir -p /mnt/files /mnt/big
mount --bind /mnt/srv /srv
cd /mnt/work
export PATH="$TOOLS:$PATH" LOAD="$TOOLS/load.txt"
mkdir -p target/release benches tree/fs/ext4
for name in create_tree layouts mark_files play_load profile_rates step_cost; do
    ln -s /bin/true target/release/$name
done
ln -s /bin/true benches/on_loop.sh
ln -s "$TOOLS/treering" target/release/treering
ln -s "$TOOLS/treering" treering
for file in Makefile fs/Kconfig fs/ext4/inode.c; do echo text > tree/$file; done
cp tree/Makefile /srv/build
for version in 6.1.170-3 6.1.192-2; do
    cp -r tree clean-$version
    cp -r tree built-$version
    echo object > built-$version/fs/ext4/inode.o
done
tar cf linux.tar tree
cp examples/plans/demo.toml plan.toml
[ ! -s own.toml ] || cp own.toml plan.toml
cp tree/Makefile big.db
cp tree/Makefile log.db
truncate -s 64M aged.img
mkfs.ext4 -q -F aged.img
truncate -s 3G "$TOOLS/disk"
DISK=$(losetup --find --show "$TOOLS/disk")
trap 'losetup --detach "$DISK"' EXIT
# Partitions that somebody's earlier file left on the loop device are not the reader's.
[ -z "$(ls -d /sys/block/"${DISK#/dev/}"/"${DISK#/dev/}"p* 2>/dev/null)" ] || partx --delete "$DISK"
mkfs.ext4 -q -F "$DISK"
export DISK
printf '[a]\nrw=write\nsize=1m\nbs=4k\n' > job.fio
cat > mine.f <<'END'
set $dir=/mnt/test
set $nfiles=1000
set $nthreads=2
define fileset name="set",path=$dir,entries=$nfiles,dirwidth=20,prealloc=100,filesize=4k
define process name="reader",instances=1
{
  thread name="readers",memsize=1m,instances=$nthreads
  {
    flowop openfile name="open",filesetname="set",fd=1
    flowop readwholefile name="read",fd=1
    flowop closefile name="close",fd=1
  }
}
run 60
END
for side in a b; do
    echo "using working directory /mnt/$side, 1 intial dirs 1 runs"
    echo "create dir kernel-0 222MB in 1.50 seconds (148.00 MB/s)"
    echo "read dir kernel-0 in 2.10 105.00 MB/s"
done > mail.txt
cat > cut.txt <<END
IOR-4.0.0: MPI Coordinated Test of Parallel I/O
Began               : Tue Mar 11 09:14:07 2025
FS                  : 731.9 TiB   Used FS: 43.7%   Inodes: 812.6 Mi
END
for run in base newer; do
    logs=work/log/$run/iter-0/fsmark/logs
    mkdir -p $logs
    printf 'FSUse%%        Count         Size    Files/sec     App Overhead\n' > $logs/fsmark-1.log
    printf '     1         1000         4096      20000.%s             9000\n' ${#run} \
        >> $logs/fsmark-1.log
done
awk 'BEGIN {
    print "Mkdir \"\\clients\" NT_STATUS_OK\nMkdir \"\\clients\\client1\" NT_STATUS_OK"
    for (number = 1; number <= 1400; number++) {
        print "NTCreateX \"\\clients\\client1\\f" number "\" 0x40 0x2 100 NT_STATUS_OK"
        print "WriteX 100 0 4096 4096 NT_STATUS_OK\nClose 100 NT_STATUS_OK"
    }
}' > "$LOAD"
treering import mail.txt --label old,new
mv work/log/newer work/log/new
treering import work/log
treering trace --dir /mnt/test --out build.trace -- \
    dd if=linux.tar of=/mnt/test/linux.tar conv=fsync
cp build.trace fresh.trace
cp build.trace aged.trace
# What a page alone needs stands here.
unset LIMIT
set +e
"#;

/// Pages with a block that names its exit code and runs to its end exactly as printed, except for
/// its directory.
pub(crate) const FIRST_EXAMPLES: &[(&str, i32)] = &[("docs/my-patch.md", 1)];
