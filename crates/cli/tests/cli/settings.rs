//! Settings of a plan's variants on a real filesystem: in force during a trial, put back after it,
//! and refused where the kernel has none of the name.

use std::fs;
use std::path::Path;

use treering_testkit::{require_loop_fs, temp_dir_in};

use crate::program;

/// Sysctl that changes no behaviour of other tests: how often statistics are folded.
const SYSCTL: &str = "/proc/sys/vm/stat_interval";

#[test]
fn settings_are_in_force_for_a_trial_and_put_back_after_it() {
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
