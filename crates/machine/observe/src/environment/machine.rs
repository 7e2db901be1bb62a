//! Machine: kernel, processor and memory, from `/proc` and `/sys`.

use treering_model::Fact;

use super::fact;
use crate::places::KernelRoots;

/// Facts from files below `/proc`.
const PROC: [(&str, &str); 12] = [
    ("kernel.release", "sys/kernel/osrelease"),
    ("kernel.version", "sys/kernel/version"),
    ("kernel.command_line", "cmdline"),
    ("kernel.tainted", "sys/kernel/tainted"),
    ("memory.swappiness", "sys/vm/swappiness"),
    ("memory.vfs_cache_pressure", "sys/vm/vfs_cache_pressure"),
    ("memory.dirty_ratio", "sys/vm/dirty_ratio"),
    ("memory.dirty_background_ratio", "sys/vm/dirty_background_ratio"),
    ("memory.dirty_limit_bytes", "sys/vm/dirty_bytes"),
    ("memory.dirty_background_limit_bytes", "sys/vm/dirty_background_bytes"),
    ("memory.dirty_expire_centisecs", "sys/vm/dirty_expire_centisecs"),
    ("memory.dirty_writeback_centisecs", "sys/vm/dirty_writeback_centisecs"),
];

/// Facts from files below `/sys`.
const SYS: [(&str, &str); 5] = [
    ("cpu.governor", "devices/system/cpu/cpu0/cpufreq/scaling_governor"),
    ("cpu.frequency_driver", "devices/system/cpu/cpu0/cpufreq/scaling_driver"),
    ("cpu.boost", "devices/system/cpu/cpufreq/boost"),
    ("cpu.simultaneous_threads", "devices/system/cpu/smt/active"),
    ("memory.transparent_hugepages", "kernel/mm/transparent_hugepage/enabled"),
];

/// Directory of known CPU vulnerabilities.
const VULNERABILITIES: &str = "devices/system/cpu/vulnerabilities";

/// Facts about the machine.
pub(super) fn facts(places: &KernelRoots) -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut tell = |name: &str, text: Option<String>| {
        facts.extend(text.map(|text| fact(name, text.trim())));
    };
    PROC.iter().for_each(|(name, file)| tell(name, places.proc(file)));
    SYS.iter().for_each(|(name, file)| tell(name, places.sys(file)));
    facts.push(fact("machine.architecture", std::env::consts::ARCH));
    facts.extend(mitigations(places));
    facts.extend(preemption(places));
    if let Some(text) = places.proc("cpuinfo") {
        facts.extend(processor(&text));
    }
    for (name, key) in [("memory.bytes", "MemTotal"), ("memory.swap_bytes", "SwapTotal")] {
        facts.extend(places.memory_bytes(key).map(|bytes| fact(name, bytes)));
    }
    facts
}

/// Preemption model: the one the kernel was built with, from its version, and the current mode of a
/// dynamic kernel, if readable.
fn preemption(places: &KernelRoots) -> Vec<Fact> {
    let mut facts = Vec::new();
    if let Some(version) = places.proc("sys/kernel/version") {
        let word = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
        let built = match word.map(|word| word.trim_matches(['{', '}', '(', ')'])) {
            None => "none or voluntary",
            Some("PREEMPT_RT") => "real-time",
            Some(word) if word.starts_with("PREEMPT_DYNAMIC") => "dynamic",
            Some(_) => "full",
        };
        facts.push(fact("kernel.preemption_built", built));
    }
    let modes = places.sys("kernel/debug/sched/preempt");
    // Format: "none voluntary (full)".
    let now = modes.as_deref().and_then(|modes| {
        modes.split_whitespace().find_map(|word| word.strip_prefix('(')?.strip_suffix(')'))
    });
    let line = places.proc("cmdline").unwrap_or_default();
    let requested =
        line.split_whitespace().filter_map(|word| word.strip_prefix("preempt=")).next_back();
    facts.extend(now.or(requested).map(|now| fact("kernel.preemption", now)));
    facts
}

/// Mitigated and open CPU vulnerabilities.
fn mitigations(places: &KernelRoots) -> Vec<Fact> {
    let folder = std::fs::read_dir(places.sys.join(VULNERABILITIES));
    let entries = folder.into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let state = |name: &String| places.sys(&format!("{VULNERABILITIES}/{name}"));
    let states: Vec<(&String, String)> =
        names.iter().filter_map(|name| Some((name, state(name)?))).collect();
    if states.is_empty() {
        return Vec::new();
    }
    let reported = |names: Vec<String>, between: &str| {
        if names.is_empty() { "none".to_owned() } else { names.join(between) }
    };
    let mitigated = states.iter().filter_map(|(name, state)| {
        Some(format!("{name}: {}", state.strip_prefix("Mitigation: ")?))
    });
    let open = states.iter().filter(|(_, state)| state.starts_with("Vulnerable"));
    let mut facts = vec![
        fact("cpu.mitigations", reported(mitigated.collect(), " | ")),
        fact("cpu.unmitigated", reported(open.map(|(name, _)| (*name).clone()).collect(), " ")),
    ];
    let line = places.proc("cmdline").unwrap_or_default();
    let mut requested =
        line.split_whitespace().filter_map(|word| word.strip_prefix("mitigations="));
    // The last occurrence is effective.
    facts.extend(requested.next_back().map(|requested| fact("cpu.mitigations_asked", requested)));
    facts
}

fn processor(cpuinfo: &str) -> Vec<Fact> {
    let values = |key: &'static str| {
        cpuinfo.lines().filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key).then(|| value.trim())
        })
    };
    let mut facts = vec![fact("cpu.count", values("processor").count())];
    facts.extend(values("model name").next().map(|model| fact("cpu.model", model)));
    let flags = values("flags").next().unwrap_or("");
    let virtual_machine = flags.split_whitespace().any(|flag| flag == "hypervisor");
    facts.push(fact("machine.virtual", virtual_machine));
    facts
}

#[cfg(test)]
mod tests {
    use super::{facts, mitigations, preemption, processor};
    use crate::places::KernelRoots;
    use std::fs;

    #[test]
    fn processor_and_memory_are_read() {
        let cpu = processor(
            "processor\t: 0\nmodel name\t: A CPU\nflags\t: fpu hypervisor\n\nprocessor\t: 1\n",
        );
        let texts: Vec<String> =
            cpu.iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
        assert_eq!(texts, ["cpu.count=2", "cpu.model=A CPU", "machine.virtual=true"]);
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { proc: root.path().to_owned(), sys: root.path().to_owned() };
        let meminfo = "MemTotal:       24 kB\nSwapTotal:  nonsense kB\n";
        fs::write(root.path().join("meminfo"), meminfo).unwrap();
        let memory = facts(&places);
        let memory: Vec<_> = memory.iter().filter(|f| f.name.starts_with("memory.")).collect();
        assert_eq!(memory.len(), 1);
        assert_eq!(memory[0].value, "24576");
    }

    #[test]
    fn smt_and_huge_page_settings_are_read() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { proc: root.path().join("proc"), sys: root.path().to_owned() };
        let (smt, huge) = ("devices/system/cpu/smt", "kernel/mm/transparent_hugepage");
        for (folder, file, text) in
            [(smt, "active", "1\n"), (huge, "enabled", "always [madvise] never\n")]
        {
            fs::create_dir_all(root.path().join(folder)).unwrap();
            fs::write(root.path().join(folder).join(file), text).unwrap();
        }
        let facts = facts(&places);
        let value = |name| &facts.iter().find(|fact| fact.name == name).unwrap().value;
        assert_eq!(value("cpu.simultaneous_threads"), "1");
        assert_eq!(value("memory.transparent_hugepages"), "always [madvise] never");
    }

    #[test]
    fn preemption_model_is_reported() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { proc: root.path().join("proc"), sys: root.path().join("sys") };
        fs::create_dir_all(places.proc.join("sys/kernel")).unwrap();
        let reported = |version: &str| -> Vec<String> {
            fs::write(places.proc.join("sys/kernel/version"), version).unwrap();
            let facts = preemption(&places);
            facts.into_iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect()
        };
        assert_eq!(reported("#1 SMP Debian 6.1"), ["kernel.preemption_built=none or voluntary"]);
        assert_eq!(reported("#1 SMP PREEMPT_RT Mon"), ["kernel.preemption_built=real-time"]);
        assert_eq!(reported("#1 SMP PREEMPT Mon"), ["kernel.preemption_built=full"]);
        fs::write(places.proc.join("cmdline"), "quiet preempt=none x").unwrap();
        let dynamic = ["kernel.preemption_built=dynamic", "kernel.preemption=none"];
        assert_eq!(reported("#1 SMP PREEMPT_DYNAMIC Debian"), dynamic);
        let debug = places.sys.join("kernel/debug/sched");
        fs::create_dir_all(&debug).unwrap();
        fs::write(debug.join("preempt"), "none (voluntary) full \n").unwrap();
        let dynamic = ["kernel.preemption_built=dynamic", "kernel.preemption=voluntary"];
        assert_eq!(reported("#1 SMP PREEMPT_DYNAMIC Debian"), dynamic);
    }

    #[test]
    fn cpu_vulnerabilities_are_reported_with_their_mitigations() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { proc: root.path().to_owned(), sys: root.path().to_owned() };
        assert!(mitigations(&places).is_empty());
        let folder = root.path().join(super::VULNERABILITIES);
        fs::create_dir_all(&folder).unwrap();
        for (name, state) in [
            ("meltdown", "Mitigation: PTI\n"),
            ("mds", "Vulnerable: Clear CPU buffers attempted, no microcode\n"),
            ("l1tf", "Not affected\n"),
        ] {
            fs::write(folder.join(name), state).unwrap();
        }
        fs::write(root.path().join("cmdline"), "quiet mitigations=auto,nosmt x=y\n").unwrap();
        let facts = mitigations(&places);
        let texts: Vec<String> = facts.iter().map(|f| format!("{}={}", f.name, f.value)).collect();
        let expected = [
            "cpu.mitigations=meltdown: PTI",
            "cpu.unmitigated=mds",
            "cpu.mitigations_asked=auto,nosmt",
        ];
        assert_eq!(texts, expected);
    }
}
