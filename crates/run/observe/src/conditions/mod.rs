//! The conditions of a trial: what else the machine did meanwhile, from counters before and after,
//! and what slows it all along.
//!
//! What is counted for the whole machine holds our own work too. Only what is surely not ours is
//! doubted: time that the host of a virtual machine took away, user time of other programs, swap,
//! and warnings of the kernel.

mod counters;
mod kernel_config;
mod kernel_log;

use treering_model::{Caution, CautionCode};

use crate::environment::fact;
use crate::{Observer, Scene, Seen, Watch};
use counters::Counters;
use kernel_log::KernelLog;

/// The share of all CPU time that may be stolen, or be other programs', without a word.
const STOLEN: f64 = 0.02;
const OTHERS: f64 = 0.10;
/// In less time than this the ticks of the counters say nothing.
const SHORTEST_SECONDS: f64 = 0.5;
/// So many lines of the kernel's log are quoted.
const QUOTED: usize = 3;

/// Sees what a trial cannot help.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conditions;

impl Observer for Conditions {
    fn name(&self) -> &'static str {
        "conditions"
    }

    fn look(&self, _scene: &Scene<'_>) -> Seen {
        let mut seen = Seen::default();
        let slow = kernel_config::slow_options();
        if let Some(slow) = slow.filter(|slow| !slow.is_empty()) {
            let all = slow.join(" ");
            seen.facts.push(fact("kernel.debug_options", &all));
            let message = format!("the kernel is built with {all}");
            seen.cautions.push(Caution { code: CautionCode::DebugKernel, message });
        }
        if let Ok(text) = std::fs::read_to_string(GOVERNOR) {
            let governor = text.trim();
            if governor != "performance" {
                let message = format!("the CPU frequency governor is '{governor}'");
                seen.cautions.push(Caution { code: CautionCode::Governor, message });
            }
        }
        seen
    }

    fn watch(&self, _scene: &Scene<'_>) -> Option<Box<dyn Watch>> {
        let before = Counters::read()?;
        Some(Box::new(Watching { before, log: KernelLog::from_now() }))
    }
}

const GOVERNOR: &str = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";

struct Watching {
    before: Counters,
    log: Option<KernelLog>,
}

impl Watch for Watching {
    fn end(self: Box<Self>) -> Seen {
        let mut seen = Seen::default();
        if let Some(after) = Counters::read() {
            seen = between(&self.before, &after);
        }
        let lines = self.log.map(KernelLog::warnings).unwrap_or_default();
        if !lines.is_empty() {
            seen.facts.push(fact("conditions.kernel_warnings", lines.len()));
            let quoted: Vec<&str> = lines.iter().take(QUOTED).map(String::as_str).collect();
            let more = if lines.len() > QUOTED { " …" } else { "" };
            let message =
                format!("{} in the kernel's log: {}{more}", lines.len(), quoted.join(" | "));
            seen.cautions.push(Caution { code: CautionCode::KernelWarning, message });
        }
        seen
    }
}

/// What the counters say of the time between.
fn between(before: &Counters, after: &Counters) -> Seen {
    let mut seen = Seen::default();
    let mut tell = |name: &str, value: String| seen.facts.push(fact(name, value));
    let ticks = |of: fn(&Counters) -> u64| of(after).saturating_sub(of(before)) as f64;
    let all = ticks(|counters| counters.all_ticks);
    if all <= 0.0 {
        return seen;
    }
    let stolen = ticks(|counters| counters.stolen_ticks) / all;
    let others =
        (ticks(|counters| counters.user_ticks) - ticks(|counters| counters.own_user_ticks)) / all;
    let others = others.max(0.0);
    tell("conditions.stolen_percent", format!("{:.2}", stolen * 100.0));
    tell("conditions.other_programs_percent", format!("{:.2}", others * 100.0));
    tell("conditions.load_average", after.load_average.clone());
    tell("conditions.context_switches", ticks(|c| c.context_switches).to_string());
    tell("conditions.swapped_pages", ticks(|c| c.swapped_pages).to_string());
    for (name, of) in PRESSURES {
        let (Some(before), Some(after)) = (of(before), of(after)) else { continue };
        tell(name, format!("{:.3}", after.saturating_sub(before) as f64 / 1e6));
    }
    let seconds = after.uptime_seconds - before.uptime_seconds;
    if seconds >= SHORTEST_SECONDS {
        let mut doubt = |code, message| seen.cautions.push(Caution { code, message });
        if stolen > STOLEN {
            let message = format!("{:.1} % of all CPU time was stolen by the host", stolen * 100.0);
            doubt(CautionCode::Stolen, message);
        }
        if others > OTHERS {
            let message = format!("other programs used {:.0} % of all CPUs", others * 100.0);
            doubt(CautionCode::OtherLoad, message);
        }
    }
    let swapped = ticks(|counters| counters.swapped_pages);
    if swapped > 0.0 {
        let message = format!("{swapped:.0} pages were swapped meanwhile");
        seen.cautions.push(Caution { code: CautionCode::Swapped, message });
    }
    seen
}

/// One of the counters, where the kernel has it.
type Pressure = fn(&Counters) -> Option<u64>;

/// Seconds in which some task waited, by what it waited for.
const PRESSURES: [(&str, Pressure); 3] = [
    ("conditions.cpu_pressure_seconds", |counters| counters.cpu_pressure_us),
    ("conditions.io_pressure_seconds", |counters| counters.io_pressure_us),
    ("conditions.memory_pressure_seconds", |counters| counters.memory_pressure_us),
];

#[cfg(test)]
mod tests {
    use super::{Counters, between};
    use treering_model::CautionCode;

    fn counters(all: u64, user: u64, stolen: u64) -> Counters {
        Counters {
            all_ticks: all,
            user_ticks: user,
            stolen_ticks: stolen,
            uptime_seconds: all as f64 / 200.0,
            ..Counters::default()
        }
    }

    fn codes(before: &Counters, after: &Counters) -> Vec<CautionCode> {
        between(before, after).cautions.iter().map(|caution| caution.code).collect()
    }

    #[test]
    fn our_own_work_is_no_load_and_that_of_others_is() {
        let before = counters(1_000, 100, 0);
        let mut after = counters(3_000, 1_100, 0);
        assert_eq!(codes(&before, &after), [CautionCode::OtherLoad]);
        after.own_user_ticks = 950;
        assert_eq!(codes(&before, &after), []);
    }

    #[test]
    fn stolen_time_and_swap_are_doubted() {
        let before = counters(1_000, 0, 10);
        let mut after = counters(3_000, 0, 70);
        after.swapped_pages = 3;
        assert_eq!(codes(&before, &after), [CautionCode::Stolen, CautionCode::Swapped]);
        // A tenth of a second is too short for ticks.
        let soon = counters(1_020, 20, 30);
        assert_eq!(codes(&before, &soon), []);
    }
}
