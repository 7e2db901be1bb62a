//! Tests with whole profiles: published ones, faulty ones, and a round trip of generated ones.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use super::operation::Operation;
use super::timed_call::TimedCall;
use super::{
    Aging, FileSizes, Filesystem, LatencySelection, Profile, ThreadGroup, parameters, parse,
    text as text_of,
};

const FS: &str = "[filesystem0]\nlocation = /a\n[end0]\n";
const GROUP: &str = "[threadgroup0]\nnum_threads = 1\nstat_weight = 1\n[end0]\n";

fn read(text: &str) -> Profile {
    parse("f", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn refused(text: &str) -> String {
    let error = parse("f", text.as_bytes()).unwrap_err();
    assert!(error.hint.is_some(), "{error}");
    error.message.lines().next().unwrap().to_owned()
}

/// Error for a group with these lines.
fn group_refused(lines: &str) -> String {
    refused(&format!("{FS}time=1\n[threadgroup0]\nnum_threads=1\n{lines}\n[end]"))
}

/// Error for a filesystem with these lines.
fn filesystem_refused(lines: &str) -> String {
    refused(&format!("[filesystem0]\nlocation=/a\n{lines}\n[end]\n{GROUP}"))
}

#[test]
fn published_profiles_are_read() {
    macro_rules! example {
        ($name:literal) => {
            ($name, include_str!(concat!("../../../../../examples/ffsb/", $name, ".ffsb")))
        };
    }
    for (name, text) in [
        example!("everything-2012"),
        example!("mail-server"),
        example!("mail-server-small"),
        example!("random-read"),
        example!("random-write"),
        example!("sequential-read"),
        example!("file-create"),
    ] {
        let profile = read(text);
        assert_eq!(profile.warnings, [""; 0], "{name}");
        assert_eq!(profile.filesystems[0].location, "/mnt/test", "{name}");
        assert_eq!(read(&text_of(&profile)), profile, "{name}");
    }
    let profile = read(example!("everything-2012").1);
    let FileSizes::Weights(sizes) = &profile.filesystems[0].sizes else { panic!("{profile:?}") };
    assert_eq!((sizes[0], sizes[9]), ((4096, 33), (32 << 20, 1)));
    let group = &profile.groups[0];
    assert_eq!(group.weights.iter().sum::<u64>(), 10);
    assert_eq!(group.stats, Some(LatencySelection::default()));
    assert_eq!(profile.filesystems[0].aging, None);
}

#[test]
fn the_manuals_example_is_read() {
    let manual = include_str!("../../../../../docs/workloads/ffsb-profile.md");
    let example = manual.split("```ini\n").nth(1).and_then(|tail| tail.split("```").next());
    let profile = read(example.unwrap());
    assert_eq!((profile.seconds, profile.warnings.len()), (30, 0));
}

#[test]
fn readme_style_is_accepted_with_warnings() {
    let text = "num_filesystems=1\nnum_threadgroups = 2\nbufferedio=1\ntime=3\n[filesystem0]\n\
                location=/a\n[end0]\n[threadgroup0]\nnum_ threads=4\nmeta_weight=1\nfsync_file=1\n";
    let profile = read(text);
    assert!(profile.buffered);
    assert_eq!(profile.groups[0].threads, 4);
    assert_eq!(profile.groups[0].weight(Operation::MetaOp), 1);
    assert_eq!(
        profile.warnings,
        [
            "f:1:17: FFSB 6.0-RC2 refuses num_filesystems; each [filesystem] counts",
            "f:2:20: FFSB 6.0-RC2 refuses num_threadgroups; each [threadgroup] counts, and there \
             are not 2 but 1",
            "f:3:1: FFSB 6.0-RC2 refuses bufferedio; it is read as bufferio",
            "f:10:1: FFSB 6.0-RC2 refuses meta_weight; it is read as metaop_weight",
            "f:11:1: FFSB 6.0-RC2 refuses fsync_file; it has no effect; write_fsync_weight, \
             create_fsync_weight and others do",
        ]
    );
}

#[test]
fn unusual_valid_profiles_are_accepted() {
    let text = "\u{feff}[threadgroup7]\r\nnum_threads=1 # 2\r\nbindfs=/b/\r\nread_weight=1\r\n\
                read_size=5g\r\nread_blocksize=4 k\r\n[end]\r\n[filesystem]\r\nlocation=/a b\r\n\
                clone=/b\r\nnum_files=3\r\n[end]\r\ncallout = echo  hello # not this\r\n\
                [filesystem]\r\nlocation=//b\r\nnum_dirs=9\r\nreuse=1\r\nreuse=0\r\ntime\r\n";
    let profile = read(&text.replace("time\r\n", ""));
    assert_eq!(profile.callout.as_deref(), Some("echo  hello"));
    assert_eq!(profile.groups[0].bound, Some(1));
    assert_eq!(profile.groups[0].read_bytes, 5 << 30);
    let [a, b] = &profile.filesystems[..] else { panic!("{profile:?}") };
    assert_eq!((&*a.location, &*b.location), ("/a b", "//b"));
    assert_eq!((a.dirs, a.files, b.dirs, b.reuse), (9, 0, 9, false));
    assert_eq!(
        profile.warnings,
        [
            "f:9:10: location: FFSB 6.0-RC2 reads it as /ab",
            "f:11:11: num_files has no effect: clone takes all settings but the location",
            "f:18:1: reuse is given again; this one counts",
        ]
    );
    assert_eq!(refused(text), "f:19:1: 'time' stands in [filesystem]");
    let defaults = &read(FS).filesystems[0];
    assert_eq!(defaults.sizes, FileSizes::Range(0, 0));
    assert_eq!((defaults.create_block_bytes, defaults.age_block_bytes), (4096, 4096));
}

#[test]
fn profile_needs_filesystem_and_group() {
    assert_eq!(refused(""), "f:1:1: the profile has no filesystem");
    assert_eq!(refused("[filesystem]\n[end]"), "f:1:1: the filesystem has no location");
    assert_eq!(refused(&format!("{FS}time=9")), "f:4:6: time: 9 seconds without a threadgroup");
    assert_eq!(refused(&format!("{FS}{FS}")), "f:5:12: location: '/a' is that of line 2 too");
    let same = "[filesystem]\nlocation=/a/./\n[end]\n";
    assert_eq!(refused(&format!("{FS}{same}")), "f:5:10: location: '/a/./' is that of line 2 too");
    let inside = "[filesystem]\nlocation=/a/data/x\n[end]\n";
    let message = "location: '/a/data/x' lies in the data directory of '/a'";
    assert_eq!(refused(&format!("{FS}{inside}")), format!("f:5:10: {message}"));
    assert_eq!(refused(&format!("{inside}{FS}")), format!("f:2:10: {message}"));
    read(&format!("{FS}{}", inside.replace("data/", "")));
    assert_eq!(read(FS).seconds, 0);
}

#[test]
fn clones_and_bindings_must_name_a_filesystem() {
    let fs = |location: &str, of: &str| {
        format!("[filesystem]\nlocation={location}\nclone={of}\n[end]\n")
    };
    assert_eq!(refused(&fs("/a", "/a")), "f:3:7: clone: leads back to itself");
    let round = fs("/a", "/b") + &fs("/b", "/c") + &fs("/c", "/b");
    assert_eq!(refused(&round), "f:3:7: clone: leads back to itself");
    let message = refused(&(fs("/aa", "/bb/x") + &fs("/bb/y", "/aa")));
    assert_eq!(message, "f:3:7: clone: no filesystem has the location '/bb/x'");
    let chain = fs("/x", "/y") + &fs("/y", "/a") + &FS.replace("[end0]", "num_files=7\n[end]");
    assert!(read(&chain).filesystems.iter().all(|filesystem| filesystem.files == 7));
    assert_eq!(
        group_refused("stat_weight=1\nbindfs=/b"),
        "f:8:8: bindfs: no filesystem has the location '/b'"
    );
}

#[test]
fn groups_have_what_their_operations_need() {
    assert_eq!(group_refused(""), "f:5:1: the group's operations: every weight is 0");
    let much = format!("read_weight={}\nstat_weight=1\nread_size=1\nread_blocksize=1", u64::MAX);
    assert!(group_refused(&much).ends_with("operations: the sum of the weights is too large"));
    for operation in Operation::ALL {
        let line = format!("{}_weight=1", operation.name());
        let (missing, bytes) = if operation.reads() {
            ("read_blocksize", "read_size")
        } else if operation.writes() {
            ("write_blocksize", "write_size")
        } else {
            continue;
        };
        let message = group_refused(&line);
        assert!(message.ends_with(&format!("needs a {missing} above 0")), "{message}");
        let whole = format!("{line}\n{missing}=4k\n{bytes}=8k");
        read(&format!("{FS}{}", GROUP.replace("stat_weight = 1", &whole)));
    }
    let sized = |key: &str, block: &str| group_refused(&format!("{key}=1\n{block}=4k"));
    assert!(sized("read_weight", "read_blocksize").ends_with("needs a read_size above 0"));
    assert!(sized("append_weight", "write_blocksize").ends_with("needs a write_size above 0"));
    let skip = "stat_weight=1\nread_skip=1";
    assert_eq!(group_refused(skip), "f:8:11: read_skip: needs a read_skipsize above 0");
    let both = "stat_weight=1\nread_skip=1\nread_skipsize=4k\nread_random=1";
    assert_eq!(group_refused(both), "f:8:11: read_skip: excludes read_random");
    let none = format!("{FS}[threadgroup]\nstat_weight=1\n[end]");
    assert_eq!(refused(&none), "f:4:1: the group has no num_threads above 0");
    let many = GROUP.replace("num_threads = 1", "num_threads=4096");
    assert_eq!(
        refused(&format!("{FS}{many}{GROUP}")),
        "f:9:15: num_threads: with the groups before there are 4097 threads"
    );
    let partial = "read_weight=1\nread_size=1k\nread_blocksize=4k";
    let profile = read(&format!("{FS}{}", GROUP.replace("stat_weight = 1", partial)));
    assert_eq!(profile.warnings.len(), 1);
}

#[test]
fn filesystems_have_sizes_and_agers_that_make_sense() {
    let zero = filesystem_refused("size_weight 4k 0");
    assert_eq!(zero, "f:1:1: size_weight: every weight is 0");
    assert!(filesystem_refused("min_filesize=8k").contains("is above max_filesize, 0 bytes"));
    for empty in ["min_filesize=0\nmax_filesize=1", "size_weight 0 3\nsize_weight 4k 0"] {
        let reported = filesystem_refused(&format!("init_size=1m\n{empty}"));
        assert_eq!(reported, "f:3:11: init_size: files of 0 bytes never come to that");
        assert!(filesystem_refused(&format!("init_util=.5\n{empty}")).contains("init_util: "));
        read(&format!("{}\n", FS.replace("[end0]", &format!("num_files=3\n{empty}\n[end]"))));
    }
    let aged = "agefs=1\ndesired_util=0.2\n[threadgroup]\nnum_threads=1\nwrite_blocksize=4k\n\
                write_size=4k\n";
    assert!(filesystem_refused("agefs=1").ends_with("there is no group that ages the filesystem"));
    let without_ager = aged.replace("desired_util=0.2\n", "") + "create_weight=1\n[end]";
    assert!(filesystem_refused(&without_ager).ends_with("desired_util does not say until when"));
    let wrong = format!("{aged}create_weight=1\nstat_weight=1\n[end]");
    assert_eq!(filesystem_refused(&wrong), "f:10:13: stat_weight: nothing is aged by that");
    // Unused, it must only be readable.
    let unused = "agefs=0\n[threadgroup]\nstat_weight=1\n[end]";
    assert_eq!(
        read(&format!("{}{GROUP}", FS.replace("[end0]", &(unused.to_owned() + "\n[end]"))))
            .filesystems[0]
            .aging,
        None
    );
    assert!(filesystem_refused(&unused.replace("=1", "=x")).contains("'x' is not a whole number"));
    let right = format!("{aged}create_weight=1\nbindfs=/b\n[stats]\nenable_stats=1\n[end]\n[end]");
    let profile = read(&FS.replace("[end0]", &(right + "\n[end]")));
    let aging = profile.filesystems[0].aging.as_ref().unwrap();
    assert_eq!((aging.until_share, &aging.group.stats, aging.group.bound), (0.2, &None, None));
    assert_eq!(profile.warnings.len(), 2, "{:?}", profile.warnings);
    let direct = read(&format!(
        "directio=1\n{}",
        FS.replace("[end0]", "min_filesize=100\nmax_filesize=100\n[end]")
    ));
    assert!(direct.align && direct.warnings[0].contains("whole blocks of 4096 bytes, not 100"));
}

#[test]
fn writes_that_o_direct_refuses_are_reported_before() {
    let warned = |group: &str| {
        let text = GROUP.replace("[end0]", &format!("write_blocksize=4k\n{group}\n[end]"));
        read(&format!("time=2\ndirectio=1\n{FS}{text}")).warnings
    };
    assert_eq!(warned("write_size=10000"), <[String; 0]>::default(), "nothing is written");
    assert_eq!(warned("write_size=512\nappend_weight=1"), <[String; 0]>::default());
    let reported = warned("write_size=10000\nappend_weight=1");
    assert!(
        reported[0].contains("write_size: with directio, 10000 is no multiple of 512"),
        "{reported:?}"
    );
}

#[test]
fn parameters_leave_out_locations() {
    let recorded = parameters(&read(&format!("time=2\n{FS}{GROUP}")));
    let line = |recorded: &[(String, String)]| {
        let pairs: Vec<String> =
            recorded.iter().map(|(key, value)| format!("{key}={value}")).collect();
        pairs.join(" ")
    };
    assert_eq!(
        line(&recorded),
        "time=2 directio=0 alignio=0 bufferio=0 num_files=0 num_dirs=0 min_filesize=0 \
         max_filesize=0 init_size=0 init_util=0 create_blocksize=4096 age_blocksize=4096 \
         reuse=0 agefs=0 num_threads=1 op_delay=0 read_random=0 read_size=0 read_skip=0 \
         read_skipsize=0 write_random=0 write_size=0 stat_weight=1 enable_stats=0"
    );
    let second = "[filesystem]\nlocation=/b\nsize_weight 1k 2\nsize_weight 2k 3\n[end]\n";
    let bound = GROUP.replace("[end0]", "bindfs=/b\n[end]");
    let recorded = line(&parameters(&read(&format!("{FS}{second}{GROUP}{bound}"))));
    for part in [
        " filesystem1.size_weight=1024 2, 2048 3 ",
        " filesystem0.num_dirs=0 ",
        " threadgroup1.bindfs=1 threadgroup1.num_threads=1 ",
    ] {
        assert!(recorded.contains(part), "{part}: {recorded}");
    }
    assert!(!recorded.contains("/a") && !recorded.contains("location"));
}

fn share() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), Just(1.0), 0.0..1.0]
}

fn group() -> impl Strategy<Value = ThreadGroup> {
    let stats = (any::<[bool; TimedCall::COUNT]>(), vec((0.0..9.0, 9.0..1e9), 0..4))
        .prop_map(|(ignored, ranges_ms)| LatencySelection { ignored, ranges_ms });
    let sizes = (1u64..1 << 40, 1u64..1 << 40, 1u32..=4 << 20, 1u32..=4 << 20);
    let kinds = (any::<bool>(), any::<bool>(), any::<bool>(), 1u64..1 << 40);
    let weights = proptest::array::uniform15(0u64..1 << 40);
    (1u16..99, 0u32..1_000_000_000, sizes, kinds, weights, option::of(stats)).prop_map(
        |(
            threads,
            delay_ms,
            sizes,
            (skip, read_random, write_random, skip_bytes),
            mut weights,
            stats,
        )| {
            weights[Operation::Stat.place()] += 1;
            ThreadGroup {
                threads,
                bound: None,
                delay_ms,
                read_random: read_random && !skip,
                read_bytes: sizes.0,
                read_block_bytes: sizes.2,
                read_skip_bytes: skip.then_some(skip_bytes),
                read_skip_bytes_given: skip_bytes,
                write_random,
                write_bytes: sizes.1,
                write_block_bytes: sizes.3,
                weights,
                stats,
            }
        },
    )
}

fn ager() -> impl Strategy<Value = ThreadGroup> {
    group().prop_map(|mut group| {
        for operation in Operation::ALL.into_iter().filter(|operation| !operation.ages()) {
            group.weights[operation.place()] = 0;
        }
        group.weights[Operation::Delete.place()] += 1;
        ThreadGroup { stats: None, ..group }
    })
}

fn filesystem() -> impl Strategy<Value = Filesystem> {
    let weights = vec((0u64..1 << 62, 1u64..1 << 50), 1..5).prop_map(FileSizes::Weights);
    let range = (0u64..1 << 40, 0u64..1 << 40).prop_map(|(a, b)| FileSizes::Range(a, a + b));
    let aging = (ager(), share()).prop_map(|(group, until_share)| Aging { group, until_share });
    let counts = (0u64..1 << 32, 0u32..10_000_000, 0u64..1 << 62);
    let blocks = (1u32..=4 << 20, 1u32..=4 << 20);
    let sizes = prop_oneof![weights, range];
    ("/[a-z =.]{0,9}[a-z]", counts, sizes, share(), blocks, any::<bool>(), option::of(aging))
        .prop_map(|(location, counts, sizes, init_share, blocks, reuse, aging)| Filesystem {
            location,
            files: counts.0,
            dirs: counts.1,
            sizes,
            sizes_as_original: false,
            init_bytes: counts.2,
            init_share,
            create_block_bytes: blocks.0,
            age_block_bytes: blocks.1,
            reuse,
            aging,
        })
}

fn profiles() -> impl Strategy<Value = Profile> {
    let switches = (any::<bool>(), any::<bool>(), any::<bool>());
    let groups = vec((group(), option::of(0usize..99)), 1..4);
    let callout = option::of("[!-\"$-~]([ -\"$-~]*[!-\"$-~])?");
    (0u64..1_000_000_000, switches, callout, vec(filesystem(), 1..4), groups).prop_map(
        |(seconds, (direct, align, buffered), callout, mut filesystems, groups)| {
            for (number, filesystem) in filesystems.iter_mut().enumerate() {
                filesystem.location = format!("/{number}{}", filesystem.location);
            }
            let bind = |(group, bound): (ThreadGroup, Option<usize>)| ThreadGroup {
                bound: bound.map(|number| number % filesystems.len()),
                ..group
            };
            let groups = groups.into_iter().map(bind).collect();
            let align = align || direct;
            let warnings = Vec::new();
            Profile { seconds, direct, align, buffered, callout, filesystems, groups, warnings }
        },
    )
}

proptest! {
    #[test]
    fn a_profiles_text_is_read_as_the_profile(profile in profiles()) {
        let mut again = read(&text_of(&profile));
        again.warnings.clear();
        assert_eq!(parameters(&again), parameters(&profile));
        assert_eq!(again, profile);
    }

    #[test]
    fn any_bytes_are_read_or_refused(text in vec(any::<u8>(), 0..300)) {
        let _ = parse("f", &text);
    }

    #[test]
    fn almost_profiles_are_read_or_refused(
        text in "((time|read_size|clone|location|ignore|msec_range|size_weight|stat_weight)[= ]\
                 [0-9k/a .]{0,6}\n|\\[(end|stats|filesystem|threadgroup)[0-9]?\\]\n){0,30}"
    ) {
        match parse("f", text.as_bytes()) {
            Ok(profile) => assert!(!profile.filesystems.is_empty()),
            Err(error) => assert!(error.message.starts_with("f:")),
        }
    }
}
