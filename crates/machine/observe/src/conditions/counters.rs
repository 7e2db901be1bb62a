//! Counters of the whole machine and of our own process, as `/proc` and `/sys` tell them.

use std::collections::BTreeMap;

use crate::places::Places;

/// What has been counted since the machine came up, and how much is to be written now.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Counters {
    /// All CPUs, idle or not, in ticks of the kernel's `USER_HZ`.
    pub(super) all_ticks: u64,
    /// In user mode, nice or not, without guests.
    pub(super) user_ticks: u64,
    /// Taken by the host of a virtual machine.
    pub(super) stolen_ticks: u64,
    /// Of our process and of children it has waited for, in user mode.
    pub(super) own_user_ticks: u64,
    pub(super) context_switches: u64,
    /// The lines of `vmstat` by their names.
    pub(super) vm: BTreeMap<String, u64>,
    pub(super) load_average: String,
    pub(super) uptime_seconds: f64,
    /// Microseconds in which tasks waited, by the names of the facts they become.
    pub(super) pressures_us: BTreeMap<&'static str, u64>,
    /// To be written to disks, or being written.
    pub(super) dirty_bytes: u64,
    /// How often cores and packages were throttled; where they tell.
    pub(super) core_throttles: Option<u64>,
    pub(super) package_throttles: Option<u64>,
    /// How often our own process has dropped the caches.
    pub(super) own_cache_drops: u64,
}

/// Seconds in which some task waited, or all that were not idle did: file, line, fact.
const PRESSURES: [(&str, &str, &str); 5] = [
    ("cpu", "some", "conditions.cpu_pressure_seconds"),
    ("io", "some", "conditions.io_pressure_seconds"),
    ("memory", "some", "conditions.memory_pressure_seconds"),
    ("io", "full", "conditions.io_full_pressure_seconds"),
    ("memory", "full", "conditions.memory_full_pressure_seconds"),
];

impl Counters {
    /// The counters now; `None` without `/proc`.
    pub(super) fn read(places: &Places) -> Option<Self> {
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
        counters.core_throttles = throttles(places, "core_throttle_count", |all| all.sum());
        // Every CPU of a package tells the package's count.
        let largest = |all: &mut dyn Iterator<Item = u64>| all.max().unwrap_or(0);
        counters.package_throttles = throttles(places, "package_throttle_count", largest);
        counters.own_cache_drops = treering_sys::cache_drops();
        Some(counters)
    }

    /// The sum of all lines of `vmstat` whose names begin so.
    pub(super) fn vm_sum(&self, beginnings: &[&str]) -> u64 {
        let is_one = |name: &&String| beginnings.iter().any(|one| name.starts_with(one));
        let values = self.vm.iter().filter(|(name, _)| is_one(name)).map(|(_, value)| value);
        values.sum()
    }

    fn take_stat(&mut self, stat: &str) {
        let cpu = stat.lines().find_map(|line| line.strip_prefix("cpu "));
        let ticks: Vec<u64> = cpu
            .map(|line| line.split_whitespace().filter_map(|word| word.parse().ok()).collect())
            .unwrap_or_default();
        // user nice system idle iowait irq softirq steal; guests are in user and nice already.
        let tick = |place: usize| ticks.get(place).copied().unwrap_or(0);
        self.all_ticks = (0..8).map(tick).sum();
        self.user_ticks = tick(0) + tick(1);
        self.stolen_ticks = tick(7);
        self.context_switches = lines(stat).get("ctxt").copied().unwrap_or(0);
    }
}

/// The numbers behind names, a line each; lines of several words have only their first.
fn lines(text: &str) -> BTreeMap<String, u64> {
    let pair = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        Some((name.to_owned(), rest.split_whitespace().next()?.parse().ok()?))
    };
    text.lines().filter_map(pair).collect()
}

/// What the CPUs count of their throttling; `None` where none of them does.
fn throttles(
    places: &Places,
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

/// User time of a process and its children, fields 14 and 16 of its `stat`.
fn own_user_ticks(stat: &str) -> Option<u64> {
    // The name before may hold anything.
    let (_, fields) = stat.rsplit_once(") ")?;
    let field = |number: usize| fields.split(' ').nth(number - 3)?.parse::<u64>().ok();
    Some(field(14)? + field(16)?)
}

/// The total of the line that begins with this word.
fn total(pressure: &str, word: &str) -> Option<u64> {
    let line = pressure.lines().find(|line| line.split(' ').next() == Some(word))?;
    line.split(' ').find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{Counters, own_user_ticks, total};
    use crate::places::Places;
    use std::fs;

    #[test]
    fn lines_are_read_by_their_names() {
        let mut counters = Counters::default();
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
        let counters = Counters::read(&Places::default()).unwrap();
        assert!(counters.all_ticks > 0 && counters.uptime_seconds > 0.0);
        assert!(!counters.load_average.is_empty());
        assert!(counters.vm_sum(&["pgpgin"]) > 0);
        assert!(counters.vm_sum(&["pgpg"]) > counters.vm_sum(&["pgpgin"]));
    }

    #[test]
    fn packages_tell_their_throttling_once_for_each_cpu() {
        let root = tempfile::tempdir().unwrap();
        let places = Places { sys: root.path().to_owned(), ..Places::default() };
        let none = Counters::read(&places).unwrap();
        assert_eq!((none.core_throttles, none.package_throttles), (None, None));
        for (cpu, core) in [("cpu0", "3"), ("cpu1", "4\n")] {
            let folder = root.path().join("devices/system/cpu").join(cpu).join("thermal_throttle");
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("core_throttle_count"), core).unwrap();
            fs::write(folder.join("package_throttle_count"), "5\n").unwrap();
        }
        fs::create_dir_all(root.path().join("devices/system/cpu/cpufreq")).unwrap();
        let some = Counters::read(&places).unwrap();
        assert_eq!((some.core_throttles, some.package_throttles), (Some(7), Some(5)));
    }
}
