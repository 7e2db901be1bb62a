//! Counters of the machine and of this process, from `/proc` and `/sys`.

use std::collections::BTreeMap;

use crate::places::KernelRoots;

/// Counters since boot, and the current amount of dirty data.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MachineCounters {
    /// Ticks of all CPUs, idle or not, in units of `USER_HZ`.
    pub(super) all_ticks: u64,
    /// User time including nice, without guests.
    pub(super) user_ticks: u64,
    /// Steal time of a virtual machine.
    pub(super) stolen_ticks: u64,
    /// User time of this process and of children it has waited for.
    pub(super) own_user_ticks: u64,
    pub(super) context_switches: u64,
    /// Values of `vmstat` by name.
    pub(super) vm: BTreeMap<String, u64>,
    pub(super) load_average: String,
    pub(super) uptime_seconds: f64,
    /// Pressure stall time in microseconds, by name of the fact.
    pub(super) pressures_us: BTreeMap<&'static str, u64>,
    /// Dirty bytes and bytes under writeback.
    pub(super) dirty_bytes: u64,
    /// Thermal throttling events of cores and packages; `None` if not reported.
    pub(super) core_throttles: Option<u64>,
    pub(super) package_throttles: Option<u64>,
    /// Cache drops by this process.
    pub(super) own_cache_drops: u64,
}

/// Pressure stall files: file, line (some or all non-idle tasks stalled), fact in seconds.
const PRESSURES: [(&str, &str, &str); 5] = [
    ("cpu", "some", "conditions.cpu_pressure_seconds"),
    ("io", "some", "conditions.io_pressure_seconds"),
    ("memory", "some", "conditions.memory_pressure_seconds"),
    ("io", "full", "conditions.io_full_pressure_seconds"),
    ("memory", "full", "conditions.memory_full_pressure_seconds"),
];

impl MachineCounters {
    /// Reads the counters; `None` without `/proc`.
    pub(super) fn read(places: &KernelRoots) -> Option<Self> {
        let mut counters = Self::default();
        counters.take_stat(&places.proc("stat")?);
        counters.own_user_ticks = own_user_ticks(&places.proc("self/stat")?)?;
        counters.vm = lines(&places.proc("vmstat").unwrap_or_default());
        let load = places.proc("loadavg")?;
        counters.load_average = load.split(' ').take(3).collect::<Vec<_>>().join(" ");
        counters.uptime_seconds = places.proc("uptime")?.split(' ').next()?.parse().ok()?;
        for (file, line, fact) in PRESSURES {
            let text = places.proc(&format!("pressure/{file}"));
            let total = text.and_then(|text| total(&text, line));
            counters.pressures_us.extend(total.map(|total| (fact, total)));
        }
        let to_write = ["Dirty", "Writeback"].map(|key| places.memory_bytes(key).unwrap_or(0));
        counters.dirty_bytes = to_write.iter().sum();
        counters.core_throttles = throttles(places, "core_throttle_count", |counts| counts.sum());
        // Every CPU of a package reports the package's count.
        let largest = |counts: &mut dyn Iterator<Item = u64>| counts.max().unwrap_or(0);
        counters.package_throttles = throttles(places, "package_throttle_count", largest);
        counters.own_cache_drops = treering_sys::cache_drops();
        Some(counters)
    }

    /// Sum of all `vmstat` lines with one of these prefixes.
    pub(super) fn vm_sum(&self, beginnings: &[&str]) -> u64 {
        let has_prefix = |name: &&String| beginnings.iter().any(|prefix| name.starts_with(prefix));
        let values = self.vm.iter().filter(|(name, _)| has_prefix(name)).map(|(_, value)| value);
        values.sum()
    }

    fn take_stat(&mut self, stat: &str) {
        let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = cpu
            .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
            .unwrap_or_default();
        // Columns: user nice system idle iowait irq softirq steal; guest time is included in user
        // and nice.
        let tick = |place: usize| ticks.get(place).copied().unwrap_or(0);
        self.all_ticks = (0..8).map(tick).sum();
        self.user_ticks = tick(0) + tick(1);
        self.stolen_ticks = tick(7);
        self.context_switches = lines(stat).get("ctxt").copied().unwrap_or(0);
    }
}

/// Parses lines of a name and numbers; keeps the first number of each line.
fn lines(text: &str) -> BTreeMap<String, u64> {
    let pair = |line: &str| {
        let (name, numbers) = line.split_once(' ')?;
        Some((name.to_owned(), numbers.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// Throttling counts of all CPUs, combined by `all_in_one`; `None` if no CPU reports any.
fn throttles(
    places: &KernelRoots,
    file: &str,
    all_in_one: impl Fn(&mut dyn Iterator<Item = u64>) -> u64,
) -> Option<u64> {
    let folder = std::fs::read_dir(places.sys.join("devices/system/cpu")).ok()?;
    let names = folder.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let count = |name: String| {
        let file = format!("devices/system/cpu/{name}/thermal_throttle/{file}");
        places.sys(&file)?.parse::<u64>().ok()
    };
    let counts: Vec<u64> = names.filter_map(count).collect();
    (!counts.is_empty()).then(|| all_in_one(&mut counts.into_iter()))
}

/// User time of a process and its children: fields 14 and 16 of its `stat`.
fn own_user_ticks(stat: &str) -> Option<u64> {
    // The command name may contain any character.
    let (_, fields) = stat.rsplit_once(") ")?;
    let field = |number: usize| fields.split(' ').nth(number - 3)?.parse::<u64>().ok();
    Some(field(14)? + field(16)?)
}

/// Total in the line that begins with this word.
fn total(pressure: &str, word: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.split(' ').next() == Some(word))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{MachineCounters, own_user_ticks, total};
    use crate::places::KernelRoots;
    use std::fs;

    #[test]
    fn vmstat_lines_are_parsed_by_name() {
        let mut counters = MachineCounters::default();
        counters.take_stat("cpu  10 2 30 400 5 6 7 8 9 1\ncpu0 1 1 1 1\nctxt 77\n");
        assert_eq!((counters.all_ticks, counters.user_ticks), (468, 12));
        assert_eq!((counters.stolen_ticks, counters.context_switches), (8, 77));
        let before = "S 1 1 1 0 -1 4194304 1 2 3 4";
        assert_eq!(own_user_ticks(&format!("7 (a) b) {before} 50 6 70 8 20 0")), Some(120));
        assert_eq!(own_user_ticks("7 (a"), None);
        let pressure = "some avg10=0.00 avg60=0.00 avg300=0.00 total=42\nfull avg10=0 total=1\n";
        assert_eq!((total(pressure, "some"), total(pressure, "full")), (Some(42), Some(1)));
        assert_eq!(total("some avg10=0 total=7\n", "full"), None);
    }

    #[test]
    fn this_machine_has_counters() {
        let counters = MachineCounters::read(&KernelRoots::default()).unwrap();
        assert!(counters.all_ticks > 0 && counters.uptime_seconds > 0.0);
        assert!(!counters.load_average.is_empty());
        assert!(counters.vm_sum(&["pgpgin"]) > 0);
        assert!(counters.vm_sum(&["pgpg"]) > counters.vm_sum(&["pgpgin"]));
    }

    #[test]
    fn package_throttles_are_reported_by_every_cpu() {
        let root = tempfile::tempdir().unwrap();
        let places = KernelRoots { sys: root.path().to_owned(), ..KernelRoots::default() };
        let none = MachineCounters::read(&places).unwrap();
        assert_eq!((none.core_throttles, none.package_throttles), (None, None));
        for (cpu, core) in [("cpu0", "3"), ("cpu1", "4\n")] {
            let folder = root.path().join("devices/system/cpu").join(cpu).join("thermal_throttle");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("core_throttle_count"), core).unwrap();
            fs::write(folder.join("package_throttle_count"), "5\n").unwrap();
        }
        fs::create_dir_all(root.path().join("devices/system/cpu/cpufreq")).unwrap();
        let some = MachineCounters::read(&places).unwrap();
        assert_eq!((some.core_throttles, some.package_throttles), (Some(7), Some(5)));
    }
}
