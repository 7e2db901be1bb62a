//! Simulated control groups of both versions.

use std::fs;
use std::path::Path;

use treering_model::CautionCode;

use super::{CgroupWatch, memory_hits, seen};
use crate::TrialWatch;
use crate::places::KernelRoots;

/// Simulates a machine with four CPUs, 8 GiB and these control group files.
fn machine(root: &Path, groups: &str, mounts: &str, files: &[(&str, &str)]) -> KernelRoots {
    let places = KernelRoots { proc: root.join("proc"), sys: root.join("sys") };
    fs::create_dir_all(places.proc.join("self")).unwrap();
    let put = |name: &str, text: &str| {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("proc/meminfo", "MemTotal:        8388608 kB\n");
    put("proc/cpuinfo", "processor\t: 0\nprocessor\t: 1\nprocessor\t: 2\nprocessor\t: 3\n");
    put("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-3\n");
    put("proc/self/cgroup", groups);
    put("proc/self/mountinfo", &mounts.replace("ROOT", root.to_str().unwrap()));
    for (name, text) in files {
        put(name, text);
    }
    places
}

const SECOND: &str = "30 20 0:25 / ROOT/cg rw - cgroup2 cgroup2 rw\n";
const FIRST: &str = "30 20 0:25 / ROOT/cg/memory rw - cgroup cgroup rw,memory\n\
                     31 20 0:26 / ROOT/cg/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                     32 20 0:27 / ROOT/cg/blkio rw - cgroup cgroup rw,blkio\n";

fn value(places: &KernelRoots, name: &str) -> String {
    seen(places).facts.into_iter().find(|fact| fact.name == name).unwrap().value
}

#[test]
fn cgroup_v2_limits_of_all_ancestors_apply() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("cg/a/b/memory.max", "max\n"),
        ("cg/a/memory.max", "1073741824\n"),
        ("cg/a/b/memory.high", "536870912\n"),
        ("cg/a/b/cpu.max", "150000 100000\n"),
        ("cg/a/cpu.max", "max 100000\n"),
        ("cg/a/b/io.max", "8:0 rbps=max wbps=1048576 riops=max wiops=max\n"),
        ("cg/a/pids.max", "100\n"),
        ("cg/a/memory.events", "low 0\nhigh 4\nmax 2\noom 0\noom_kill 0\n"),
        ("cg/a/b/memory.events", "low 9\nhigh 1\nmax 0\noom 0\n"),
    ];
    let places = machine(root.path(), "0::/a/b\n", SECOND, &files);
    let limits = "memory.max=1073741824, memory.high=536870912, cpu.max=1.50, \
                  io.max=8:0 wbps=1048576, pids.max=100";
    assert_eq!(value(&places, "cgroup.limits"), limits);
    assert_eq!(value(&places, "memory.usable_bytes"), "536870912");
    let cautions = seen(&places).cautions;
    assert_eq!(cautions.len(), 1);
    assert_eq!(cautions[0].code, CautionCode::CgroupLimits);
    for words in ["memory to 512 MiB of 8192", "that of 1.50 CPUs", "8:0 wbps=1048576"] {
        assert!(cautions[0].message.contains(words), "{}", cautions[0].message);
    }
    let watching = Box::new(CgroupWatch { before: memory_hits(&places).unwrap(), places });
    assert_eq!(watching.before, 7);
    fs::write(root.path().join("cg/a/memory.events"), "high 4\nmax 9\n").unwrap();
    let seen = watching.end();
    assert_eq!(seen.cautions[0].code, CautionCode::MemorySqueezed);
    assert!(seen.cautions[0].message.contains(" 7 times"), "{seen:?}");
}

#[test]
fn cgroup_v1_limits_are_read() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("cg/memory/x/memory.limit_in_bytes", "268435456\n"),
        ("cg/memory/memory.limit_in_bytes", "9223372036854771712\n"),
        ("cg/memory/x/memory.failcnt", "3\n"),
        ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
        ("cg/cpu/cpu.cfs_period_us", "100000\n"),
        ("cg/cpu/x/cpu.cfs_quota_us", "50000\n"),
        ("cg/cpu/x/cpu.cfs_period_us", "100000\n"),
        ("cg/blkio/x/blkio.throttle.write_bps_device", "7:0 1000\n"),
        ("proc/self/status", "Cpus_allowed_list:\t0,2-3\n"),
    ];
    let groups = "4:memory:/x\n3:cpu,cpuacct:/x\n2:blkio:/x\n0::/\n";
    let places = machine(root.path(), groups, FIRST, &files);
    let limits = "memory.max=268435456, cpu.max=0.50, cpus=3, io.max=7:0 wbps=1000";
    assert_eq!(value(&places, "cgroup.limits"), limits);
    assert_eq!(memory_hits(&places), Some(3));
}

#[test]
fn limits_above_the_machine_are_ignored() {
    let root = tempfile::tempdir().unwrap();
    let files = [
        ("cg/a/memory.max", "8589934592\n"),
        ("cg/a/cpu.max", "400000 100000\n"),
        ("cg/a/io.max", "8:0 rbps=max wbps=max riops=max wiops=max\n"),
        ("cg/a/memory.events", "low 0\nhigh 0\nmax 0\n"),
    ];
    // A path outside of the namespace: only the root group is visible.
    for groups in ["0::/a\n", "0::/../elsewhere\n"] {
        let places = machine(root.path(), groups, SECOND, &files);
        assert_eq!(value(&places, "cgroup.limits"), "none");
        assert_eq!(value(&places, "memory.usable_bytes"), "8589934592");
        assert!(seen(&places).cautions.is_empty());
        let before = memory_hits(&places).unwrap();
        let seen = Box::new(CgroupWatch { places, before }).end();
        assert!(seen.cautions.is_empty(), "{seen:?}");
    }
    let nothing = machine(root.path(), "", "", &[]);
    assert_eq!(value(&nothing, "cgroup.limits"), "none");
    assert_eq!(memory_hits(&nothing), None);
}
