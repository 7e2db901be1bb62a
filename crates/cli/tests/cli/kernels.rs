//! Kernels in turns, each booted in a guest. These tests need QEMU, two kernel packages and a
//! static program, and are skipped with a message unless TREERING_KERNELS is set.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use treering_guest::GuestModule;
use treering_model::{Accelerator, CautionCode, Ending, Scope, Trial};
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{FinishedCommand, LoopFs, Program, is_root, skip, temp_dir};

use crate::{only_release, program};

/// Options of a trial that is short even under emulation.
const JOB: [&str; 5] = ["--", "--files", "100", "--size", "4096"];

/// Prints why a test cannot run.
fn skipped<T>(why: &str) -> Option<T> {
    skip(why);
    None
}

/// The static program, and the paths of the kernels.
pub(crate) fn prepared() -> Option<(Program, Vec<PathBuf>)> {
    let kernels = packages()?;
    Some((Program::new(static_program(&top())), kernels))
}

pub(crate) fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Kernel packages in the directory that TREERING_KERNELS names; if it is 1, in the directory of
/// `scripts/setup.sh`.
pub(crate) fn packages() -> Option<Vec<PathBuf>> {
    let Some(asked) = std::env::var_os("TREERING_KERNELS") else {
        return skipped("kernels are booted in guests only where TREERING_KERNELS=1 asks for it");
    };
    let folder = if asked == "1" { top().join("target/kernels") } else { PathBuf::from(asked) };
    let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
    let mut kernels: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    kernels.retain(|path| path.extension().is_some_and(|end| end == "deb" || end == "rpm"));
    kernels.sort();
    if kernels.is_empty() {
        return skipped(&format!("there are no kernel packages in {}", folder.display()));
    }
    let mut qemu = Command::new(format!("qemu-system-{}", std::env::consts::ARCH));
    if !qemu.arg("--version").output().is_ok_and(|said| said.status.success()) {
        return skipped("QEMU is not installed");
    }
    if !is_root() {
        return skipped("only root can make filesystems on loop devices");
    }
    Some(kernels)
}

/// Path of the static program: the one named in the environment, or built here, since the program
/// of the tests needs shared libraries.
fn static_program(top: &Path) -> PathBuf {
    if let Some(named) = std::env::var_os("TREERING_STATIC") {
        return PathBuf::from(named);
    }
    let script = || Command::new(top.join("scripts/build.sh"));
    assert!(script().arg("--demo").current_dir(top).status().unwrap().success());
    let said = script().args(["--demo", "--path"]).current_dir(top).output().unwrap();
    top.join(String::from_utf8(said.stdout).unwrap().trim())
}

/// Trials of a store, oldest first.
pub(crate) fn trials(store: &Path) -> Vec<Trial> {
    let store = Store::open(store, Access::ReadOnly).unwrap();
    let all_trials = store.trials(&Filter::default()).unwrap();
    let ids: Vec<_> = all_trials.iter().rev().map(|one| one.trial).collect();
    store.load_many(&ids, LoadDetail::PhaseCalls).unwrap()
}

/// Runs a comparison in guests and returns its stored trials. Retries if an emulated kernel panics
/// by itself (QEMU 7.2, once in some dozens of boots: a page fault in an interrupt).
pub(crate) fn in_guests(
    place: &Path,
    run: impl Fn(&Path) -> FinishedCommand,
) -> (FinishedCommand, Vec<Trial>) {
    let is_panic = |trial: &Trial| match &trial.ending {
        Ending::Failed { why } => why.contains("Fatal exception"),
        _ => false,
    };
    for attempt in 0..3 {
        let store = place.join(format!("results-{attempt}.db"));
        let ran = run(&store);
        let kept = trials(&store);
        if !kept.iter().any(is_panic) {
            return (ran, kept);
        }
        skip(&format!("a guest panicked by itself, and is started again: {ran}"));
    }
    panic!("guests panic each time");
}

/// Creates an initramfs of a tree, with this init program and these modules, which are loaded in
/// this order.
pub(crate) fn initramfs(tree: &Path, init: &Path, modules: &[GuestModule], archive: &Path) {
    std::fs::create_dir_all(tree.join("modules")).unwrap();
    for (number, module) in modules.iter().enumerate() {
        let name = format!("modules/{number:04}-{}", module.name);
        std::fs::write(tree.join(name), &module.bytes).unwrap();
    }
    std::fs::copy(init, tree.join("init")).unwrap();
    let script = format!("find . | cpio -o --quiet -H newc >{}", archive.display());
    FinishedCommand::run(Command::new("sh").args(["-c", &script]).current_dir(tree)).ends_with(0);
}

pub(crate) fn fact<'t>(trial: &'t Trial, name: &str) -> Option<&'t str> {
    trial.facts.iter().find(|fact| fact.name == name).map(|fact| fact.value.as_str())
}

#[test]
fn kernels_take_turns_without_leftovers() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let (first, last) = (&kernels[0], &kernels[kernels.len() - 1]);
    let words = ["compare", "--workload", "fs_mark", "--size", "512MiB", "--rounds", "2"];
    let (ran, kept) = in_guests(place.path(), |store| {
        let mut command = program.command(words);
        command.args(["--no-warm-up", "--format", "json", "--store"]).arg(store);
        command.arg("--kernel").arg(first).arg("--kernel").arg(last).args(JOB);
        FinishedCommand::run(&mut command)
    });
    let page: Value = serde_json::from_str(&ran.ends_with(0).stdout).unwrap();
    assert_eq!(page["contenders"].as_array().map(Vec::len), Some(1), "{page}");
    assert_eq!(kept.len(), 4);
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed);
        let variant = &trial.beginning.cell.as_ref().unwrap().variant;
        let release = fact(trial, "kernel.release").unwrap();
        assert!(variant.starts_with(release), "{variant}: {release}");
        let is_emulated = fact(trial, Accelerator::FACT) != Some(Accelerator::Kvm.name());
        let is_said = trial.cautions.iter().any(|one| one.code == CautionCode::Emulated);
        assert_eq!(is_emulated, is_said);
        assert!(fact(trial, "mkfs.command").is_some_and(|command| command.contains("ext4")));
        assert!(fact(trial, "kernel.command_line").is_some());
    }
    // All trials start from the same bytes: the same UUID, the same hash seed.
    let images: Vec<_> = kept.iter().map(|trial| fact(trial, "image.fingerprint")).collect();
    assert!(images[0].is_some() && images.iter().all(|image| *image == images[0]), "{images:?}");
    let rounds: Vec<u32> =
        kept.iter().map(|one| one.beginning.cell.as_ref().unwrap().round).collect();
    assert_eq!(rounds, [1, 1, 2, 2]);
    // Concurrent tests may have images in use.
    let left = program.run(["lab", "list"]).ends_with(0);
    assert!(!left.stdout.contains("a run of plan quick, which is gone"), "{left}");
}

#[test]
fn layers_are_built_in_a_guest_by_its_kernel() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let plan = place.path().join("plan.toml");
    let kernel = &kernels[kernels.len() - 1];
    let stacks = [
        ("crypt", "[\"crypt\"]"),
        ("direct", "[{ crypt = { no-read-workqueue = true, no-write-workqueue = true } }]"),
        ("linear", "[\"linear\"]"),
        ("thin", "[\"thin\"]"),
        ("snapshot", "[\"snapshot\"]"),
        ("raid0", "[{ md = { level = 0, chunk-bytes = 65536 } }]"),
        ("raid1", "[{ md = { level = 1 } }]"),
        ("parity", "[{ md = { level = 5, stripe-cache = 512, threads = 2 } }, \"crypt\"]"),
        ("cached", "[{ bcache = { mode = \"writeback\", sequential-cutoff = 0 } }]"),
        ("raid6", "[{ md = { level = 6, disks = 5 } }]"),
        ("raid10", "[{ md = { level = 10, disks = 4 } }]"),
        ("mixed", "[\"linear\", \"crypt\", { loop = { on = \"xfs\" } }, \"overlay\"]"),
    ];
    let mut text = "rounds = 1\nwarm-up = false\nremount = true\n\
                    [device]\nloop = \"400MiB\"\nsparse = true\ncount = 2\n"
        .to_owned();
    for (name, layers) in stacks {
        // These stacks use both devices of the plan; the others get a single device.
        let device = if layers.contains("linear") || ["raid0", "raid1"].contains(&name) {
            ""
        } else {
            "device = { loop = \"400MiB\", sparse = true }\n"
        };
        text += &format!(
            "[[variant]]\nname = {name:?}\nfilesystem = \"ext4\"\nkernel = {kernel:?}\n\
             layers = {layers}\n{device}"
        );
    }
    text += "[[job]]\nworkload = \"fs_mark\"\noptions = { files = 100, size = 4096 }\n";
    std::fs::write(&plan, text).unwrap();
    let (ran, kept) = in_guests(place.path(), |store| {
        let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
        program.run(words.iter().chain(&["--quiet"]))
    });
    assert_eq!(kept.len(), stacks.len(), "{ran}");
    for trial in &kept {
        let name = trial.beginning.cell.as_ref().unwrap().variant.as_str();
        assert_eq!(trial.ending, Ending::Completed, "{name}");
        assert!(fact(trial, "layers.stack").is_some_and(|stack| !stack.is_empty()));
        assert!(fact(trial, "mkfs.command").is_some_and(|mkfs| mkfs.contains("ext4")), "{name}");
        let device = fact(trial, "device.name");
        // Facts of the device are unknown above an overlay.
        let is_layer =
            |device: &str| ["dm-", "md", "bcache"].iter().any(|start| device.starts_with(start));
        let is_mapped = device.is_some_and(is_layer);
        assert_eq!(is_mapped, name != "mixed", "{name}: {device:?}");
        // Reads and writes are counted on the lowest devices.
        let written = trial.metrics.iter().find(|metric| metric.name == "device_written_bytes");
        assert!(written.is_some_and(|metric| metric.value > 400_000.0), "{name}: {written:?}");
    }
}

#[test]
fn functions_of_the_kernel_are_timed_in_a_guest() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let plan = place.path().join("plan.toml");
    let text = format!(
        "rounds = 1\nwarm-up = false\n[device]\nloop = \"256MiB\"\nsparse = true\n\
         [observe]\nfunctions = [\"ext4_sync_file\", \"vfs_no_such_function\"]\n\
         in = \"measured\"\n\
         [[variant]]\nname = \"ext4\"\nfilesystem = \"ext4\"\nkernel = {:?}\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 100, size = 4096 }}\n",
        &kernels[0]
    );
    std::fs::write(&plan, text).unwrap();
    let (ran, kept) = in_guests(place.path(), |store| {
        let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
        program.run(words.iter().chain(&["--quiet"]))
    });
    let [trial] = &kept[..] else { panic!("{ran}") };
    assert_eq!(trial.ending, Ending::Completed, "{ran}");
    let metric = |name: &str, scope: Scope| {
        let mut metrics = trial.metrics.iter();
        metrics.find(|metric| metric.name == name && metric.scope == scope).map(|m| m.value)
    };
    let calls = metric("function_ext4_sync_file_calls", Scope::Trial);
    assert!(calls.is_some_and(|calls| calls >= 100.0), "{calls:?} {:?}", trial.cautions);
    let mean = metric("function_ext4_sync_file_mean_nanoseconds", Scope::Trial).unwrap();
    let fsync = metric("fsync_call_latency_max_nanoseconds", Scope::Trial).unwrap();
    assert!(mean > 1_000.0 && mean < fsync, "{mean} of at most {fsync}");
    let why = trial.cautions.iter().find(|it| it.message.contains("vfs_no_such_function"));
    assert!(why.is_some_and(|it| it.message.contains("no such function")), "{:?}", trial.cautions);
}

#[test]
fn each_trial_in_a_guest_starts_from_the_complete_saved_image() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let mounted = LoopFs::new("ext4", 300);
    let target = mounted.path().to_str().unwrap();
    let words = ["age", target, "--live", "20M", "--until", "operations=300", "--save", "old"];
    program.run(words.iter().chain(&["--quiet"])).ends_with(0);
    drop(mounted);
    let place = temp_dir();
    let plan = place.path().join("plan.toml");
    let text = format!(
        "rounds = 2\nwarm-up = false\ndevice = {{ loop = \"300MiB\", sparse = true }}\n\
         [[variant]]\nname = \"old\"\nfilesystem = \"ext4\"\nimage = \"old\"\nkernel = {:?}\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 100, size = 4096 }}\n\
         [observe]\nlayout = true\nin = \"measured\"\n",
        kernels[kernels.len() - 1]
    );
    std::fs::write(&plan, text).unwrap();
    let (_, kept) = in_guests(place.path(), |store| {
        let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
        program.run(words.iter().chain(&["--quiet"]))
    });
    assert_eq!(kept.len(), 2);
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed);
        assert_eq!(fact(trial, "image.name"), Some("old"));
        assert_eq!(fact(trial, "image.fingerprint").map(str::len), Some(32));
        assert!(fact(trial, "guest.kernel_release").is_some());
        // An aged filesystem has more used space than a fresh one, which has the reserved 15 MiB.
        let number = |name| fact(trial, name).unwrap().parse::<u64>().unwrap();
        let used = number("filesystem.capacity_bytes") - number("filesystem.free_bytes");
        assert!(used > 30 << 20, "{used}");
    }
}

#[test]
fn programs_of_this_machine_run_in_a_guest_that_cannot_write_to_it() {
    let Some((program, kernels)) = prepared() else { return };
    if !["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"]
        .iter()
        .any(|it| Path::new(it).exists())
    {
        skip("virtiofsd is not installed");
        return;
    }
    let _alone = only_release();
    let place = temp_dir();
    // A script of this machine, with a program that needs its libraries.
    let script = place.path().join("job.sh");
    let (inside, direct) = (place.path().join("inside"), place.path().join("direct"));
    let text = format!(
        "set -e\nls -l /bin/sh\necho x >{inside}\nmkdir /again\n\
         mount -t virtiofs treering.root /again\n! touch /again{direct}\n\
         cp /bin/sh . && sync\n",
        inside = inside.display(),
        direct = direct.display()
    );
    std::fs::write(&script, text).unwrap();
    let plan = place.path().join("plan.toml");
    let variant = |(name, kernel): (&str, &PathBuf)| {
        format!("[[variant]]\nname = {name:?}\nkernel = {kernel:?}\nfilesystem = \"ext4\"\n")
    };
    let last = &kernels[kernels.len() - 1];
    let variants = [("first", &kernels[0]), ("last", last)].map(variant).concat();
    let text = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ root = \"/\", memory = \"512MiB\" }}\n{variants}\
         [[job]]\nname = \"script\"\ncommand = [\"sh\", {script:?}]\n"
    );
    std::fs::write(&plan, text).unwrap();
    let (ran, kept) = in_guests(place.path(), |store| {
        let words = ["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()];
        program.run(words.iter().chain(&["--quiet"]))
    });
    assert_eq!(kept.len(), 2, "{ran}");
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed, "{ran}");
        assert_eq!(fact(trial, "guest.root"), Some("/"));
        assert_eq!(fact(trial, "guest.root_transport"), Some("virtiofs"));
        // The filesystem under test is a disk of the guest.
        assert_eq!(fact(trial, "filesystem.type"), Some("ext4"));
    }
    assert!(!inside.exists() && !direct.exists());
}

#[test]
fn instruction_counts_repeat_and_need_one_cpu() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let words = ["compare", "--icount", "--workload", "fs_mark", "--size", "512MiB"];
    let (ran, kept) = in_guests(place.path(), |store| {
        let mut command = program.command(words);
        command.args(["--rounds", "2", "--no-warm-up", "--store"]).arg(store);
        FinishedCommand::run(command.arg("--kernel").arg(&kernels[0]).args(JOB))
    });
    assert_eq!(kept.len(), 2, "{ran}");
    for trial in &kept {
        assert_eq!(trial.ending, Ending::Completed, "{ran}");
        assert_eq!(fact(trial, Accelerator::FACT), Some(Accelerator::Icount.name()));
        let caution = trial.cautions.iter().find(|one| one.code == CautionCode::Emulated).unwrap();
        assert!(caution.message.contains("counted instructions"), "{}", caution.message);
    }
    let plan = place.path().join("plan.toml");
    let text = format!(
        "device = {{ loop = \"512MiB\" }}\n[[variant]]\nkernel = \"{}\"\nfilesystem = \"ext4\"\n\
         [[job]]\nworkload = \"fs_mark\"\n",
        kernels[0].display()
    );
    for (guest, said) in [
        ("guest = { cpus = 2 }\n", "one CPU only"),
        ("guest = { cpus = 1, accelerator = \"kvm\" }\n", "with KVM, instructions are not counted"),
    ] {
        std::fs::write(&plan, format!("{guest}{text}")).unwrap();
        let mut command = program.command(["compare", "--icount"]);
        FinishedCommand::run(command.arg(&plan)).ends_with(2).complains(said);
    }
}

/// Header of a boot image for this release with all drivers built in.
pub(crate) fn image(release: &str) -> Vec<u8> {
    let mut image = vec![0; 5 * 512];
    image[0x202..0x206].copy_from_slice(b"HdrS");
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    let text = format!("{release} (a@b) #1 SMP");
    image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
    image
}

#[test]
fn kernels_are_checked_before_a_plan_and_by_its_dry_run() {
    let program = program();
    let write = |name: &str, bytes: &[u8]| {
        let path = program.home().join(name);
        std::fs::write(&path, bytes).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let whole = write("whole", &image("6.1-whole"));
    let cut = write("cut", &image("6.1-cut")[..2000]);
    let garbage = write("bad.deb", b"garbage");
    let checked = program.run(["kernel", "check", "--no-boot", &whole]).ends_with(0);
    for line in [
        "release       6.1-whole #1 SMP",
        "ext4          built in, as",
        "nvme          built in, as",
    ] {
        assert!(checked.stdout.contains(line), "{checked}");
    }
    let checked = program.run(["kernel", "check", "--no-boot", &cut, &whole, &garbage]);
    let checked = checked.ends_with(1);
    assert!(checked.stdout.contains("it is cut: it has 2000 bytes"), "{checked}");
    assert!(checked.stdout.contains("has no kernel"), "{checked}");
    // The usable kernel is checked in spite of the others.
    assert!(checked.stdout.contains("release       6.1-whole"), "{checked}");
    program.run(["kernel", "check"]).ends_with(2);
    for (file, said) in [(&cut, "it is cut"), (&garbage, "has no kernel")] {
        let words = ["compare", "--dry-run", "--filesystems", "ext4", "--kernel", &whole];
        let ran = program.run(words.iter().copied().chain(["--kernel", file.as_str()]));
        ran.ends_with(3).complains(said);
    }
    let words = ["compare", "--dry-run", "--filesystems", "ext4", "--kernel", &whole];
    let ran = program.run(words.iter().copied().chain(["--kernel", &whole])).ends_with(0);
    assert!(ran.stdout.contains("kernel: whole is 6.1-whole and has what"), "{ran}");
}

#[test]
fn a_checked_kernel_mounts_a_filesystem_unknown_to_the_host() {
    let Some((program, kernels)) = prepared() else { return };
    let kernel = kernels.iter().rfind(|path| !path.to_string_lossy().contains("cloud"));
    let Some(kernel) = kernel.or(kernels.last()) else { return };
    let mut check = program.command(["kernel", "check"]);
    let checked = FinishedCommand::run(check.arg(kernel)).ends_with(0);
    assert!(checked.stdout.contains("  boots         in "), "{checked}");
    if !checked.stdout.contains("f2fs          modules: ") {
        skip("this kernel has no f2fs, which a generic kernel of Debian has");
        return;
    }
    let _alone = only_release();
    let place = temp_dir();
    let (_, kept) = in_guests(place.path(), |store| {
        let words =
            ["compare", "--filesystems", "f2fs", "--workload", "fs_mark", "--size", "512MiB"];
        let mut command = program.command(words);
        command.args(["--rounds", "1", "--no-warm-up", "--store"]).arg(store);
        FinishedCommand::run(command.arg("--kernel").arg(kernel).args(JOB))
    });
    assert_eq!(kept.len(), 1);
    assert_eq!(kept[0].ending, Ending::Completed);
    assert!(fact(&kept[0], "filesystem.checksum").is_some_and(|code| code.starts_with("crc32 (")));
}

#[test]
fn repeated_published_reports_interleave_kernels() {
    let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let program = program();
    for name in ["a", "b"] {
        std::fs::write(program.home().join(format!("vmlinuz-{name}")), image(name)).unwrap();
    }
    for (plan, kernels, trials) in [
        ("report-2012", &["./vmlinuz-a", "./vmlinuz-b"][..], 9 * 2 * 4),
        ("report-2018", &["./vmlinuz-a", "./vmlinuz-a", "./vmlinuz-b"], 10 * 3 * 7),
    ] {
        let mut command = program.command(["compare", "--dry-run"]);
        command.arg(top.join("examples/plans").join(plan).with_extension("toml"));
        for kernel in kernels {
            command.args(["--kernel", kernel]);
        }
        let small = FinishedCommand::run(&mut command).ends_with(0);
        let cells = small.stdout.lines().filter(|line| line.starts_with("round "));
        let cells: Vec<&str> = cells.collect();
        assert_eq!(cells.len(), trials, "{small}");
        // In each round, a job runs under every kernel before the next job begins.
        for together in cells.chunks(kernels.len()) {
            let parts = together.iter().map(|cell| cell.split([':', ',']).map(str::trim));
            let parts: Vec<Vec<&str>> = parts.map(Iterator::collect).collect();
            assert!(parts.iter().all(|cell| cell[0] == parts[0][0] && cell[2] == parts[0][2]));
            let mut names: Vec<&str> = parts.iter().map(|cell| cell[1]).collect();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), kernels.len(), "{together:?}");
        }
        // The guest has the CPUs and memory of the plan.
        let mut print = program.command(["compare", "--print-plan"]);
        print.arg(top.join("examples/plans").join(plan).with_extension("toml"));
        for kernel in kernels {
            print.args(["--kernel", kernel]);
        }
        let written = FinishedCommand::run(&mut print).ends_with(0).stdout;
        let is_described = |line: &&str| line.contains("guest = { cpus = 2, memory = \"512MiB\"");
        assert_eq!(written.lines().filter(is_described).count(), kernels.len(), "{written}");
        if plan == "report-2012" {
            // A debug build takes long to plan thousands of operations of compilebench.
            continue;
        }
        let full = FinishedCommand::run(command.arg("--full-size")).ends_with(0);
        let written = |ran: &FinishedCommand| {
            let line = ran.stdout.lines().find(|line| line.contains("each trial writes"));
            line.unwrap().to_owned()
        };
        assert_ne!(written(&small), written(&full));
    }
}

#[test]
fn a_guest_that_cannot_mount_fails_only_its_trial() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let kernel = kernels[0].display();
    let plan = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n\
         guest = {{ accelerator = \"tcg\" }}\n\
         [[variant]]\nname = \"good\"\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n\
         [[variant]]\nname = \"bad\"\nkernel = \"{kernel}\"\nfilesystem = \"ext4\"\n\
         mount = \"no_such_option\"\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 100, size = 4096 }}\n"
    );
    let file = place.path().join("plan.toml");
    std::fs::write(&file, plan).unwrap();
    let (ran, kept) = in_guests(place.path(), |store| {
        FinishedCommand::run(program.command(["compare", "--store"]).arg(store).arg(&file))
    });
    assert_eq!(kept.len(), 2, "{ran}");
    for trial in &kept {
        match (trial.beginning.cell.as_ref().unwrap().variant.as_str(), &trial.ending) {
            ("good", Ending::Completed) => {}
            ("bad", Ending::Failed { why }) => {
                assert!(why.contains("cannot mount this ext4"), "{why}");
                assert!(why.contains("no_such_option"), "{why}");
            }
            other => panic!("{other:?}\n{ran}"),
        }
    }
}

#[test]
fn a_dynamic_program_is_refused_for_guests() {
    let program = program();
    let binary = std::fs::read(env!("CARGO_BIN_EXE_treering")).unwrap();
    let needs_loader = binary.windows(9).any(|bytes| bytes == b"ld-linux-");
    if !needs_loader || !is_root() {
        skip("the program of the tests is static, or only directories are compared");
        return;
    }
    std::fs::write(program.home().join("vmlinuz"), image("6.1-x86")).unwrap();
    let ran = program.run(["compare", "--kernel", "./vmlinuz", "--store", "/dev/shm/none"]);
    ran.ends_with(3).complains("it is not static").complains("make build");
}

#[test]
fn a_pack_from_a_guest_is_repeated_with_a_local_kernel() {
    let Some((program, kernels)) = prepared() else { return };
    let _alone = only_release();
    let place = temp_dir();
    let (first, last) = (&kernels[0], &kernels[kernels.len() - 1]);
    let plan = place.path().join("plan.toml");
    let text = format!(
        "rounds = 1\nwarm-up = false\ndevice = {{ loop = \"64MiB\" }}\n[[variant]]\n\
         name = \"it\"\nkernel = \"{}\"\nfilesystem = \"ext4\"\n[[job]]\n\
         workload = \"fs_mark\"\noptions = {{ files = 20, size = 4096 }}\n",
        first.display()
    );
    std::fs::write(&plan, text).unwrap();
    let there = place.path().join("there.db");
    in_guests(place.path(), |store| {
        let ran =
            program.run(["compare", plan.to_str().unwrap(), "--store", store.to_str().unwrap()]);
        std::fs::copy(store, &there).unwrap();
        ran
    });
    let pack = place.path().join("it.pack");
    let (pack, there) = (pack.to_str().unwrap(), there.to_str().unwrap());
    program.run(["pack", "-o", pack, "--store", there]).ends_with(0);
    // A pack cannot contain kernels.
    program.run(["repeat", pack, "--dry-run"]).ends_with(2).complains("--kernel");
    let kernel = format!("it={}", last.display());
    let again = temp_dir();
    let (_, kept) = in_guests(again.path(), |store| {
        let words = ["repeat", pack, "--kernel", &kernel, "--quiet", "--store"];
        program.run(words.iter().chain(&[store.to_str().unwrap()]))
    });
    assert_eq!(kept.len(), 2);
    assert!(kept.iter().all(|trial| trial.ending == Ending::Completed));
}
