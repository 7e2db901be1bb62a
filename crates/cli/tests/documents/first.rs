//! First examples of the pages, which are run to their end: with smaller sizes where they take
//! minutes, and not at all where the reason is given.

/// Seconds that the commands of a first example may take on a busy machine.
pub(crate) const SECONDS_TO_FINISH: u32 = 300;

/// Smaller sizes in the first example of a page: the page, the printed text and its replacement, in
/// this order.
pub(crate) const SHORTER: &[(&str, &str, &str)] = &[
    ("docs/aging-curves.md", "compare ages ", "compare ages.toml "),
    ("docs/aging-maintenance.md", "operations=4000", "operations=200"),
    ("docs/aging-near-full.md", "operations=20000", "operations=200"),
    ("docs/aging-profiles.md", "operations=20000", "operations=200"),
    ("docs/aging.md", "--live 64M --until steady --until operations=20000", SOON_OLD),
    ("docs/compare.md", "treering compare  ", "treering compare --rounds 1 --phase-seconds 0  "),
    ("docs/datasets.md", "linux-6.1 --initial-dirs 3 --runs 10", SMALL_TREES),
    (
        "docs/evidence/disks.md",
        "--live 60M --until operations=6000",
        "--live 8M --until operations=200",
    ),
    ("docs/evidence/fair.md", "made-otherwise.toml", "made-otherwise.toml --rounds 1"),
    ("docs/evidence/questions.md", "fast-commit.toml", "fast-commit.toml --rounds 1"),
    ("docs/evidence/why.md", "--fill $fill --runs $runs", "--fill 1% --runs 2"),
    ("docs/gate.md", "--files 20000", "--files 200"),
    ("docs/heat.md", "--heat", "--heat --runtime 1"),
    ("docs/images.md", "--until steady", "--live 8M --until operations=200"),
    ("docs/layers.md", "plan.toml ", "plan.toml --rounds 1 --phase-seconds 0 "),
    ("docs/layout.md", "--layout  ", "--initial-dirs 1 --runs 2 --layout  "),
    ("docs/layout.md", "--layout-every", "--initial-dirs 1 --runs 2 --layout-every"),
    ("docs/layout.md", "ext4,xfs", "ext4,xfs --rounds 1 --phase-seconds 0"),
    ("docs/plan.md", "plan.toml  ", "plan.toml --rounds 1 --phase-seconds 0  "),
    ("docs/questions.md", "compare mail-server", "compare mail-server --rounds 1"),
    ("docs/reading.md", "made-otherwise.toml", "made-otherwise.toml --rounds 1"),
    ("docs/report.md", "--rounds 10", "--rounds 1 --phase-seconds 0"),
    ("docs/slower-with-age.md", "-i 3 -r 40", "-i 1 -r 4"),
    ("docs/trace.md", "linux-6.1-small --trace", "linux-6.1-small -i 1 -r 2 --trace"),
    ("docs/trace.md", "ext4,xfs", "ext4,xfs --rounds 1 --phase-seconds 0"),
    ("docs/trace.md", "-D /mnt/t", "-D /mnt/t -s DATASETS -i 1 -r 2"),
    ("docs/workloads/age.md", "--live 64M --until operations=2000", SOON_OLD),
    ("docs/workloads/age.md", "operations=1000", "operations=100"),
    ("docs/workloads/blogbench.md", "--dir /mnt/test", "--iterations 1 --sleep 1 --dir /mnt/test"),
    ("docs/workloads/blogbench.md", "blogbench -d", "blogbench -i 1 -s 1 -d"),
    ("docs/workloads/bonnie.md", "--size 4G --files 100000", "--size 16M --files 1000"),
    ("docs/workloads/bonnie.md", "-r 4096 -s 8192 -n 16", "-r 8 -s 16 -n 1"),
    ("docs/workloads/compilebench.md", "--initial-dirs 3 --runs 10", "-i 1 -r 2"),
    ("docs/workloads/compilebench.md", "-D /mnt/test", "-D /mnt/test -i 1 -r 2"),
    ("docs/workloads/dbench.md", "--clients 4  ", "--clients 4 --time 1 --warm-up 0  "),
    ("docs/workloads/dbench.md", "--time 120", "--time 1 --warm-up 0"),
    ("docs/workloads/dbench.md", "-t 60", "-t 1"),
    ("docs/workloads/ffsb.md", "--operations 40000", "--operations 400"),
    ("docs/workloads/ffsb.md", "ffsb examples/ffsb/mail-server-small.ffsb", "ffsb short.ffsb"),
    ("docs/workloads/filebench.md", "--seconds 60", "--seconds 1"),
    ("docs/workloads/filebench.md", "--threads 8", "--threads 8 --seconds 1"),
    ("docs/workloads/filebench.md", "filebench -f mine.f", "filebench -f short.f"),
    ("docs/workloads/fio.md", "random-read.fio  ", "random-read.fio --runtime 1 --set size=8m  "),
    (
        "docs/workloads/fio.md",
        "fio examples/fio/random-read.fio --output",
        "fio short.fio --output",
    ),
    ("docs/workloads/fs_mark.md", "--files 10000", "--files 100"),
    ("docs/workloads/fs_mark.md", "-L 30", "-L 2"),
    ("docs/workloads/io500.md", "--workers 4", "--workers 2 --seconds 1"),
    ("docs/evidence/io500.md", "--workers 4 --seconds 4", "--workers 2 --seconds 1"),
    ("docs/workloads/ior.md", "--block 64M", "--block 4M"),
    ("docs/workloads/ior.md", "-b 64m", "-b 4m"),
    ("docs/workloads/mdtest.md", "--items 10000", "--items 100"),
    ("docs/workloads/mdtest.md", "-n 10000", "-n 100"),
    (
        "docs/workloads/postmark.md",
        "--number 20000 --transactions 50000",
        "--number 500 --transactions 500",
    ),
];
const SOON_OLD: &str = "--live 8M --until operations=200";
const SMALL_TREES: &str = "linux-6.1-small --initial-dirs 1 --runs 2";

/// Pages whose first example is not run to its end, or runs fakes of what it names, with the
/// reasons.
pub(crate) const NOT_TO_THE_END: &[(&str, &str)] = &[
    ("README.md", "builds, installs and tests the program, as CI does"),
    ("docs/clients.md", "needs MPI; tests/cli/mpi.rs runs the same"),
    ("docs/inside.md", "builds and tests the program, as CI does"),
    ("docs/kernel-check.md", "reads kernel packages; tests/cli/kernel_check.rs does"),
    ("docs/kernels.md", "boots kernel packages; tests/cli/kernels.rs does"),
    ("docs/load.md", "a search takes ten minutes; tests/cli/loading.rs has short ones"),
    ("docs/packaging.md", "builds the release and installs it; `make dist` does"),
    ("docs/reboots.md", "reboots the machine; tests/cli/reboots.rs does on one of directories"),
    ("docs/schedulers.md", "a job for Slurm; tests/cli/mpi.rs runs its command"),
    ("docs/vng.md", "boots a kernel package by virtme-ng, which may be absent"),
    ("docs/evidence/aging.md", "unmounts what it ages, for half an hour"),
    ("docs/evidence/aging-maintenance.md", "mounts a played disk; tests/cli/played.rs has some"),
    ("docs/evidence/clients.md", "needs MPI, and originals"),
    ("docs/evidence/datasets.md", "builds two kernels"),
    ("docs/evidence/history.md", "a simulation of minutes; CI builds it"),
    ("docs/evidence/ior.md", "needs MPI, and originals"),
    ("docs/evidence/kernels.md", "boots kernel packages; tests/cli/kernels.rs does"),
    ("docs/evidence/load.md", "a simulation of minutes; CI builds it"),
    ("docs/evidence/mdtest.md", "needs MPI, and originals"),
    ("docs/evidence/performance.md", "measures the release in a directory of its own"),
    ("docs/evidence/rounds.md", "a simulation of minutes; CI builds it"),
    ("docs/evidence/statistics.md", "a simulation of minutes; CI builds it"),
    ("docs/evidence/sweeps.md", "a simulation of minutes; CI builds it"),
    ("docs/evidence/truth.md", "measures the release for ten minutes; CI does in small"),
];

/// Shell commands before those of a page whose first example needs a filesystem of its own at
/// /mnt/test, of 192 MiB.
pub(crate) const OWN_FILESYSTEM: &str = r"
truncate -s 192M own.img
mkfs.ext4 -q -F own.img
mount -o loop own.img /mnt/test
";

/// Shell commands before those of the page on images: two filesystems to save.
pub(crate) const TO_SAVE: &str = r"
for name in test other; do
    truncate -s 96M $name.img
    mkfs.ext4 -q -F $name.img
    mkdir -p /mnt/$name
    mount -o loop $name.img /mnt/$name
done
";

/// Shell commands before those of the page on curves over ages: a plan like `ages`.
pub(crate) const AGES: &str = r#"
cat > ages.toml <<'END'
rounds = 1
warm-up = false
device = { loop = "128MiB", sparse = true }
[aging]
age = [0, 100]
options = { profile = "mail", live = "8M", measure-every = 100 }
[[variant]]
filesystem = "ext4"
[[job]]
name = "read"
command = "find . -type f -exec cat {} + > /dev/null"
END
"#;

/// Shell commands before those of pages that run a file whose length it says itself.
pub(crate) const SHORT_FILES: &str = r"
sed 's/^time = 30/time = 1/' examples/ffsb/mail-server-small.ffsb > short.ffsb
sed 's/^run 60/run 1/' mine.f > short.f
sed 's/^runtime=60/runtime=1/; s/^size=1g/size=8m/' examples/fio/random-read.fio > short.fio
";

#[test]
fn each_first_example_that_is_not_run_has_a_reason() {
    use super::blocks::blocks;
    use super::tables::NOT_RUN;
    let listed = |page: &str| NOT_TO_THE_END.iter().any(|(one, _)| *one == page);
    for page in super::PAGES {
        let text = std::fs::read_to_string(super::root_of_project().join(page)).unwrap();
        let first = blocks(&text).into_iter().next().unwrap();
        let is_run = !NOT_RUN.iter().any(|(what, _)| first.text.contains(what));
        let is_faked = ["make ", "cargo "].iter().any(|word| first.text.contains(word));
        assert!(listed(page) || is_run && !is_faked, "{page}: the first example is not run");
        for (_, printed, _) in SHORTER.iter().filter(|(one, _, _)| one == page) {
            assert!(first.text.contains(printed), "{page}: no {printed} in the first example");
        }
    }
    for (page, _) in NOT_TO_THE_END {
        assert!(super::PAGES.contains(page), "{page} has no example");
    }
}
