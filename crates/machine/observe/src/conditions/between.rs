//! Facts and cautions from counters before and after a trial.

use treering_model::{Caution, CautionCode, Fact};

use super::counters::MachineCounters;
use crate::Findings;
use crate::environment::fact;

/// Shares of all CPU time that may be stolen, or used by other programs, without a caution.
const STOLEN: f64 = 0.02;
const OTHERS: f64 = 0.10;
/// Trial length in seconds below which the counters' ticks are too coarse.
const SHORTEST_SECONDS: f64 = 0.5;
/// Refaulted bytes tolerated without a caution: a large file of another program.
const REFAULTED_BYTES: u64 = 16 << 20;

/// Time in which tasks waited for memory.
const WAITS: &str = "conditions.memory_pressure_seconds";

/// Facts with the `vmstat` lines that they sum, by prefix.
const VM: [(&str, &[&str]); 7] = [
    ("conditions.swapped_pages", &["pswpin", "pswpout"]),
    ("conditions.read_kib", &["pgpgin"]),
    ("conditions.written_kib", &["pgpgout"]),
    ("conditions.major_faults", &["pgmajfault"]),
    ("conditions.refaulted_pages", &["workingset_refault"]),
    ("conditions.allocation_stalls", &["allocstall"]),
    ("conditions.compaction_stalls", &["compact_stall"]),
];

/// Lines of `vmstat` that count cache drops; a full drop counts in both.
const DROPS: [&str; 2] = ["drop_pagecache", "drop_slab"];

/// Interval between two readings of the counters.
pub(super) struct CounterInterval<'c> {
    pub(super) before: &'c MachineCounters,
    pub(super) after: &'c MachineCounters,
}

impl CounterInterval<'_> {
    /// All facts and cautions of the interval.
    pub(super) fn seen(&self) -> Findings {
        if self.grown(|counters| counters.all_ticks) == 0 {
            return Findings::default();
        }
        let cautions = [self.cpu(), self.memory(), self.drops(), self.heat()];
        Findings {
            facts: self.facts(),
            cautions: cautions.into_iter().flatten().collect(),
            ..Findings::default()
        }
    }

    fn grown(&self, of: impl Fn(&MachineCounters) -> u64) -> u64 {
        of(self.after).saturating_sub(of(self.before))
    }

    /// Ticks as a share of all ticks.
    fn share(&self, ticks: u64) -> f64 {
        ticks as f64 / self.grown(|counters| counters.all_ticks).max(1) as f64
    }

    fn stolen(&self) -> f64 {
        self.share(self.grown(|counters| counters.stolen_ticks))
    }

    fn others(&self) -> f64 {
        let own = self.grown(|counters| counters.own_user_ticks);
        self.share(self.grown(|counters| counters.user_ticks).saturating_sub(own))
    }

    /// Number of cache drops by any process.
    fn all_drops(&self) -> u64 {
        DROPS.iter().map(|line| self.grown(|counters| counters.vm_sum(&[line]))).max().unwrap_or(0)
    }

    fn facts(&self) -> Vec<Fact> {
        let (before, after) = (self.before, self.after);
        let mut facts = vec![
            fact("conditions.stolen_percent", format!("{:.2}", self.stolen() * 100.0)),
            fact("conditions.other_programs_percent", format!("{:.2}", self.others() * 100.0)),
            fact("conditions.load_average_before", &before.load_average),
            fact("conditions.load_average", &after.load_average),
            fact("conditions.context_switches", self.grown(|counters| counters.context_switches)),
            fact("conditions.dirty_before_bytes", before.dirty_bytes),
            fact("conditions.dirty_after_bytes", after.dirty_bytes),
            fact("conditions.cache_drops", self.all_drops()),
        ];
        for (name, lines) in VM {
            facts.push(fact(name, self.grown(|counters| counters.vm_sum(lines))));
        }
        for (name, total) in &after.pressures_us {
            let Some(earlier) = before.pressures_us.get(name) else { continue };
            let seconds = total.saturating_sub(*earlier) as f64 / 1e6;
            facts.push(fact(name, format!("{seconds:.3}")));
        }
        let throttles = [
            ("conditions.core_throttles", before.core_throttles, after.core_throttles),
            ("conditions.package_throttles", before.package_throttles, after.package_throttles),
        ];
        for (name, before, after) in throttles {
            let (Some(before), Some(after)) = (before, after) else { continue };
            facts.push(fact(name, after.saturating_sub(before)));
        }
        facts
    }

    fn cpu(&self) -> Vec<Caution> {
        let mut cautions = Vec::new();
        if self.after.uptime_seconds - self.before.uptime_seconds < SHORTEST_SECONDS {
            return cautions;
        }
        let (stolen, others) = (self.stolen() * 100.0, self.others() * 100.0);
        if stolen > STOLEN * 100.0 {
            let message = format!("{stolen:.1} % of all CPU time was stolen by the host");
            cautions.push(Caution { code: CautionCode::Stolen, message });
        }
        if others > OTHERS * 100.0 {
            let message = format!("other programs used {others:.0} % of all CPUs");
            cautions.push(Caution { code: CautionCode::OtherLoad, message });
        }
        cautions
    }

    fn memory(&self) -> Vec<Caution> {
        let mut cautions = Vec::new();
        let swapped = self.grown(|counters| counters.vm_sum(&["pswpin", "pswpout"]));
        if swapped > 0 {
            let message = format!("{swapped} pages were swapped");
            cautions.push(Caution { code: CautionCode::Swapped, message });
        }
        let again = self.grown(|counters| counters.vm_sum(&["workingset_refault"]));
        let again = again.saturating_mul(rustix::param::page_size() as u64);
        if again > REFAULTED_BYTES && self.waited_for_memory() != Some(false) {
            let message = format!(
                "memory was short: {} MiB were evicted from the page cache and read again",
                again >> 20
            );
            cautions.push(Caution { code: CautionCode::MemorySqueezed, message });
        }
        cautions
    }

    /// True if tasks waited for memory. A machine with free memory also reads evicted pages again,
    /// after a limit of some control group or old evictions. `None` if the kernel does not tell.
    fn waited_for_memory(&self) -> Option<bool> {
        let waited_us = |counters: &MachineCounters| counters.pressures_us.get(WAITS).copied();
        Some(waited_us(self.after)? > waited_us(self.before)?)
    }

    fn drops(&self) -> Vec<Caution> {
        let own = self.grown(|counters| counters.own_cache_drops);
        let others = self.all_drops().saturating_sub(own);
        if others == 0 {
            return Vec::new();
        }
        let message = format!("the caches were dropped {} by another program", times(others));
        vec![Caution { code: CautionCode::CachesDroppedOutside, message }]
    }

    fn heat(&self) -> Vec<Caution> {
        let cores = self.grown(|counters| counters.core_throttles.unwrap_or(0));
        let packages = self.grown(|counters| counters.package_throttles.unwrap_or(0));
        if cores + packages == 0 {
            return Vec::new();
        }
        let message = format!("cores were throttled {cores} times, packages {packages} times");
        vec![Caution { code: CautionCode::Throttled, message }]
    }
}

/// Count in words: `once`, `3 times`.
fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::{CounterInterval, MachineCounters, WAITS};
    use treering_model::CautionCode;

    fn counters(ticks: u64, user: u64, stolen: u64) -> MachineCounters {
        MachineCounters {
            all_ticks: ticks,
            user_ticks: user,
            stolen_ticks: stolen,
            uptime_seconds: ticks as f64 / 200.0,
            ..MachineCounters::default()
        }
    }

    fn codes(before: &MachineCounters, after: &MachineCounters) -> Vec<CautionCode> {
        let cautions = CounterInterval { before, after }.seen().cautions;
        cautions.iter().map(|caution| caution.code).collect()
    }

    #[test]
    fn only_foreign_cpu_time_counts_as_load() {
        let before = counters(1_000, 100, 0);
        let mut after = counters(3_000, 1_100, 0);
        assert_eq!(codes(&before, &after), [CautionCode::OtherLoad]);
        after.own_user_ticks = 950;
        assert_eq!(codes(&before, &after), []);
    }

    #[test]
    fn stolen_time_and_swap_are_cautioned() {
        let before = counters(1_000, 0, 10);
        let mut after = counters(3_000, 0, 70);
        after.vm.insert("pswpout".to_owned(), 3);
        assert_eq!(codes(&before, &after), [CautionCode::Stolen, CautionCode::Swapped]);
        // A tenth of a second is too short for ticks.
        let soon = counters(1_020, 20, 30);
        assert_eq!(codes(&before, &soon), []);
    }

    #[test]
    fn refaults_raise_a_caution_above_the_limit() {
        let before = counters(1_000, 0, 0);
        let mut after = counters(3_000, 0, 0);
        let largest = (16 << 20) / rustix::param::page_size() as u64;
        after.vm.insert("workingset_refault_file".to_owned(), largest);
        assert_eq!(codes(&before, &after), []);
        after.vm.insert("workingset_refault_anon".to_owned(), 256);
        assert_eq!(codes(&before, &after), [CautionCode::MemorySqueezed]);
    }

    #[test]
    fn refaults_without_waits_for_memory_raise_no_caution() {
        let mut before = counters(1_000, 0, 0);
        let mut after = counters(3_000, 0, 0);
        after.vm.insert("workingset_refault_file".to_owned(), 1 << 20);
        before.pressures_us.insert(WAITS, 70);
        after.pressures_us.insert(WAITS, 70);
        assert_eq!(codes(&before, &after), []);
        after.pressures_us.insert(WAITS, 71);
        assert_eq!(codes(&before, &after), [CautionCode::MemorySqueezed]);
    }

    #[test]
    fn only_foreign_cache_drops_raise_a_caution() {
        let before = counters(1_000, 0, 0);
        let mut after = counters(3_000, 0, 0);
        after.vm.insert("drop_pagecache".to_owned(), 5);
        after.vm.insert("drop_slab".to_owned(), 5);
        after.own_cache_drops = 5;
        assert_eq!(codes(&before, &after), []);
        // Somebody dropped the page cache alone.
        after.vm.insert("drop_pagecache".to_owned(), 6);
        let seen = CounterInterval { before: &before, after: &after }.seen();
        assert_eq!(seen.cautions[0].code, CautionCode::CachesDroppedOutside);
        assert!(seen.cautions[0].message.contains("dropped once"), "{seen:?}");
        assert!(seen.facts.iter().any(|f| f.name == "conditions.cache_drops" && f.value == "6"));
    }

    #[test]
    fn new_throttling_raises_a_caution() {
        let (mut before, mut after) = (counters(1_000, 0, 0), counters(3_000, 0, 0));
        before.core_throttles = Some(40);
        after.core_throttles = Some(40);
        assert_eq!(codes(&before, &after), []);
        after.core_throttles = Some(41);
        assert_eq!(codes(&before, &after), [CautionCode::Throttled]);
    }
}
