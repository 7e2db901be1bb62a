//! Doubts about made-up comparisons: what is held against each other, what is excused, and that a
//! comparison of thousands reads every fact it looks at.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use std::collections::BTreeSet;

use treering_analysis::compare::{
    COMPARED_FACTS, ComparisonCaution, ComparisonCautionCode as Code, Factor, Side, Terms, compare,
};
use treering_model::{
    Beginning, Better, Caution, CautionCode, Ending, Fact, Metric, Mode, Scope, Trial, TrialId,
    Unit,
};

fn metric(name: &str, value: f64, unit: Unit, primary: bool) -> Metric {
    let scope = Scope::Kind("create".to_owned());
    Metric::new(name, scope, value, unit, Better::Higher).primary_if(primary).of_tasks(4)
}

/// A trial with these facts, each of whose four creates took so many seconds.
fn trial(facts: &[(&str, &str)], seconds: f64) -> Trial {
    let fact = |(name, value): &(&str, &str)| Fact {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    Trial {
        beginning: Beginning {
            started_unix_ms: 1,
            treering_version: "0.1.0".to_owned(),
            target: "/mnt".to_owned(),
            ..Beginning::new(TrialId::new(), "compilebench", Mode::Native)
        },
        facts: facts.iter().map(fact).collect(),
        phases: Vec::new(),
        tasks: Vec::new(),
        metrics: vec![
            metric("mib_per_second", 50.0, Unit::MibPerSecond, true),
            metric("seconds", seconds, Unit::Seconds, false),
        ],
        artifacts: Vec::new(),
        cautions: Vec::new(),
        annotations: Vec::new(),
        ending: Ending::Completed,
        wall_ns: 40_000_000_000,
    }
}

fn side(name: &str, factor: Factor, trials: Vec<Trial>) -> Side {
    Side { name: name.to_owned(), factor, trials }
}

/// What is doubted beside the single round.
fn doubts(base: Vec<Trial>, other: Vec<Trial>, factor: Factor) -> Vec<ComparisonCaution> {
    let (base, other) = (side("a", factor, base), side("b", factor, other));
    let outcome = compare(&base, &[other], &Terms::default()).unwrap();
    let beside = |caution: &ComparisonCaution| caution.code != Code::TooFewRounds;
    outcome.cautions.into_iter().filter(beside).collect()
}

type Facts<'f> = &'f [(&'f str, &'f str)];

fn codes_by(factor: Factor, base: Facts<'_>, other: Facts<'_>) -> Vec<Code> {
    let found = doubts(vec![trial(base, 9.0)], vec![trial(other, 9.0)], factor);
    found.iter().map(|caution| caution.code).collect()
}

fn codes(base: Facts<'_>, other: Facts<'_>) -> Vec<Code> {
    codes_by(Factor::Label, base, other)
}

#[test]
fn kernels_that_are_started_built_or_set_otherwise_are_doubted() {
    let line = "kernel.command_line";
    let base = [(line, "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 quiet")];
    let newer = [(line, "BOOT_IMAGE=/vmlinuz-6.2 root=/dev/sda1 quiet")];
    assert_eq!(codes(&base, &newer), [], "where the kernel lies is no setting");
    let off = [(line, "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 mitigations=off")];
    let found = doubts(vec![trial(&base, 9.0)], vec![trial(&off, 9.0)], Factor::Kernel);
    assert_eq!(found[0].code, Code::KernelSettingsDiffer);
    let said = &found[0].message;
    assert!(said.contains("is quiet for 'a' and mitigations=off for 'b'"), "{said}");
    for (name, one, other) in [
        ("kernel.debug_options", "none", "CONFIG_KASAN"),
        ("cpu.unmitigated", "none", "meltdown"),
        ("cpu.governor", "performance", "powersave"),
        ("memory.swappiness", "60", "1"),
        ("memory.dirty_expire_centisecs", "3000", "100"),
    ] {
        assert_eq!(codes(&[(name, one)], &[(name, other)]), [Code::KernelSettingsDiffer], "{name}");
        assert_eq!(codes(&[(name, one)], &[(name, one)]), [], "{name}");
        assert_eq!(codes(&[(name, one)], &[]), [], "{name} of nobody knows what");
    }
}

#[test]
fn machines_differ_by_more_than_a_kernel_takes_for_itself() {
    let memory = "memory.bytes";
    assert_eq!(codes(&[(memory, "25274793984")], &[(memory, "25270000000")]), []);
    let half = codes(&[(memory, "25274793984")], &[(memory, "12600000000")]);
    assert_eq!(half, [Code::MachinesDiffer]);
    let limits = "cgroup.limits";
    let limited = codes(&[(limits, "none")], &[(limits, "memory.max=1000, pids.max=7")]);
    assert_eq!(limited, [Code::MachinesDiffer]);
}

/// The same facts of a filesystem that a plan made with this command.
fn made<'f>(facts: &[(&'f str, &'f str)], command: &'f str) -> Vec<(&'f str, &'f str)> {
    [facts, &[("mkfs.command", command)]].concat()
}

#[test]
fn features_are_held_against_each_other_within_a_type() {
    let with = |kind: &'static str, features: &'static str, block: &'static str| {
        [
            ("filesystem.type", kind),
            ("filesystem.features", features),
            ("filesystem.block_bytes", block),
        ]
    };
    let base = with("ext4", "extent 64bit", "4096");
    assert_eq!(codes(&base, &with("ext4", "extent 64bit", "4096")), []);
    assert_eq!(codes(&base, &with("ext4", "extent", "4096")), [Code::FeaturesDiffer]);
    let by_fs = |other: Facts<'_>| codes_by(Factor::Filesystem, &base, other);
    assert_eq!(by_fs(&with("xfs", "reflink", "4096")), [], "of other types they have to differ");
    assert_eq!(by_fs(&with("xfs", "reflink", "1024")), [Code::FeaturesDiffer]);
    assert_eq!(by_fs(&with("nfs4", "", "1048576")), [], "that is no block");
    // A plan that says how they are made means it, of the blocks only when it names them.
    let planned = |one: &'static str, other: &'static str, block: &'static str| {
        let bare = with("ext4", "extent", block);
        codes_by(Factor::Variant, &made(&base, one), &made(&bare, other))
    };
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -O ^64bit x", "4096"), []);
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -O ^64bit x", "1024"), [Code::FeaturesDiffer]);
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -b 1024 x", "1024"), []);
    // Directories of a plan are as they are.
    let other = with("ext4", "extent", "4096");
    assert_eq!(codes_by(Factor::Variant, &base, &other), [Code::FeaturesDiffer]);
}

#[test]
fn metadata_kept_twice_is_said_whatever_was_asked_about() {
    let profile = "filesystem.metadata_profile";
    let said = |factor, command: &'static str| {
        let base =
            [("filesystem.type", "ext4"), (profile, "single"), ("mkfs.command", "mkfs.ext4 x")];
        let other = [("filesystem.type", "btrfs"), (profile, "dup"), ("mkfs.command", command)];
        let found = doubts(vec![trial(&base, 9.0)], vec![trial(&other, 9.0)], factor);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].code, Code::MetadataProfilesDiffer);
        found[0].message.clone()
    };
    for factor in [Factor::Filesystem, Factor::Variant, Factor::Target] {
        let message = said(factor, "mkfs.btrfs -f x");
        assert_eq!(message, "metadata is kept single by 'a' and dup by 'b'");
    }
    assert!(said(Factor::Variant, "mkfs.btrfs -m dup x").ends_with(", as mkfs was asked to"));
    // The -m of mkfs.ext4 is another.
    let base = [(profile, "single"), ("mkfs.command", "mkfs.ext4 -m 0 x")];
    let found = doubts(vec![trial(&base, 9.0)], vec![trial(&[(profile, "dup")], 9.0)], Factor::Id);
    assert!(found.iter().any(|one| one.message == "metadata is kept single by 'a' and dup by 'b'"));
    assert_eq!(codes(&[(profile, "dup")], &[(profile, "dup")]), []);
}

#[test]
fn places_on_one_disk_are_told_from_one_place() {
    let on =
        |disk: &'static str, name: &'static str| [("device.disk", disk), ("device.name", name)];
    let base = on("sda", "sda1");
    for factor in Factor::ALL {
        assert_eq!(codes_by(factor, &base, &on("sda", "sda2")), [Code::SameDisk]);
        assert_eq!(codes_by(factor, &base, &on("sda", "dm-0")), [Code::SameDisk]);
        assert_eq!(codes_by(factor, &base, &on("sda", "sda1")), []);
        assert_eq!(codes_by(factor, &base, &on("sdb", "sdb1")), []);
        assert_eq!(codes_by(factor, &base, &[]), []);
    }
}

#[test]
fn of_imported_runs_nobody_knows_the_places() {
    let imported = [("import.tool", "bonnie++")];
    assert_eq!(codes(&imported, &imported), [Code::PlacesUnknown]);
    assert_eq!(codes(&imported, &[]), []);
    assert_eq!(codes(&[("import.tool", "bonnie++"), ("device.disk", "sda")], &imported), []);
}

#[test]
fn how_full_filesystems_were_counts_unless_they_were_just_made() {
    let filled = |free: &'static str| {
        [("filesystem.capacity_bytes", "1000"), ("filesystem.free_bytes", free)]
    };
    assert_eq!(codes(&filled("950"), &filled("860")), []);
    assert_eq!(codes(&filled("950"), &filled("840")), [Code::FreeSpaceDiffers]);
    let fresh = |free| made(&filled(free), "mkfs.f2fs x");
    assert_eq!(codes_by(Factor::Variant, &fresh("950"), &fresh("700")), []);
}

#[test]
fn caches_that_one_side_could_not_drop_are_doubted() {
    let warm = || {
        let mut trial = trial(&[], 9.0);
        let message = "caches could not be dropped".to_owned();
        trial.cautions.push(Caution { code: CautionCode::CachesNotDropped, message });
        trial
    };
    let codes = |base: Vec<Trial>, other: Vec<Trial>| -> BTreeSet<Code> {
        doubts(base, other, Factor::Label).iter().map(|caution| caution.code).collect()
    };
    assert!(codes(vec![trial(&[], 9.0)], vec![warm()]).contains(&Code::CachesDiffer));
    assert!(!codes(vec![warm()], vec![warm()]).contains(&Code::CachesDiffer));
    assert!(codes(vec![trial(&[], 9.0)], vec![trial(&[], 9.0)]).is_empty());
}

#[test]
fn metrics_that_are_measured_for_less_than_a_second_are_named() {
    let found = |one: f64, other: f64| {
        doubts(vec![trial(&[], one)], vec![trial(&[], other)], Factor::Label)
    };
    // Four creates each.
    assert_eq!(found(0.25, 9.0), []);
    let short = found(9.0, 0.2);
    assert_eq!(short[0].code, Code::TooShort);
    assert!(short[0].message.ends_with("create/mib_per_second 0.80 s"), "{short:?}");
    // Trials that do not say how long it took are not doubted.
    let mut silent = trial(&[], 0.1);
    silent.metrics.truncate(1);
    assert_eq!(doubts(vec![silent.clone()], vec![silent], Factor::Label), []);
}

/// That a fact is looked at and not read fails where it is looked at, in tests.
#[test]
fn no_fact_is_read_twice() {
    let names: BTreeSet<&str> = COMPARED_FACTS.into_iter().collect();
    assert_eq!(names.len(), COMPARED_FACTS.len());
    assert!(!names.contains(""));
}
