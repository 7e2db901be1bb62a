//! Checks that every plan in the examples and on the reference page can be read.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use treering_conduct::plan::{Plan, Stopping};
use treering_model::DeviceSpec;
use treering_script::TargetFacts;

use crate::{read_file, read_plan, read_sized};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the workspace above")
}

#[test]
fn examples_can_be_read_and_match_their_questions() {
    let mut plans: BTreeMap<String, Plan> = BTreeMap::new();
    for entry in fs::read_dir(root().join("examples/plans")).unwrap() {
        let file = entry.unwrap();
        let name = file.file_name().into_string().unwrap();
        let text = fs::read_to_string(file.path()).unwrap();
        let plan = read_file(&text, &name).unwrap_or_else(|error| panic!("{error}"));
        let head: String = text.lines().take_while(|line| line.starts_with('#')).collect();
        assert!(head.contains('?'), "{name}: no question at the top");
        assert!(head.contains(&format!("treering compare {}", plan.name)), "{name}");
        assert!(!plan.question.is_empty(), "{name}");
        assert_eq!(format!("{}.toml", plan.name), name);
        fits(&plan);
        if text.contains("\nfull = ") {
            fits(&read_sized(&text, &name, true).unwrap());
        }
        plans.insert(plan.name.clone(), plan);
    }
    let names = |plan: &str| -> Vec<&str> {
        plans[plan].variants.iter().map(|variant| variant.name.as_str()).collect()
    };
    let crypt = &plans["dm-crypt-workqueues"].variants;
    assert!(crypt[..2].iter().all(|variant| variant.settings.layers.len() == 1));
    assert_ne!(crypt[0].settings.layers, crypt[1].settings.layers);
    assert_eq!(names("raid5-stripe-cache"), ["256 pages", "4096 pages"]);
    assert_eq!(names("raid5-chunks"), ["64 KiB", "512 KiB"]);
    assert_eq!(names("bcache-modes"), ["writethrough", "writeback", "no cache"]);
    assert_eq!(names("raid1-reads"), ["one disk", "RAID 1", "RAID 0"]);
    assert_eq!(names("quotas"), ["none", "qgroups"]);
    assert_eq!(plans["dirty-limit"].variants[1].settings.sysctl.len(), 2);
    assert_eq!(names("ext4-made-otherwise"), ["ext4", "1 KiB blocks", "no journal"]);
    assert_eq!(names("demo"), ["ext4", "xfs", "btrfs"]);
    assert_eq!(names("filesystems"), ["ext4", "xfs", "btrfs"]);
    assert_eq!(names("feature-as-mount-option")[1], "data=journal");
    assert_eq!(names("kernels").len(), 1);
    assert_eq!(names("autodefrag"), ["btrfs", "autodefrag"]);
    assert_eq!(names("allocator"), ["older search", "newer search"]);
    let of_ext4 = &names("ages")[..8];
    assert_eq!(of_ext4[1], "ext4, tree=copied, age=500");
    assert_eq!(of_ext4[5], "ext4, tree=aged, age=500");
    let aged = &plans["ages"].variants[5];
    assert_eq!(aged.against.as_deref(), Some("ext4, tree=copied, age=500"));
    assert!(plans["ages"].aging.is_some() && plans["allocator"].aging.is_none());
    assert!(plans["allocator"].jobs.iter().all(|job| job.workload == "age"));
    let jobs = |plan: &str| -> Vec<&str> {
        plans[plan].jobs.iter().map(|job| job.workload.as_str()).collect()
    };
    assert_eq!(jobs("report-2012"), ["fs_mark", "ffsb", "fio", "compilebench"]);
    assert_eq!(jobs("report-2018").len(), 7);
    assert_eq!(plans["report-2018"].variants[0].mkfs, ["-d", "raid0", "-m", "raid1"]);
    assert_eq!(names("btrfs-four-devices"), ["noatime", "relatime"]);
    assert!(plans["btrfs-four-devices"].variants.iter().all(|variant| {
        matches!(variant.device, DeviceSpec::Loop { count: 4, .. }) && !variant.mkfs.is_empty()
    }));
    let [ext3, btrfs] = plans["ext3-against-btrfs"].variants.as_slice() else { panic!("two") };
    assert_eq!(ext3.device, btrfs.device);
    assert_eq!(names("mail-server"), ["ext4", "xfs"]);
    assert!(plans["webproxy-2018"].jobs.iter().all(|job| job.workload == "filebench"));
    assert_eq!(names("file-server"), ["ext4", "xfs"]);
    let directories = &plans["directories"];
    assert!(directories.variants.iter().all(|variant| variant.filesystem.is_empty()));
    assert!(directories.jobs[0].options.contains(&("drop-caches".into(), "none".into())));
}

#[test]
fn full_size_options_replace_options_of_the_same_name() {
    let text = "[[variant]]\nfilesystem = \"ext4\"\n\
                [[job]]\nworkload = \"fs_mark\"\noptions = { files = 5, size = 7 }\n\
                full = { files = 1000, iterations = 3 }\n";
    let option = |plan: &Plan, name: &str| {
        let options = &plan.jobs[0].options;
        options.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    };
    let small = read_sized(text, "a.toml", false).unwrap();
    let full = read_sized(text, "a.toml", true).unwrap();
    for (name, at_small, at_full) in [
        ("files", Some("5"), Some("1000")),
        ("size", Some("7"), Some("7")),
        ("iterations", None, Some("3")),
    ] {
        assert_eq!(option(&small, name).as_deref(), at_small, "{name}");
        assert_eq!(option(&full, name).as_deref(), at_full, "{name}");
    }
    assert_ne!(small.digest(), full.digest());
    let wrong = text.replace("iterations", "iteration");
    let error = read_sized(&wrong, "a.toml", false).unwrap_err().to_string();
    assert!(error.contains("fs_mark has no option `iteration`"), "{error}");
}

#[test]
fn job_files_of_a_plan_use_environment_variables() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("j.fio");
    let read = |size: &str| {
        fs::write(&file, format!("[a]\nsize={size}\n")).unwrap();
        read_plan(&format!(
            "question = \"q?\"\n[device]\nloop = \"1GiB\"\n[[variant]]\nfilesystem = \"ext4\"\n\
             [[job]]\nworkload = \"fio\"\noptions = {{ jobfile = {:?} }}\n",
            file.to_str().unwrap()
        ))
    };
    let plan = read("${NUMBER}m").unwrap();
    let footprint = plan.jobs[0].job.footprint(&TargetFacts::unknown());
    assert_eq!(footprint.peak_bytes, 3 << 20);
    let error = read("${NOTHING}m").unwrap_err().to_string();
    assert!(error.contains("the environment has no variable NOTHING"), "{error}");
}

/// Checks that the loop images of an example are large enough for its jobs.
fn fits(plan: &Plan) {
    for variant in &plan.variants {
        let DeviceSpec::Loop { bytes, count, .. } = variant.device else { continue };
        // A quarter is reserved for the filesystem itself: inodes, journal, duplicated metadata.
        let has = bytes * u64::from(count) / 4 * 3;
        let facts = TargetFacts { capacity_bytes: has, free_bytes: has, ..TargetFacts::unknown() };
        for planned in &plan.jobs {
            let needs = planned.job.footprint(&facts).peak_block_bytes;
            assert!(needs <= has, "{}, {}: {needs} of {has}", plan.name, planned.name);
        }
    }
}

/// The fenced blocks of a document that are TOML.
fn blocks(text: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match line {
            "```toml" => {
                inside = true;
                blocks.push(String::new());
            }
            "```" => inside = false,
            line if inside => {
                let block = blocks.last_mut().unwrap();
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn every_block_of_the_reference_can_be_read() {
    let text = fs::read_to_string(root().join("docs/plan.md")).unwrap();
    let blocks = blocks(&text);
    assert!(blocks.len() >= 6, "{}", blocks.len());
    // The first block is a whole plan; each of the others shows one section.
    assert!(blocks[0].lines().count() <= 10);
    read_plan(&blocks[0]).unwrap_or_else(|error| panic!("{error}"));
    for block in &blocks {
        let variant = "\n[[variant]]\nfilesystem = \"btrfs\"\nname = \"of the test\"\n\
                       device = { loop = \"4GiB\" }\n";
        let whole =
            if block.contains("[[variant]]") { block.clone() } else { format!("{block}{variant}") };
        read_plan(&whole).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_key_is_in_the_reference_with_its_default() {
    let text = fs::read_to_string(root().join("docs/plan.md")).unwrap();
    for key in [
        "name",
        "question",
        "rounds",
        "seed",
        "warm-up",
        "control",
        "remount",
        "settle-seconds",
        "baseline",
        "rule",
        "half-width",
        "fewest",
        "most",
        "looks",
        "loop",
        "block",
        "directory",
        "count",
        "sparse",
        "direct-io",
        "sector-bytes",
        "images",
        "disk",
        "against",
        "filesystem",
        "mkfs",
        "mount",
        "image",
        "kernel",
        "device",
        "workload",
        "options",
        "trace",
        "layout",
        "layout-every",
        "in",
        "primary",
        "threshold",
        "ignore",
    ] {
        assert!(text.contains(&format!("| `{key}` |")), "{key}");
    }
}

#[test]
fn default_looks_and_inline_sections_equal_their_long_forms() {
    let sequential = read_plan(
        "[stopping]\nrule = \"sequential\"\n[[variant]]\nfilesystem = \"xfs\"\n\
         [variant.device]\nloop = \"1GiB\"\n",
    )
    .unwrap();
    // Six rounds could not decide any of so many metrics.
    assert_eq!(sequential.stopping, Stopping::Sequential { looks: vec![10, 15, 20, 30] });
    assert_eq!(sequential.stopping.most_rounds(), 30);
    let braces = read_plan("variant = [{ filesystem = \"xfs\", device = { loop = \"1GiB\" } }]\n");
    assert_eq!(braces.unwrap().digest(), sequential.digest());
}

#[test]
fn options_are_split_as_by_shell_and_mount() {
    let plan = read_plan(
        "[[variant]]\nfilesystem = \"btrfs\"\nmkfs = \"-d raid0 -L 'my disk'\"\n\
         mount = [\"noatime,compress=zstd:1\", 'context=\"a,b\"']\n",
    )
    .unwrap();
    assert_eq!(plan.variants[0].mkfs, ["-d", "raid0", "-L", "my disk"]);
    assert_eq!(plan.variants[0].mount, ["noatime", "compress=zstd:1", "context=\"a,b\""]);
}

#[test]
fn the_baseline_comes_first_and_a_directory_has_its_path_as_name() {
    let plan = read_plan(
        "baseline = \"/mnt/c\"\n[[variant]]\nfilesystem = \"xfs\"\n[[variant]]\n\
         filesystem = \"ext4\"\n[[variant]]\ndevice = { directory = \"/mnt/c\" }\n",
    )
    .unwrap();
    let names: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(names, ["/mnt/c", "xfs", "ext4"]);
}

#[test]
fn a_sweep_is_every_combination_of_its_values() {
    let plan = read_plan(
        "[device]\nloop = \"1GiB\"\n[[variant]]\nfilesystem = \"ext4\"\nmkfs = \"-b {block}\"\n\
         sweep = { block = [1024, 4096] }\n\
         [[job]]\nname = \"make\"\nworkload = \"fs_mark\"\noptions = { files = 7 }\n\
         sweep = { threads = \"1..4x2\", size = [0, \"4K\"] }\n\
         [[job]]\nname = \"own\"\ncommand = [\"true\", \"--level={level}\"]\n\
         sweep = { level = [1, 9] }\n",
    )
    .unwrap();
    let variants: Vec<_> =
        plan.variants.iter().map(|one| (&*one.name, one.mkfs.join(" "))).collect();
    assert_eq!(
        variants,
        [("ext4, block=1024", "-b 1024".to_owned()), ("ext4, block=4096", "-b 4096".to_owned())]
    );
    let names: Vec<&str> = plan.jobs.iter().map(|job| job.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "make, threads=1, size=0",
            "make, threads=1, size=4K",
            "make, threads=2, size=0",
            "make, threads=2, size=4K",
            "make, threads=4, size=0",
            "make, threads=4, size=4K",
            "own, level=1",
            "own, level=9",
        ]
    );
    let option = |at: usize, name: &str| -> Vec<&str> {
        let options = plan.jobs[at].options.iter().filter(|(known, _)| known == name);
        options.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!((option(3, "threads"), option(3, "size")), (vec!["2"], vec!["4K"]));
    assert_eq!(option(3, "files"), ["7"]);
    assert!(format!("{:?}", plan.jobs[7].options).contains("--level=9"));
    // The written plan reads back to the same plan.
    let reread = read_plan(&plan.to_toml()).unwrap();
    assert_eq!(reread.digest(), plan.digest());
}

#[test]
fn a_sweep_goes_over_parameters_inside_a_fio_job_file() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("j.fio");
    fs::write(&file, "[global]\niodepth=2\nsize=1m\n[a]\nioengine=libaio\n[b]\niodepth=3\n")
        .unwrap();
    let read = |job: &str| {
        read_plan(&format!(
            "[device]\nloop = \"1GiB\"\n[[variant]]\nfilesystem = \"ext4\"\n[[job]]\n\
             workload = \"fio\"\noptions = {{ jobfile = \"{}\" }}\n{job}",
            file.display()
        ))
    };
    let plan = read("sweep = { iodepth = [1, 4, 16, 64], numjobs = \"1..8x2\" }\n").unwrap();
    assert_eq!(plan.jobs.len(), 16);
    assert_eq!(plan.jobs[6].name, "fio, iodepth=4, numjobs=4");
    let parameters = plan.jobs[6].job.parameters();
    let all = |name: &str| -> Vec<&str> {
        let of = parameters.iter().filter(|(known, _)| known == name);
        of.map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(all("set"), ["iodepth=4", "numjobs=4"]);
    for section in [0, 1] {
        assert_eq!(all(&format!("jobfile.{section}.iodepth")), ["4"], "in every section");
        assert_eq!(all(&format!("jobfile.{section}.numjobs")), ["4"]);
    }
    let reread = read_plan(&plan.to_toml()).unwrap();
    assert_eq!(reread.digest(), plan.digest());
    let unknown = read("sweep = { iodepht = [1, 2] }\n").unwrap_err().to_string();
    assert!(unknown.contains("did you mean `iodepth`?") && unknown.contains(":8:"), "{unknown}");
    let wrong = read("sweep = { iodepth = [1, \"deep\"] }\n").unwrap_err().to_string();
    assert!(wrong.contains("deep") && wrong.contains("iodepth"), "{wrong}");
}

#[test]
fn invalid_sweeps_are_refused_at_their_position() {
    let refused = |sweep: &str| {
        let text = format!(
            "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nworkload = \"fs_mark\"\nsweep = {sweep}\n"
        );
        read_plan(&text).unwrap_err().to_string()
    };
    for (sweep, words) in [
        ("{}", "1 to 4 keys"),
        ("5", "must be a table"),
        ("{ threads = 4 }", "no values"),
        ("{ threads = \"4\" }", "no values"),
        ("{ threads = [] }", "0 values"),
        ("{ threads = [1, 1] }", "twice"),
        ("{ threads = \"1..1000000000\" }", "65 values"),
        ("{ threads = \"1..16\", size = \"1..16\" }", "256 combinations"),
        ("{ treads = [1, 2] }", "no option"),
        ("{ threads = [1, \"many\"] }", "many"),
    ] {
        let said = refused(sweep);
        assert!(said.contains(words), "{sweep}: {said}");
        assert!(said.contains("plan.toml:5:"), "{sweep}: {said}");
    }
}
