//! Written plans read back to the same plan; and equality of plans by digest.

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};
use proptest::{collection, option, sample};
use treering_conduct::plan::{
    Conditions, JobCommands, JobEngine, JobPhases, Judging, Machine, ObservedIn, Observing, Plan,
    PlannedJob, Stopping,
};
use treering_datasets::TreeState;
use treering_model::{
    Accelerator, ArrayLayer, CacheLayer, CryptLayer, DeviceSpec, ExtraModule, GuestDisk, GuestSpec,
    Layer, LoopLayer, OverlayLayer, SecondDevice, SnapshotLayer, ThinLayer, Variant,
    VariantSettings,
};
use treering_script::{JobRecord, Settings};

use crate::{read_file, read_plan, read_sized};

const PLAIN: &str = "[[variant]]\nfilesystem = \"ext4\"\n[[variant]]\nfilesystem = \"xfs\"\n";

fn word() -> impl Strategy<Value = String> {
    // Names do not end with a blank.
    "[a-zA-Z0-9ä\"'\\\\#=\\[\\]{}., /-]{0,12}[a-zA-Z0-9\"'\\\\\\]]"
}

fn path() -> impl Strategy<Value = PathBuf> {
    word().prop_map(|word| PathBuf::from(format!("/{word}")))
}

fn images(count: std::ops::Range<u16>) -> impl Strategy<Value = DeviceSpec> {
    let bytes = prop_oneof![
        (26u32..50).prop_map(|shift| 5u64 << shift),
        (1u64 << 20..1 << 40).prop_map(|sectors| sectors * 4096),
    ];
    let sector_bytes = prop_oneof![Just(512), Just(4096)];
    let disk =
        option::of(prop_oneof![Just("hdd-7200".to_owned()), Just("/a/disk.toml".to_owned())]);
    let disk = disk.prop_map(|disk: Option<String>| disk);
    let flags = (any::<bool>(), any::<bool>());
    (bytes, count, flags, sector_bytes, option::of(path()), disk).prop_map(
        |(bytes, count, (sparse, direct_io), sector_bytes, directory, disk)| DeviceSpec::Loop {
            bytes,
            count,
            sparse,
            direct_io,
            sector_bytes,
            directory,
            // Only for images that fit on the disk.
            disk: disk.filter(|_| bytes <= 1 << 41),
        },
    )
}

fn blocks(count: std::ops::Range<usize>) -> impl Strategy<Value = DeviceSpec> {
    collection::btree_set(path(), count)
        .prop_map(|paths| DeviceSpec::Block { paths: paths.into_iter().collect() })
}

fn layers() -> impl Strategy<Value = Vec<Layer>> {
    let mount = || collection::vec("[a-z]{1,6}(=[a-z]{1,4})?", 0..2);
    let flags = (any::<bool>(), any::<bool>());
    let file = (mount(), option::of(1u64 << 20..1 << 40), flags).prop_map(
        |(mount, bytes, (sparse, direct_io))| {
            let (on, mkfs) = ("btrfs".to_owned(), vec!["-K".to_owned()]);
            Layer::Loop(LoopLayer { on, mkfs, mount, bytes, sparse, direct_io })
        },
    );
    let crypt = ("[a-z]{3}-[a-z]{3}-[a-z]{3}(:[a-z0-9]{3})?", 8u32..=128, 9u32..=12, 0usize..=5);
    let crypt = crypt.prop_map(|(cipher, key_bytes, shift, flags)| {
        let flags = CryptLayer::FLAGS[..flags].iter().map(|&flag| flag.to_owned()).collect();
        let (key_bits, sector_bytes) = (key_bytes * 8, 1 << shift);
        Layer::Crypt(CryptLayer { cipher, key_bits, sector_bytes, flags })
    });
    let thin = (1u64..100).prop_map(|blocks| Layer::Thin(ThinLayer { block_bytes: blocks << 16 }));
    let snapshot =
        (12u32..=20).prop_map(|shift| Layer::Snapshot(SnapshotLayer { chunk_bytes: 1 << shift }));
    let levels = sample::select(vec![0u8, 1, 5, 6, 10]);
    let parity = (option::of(17u32..=32_768), option::of(0u16..=8_192));
    let array = (levels, 12u32..=26, parity).prop_map(|(level, shift, (stripe_cache, threads))| {
        let plain = ArrayLayer::new(level);
        let chunk_bytes = if level == 1 { plain.chunk_bytes } else { 1 << shift };
        let stripe_cache = stripe_cache.filter(|_| plain.has_parity());
        let threads = threads.filter(|_| plain.has_parity());
        Layer::Md(ArrayLayer { chunk_bytes, stripe_cache, threads, ..plain })
    });
    let modes = sample::select(CacheLayer::MODES.to_vec());
    let cache = (modes, 12u32..=24, 1u8..=99, option::of(0u64..=1 << 32));
    let cache = cache.prop_map(|(mode, shift, cache_percent, sequential_cutoff)| {
        let (mode, bucket_bytes) = (mode.to_owned(), 1 << shift);
        Layer::Bcache(CacheLayer { mode, bucket_bytes, cache_percent, sequential_cutoff })
    });
    // Arrays and caches need a certain number of devices below them.
    let array = prop_oneof![array, cache].prop_map(|layer| vec![Layer::Linear, layer]);
    let plain = prop_oneof![file, crypt, Just(Layer::Linear), thin, snapshot];
    let below = prop_oneof![5 => plain.prop_map(|layer| vec![layer]), 1 => array];
    let overlay = mount().prop_map(|mount| Layer::Overlay(OverlayLayer { mount }));
    (collection::vec(below, 0..4), option::of(overlay))
        .prop_map(|(below, overlay)| below.into_iter().flatten().chain(overlay).collect())
}

fn variant() -> impl Strategy<Value = Variant> {
    let made = |filesystem: &'static str, devices: u16| {
        let device = prop_oneof![images(1..devices + 1), blocks(1..usize::from(devices) + 1)];
        let mkfs = collection::vec(word().prop_map(|word| format!("-L{word}")), 0..3);
        let mount = collection::vec("[a-z]{1,8}=[a-z0-9#\\\\' ]{0,5}[a-z0-9]", 0..3);
        (Just(filesystem.to_owned()), device, mkfs, mount)
    };
    let directory = path()
        .prop_map(|path| (String::new(), DeviceSpec::Directory { path }, Vec::new(), Vec::new()));
    let what = prop_oneof![made("ext4", 1), made("xfs", 1), made("btrfs", 4), directory];
    let kernel = prop_oneof![
        Just((None, None)),
        "[a-z0-9.+-]{1,20}".prop_map(|release| (Some(release), None)),
        guest().prop_map(|guest| (None, Some(guest))),
    ];
    (word(), kernel, what, layers(), 0..900_u32).prop_map(
        |(name, (kernel, guest), (filesystem, device, mkfs, mount), layers, handicap_percent)| {
            let is_directory = matches!(device, DeviceSpec::Directory { .. });
            let is_one = match &device {
                DeviceSpec::Loop { count, .. } => *count == 1,
                DeviceSpec::Block { paths } => paths.len() == 1,
                DeviceSpec::Directory { .. } => false,
            };
            let image = (is_one && mkfs.is_empty() && handicap_percent % 2 == 1)
                .then(|| name.trim().to_owned());
            let mut settings = VariantSettings::default();
            if !is_directory && image.is_none() {
                settings.layers = layers;
                settings.second_device = second_device(&filesystem, handicap_percent);
            }
            Variant {
                image,
                kernel,
                guest: guest.filter(|_| !is_directory),
                mkfs,
                mount,
                handicap_percent,
                settings,
                ..Variant::new(name.trim(), &filesystem, device)
            }
        },
    )
}

/// Second device of every third variant, which its filesystem can have.
fn second_device(filesystem: &str, number: u32) -> Option<SecondDevice> {
    let spec = DeviceSpec::Loop {
        bytes: 64 << 20,
        count: 1,
        sparse: number.is_multiple_of(2),
        direct_io: true,
        sector_bytes: 512,
        directory: number.is_multiple_of(4).then(|| PathBuf::from("/mnt/fast")),
        disk: number.is_multiple_of(5).then(|| "hdd-7200".to_owned()),
    };
    let role = if filesystem == "btrfs" { SecondDevice::Member } else { SecondDevice::Journal };
    number.is_multiple_of(3).then(|| role(spec))
}

fn guest() -> impl Strategy<Value = GuestSpec> {
    let disk = sample::select(GuestDisk::ALL.to_vec());
    let accelerator = option::of(sample::select(Accelerator::ALL.to_vec()));
    let append = sample::select(vec!["", "mitigations=off", "preempt=none ext4.x=1"]);
    let root = sample::select(vec![None, Some(PathBuf::from("/")), Some("/srv/b c".into())]);
    let words = (append, root);
    (path(), 1u16..=255, 256u64..100_000, disk, accelerator, 10u32..=86_400, words).prop_map(
        |(kernel, cpus, memory_mib, disk, accelerator, timeout_seconds, (append, root))| {
            GuestSpec {
                kernel,
                cpus: match accelerator {
                    Some(Accelerator::Icount) => (cpus > 9).then_some(1),
                    _ => (cpus > 3).then_some(cpus),
                },
                memory_bytes: memory_mib << 20,
                disk,
                accelerator,
                timeout_seconds,
                append: append.to_owned(),
                root,
                queues: disk.has_queues().then_some(cpus.min(64)),
                has_iothread: disk.has_iothread() && cpus > 9,
                is_rotational: disk.has_rotation() && cpus > 9,
                numa_nodes: (cpus > 250).then_some(2),
                program: (cpus > 150).then(|| PathBuf::from("/opt/t/treering-aarch64")),
                qemu: (cpus > 200).then(|| PathBuf::from("/opt/q/qemu-system-x86_64")),
                qemu_options: match cpus {
                    100.. => ["-cpu", "max,-avx2"].map(str::to_owned).to_vec(),
                    _ => Vec::new(),
                },
                modules: match cpus {
                    50.. => vec![
                        ExtraModule::OfKernel("zram".to_owned()),
                        ExtraModule::File("/srv/a b.ko".into()),
                    ],
                    _ => Vec::new(),
                },
                files: if cpus > 30 { vec!["/etc/a b".into()] } else { Vec::new() },
            }
        },
    )
}

fn stopping() -> impl Strategy<Value = Stopping> {
    prop_oneof![
        (1u32..10_000).prop_map(|rounds| Stopping::Fixed { rounds }),
        (1u32..10_000, 6u32..100, 0u32..100).prop_map(|(width, fewest, more)| {
            let half_width = f64::from(width) / 10_000.0;
            Stopping::Precision { half_width, fewest, most: fewest + more }
        }),
        (1u32..100_000, 6u32..100, 0u32..100).prop_map(|(hundredths, fewest, more)| {
            let minutes = f64::from(hundredths) / 100.0;
            Stopping::Time { minutes, fewest, most: fewest + more }
        }),
        collection::btree_set(6u32..10_000, 1..20)
            .prop_map(|looks| Stopping::Sequential { looks: looks.into_iter().collect() }),
    ]
}

fn conditions() -> impl Strategy<Value = Conditions> {
    let settle = prop_oneof![(0u32..86_400).prop_map(f64::from), 0.0..86_400.0];
    let phase = option::of(0_u32..=3600);
    (any::<u64>(), any::<bool>(), any::<bool>(), settle, phase).prop_map(
        |(seed, warm_up, control, settle_seconds, phase_seconds)| Conditions {
            seed,
            warm_up,
            // Without a warm-up no job is sized.
            phase_seconds: phase_seconds.filter(|seconds| warm_up || *seconds == 0),
            control,
            remount: false,
            settle_seconds,
            machine: Machine::Guest,
        },
    )
}

fn observing() -> impl Strategy<Value = Observing> {
    let own = (1u32..100).prop_map(|rounds| (ObservedIn::Own, rounds));
    let place = prop_oneof![own, Just((ObservedIn::Measured, 1))];
    let functions = prop_oneof![
        Just(Vec::new()),
        Just(vec!["ext4_sync_file".parse().unwrap(), "vfs_write".parse().unwrap()]),
    ];
    let wanted = (any::<bool>(), any::<bool>(), 0u32..50, functions, place).prop_map(
        |(trace, layout, layout_every, functions, (place, rounds))| Observing {
            trace,
            layout,
            layout_every,
            functions,
            place,
            rounds,
        },
    );
    // A plan that records nothing has no section, so everything is at its default.
    wanted.prop_map(|one| if one.is_wanted() { one } else { Observing::default() })
}

fn job(name: String, options: Vec<(String, String)>) -> PlannedJob {
    let workload = treering_registry::workloads()[0];
    let settings = Settings::new(options.clone());
    let job = workload.native(&settings).unwrap();
    let record = JobRecord::from_settings(&settings);
    let workload = workload.manifest().name.to_owned();
    PlannedJob {
        name,
        workload,
        options,
        job,
        launch: None,
        settings,
        record,
        changed: Vec::new(),
        phases: JobPhases::default(),
        engine: JobEngine::default(),
        around: JobCommands::default(),
        against: None,
        step: None,
    }
}

/// A data set of two files, which loads much faster than a shipped one.
fn small_dataset() -> String {
    static FOLDER: OnceLock<tempfile::TempDir> = OnceLock::new();
    let folder = FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let lists = ["a/b 1000\n", "a/b 1001\n", "a/b 1000\na/b.o 9\n", "a/b 1001\na/b.o 9\n"];
        for (state, list) in TreeState::ALL.into_iter().zip(lists) {
            fs::write(folder.path().join(state.classic_file()), list).unwrap();
        }
        folder
    });
    folder.path().to_str().unwrap().to_owned()
}

fn options() -> impl Strategy<Value = Vec<(String, String)>> {
    let makej = prop_oneof![Just(None), Just(Some("true".to_owned()))];
    let sync = option::of(prop_oneof![Just("each".to_owned()), Just("none".to_owned())]);
    let fill =
        option::of((0u32..1_000).prop_map(|tenths| format!("{}%", f64::from(tenths) / 10.0)));
    let runs = option::of((0u32..100).prop_map(|runs| runs.to_string()));
    (fill, makej, runs, sync).prop_map(|(fill, makej, runs, sync)| {
        let dataset = Some(small_dataset());
        let pairs = [
            ("dataset", dataset),
            ("fill", fill),
            ("makej", makej),
            ("runs", runs),
            ("sync", sync),
        ];
        pairs.into_iter().filter_map(|(name, text)| Some((name.to_owned(), text?))).collect()
    })
}

fn unique<T>(mut all: Vec<T>, name: impl Fn(&mut T) -> &mut String) -> Vec<T> {
    for (number, one) in all.iter_mut().enumerate() {
        let name = name(one);
        *name = format!("{number}{name}");
    }
    all
}

/// Makes some variants compare with an earlier one.
fn some_against(mut variants: Vec<Variant>) -> Vec<Variant> {
    for place in 1..variants.len() {
        let above = variants[usize::try_from(variants[place].handicap_percent).unwrap() % place]
            .name
            .clone();
        variants[place].against = Some(above).filter(|name| name.len() % 2 == 0);
    }
    variants
}

fn plan() -> impl Strategy<Value = Plan> {
    let jobs = collection::vec((word(), options()), 1..3)
        .prop_map(|jobs| jobs.into_iter().map(|(name, options)| job(name, options)).collect());
    let threshold = option::of((0u32..100_000).prop_map(|width| f64::from(width) / 10_000.0));
    // Metrics that every job has.
    let primary = collection::btree_set("(phase initial create/)?elapsed_seconds", 0..3);
    let variants = collection::vec(variant(), 1..5);
    let question = prop_oneof![Just(String::new()), word()];
    let how = (stopping(), conditions(), observing());
    let shared = guest().prop_map(|guest| GuestSpec { kernel: PathBuf::new(), ..guest });
    let plan_parts =
        (word(), question, variants, option::of(shared), jobs, how, (primary, threshold));
    plan_parts.prop_map(|(name, question, variants, guest, jobs, how, (primary, threshold))| Plan {
        name: name.trim().to_owned(),
        question,
        variants: some_against(unique(variants, |variant| &mut variant.name)),
        jobs: unique::<PlannedJob>(jobs, |job| &mut job.name),
        guest,
        aging: None,
        build: None,
        stopping: how.0,
        conditions: how.1,
        observing: how.2,
        judging: Judging {
            primary: primary.iter().map(|metric| metric.trim().to_owned()).collect(),
            threshold,
            ignore: Vec::new(),
        },
    })
}

proptest! {
    #[test]
    fn a_written_plan_reads_back_to_the_same_plan(plan in plan()) {
        let text = plan.to_toml();
        let reread = read_plan(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
        assert_eq!(format!("{reread:#?}"), format!("{plan:#?}"), "{text}");
        assert_eq!(reread.digest(), plan.digest(), "{text}");
        assert_eq!(reread.to_toml(), text);
    }
}

#[test]
fn each_example_reads_back_to_the_same_plan() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plans");
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        for is_full_size in [false, true] {
            let plan = read_sized(&fs::read_to_string(&path).unwrap(), name, is_full_size).unwrap();
            let text = plan.to_toml();
            let reread = read_plan(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
            assert_eq!(format!("{reread:#?}"), format!("{plan:#?}"), "{text}");
            assert_eq!((reread.digest(), reread.to_toml()), (plan.digest(), text), "{name}");
        }
    }
}

#[test]
fn defaults_match_the_documentation() {
    let plan = read_file("[[variant]]\nfilesystem = \"ext4\"\n", "some/night.toml").unwrap();
    insta::assert_snapshot!(plan.to_toml(), @r#"
    name = "night"
    rounds = 8
    seed = 1
    warm-up = true
    control = false
    remount = false
    settle-seconds = 0

    [device]
    loop = "4GiB"
    count = 1
    sparse = false
    direct-io = true
    sector-bytes = 512

    [[variant]]
    name = "ext4"
    filesystem = "ext4"

    [[job]]
    name = "compilebench"
    workload = "compilebench"

    [job.options]
    dataset = "linux-6.1-small"
    initial-dirs = 2
    runs = 6
    "#);
    assert_eq!(plan.conditions, Conditions::default());
    assert_eq!(plan.stopping, Stopping::Fixed { rounds: 8 });
}

#[test]
fn commands_read_back_with_all_their_words() {
    let text = "[[variant]]\nfilesystem = \"ext4\"\n\n[[job]]\nname = \"a\"\n\
                command = [\"x y\", \"\", \"3\", \"true\"]\nprepare = [\"echo\", \"it's\"]\n\
                [[job.metric]]\nname = \"n\"\nregex = 'a,(\\d+),better=lower'\nunit = \"ops/s\"\n\
                [[job.metric]]\nname = \"m\"\njson = \"/a/b\"\nbetter = \"lower\"\nprimary = true\nwork = true\n\n\
                [[job]]\nname = \"b\"\ncommand = \"x\\n| y\"\n\n\
                [[job]]\nname = \"c\"\ncommand = [\"true\"]\ncleanup = [\"rm\", \"{dir}/a b\"]\n";
    let plan = read_plan(text).unwrap();
    let given = |job: usize| -> Vec<(&str, &str)> {
        let options = plan.jobs[job].options.iter();
        options.map(|(name, text)| (name.as_str(), text.as_str())).collect()
    };
    assert_eq!(
        given(0),
        [
            ("command", "x y"),
            ("command", ""),
            ("command", "3"),
            ("command", "true"),
            ("metric", "n=(?:a,(\\d+),better=lower),unit=ops/s"),
            ("metric", "m=json:/a/b,better=lower,primary,work"),
            ("prepare", "'echo' 'it'\\''s'"),
        ]
    );
    assert_eq!(given(1), [("shell", "x\n| y")]);
    assert_eq!(given(2), [("cleanup", "'rm' ''\"{dir}\"'/a b'"), ("command", "true")]);
    let written = plan.to_toml();
    let reread = read_plan(&written).unwrap_or_else(|error| panic!("{written}\n{error}"));
    assert_eq!((reread.digest(), reread.to_toml()), (plan.digest(), written));
}

#[test]
fn the_digest_is_stable() {
    // Stores identify plans by the digest. A new parameter of compilebench may change it, since the
    // job is then another one. A new order of the hashed words requires a new version prefix.
    insta::assert_snapshot!(read_plan(PLAIN).unwrap().digest(), @"20ef277b272a9bb2");
}

#[test]
fn ignored_parameters_read_back() {
    let plan = read_plan(&format!("{PLAIN}[report]\nignore = [\"dataset\", \"runs\"]\n")).unwrap();
    assert_eq!(plan.judging.ignore, ["dataset", "runs"]);
    let written = read_plan(&plan.to_toml()).unwrap();
    assert_eq!(written.judging, plan.judging);
}

#[test]
fn texts_and_the_stopping_rule_do_not_change_the_digest() {
    let plain = read_plan(PLAIN).unwrap().digest();
    for same in [
        format!("name = \"other\"\nquestion = \"Which?\"\n{PLAIN}"),
        format!("rounds = 30\n{PLAIN}"),
        format!("{PLAIN}[stopping]\nrule = \"sequential\"\n"),
        format!("{PLAIN}[report]\nprimary = [\"create/mib_per_second\"]\nthreshold = \"5%\"\n"),
        format!("{PLAIN}[report]\nignore = [\"dataset\", \"runs\"]\n"),
        format!("{PLAIN}[device]\nloop = \"4096MiB\"\n"),
        format!("{PLAIN}mount = []\n"),
        format!("{PLAIN}[observe]\ntrace = true\nlayout-every = 5\nrounds = 3\n"),
        // An explicit default gives the same job.
        format!(
            "{PLAIN}[[job]]\n[job.options]\ndataset = \"linux-6.1-small\"\ninitial-dirs = 2\n\
                 runs = 6\nthreads = 1\n"
        ),
    ] {
        assert_eq!(read_plan(&same).unwrap().digest(), plain, "{same}");
    }
}

#[test]
fn every_measured_setting_changes_the_digest() {
    let mut seen = vec![read_plan(PLAIN).unwrap().digest()];
    for other in [
        format!("seed = 2\n{PLAIN}"),
        format!("warm-up = false\n{PLAIN}"),
        format!("control = true\n{PLAIN}"),
        format!("remount = true\n{PLAIN}"),
        format!("{PLAIN}[observe]\ntrace = true\nin = \"measured\"\n"),
        format!("{PLAIN}[observe]\nlayout = true\nin = \"measured\"\n"),
        format!("settle-seconds = 0.5\n{PLAIN}"),
        format!("baseline = \"xfs\"\n{PLAIN}"),
        format!("{PLAIN}name = \"other\"\n"),
        format!("{PLAIN}mount = \"noatime\"\n"),
        format!("{PLAIN}mkfs = \"-K\"\n"),
        format!("{PLAIN}kernel = \"6.1.0\"\n"),
        format!("{PLAIN}[device]\nloop = \"8GiB\"\n"),
        format!("{PLAIN}[device]\nloop = \"4GiB\"\nsparse = true\n"),
        format!("{PLAIN}[device]\nloop = \"4GiB\"\ndirect-io = false\n"),
        format!("{PLAIN}[device]\nloop = \"4GiB\"\nsector-bytes = 4096\n"),
        format!("{PLAIN}[device]\nloop = \"4GiB\"\nimages = \"/var/tmp\"\n"),
        format!("{PLAIN}[device]\nblock = \"/dev/sdb1\"\n"),
        format!("{PLAIN}[[job]]\noptions = {{ dataset = \"linux-6.1-small\" }}\n"),
        format!("{PLAIN}[[job]]\nname = \"b\"\noptions = {{ dataset = \"linux-6.1-small\" }}\n"),
    ] {
        let digest = read_plan(&other).unwrap().digest();
        assert!(!seen.contains(&digest), "{other}");
        seen.push(digest);
    }
}
