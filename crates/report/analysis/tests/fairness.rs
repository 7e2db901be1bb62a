//! Cautions about synthetic comparisons: compared facts, excused differences, and a comparison of
//! thousands of trials.
#![expect(clippy::unwrap_used, reason = "in a test the panic is the message")]

use std::collections::BTreeSet;

use treering_analysis::compare::{
    COMPARED_FACTS, ComparedVariant, ComparisonCaution, ComparisonCautionCode as Code,
    ComparisonTerms, Factor, compare,
};
use treering_model::{
    BetterDirection, Caution, CautionCode, Ending, Fact, Metric, PhaseTotals, RunMode, Scope,
    TaskTotals, Trial, TrialHeader, TrialId, Unit,
};

fn metric(name: &str, value: f64, unit: Unit, primary: bool) -> Metric {
    let scope = Scope::Kind("create".to_owned());
    Metric::new(name, scope, value, unit, BetterDirection::Higher).primary_if(primary).of_tasks(4)
}

/// A trial with these facts and four creates that took `seconds` each.
fn trial(facts: &[(&str, &str)], seconds: f64) -> Trial {
    let fact = |(name, value): &(&str, &str)| Fact {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
    };
    Trial {
        facts: facts.iter().map(fact).collect(),
        metrics: vec![
            metric("mib_per_second", 50.0, Unit::MibPerSecond, true),
            metric("seconds", seconds, Unit::Seconds, false),
        ],
        ending: Ending::Completed,
        wall_ns: 40_000_000_000,
        ..Trial::new(TrialHeader {
            started_unix_ms: 1,
            treering_version: "0.1.0".to_owned(),
            target: "/mnt".to_owned(),
            ..TrialHeader::new(TrialId::new(), "compilebench", RunMode::Native)
        })
    }
}

fn variant(name: &str, factor: Factor, trials: Vec<Trial>) -> ComparedVariant {
    ComparedVariant { name: name.to_owned(), factor, against: None, trials }
}

/// Cautions of a comparison, without the one about a single round.
fn cautions(base: Vec<Trial>, other: Vec<Trial>, factor: Factor) -> Vec<ComparisonCaution> {
    let (base, other) = (variant("a", factor, base), variant("b", factor, other));
    let outcome = compare(&base, &[other], &ComparisonTerms::default()).unwrap();
    let beside = |caution: &ComparisonCaution| caution.code != Code::TooFewRounds;
    outcome.cautions.into_iter().filter(beside).collect()
}

type Facts<'f> = &'f [(&'f str, &'f str)];

fn codes_by(factor: Factor, base: Facts<'_>, other: Facts<'_>) -> Vec<Code> {
    let reported = cautions(vec![trial(base, 9.0)], vec![trial(other, 9.0)], factor);
    reported.iter().map(|caution| caution.code).collect()
}

fn codes(base: Facts<'_>, other: Facts<'_>) -> Vec<Code> {
    codes_by(Factor::Label, base, other)
}

#[test]
fn kernels_that_are_started_built_or_set_otherwise_are_cautioned() {
    let line = "kernel.command_line";
    let base = [(line, "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 quiet")];
    let newer = [(line, "BOOT_IMAGE=/vmlinuz-6.2 root=/dev/sda1 quiet")];
    assert_eq!(codes(&base, &newer), [], "where the kernel lies is no setting");
    let off = [(line, "BOOT_IMAGE=/vmlinuz-6.1 root=/dev/sda1 mitigations=off")];
    let reported = cautions(vec![trial(&base, 9.0)], vec![trial(&off, 9.0)], Factor::Kernel);
    assert_eq!(reported[0].code, Code::KernelSettingsDiffer);
    let message = &reported[0].message;
    assert!(message.contains("is quiet for 'a' and mitigations=off for 'b'"), "{message}");
    for (name, base_value, other_value) in [
        ("kernel.debug_options", "none", "CONFIG_KASAN"),
        ("cpu.unmitigated", "none", "meltdown"),
        ("cpu.governor", "performance", "powersave"),
        ("memory.swappiness", "60", "1"),
        ("memory.dirty_expire_centisecs", "3000", "100"),
        ("memory.dirty_limit_bytes", "0", "1048576"),
        ("memory.dirty_background_limit_bytes", "0", "1048576"),
        ("memory.dirty_background_ratio", "10", "1"),
        ("memory.transparent_hugepages", "[always] madvise never", "always madvise [never]"),
        ("cpu.simultaneous_threads", "1", "0"),
        ("kernel.preemption", "none", "full"),
        ("kernel.preemption_built", "dynamic", "real-time"),
    ] {
        assert_eq!(
            codes(&[(name, base_value)], &[(name, other_value)]),
            [Code::KernelSettingsDiffer],
            "{name}"
        );
        assert_eq!(codes(&[(name, base_value)], &[(name, base_value)]), [], "{name}");
        assert_eq!(codes(&[(name, base_value)], &[]), [Code::KnownOfOneSide], "{name}");
    }
}

#[test]
fn generic_code_for_checksums_is_told_where_the_other_side_has_better() {
    let code = "filesystem.checksum_code";
    let differing = codes(&[(code, "generic")], &[(code, "for the processor")]);
    assert_eq!(differing, [Code::KernelSettingsDiffer]);
    // A filesystem without checksums has no checksum code to compare.
    assert_eq!(codes(&[(code, "generic")], &[]), []);
}

#[test]
fn memory_reserved_by_the_kernel_is_no_machine_difference() {
    let memory = "memory.bytes";
    assert_eq!(codes(&[(memory, "25274793984")], &[(memory, "25270000000")]), []);
    let half = codes(&[(memory, "25274793984")], &[(memory, "12600000000")]);
    assert_eq!(half, [Code::MachinesDiffer]);
    let limits = "cgroup.limits";
    let limited = codes(&[(limits, "none")], &[(limits, "memory.max=1000, pids.max=7")]);
    assert_eq!(limited, [Code::MachinesDiffer]);
}

/// The same facts for a filesystem that a plan made with this command.
fn mkfs_facts<'f>(facts: &[(&'f str, &'f str)], command: &'f str) -> Vec<(&'f str, &'f str)> {
    [facts, &[("mkfs.command", command)]].concat()
}

#[test]
fn features_are_compared_within_a_filesystem_type() {
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
    let by_fs = |other_features: Facts<'_>| codes_by(Factor::Filesystem, &base, other_features);
    assert_eq!(by_fs(&with("xfs", "reflink", "4096")), [], "of other types they have to differ");
    assert_eq!(by_fs(&with("xfs", "reflink", "1024")), [Code::FeaturesDiffer]);
    assert_eq!(by_fs(&with("nfs4", "", "1048576")), [], "that is no block");
    // A plan declares the features of its filesystems, but their block sizes only if a mkfs command
    // names them.
    let planned =
        |base_features: &'static str, other_features: &'static str, block: &'static str| {
            let bare = with("ext4", "extent", block);
            codes_by(
                Factor::Variant,
                &mkfs_facts(&base, base_features),
                &mkfs_facts(&bare, other_features),
            )
        };
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -O ^64bit x", "4096"), []);
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -O ^64bit x", "1024"), [Code::FeaturesDiffer]);
    assert_eq!(planned("mkfs.ext4 x", "mkfs.ext4 -b 1024 x", "1024"), []);
    // The filesystem of a directory is not made by the plan.
    let other_features = with("ext4", "extent", "4096");
    assert_eq!(codes_by(Factor::Variant, &base, &other_features), [Code::FeaturesDiffer]);
}

#[test]
fn duplicated_metadata_is_cautioned_for_every_factor() {
    let profile = "filesystem.metadata_profile";
    let caution = |factor, command: &'static str| {
        let base =
            [("filesystem.type", "ext4"), (profile, "single"), ("mkfs.command", "mkfs.ext4 x")];
        let other = [("filesystem.type", "btrfs"), (profile, "dup"), ("mkfs.command", command)];
        let reported = cautions(vec![trial(&base, 9.0)], vec![trial(&other, 9.0)], factor);
        assert_eq!(reported.len(), 1, "{reported:?}");
        assert_eq!(reported[0].code, Code::MetadataProfilesDiffer);
        reported[0].message.clone()
    };
    for factor in [Factor::Filesystem, Factor::Variant, Factor::Target] {
        let message = caution(factor, "mkfs.btrfs -f x");
        assert_eq!(message, "metadata is kept single by 'a' and dup by 'b'");
    }
    assert!(caution(Factor::Variant, "mkfs.btrfs -m dup x").ends_with(", as the plan says"));
    assert!(caution(Factor::Target, "mkfs.btrfs -m dup x").ends_with(", as mkfs was asked to"));
    // For mkfs.ext4, -m is a different option.
    let base = [(profile, "single"), ("mkfs.command", "mkfs.ext4 -m 0 x")];
    let reported =
        cautions(vec![trial(&base, 9.0)], vec![trial(&[(profile, "dup")], 9.0)], Factor::Id);
    assert!(
        reported
            .iter()
            .any(|caution| caution.message == "metadata is kept single by 'a' and dup by 'b'")
    );
    assert_eq!(codes(&[(profile, "dup")], &[(profile, "dup")]), []);
}

#[test]
fn different_places_on_one_disk_are_cautioned() {
    let partition =
        |disk: &'static str, name: &'static str| [("device.disk", disk), ("device.name", name)];
    let base = partition("sda", "sda1");
    for factor in Factor::ALL {
        assert_eq!(codes_by(factor, &base, &partition("sda", "sda2")), [Code::SameDisk]);
        assert_eq!(codes_by(factor, &base, &partition("sda", "dm-0")), [Code::SameDisk]);
        assert_eq!(codes_by(factor, &base, &partition("sda", "sda1")), []);
        let is_declared = matches!(factor, Factor::Variant | Factor::Target);
        let of_another: &[Code] = if is_declared { &[] } else { &[Code::DevicesDiffer] };
        assert_eq!(codes_by(factor, &base, &partition("sdb", "sdb1")), of_another, "{factor:?}");
        assert_eq!(codes_by(factor, &base, &[]), []);
    }
}

#[test]
fn unknown_disks_of_imported_runs_are_cautioned() {
    let imported = [("import.tool", "bonnie++")];
    assert_eq!(codes(&imported, &imported), [Code::PlacesUnknown]);
    assert_eq!(codes(&imported, &[]), []);
    assert_eq!(codes(&[("import.tool", "bonnie++"), ("device.disk", "sda")], &imported), []);
}

#[test]
fn free_space_is_compared_unless_filesystems_are_fresh() {
    let filled = |free: &'static str| {
        [("filesystem.capacity_bytes", "1000"), ("filesystem.free_bytes", free)]
    };
    assert_eq!(codes(&filled("950"), &filled("925")), []);
    assert_eq!(codes(&filled("950"), &filled("880")), [Code::FreeSpaceDiffers]);
    let fresh = |free| mkfs_facts(&filled(free), "mkfs.f2fs x");
    assert_eq!(codes_by(Factor::Variant, &fresh("950"), &fresh("700")), []);
}

#[test]
fn caches_that_one_variant_could_not_drop_are_cautioned() {
    let warm = || {
        let mut trial = trial(&[], 9.0);
        let message = "caches could not be dropped".to_owned();
        trial.cautions.push(Caution { code: CautionCode::CachesNotDropped, message });
        trial
    };
    let codes = |base: Vec<Trial>, other: Vec<Trial>| -> BTreeSet<Code> {
        cautions(base, other, Factor::Label).iter().map(|caution| caution.code).collect()
    };
    assert!(codes(vec![trial(&[], 9.0)], vec![warm()]).contains(&Code::CachesDiffer));
    assert!(!codes(vec![warm()], vec![warm()]).contains(&Code::CachesDiffer));
    assert!(codes(vec![trial(&[], 9.0)], vec![trial(&[], 9.0)]).is_empty());
}

#[test]
fn metrics_that_are_measured_for_less_than_a_second_are_named() {
    let short_metrics = |base_seconds: f64, other_seconds: f64| {
        cautions(vec![trial(&[], base_seconds)], vec![trial(&[], other_seconds)], Factor::Label)
    };
    // Each trial has four creates.
    assert_eq!(short_metrics(0.25, 9.0), []);
    let short = short_metrics(9.0, 0.2);
    assert_eq!(short[0].code, Code::TooShort);
    assert!(short[0].message.ends_with("create/mib_per_second 0.80 s"), "{short:?}");
    // Trials without a measured time get no caution.
    let mut silent = trial(&[], 0.1);
    silent.metrics.truncate(1);
    assert_eq!(cautions(vec![silent.clone()], vec![silent], Factor::Label), []);
}

#[test]
fn queue_settings_of_like_devices_are_compared_for_every_factor() {
    let with_setting = |device: &'static str, name: &'static str, value: &'static str| {
        [("device.name", device), ("device.rotational", "0"), (name, value)]
    };
    for (name, base_value, other_value) in [
        ("device.nr_requests", "128", "4"),
        ("device.nomerges", "0", "2"),
        ("device.writeback_latency_us", "75000", "0"),
        ("device.max_io_kib", "1280", "4"),
        ("device.scheduler", "[none] mq-deadline", "none [mq-deadline]"),
        ("device.image_allocation", "allocated", "sparse"),
        ("device.direct_io", "1", "0"),
    ] {
        for factor in [Factor::Label, Factor::Target, Factor::Variant] {
            let codes = codes_by(
                factor,
                &with_setting("loop1", name, base_value),
                &with_setting("loop2", name, other_value),
            );
            assert_eq!(codes, [Code::DevicesDiffer], "{name} {factor:?}");
        }
        // Devices of different kinds have different queues.
        let codes = codes_by(
            Factor::Target,
            &with_setting("sda1", name, base_value),
            &with_setting("loop2", name, other_value),
        );
        assert_eq!(codes, [], "{name}");
    }
    // A plan declares the images it creates, but not their queue settings.
    let planned = |name: &'static str, base_value: &'static str, other_value: &'static str| {
        let (base_value, other_value) =
            (with_setting("loop1", name, base_value), with_setting("loop1", name, other_value));
        codes_by(
            Factor::Variant,
            &mkfs_facts(&base_value, "mkfs x"),
            &mkfs_facts(&other_value, "mkfs x"),
        )
    };
    assert_eq!(planned("device.image_allocation", "allocated", "sparse"), []);
    assert_eq!(planned("device.nr_requests", "128", "4"), [Code::DevicesDiffer]);
}

#[test]
fn mounting_without_barriers_is_reported_also_between_filesystems() {
    let mounted = |kind: &'static str, options: &'static str, requested: &'static str| {
        [
            ("filesystem.type", kind),
            ("filesystem.mount_options", "rw,relatime"),
            ("filesystem.super_options", options),
            ("mount.asked", requested),
        ]
    };
    let (ext4, xfs) = (mounted("ext4", "rw,nobarrier", ""), mounted("xfs", "rw,attr2", ""));
    for factor in [Factor::Filesystem, Factor::Variant, Factor::Target] {
        assert_eq!(codes_by(factor, &ext4, &xfs), [Code::MountOptionsDiffer], "{factor:?}");
        let usual = mounted("ext4", "rw,barrier=1", "");
        assert_eq!(codes_by(factor, &usual, &xfs), [], "{factor:?}");
    }
    let requested = mounted("ext4", "rw,nobarrier", "noatime,nobarrier");
    assert_eq!(codes_by(Factor::Variant, &requested, &xfs), [], "the plan asked for it");
    let same = mounted("ext4", "rw", "");
    assert_eq!(codes_by(Factor::Label, &ext4, &same), [Code::MountOptionsDiffer]);
}

#[test]
fn directories_of_an_overlay_that_are_new_at_each_mount_are_no_difference() {
    let mounted = |options: &'static str| {
        [("filesystem.type", "overlay"), ("filesystem.super_options", options)]
    };
    let one = mounted("rw,lowerdir=/run/lab/1/lower:/run/lab/1/base,upperdir=/run/lab/1/upper");
    let other = mounted("rw,lowerdir=/run/lab/2/lower:/run/lab/2/base,upperdir=/run/lab/2/upper");
    let fewer = mounted("rw,lowerdir=/run/lab/2/lower,upperdir=/run/lab/2/upper");
    let volatile = mounted("rw,lowerdir=/run/lab/2/lower:/run/lab/2/base,volatile");
    for factor in [Factor::Label, Factor::Job, Factor::Kernel] {
        assert_eq!(codes_by(factor, &one, &other), [], "{factor:?}");
        for different in [&fewer, &volatile] {
            let codes = codes_by(factor, &one, different);
            assert_eq!(codes, [Code::MountOptionsDiffer], "{factor:?}");
        }
    }
}

#[test]
fn cautions_on_all_trials_of_one_variant_are_reported() {
    let cautioned = |code: CautionCode| {
        let mut trial = trial(&[], 9.0);
        trial.cautions.push(Caution { code, message: "in /dev/shm".to_owned() });
        trial
    };
    let plain = || trial(&[], 9.0);
    let messages = |base: Vec<Trial>, other: Vec<Trial>| -> Vec<String> {
        let reported = cautions(base, other, Factor::Variant);
        let own = reported.into_iter().filter(|caution| caution.code == Code::OneSided);
        own.map(|caution| caution.message).collect()
    };
    let image = || cautioned(CautionCode::ImageInMemory);
    assert_eq!(
        messages(vec![plain(), plain()], vec![image(), image()]),
        ["trials of 'b', against those of 'a': image_in_memory in 2 of 2 against 0 of 2 \
             (in /dev/shm)"]
    );
    assert_eq!(
        messages(vec![cautioned(CautionCode::Handicapped)], vec![plain()]),
        ["trials of 'a', against those of 'b': handicapped in 1 of 1 against 0 of 1 (in /dev/shm)"]
    );
    assert!(messages(vec![image(), image()], vec![image(), plain()]).is_empty(), "of both");
    assert!(messages(vec![plain(), plain()], vec![image(), plain()]).is_empty(), "of some");
}

/// Guests report slightly different amounts of memory after each boot.
#[test]
fn trials_whose_memory_differs_by_pages_are_not_mixed() {
    let mixed = |bytes: [&'static str; 2]| {
        let own = bytes.map(|bytes| trial(&[("memory.bytes", bytes)], 9.0)).to_vec();
        let reported =
            cautions(own, vec![trial(&[("memory.bytes", "1013817344")], 9.0)], Factor::Label);
        reported.iter().any(|caution| caution.code == Code::MixedSide)
    };
    assert!(!mixed(["1013817344", "1013821440"]));
    assert!(mixed(["1013817344", "2013821440"]));
}

#[test]
fn facts_known_of_one_variant_only_are_reported() {
    let messages = |base: Facts<'_>, other: Facts<'_>| -> Vec<String> {
        let reported = cautions(vec![trial(base, 9.0)], vec![trial(other, 9.0)], Factor::Label);
        let own = reported.into_iter().filter(|caution| caution.code == Code::KnownOfOneSide);
        own.map(|caution| caution.message).collect()
    };
    let (kernel, model) = (("kernel.release", "6.1"), ("cpu.model", "A CPU"));
    assert_eq!(messages(&[kernel, model], &[kernel]), ["known for 'a' but not for 'b': cpu.model"]);
    assert_eq!(
        messages(&[], &[kernel, model]),
        ["the environment of 'b' is known, that of 'a' is not"]
    );
    assert!(messages(&[kernel], &[kernel]).is_empty());
}

/// A trial of a workload whose primary metric has no measured time.
fn silent(scope: Scope, name: &str, value: f64) -> Trial {
    let mut trial = trial(&[], 9.0);
    let rate = Metric::new(name, scope, value, Unit::FilesPerSecond, BetterDirection::Higher);
    trial.metrics = vec![rate.primary()];
    trial
}

fn shortness(trial: &Trial) -> Option<String> {
    let reported = cautions(vec![trial.clone()], vec![trial.clone()], Factor::Label);
    let short = reported.into_iter().find(|caution| caution.code == Code::TooShort);
    short.and_then(|caution| caution.message.rsplit(' ').nth(1).map(str::to_owned))
}

#[test]
fn too_short_covers_every_workload() {
    const MS: u64 = 1_000_000;
    let kind = || Scope::Kind("create".to_owned());
    // Tasks like those of fs_mark: concurrent, and of several kinds.
    let mut marks = silent(kind(), "files_per_second", 9000.0);
    let task = |kind: &str, began: u64, lasted: u64| TaskTotals {
        kind: kind.to_owned(),
        began_ns: began * MS,
        wall_ns: lasted * MS,
        ..TaskTotals::default()
    };
    marks.tasks = vec![task("create", 0, 20), task("create", 10, 20), task("unlink", 40, 5000)];
    assert_eq!(shortness(&marks).as_deref(), Some("0.03"));
    marks.tasks.push(task("create", 5000, 970));
    assert_eq!(shortness(&marks), None, "all of its operations together");
    // Without tasks, the time is at most that of the phases.
    marks.tasks.clear();
    marks.phases = vec![PhaseTotals { wall_ns: 40 * MS, ..PhaseTotals::default() }];
    assert_eq!(shortness(&marks).as_deref(), Some("0.04"));
    // Metrics like those of filebench: an amount and its rate, whatever the preparations took.
    let mut played = silent(Scope::Trial, "operations_per_second", 1000.0);
    let count =
        Metric::new("operations", Scope::Trial, 960.0, Unit::Count, BetterDirection::Higher);
    played.metrics.push(count);
    assert_eq!(shortness(&played).as_deref(), Some("0.96"));
    // Metrics like those of bonnie++ and ffsb.
    let mut timed = silent(kind(), "mib_per_second", 1000.0);
    let elapsed =
        Metric::new("elapsed_seconds", kind(), 0.5, Unit::Seconds, BetterDirection::Lower);
    timed.metrics.push(elapsed);
    assert_eq!(shortness(&timed).as_deref(), Some("0.50"));
    // Metrics of a phase, and of the whole trial.
    let mut phase = silent(Scope::Phase("run".to_owned()), "files_per_second", 1.0);
    let lasting = |name: &str, wall_ns| PhaseTotals {
        name: name.to_owned(),
        wall_ns,
        ..PhaseTotals::default()
    };
    phase.phases = vec![lasting("setup", 9000 * MS), lasting("run", 700 * MS)];
    assert_eq!(shortness(&phase).as_deref(), Some("0.70"));
    let mut whole = silent(Scope::Trial, "files_per_second", 1.0);
    whole.wall_ns = 900 * MS;
    assert_eq!(shortness(&whole).as_deref(), Some("0.90"));
    let setup =
        Metric::new("setup_seconds", Scope::Trial, 8.5, Unit::Seconds, BetterDirection::Lower);
    whole.wall_ns = 9000 * MS;
    assert_eq!(shortness(&whole), None);
    whole.metrics.push(setup);
    assert_eq!(shortness(&whole).as_deref(), Some("0.50"));
}

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Two variants whose trials start at these times.
fn at(base: &[i64], other: &[i64]) -> [ComparedVariant; 2] {
    let variant_of = |name: &str, times: &[i64]| {
        let started = |at: &i64| {
            let mut trial = trial(&[], 9.0);
            trial.beginning.started_unix_ms = *at;
            trial
        };
        variant(name, Factor::Label, times.iter().map(started).collect())
    };
    [variant_of("a", base), variant_of("b", other)]
}

/// Number of pairs of the primary metric (0 if unpaired) and the cautions.
fn paired(base: &[i64], other: &[i64]) -> (usize, BTreeSet<Code>) {
    let variants = at(base, other);
    let outcome = compare(&variants[0], &variants[1..], &ComparisonTerms::default()).unwrap();
    let codes = outcome.cautions.iter().map(|caution| caution.code).collect();
    (outcome.comparisons.iter().find(|comparison| comparison.primary).unwrap().pairs(), codes)
}

/// Start times of the trials of both variants, one per minute in this order.
fn in_order(order: &str) -> (Vec<i64>, Vec<i64>) {
    let at = |name: char| {
        let places = (0_i64..).zip(order.chars()).filter(|(_, letter)| *letter == name);
        places.map(|(place, _)| place * 60_000).collect()
    };
    (at('a'), at('b'))
}

#[test]
fn trials_of_other_days_are_no_pairs() {
    let first: Vec<i64> = (0..8).map(|k| k * 60_000).collect();
    let later: Vec<i64> = first.iter().map(|at| at + 200 * DAY_MS).collect();
    let (pairs, codes) = paired(&first, &later);
    assert_eq!(pairs, 0);
    assert!(codes.contains(&Code::Unpaired) && codes.contains(&Code::NotInterleaved));
    // On each of four evenings both variants ran once or twice.
    let (mut base, mut other) = (Vec::new(), Vec::new());
    for evening in 0..4 {
        let start = evening * DAY_MS;
        base.extend([start, start + 3 * 60_000]);
        other.extend([start + 60_000, start + 2 * 60_000]);
    }
    assert_eq!(paired(&base, &other).0, 8);
    // On one evening a variant lacks its second trial, so the other's second trial has no partner.
    other.remove(3);
    let (pairs, codes) = paired(&base, &other);
    assert_eq!(pairs, 7);
    assert!(codes.contains(&Code::Unpaired), "one is left out: {codes:?}");
    // If most trials have no partner, they form two unpaired sets.
    base.extend((0..9).map(|day| (9 + day) * DAY_MS));
    assert_eq!(paired(&base, &other).0, 0);
    // Trials may be longer than the pause that separates sessions.
    let long = at(&[0, 20 * HOUR_MS], &[10 * HOUR_MS, 30 * HOUR_MS]).map(|mut variant| {
        variant.trials.iter_mut().for_each(|trial| trial.wall_ns = 6 * 3_600_000_000_000);
        variant
    });
    let outcome = compare(&long[0], &long[1..], &ComparisonTerms::default()).unwrap();
    assert_eq!(outcome.comparisons[0].pairs(), 2);
}

#[test]
fn trials_of_one_start_time_have_an_unknown_order_and_do_not_count_as_interleaved() {
    let trials_of = |seconds: [f64; 3]| seconds.map(|seconds| trial(&[], seconds)).to_vec();
    let reported = cautions(trials_of([9.0, 9.1, 9.2]), trials_of([9.3, 9.4, 9.5]), Factor::Label);
    let order = reported.iter().find(|caution| caution.code == Code::NotInterleaved).unwrap();
    assert!(order.message.contains("same start time"), "{}", order.message);
}

fn order_cautions(order: &str) -> BTreeSet<Code> {
    let (base, other) = in_order(order);
    let mut codes = paired(&base, &other).1;
    codes.retain(|code| matches!(code, Code::NotInterleaved | Code::OrderNeverChanges));
    codes
}

#[test]
fn blocks_do_not_count_as_interleaved() {
    let blocks = BTreeSet::from([Code::NotInterleaved]);
    for order in [
        "aabb",
        "aaabbb",
        "aaaaaaaabbbbbbbbab",
        "aaaabbbbab",
        "aaaabbbbaaaabbbb",
        "aaaaaaaabbbbbbbbbbbbbbbbaaaaaaaa",
        "bbbbbbaaaaab",
    ] {
        assert_eq!(order_cautions(order), blocks, "{order}");
    }
    for order in ["abba", "abbaabba", "abbababaab", "ab", "abb", "aab"] {
        assert_eq!(order_cautions(order), BTreeSet::new(), "{order}");
    }
}

#[test]
fn an_order_that_never_changes_is_reported() {
    let reported = BTreeSet::from([Code::OrderNeverChanges]);
    assert_eq!(order_cautions("abababab"), reported);
    assert_eq!(order_cautions("babababababa"), reported);
    assert_eq!(order_cautions("aabbaabb"), reported);
    let eleven = "ab".repeat(11);
    assert_eq!(order_cautions(&format!("{eleven}ba")), reported, "eleven of twelve");
    assert_eq!(order_cautions("ababababababbaab"), BTreeSet::new(), "seven of eight can be chance");
    assert_eq!(order_cautions("ababab"), BTreeSet::new(), "three rounds can be chance");
    assert_eq!(order_cautions("ababbaab"), BTreeSet::new());
}

/// SplitMix64 generator: the same numbers on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Approximately normal noise: the sum of twelve uniform numbers.
    fn noise(&mut self) -> f64 {
        (0..12).map(|_| (self.next() >> 11) as f64 / (1_u64 << 53) as f64).sum::<f64>() - 6.0
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, usize::try_from(self.next() % (last as u64 + 1)).unwrap());
        }
    }
}

/// False alarms of `not_interleaved`: none for rounds in random order, and at most one in ten for
/// fully shuffled trials.
#[test]
fn random_schedules_count_as_interleaved() {
    let mut numbers = SplitMix64(16);
    let alarm = |order: &[char]| {
        let order: String = order.iter().collect();
        order_cautions(&order).contains(&Code::NotInterleaved)
    };
    let (mut of_rounds, mut shuffled) = (0, 0);
    for trial in 0..600 {
        let rounds = 3 + trial % 10;
        let mut order = Vec::new();
        for _ in 0..rounds {
            let mut round = ['a', 'b'];
            numbers.shuffle(&mut round);
            order.extend(round);
        }
        of_rounds += u32::from(alarm(&order));
        numbers.shuffle(&mut order);
        shuffled += u32::from(alarm(&order));
    }
    assert_eq!(of_rounds, 0);
    assert!(shuffled <= 60, "{shuffled} of 600");
}

/// False alarms of `drifting`: with twelve constant primary metrics at most one comparison in
/// twenty, within the sampling error of 200 comparisons. A true drift is detected.
#[test]
fn twelve_metrics_do_not_drift_by_chance() {
    let mut numbers = SplitMix64(5);
    let mut is_drifting = |slope: f64| {
        let mut variants = at(&[0; 10], &[0; 10]);
        for (place, variant) in variants.iter_mut().enumerate() {
            for (round, trial) in variant.trials.iter_mut().enumerate() {
                let drift = if place == 1 { slope * round as f64 } else { 0.0 };
                trial.metrics = (0..12)
                    .map(|metric| {
                        let drift = if metric == 0 { drift } else { 0.0 };
                        let value = 100.0 * (0.02 * numbers.noise() + drift).exp();
                        let scope = Scope::Kind(format!("kind {metric}"));
                        let (unit, better) = (Unit::MibPerSecond, BetterDirection::Higher);
                        Metric::new("mib_per_second", scope, value, unit, better).primary()
                    })
                    .collect();
            }
        }
        let outcome = compare(&variants[0], &variants[1..], &ComparisonTerms::default()).unwrap();
        outcome.cautions.iter().any(|caution| caution.code == Code::Drifting)
    };
    let alarms = (0..200).filter(|_| is_drifting(0.0)).count();
    assert!(alarms <= 20, "{alarms} of 200");
    let drifting = (0..50).filter(|_| is_drifting(0.03)).count();
    assert!(drifting >= 45, "{drifting} of 50");
}

/// Tests that the list of compared facts has no duplicates; a fact that is looked up but not listed
/// panics in debug builds.
#[test]
fn each_fact_is_compared_by_one_rule() {
    let names: BTreeSet<&str> = COMPARED_FACTS.into_iter().collect();
    assert_eq!(names.len(), COMPARED_FACTS.len());
    assert!(!names.contains(""));
}

#[test]
fn too_short_is_limited_to_primary_metrics() {
    let mut short = silent(Scope::Kind("create".to_owned()), "files_per_second", 9000.0);
    short.phases = vec![PhaseTotals { wall_ns: 40_000_000, ..PhaseTotals::default() }];
    let whole = ("operation_seconds", Scope::Trial, 3.0, Unit::Seconds, BetterDirection::Lower);
    short.metrics.push(Metric::new(whole.0, whole.1, whole.2, whole.3, whole.4));
    assert_eq!(shortness(&short).as_deref(), Some("0.04"));
    let (base, other) = (
        variant("a", Factor::Label, vec![short.clone()]),
        variant("b", Factor::Label, vec![short]),
    );
    let terms = ComparisonTerms {
        primary: vec!["operation_seconds".to_owned()],
        ..ComparisonTerms::default()
    };
    let cautions = compare(&base, &[other], &terms).unwrap().cautions;
    assert!(cautions.iter().all(|caution| caution.code != Code::TooShort), "{cautions:?}");
}

#[test]
fn kernels_booted_by_a_plan_belong_to_the_factor() {
    let under = |release: &'static str, scheduler: &'static str| {
        [
            ("kernel.release", release),
            ("guest.kernel", release),
            ("guest.accelerator", "tcg"),
            ("device.name", "vda"),
            ("device.scheduler", scheduler),
        ]
    };
    let (old, new) = (under("6.1.0", "[none] mq-deadline"), under("6.12.0", "[none]"));
    assert_eq!(codes_by(Factor::Variant, &old, &new), []);
    // Kernels that the plan did not boot are not declared.
    let (old, new) = ([("kernel.release", "6.1.0")], [("kernel.release", "6.12.0")]);
    assert_eq!(codes_by(Factor::Variant, &old, &new), [Code::KernelsDiffer]);
}

#[test]
fn guests_with_different_accelerators_are_not_compared() {
    let accelerated_by = |accelerator: &'static str| [("guest.accelerator", accelerator)];
    let codes = codes_by(Factor::Variant, &accelerated_by("tcg"), &accelerated_by("kvm"));
    assert!(codes.contains(&Code::AcceleratorsDiffer), "{codes:?}");
    let codes = codes_by(Factor::Label, &accelerated_by("tcg"), &[]);
    assert!(codes.contains(&Code::AcceleratorsDiffer), "{codes:?}");
    let codes = codes_by(Factor::Label, &accelerated_by("tcg"), &accelerated_by("tcg"));
    assert!(!codes.contains(&Code::AcceleratorsDiffer), "{codes:?}");
}
