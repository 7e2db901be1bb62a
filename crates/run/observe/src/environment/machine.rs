//! The machine: kernel, processor, memory, as `/proc` and `/sys` tell them.

use std::fs::read_to_string;

use treering_model::Fact;

use super::fact;

/// What is known of the machine.
pub(super) fn facts() -> Vec<Fact> {
    let mut facts = Vec::new();
    let mut file = |name: &str, path: &str| {
        if let Ok(text) = read_to_string(path) {
            facts.push(fact(name, text.trim()));
        }
    };
    file("kernel.release", "/proc/sys/kernel/osrelease");
    file("kernel.version", "/proc/sys/kernel/version");
    file("kernel.command_line", "/proc/cmdline");
    file("cpu.governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    file("memory.swappiness", "/proc/sys/vm/swappiness");
    file("memory.dirty_ratio", "/proc/sys/vm/dirty_ratio");
    file("memory.dirty_background_ratio", "/proc/sys/vm/dirty_background_ratio");
    file("memory.dirty_expire_centisecs", "/proc/sys/vm/dirty_expire_centisecs");
    facts.push(fact("machine.architecture", std::env::consts::ARCH));
    if let Ok(text) = read_to_string("/proc/cpuinfo") {
        facts.extend(processor(&text));
    }
    if let Ok(text) = read_to_string("/proc/meminfo") {
        facts.extend(memory(&text));
    }
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

fn memory(meminfo: &str) -> Vec<Fact> {
    let bytes = |key: &str| {
        let line = meminfo.lines().find(|line| line.starts_with(key))?;
        let kib: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
        Some(kib * 1024)
    };
    let named = [("memory.bytes", "MemTotal:"), ("memory.swap_bytes", "SwapTotal:")];
    named.iter().filter_map(|(name, key)| Some(fact(name, bytes(key)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::{memory, processor};

    #[test]
    fn processor_and_memory_are_read() {
        let cpu = processor(
            "processor\t: 0\nmodel name\t: A CPU\nflags\t: fpu hypervisor\n\nprocessor\t: 1\n",
        );
        let texts: Vec<String> =
            cpu.iter().map(|fact| format!("{}={}", fact.name, fact.value)).collect();
        assert_eq!(texts, ["cpu.count=2", "cpu.model=A CPU", "machine.virtual=true"]);
        let memory = memory("MemTotal:       24 kB\nSwapTotal:  nonsense kB\n");
        assert_eq!(memory.len(), 1);
        assert_eq!(memory[0].value, "24576");
    }
}
