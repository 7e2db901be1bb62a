//! Settings of a plan's variants on a real filesystem: in force during a trial, restored after it,
//! and refused if the kernel has no setting of that name.

use std::fs;
use std::path::Path;

use treering_model::Trial;
use treering_store::{Access, Filter, LoadDetail, Store};
use treering_testkit::{require_loop_fs, temp_dir_in};

use crate::program;

/// Sysctl that does not affect other tests: the interval at which statistics are folded.
const SYSCTL: &str = "/proc/sys/vm/stat_interval";

/// Trials of a store.
fn trials(store: &Path) -> Vec<Trial> {
    let store = Store::open(store, Access::ReadOnly).unwrap();
    let all_trials = store.trials(&Filter::default()).unwrap();
    let ids: Vec<_> = all_trials.iter().map(|trial| trial.trial).collect();
    store.load_many(&ids, LoadDetail::Headlines).unwrap()
}

#[test]
fn settings_apply_during_a_trial_and_are_restored() {
    require_loop_fs!("ext4");
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let (store, noted) = (results.path().join("r.treering"), results.path().join("noted"));
    let before = fs::read_to_string(SYSCTL).unwrap();
    let interval: u64 = before.trim().parse().unwrap();
    let plan = format!(
        "rounds = 1\nwarm-up = false\n[device]\nloop = \"64MiB\"\n\
         [[variant]]\nname = \"set\"\nfilesystem = \"ext4\"\n\
         sysctl = {{ \"vm.stat_interval\" = {} }}\nsysfs = {{ \"bdi/read_ahead_kb\" = 64 }}\n\
         prepare = '''exec > {noted}; cat {SYSCTL}; \
         cat /sys/block/${{TREERING_DEVICE#/dev/}}/bdi/read_ahead_kb; \
         pwd; echo \"$TREERING_DIR\"'''\n\
         cleanup = 'echo cleaned >> {noted}'\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 5, size = 10 }}\n",
        interval + 7,
        noted = noted.display(),
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let words = ["compare", "plan.toml", "--quiet", "--store", store.to_str().unwrap()];
    program.run(words).ends_with(0);
    let noted = fs::read_to_string(&noted).unwrap();
    let lines: Vec<&str> = noted.lines().collect();
    assert_eq!(lines[..2], [(interval + 7).to_string().as_str(), "64"], "{noted}");
    assert!(lines[2] == lines[3] && lines[2].ends_with("treering-work"), "{noted}");
    assert_eq!(lines[4..], ["cleaned"]);
    assert_eq!(fs::read_to_string(SYSCTL).unwrap(), before);
    let wrong = plan.replace("vm.stat_interval", "vm.no_such_setting");
    fs::write(program.home().join("plan.toml"), wrong).unwrap();
    let ran = program.run(words);
    assert!(ran.stderr.contains("this kernel has no such setting"), "{ran}");
}

#[test]
fn each_program_of_a_variant_gets_its_environment() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let (store, noted) = (results.path().join("r.treering"), results.path().join("noted"));
    let dirs = ["a", "b"].map(|name| program.home().join(name));
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let note = |who: &str| format!("echo {who} $MARK >> {}", noted.display());
    let plan = format!(
        "rounds = 1\nwarm-up = false\n\
         [[variant]]\nname = \"a\"\ndevice = {{ directory = {:?} }}\nenv = {{ MARK = \"one two\" }}\n\
         prepare = '{}'\ncleanup = '{}'\n\
         [[variant]]\nname = \"b\"\ndevice = {{ directory = {:?} }}\nenv = {{ MARK = 3 }}\n\
         [[job]]\nname = \"job\"\nprepare = '{}'\ncommand = '{}'\ncleanup = '{}'\n",
        dirs[0],
        note("variant-prepare"),
        note("variant-cleanup"),
        dirs[1],
        note("prepare"),
        note("command"),
        note("cleanup"),
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let words = ["compare", "plan.toml", "--quiet", "--store", store.to_str().unwrap()];
    program.run(words).ends_with(0);
    let noted = fs::read_to_string(&noted).unwrap();
    let of = |mark: &str| -> Vec<&str> {
        let mark = format!(" {mark}");
        noted.lines().filter_map(|line| line.strip_suffix(mark.as_str())).collect()
    };
    let of_job = ["prepare", "command", "cleanup"];
    assert_eq!(of("3"), of_job, "{noted}");
    let whole = ["variant-prepare", "prepare", "command", "cleanup", "variant-cleanup"];
    assert_eq!(of("one two"), whole, "{noted}");
    let marks: Vec<String> =
        trials(&store).iter().map(|trial| trial.fact("env.MARK").unwrap().to_owned()).collect();
    assert!(marks.contains(&"3".to_owned()) && marks.contains(&"one two".to_owned()), "{marks:?}");
    let native =
        plan.split("[[job]]").next().unwrap().replace("prepare", "#").replace("cleanup", "#");
    fs::write(program.home().join("plan.toml"), native).unwrap();
    let ran = program.run(words);
    assert!(ran.stderr.contains("no program reads `env`"), "{ran}");
}

#[test]
fn a_native_plan_job_has_payload_and_surrounding_commands() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let (store, noted) = (results.path().join("r.treering"), results.path().join("noted"));
    let dirs = ["a", "b"].map(|name| program.home().join(name));
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let note = |who: &str| format!("echo {who} $TREERING_VARIANT >> {}", noted.display());
    let plan = format!(
        "rounds = 1\nwarm-up = false\n\
         [[variant]]\nname = \"a\"\ndevice = {{ directory = {:?} }}\n\
         prepare = '{}'\ncleanup = '{}'\n\
         [[variant]]\nname = \"b\"\ndevice = {{ directory = {:?} }}\n\
         [[job]]\nname = \"files\"\nworkload = \"fs_mark\"\noptions = {{ files = 5, size = 10 }}\n\
         prepare = '{}'\ncleanup = '{}'\npayload = \"classic\"\nlatency = \"all\"\nheat = true\n\
         heat-half-life = 7\n",
        dirs[0],
        note("variant-prepare"),
        note("variant-cleanup"),
        dirs[1],
        note("job-prepare"),
        note("job-cleanup"),
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let words = ["compare", "plan.toml", "--quiet", "--store", store.to_str().unwrap()];
    program.run(words).ends_with(0);
    let noted = fs::read_to_string(&noted).unwrap();
    let of = |variant: &str| -> Vec<&str> {
        let name = format!(" {variant}");
        noted.lines().filter_map(|line| line.strip_suffix(name.as_str())).collect()
    };
    assert_eq!(of("b"), ["job-prepare", "job-cleanup"], "{noted}");
    let whole = ["variant-prepare", "job-prepare", "job-cleanup", "variant-cleanup"];
    assert_eq!(of("a"), whole, "{noted}");
    let trials = trials(&store);
    assert_eq!(trials.len(), 2);
    for trial in trials {
        let parameters = &trial.beginning.parameters;
        for (name, value) in
            [("payload", "classic"), ("latency", "all"), ("heat", "true"), ("heat-half-life", "7")]
        {
            let pair = (name.to_owned(), value.to_owned());
            assert!(parameters.contains(&pair), "{name}: {parameters:?}");
        }
    }
    for (wrong, why) in [
        ("compressibility = \"30%\"\n", "goes with payload"),
        (
            "[[job]]\ncommand = \"true\"\npayload = \"random\"\n",
            "no effect on the external program",
        ),
        ("[[job]]\nworkload = \"fs_mark\"\nheat-half-life = 3\n", "goes with heat = true only"),
        ("[[job]]\nworkload = \"fs_mark\"\nlatency = \"every\"\n", "must be a choice of calls"),
    ] {
        fs::write(program.home().join("wrong.toml"), format!("{plan}{wrong}")).unwrap();
        let ran = program.run(["compare", "wrong.toml", "--dry-run"]).ends_with(2);
        assert!(ran.stderr.contains(why), "{ran}");
    }
}

#[test]
fn job_options_of_variants_are_compared_as_one_job() {
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let store = results.path().join("r.treering");
    let dirs = ["a", "b"].map(|name| program.home().join(name));
    dirs.iter().for_each(|dir| fs::create_dir(dir).unwrap());
    let plan = format!(
        "rounds = 1\nwarm-up = false\n\
         [[variant]]\nname = \"small\"\ndevice = {{ directory = {:?} }}\n\
         [[variant]]\nname = \"large\"\ndevice = {{ directory = {:?} }}\n\
         options = {{ files = {{ size = \"8K\" }} }}\n\
         [[job]]\nname = \"files\"\nworkload = \"fs_mark\"\noptions = {{ files = 5, size = 4096 }}\n\
         [[job]]\nname = \"echo\"\ncommand = [\"true\"]\n",
        dirs[0], dirs[1],
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let words = ["compare", "plan.toml", "--quiet", "--full", "--store", store.to_str().unwrap()];
    let page = program.run(words).ends_with(0).stdout;
    assert!(!page.contains("size is 4096"), "the difference is declared: {page}");
    for trial in trials(&store) {
        let cell = trial.beginning.cell.as_ref().unwrap();
        let size = trial.beginning.parameters.iter().find(|(name, _)| name == "size");
        let expected = match (cell.job.as_str(), cell.variant.as_str()) {
            ("files", "large") => Some("8192"),
            ("files", _) => Some("4096"),
            _ => None,
        };
        assert_eq!(size.map(|(_, value)| value.as_str()), expected);
        let changed = trial.fact("variant.changed_options");
        assert_eq!(changed, (expected == Some("8192")).then_some("size=8K"));
    }
}

#[test]
fn limits_without_controllers_are_refused_first() {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    if !groups.lines().any(|line| line.split(':').nth(1) == Some("memory")) {
        println!("skipped: the memory controller is not one of version 1 here");
        return;
    }
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let dir = program.home().join("a");
    fs::create_dir(&dir).unwrap();
    let plan = format!(
        "rounds = 1\n[[variant]]\nname = \"a\"\ndevice = {{ directory = {dir:?} }}\n\
         limits = {{ memory = \"64M\" }}\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 5, size = 10 }}\n",
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let store = results.path().join("r.treering");
    let words = ["compare", "plan.toml", "--quiet", "--store", store.to_str().unwrap()];
    let ran = program.run(words);
    assert!(ran.stderr.contains("the controller `memory` of control groups"), "{ran}");
    assert!(ran.stderr.contains("version 1"), "{ran}");
    assert_eq!(fs::read_dir(&dir).unwrap().count(), 0, "{ran}");
}

#[test]
fn layers_are_built_recorded_and_removed_for_each_trial() {
    require_loop_fs!("ext4");
    require_loop_fs!("xfs");
    let program = program();
    let results = temp_dir_in(Path::new("/dev/shm"));
    let (store, noted) = (results.path().join("r.treering"), results.path().join("noted"));
    let plan = format!(
        "rounds = 2\nwarm-up = false\nremount = true\n[device]\nloop = \"500MiB\"\nsparse = true\n\
         [[variant]]\nname = \"plain\"\nfilesystem = \"ext4\"\n\
         [[variant]]\nname = \"layered\"\nfilesystem = \"ext4\"\n\
         layers = [{{ loop = {{ on = \"xfs\" }} }}, \"overlay\"]\n\
         prepare = 'stat -f -c %T . >> {noted}'\n\
         [[job]]\nworkload = \"fs_mark\"\noptions = {{ files = 20, size = 4096 }}\n",
        noted = noted.display(),
    );
    fs::write(program.home().join("plan.toml"), &plan).unwrap();
    let words = ["compare", "plan.toml", "--format", "json", "--store", store.to_str().unwrap()];
    let ran = program.run(words).ends_with(0);
    assert_eq!(fs::read_to_string(&noted).unwrap(), "overlayfs\n".repeat(2));
    let page: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let cautions = page["contenders"][0]["cautions"].to_string();
    // Differences that the layers cause are the subject of the comparison, except for the size of
    // the filesystem.
    for code in ["devices_differ", "known_of_one_side", "filesystems_differ"] {
        assert!(!cautions.contains(code), "{code}: {cautions}");
    }
    let kept = crate::kernels::trials(&store);
    assert_eq!(kept.len(), 4);
    for trial in &kept {
        let is_layered = trial.beginning.cell.as_ref().unwrap().variant == "layered";
        let stack = is_layered.then_some("loop on xfs > overlay");
        assert_eq!(crate::kernels::fact(trial, "layers.stack"), stack);
    }
    let left = program.run(["lab", "list"]).ends_with(0);
    assert!(!left.stdout.contains("a run of plan plan, which is gone"), "{left}");
}
