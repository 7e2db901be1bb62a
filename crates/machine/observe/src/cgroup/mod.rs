//! Control groups: limits of this process, and hits of the memory limit.

mod hierarchy;
mod limits;

use treering_model::{Caution, CautionCode};

use crate::environment::fact;
use crate::places::KernelRoots;
use crate::{Findings, Observer, ObserverContext, TrialWatch};
use hierarchy::{CgroupPath, CgroupVersion};
use limits::CgroupLimits;

/// Observer of control group limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CgroupObserver;

impl Observer for CgroupObserver {
    fn name(&self) -> &'static str {
        "cgroup"
    }

    fn look(&self, _scene: &ObserverContext<'_>) -> Findings {
        seen(&KernelRoots::default())
    }

    fn watch(&self, _scene: &ObserverContext<'_>) -> Option<Box<dyn TrialWatch>> {
        let places = KernelRoots::default();
        let before = memory_hits(&places)?;
        Some(Box::new(CgroupWatch { places, before }))
    }
}

fn seen(places: &KernelRoots) -> Findings {
    let limits = CgroupLimits::read(places);
    let memory = places.memory_bytes("MemTotal");
    let mut seen = Findings::default();
    seen.facts.push(fact("cgroup.limits", limits.words()));
    let usable = limits.memory_bytes().or(memory);
    seen.facts.extend(usable.map(|bytes| fact("memory.usable_bytes", bytes)));
    if let Some(message) = limits.caution(memory) {
        seen.cautions.push(Caution { code: CautionCode::CgroupLimits, message });
    }
    seen
}

struct CgroupWatch {
    places: KernelRoots,
    before: u64,
}

impl TrialWatch for CgroupWatch {
    fn end(self: Box<Self>) -> Findings {
        let mut seen = Findings::default();
        let Some(after) = memory_hits(&self.places) else { return seen };
        let hits = after.saturating_sub(self.before);
        seen.facts.push(fact("conditions.memory_limit_hits", hits));
        if hits > 0 {
            let message = format!("the control group reached its memory limit {hits} times");
            seen.cautions.push(Caution { code: CautionCode::MemorySqueezed, message });
        }
        seen
    }
}

/// Number of times that one of the groups reached its memory limit.
fn memory_hits(places: &KernelRoots) -> Option<u64> {
    let lineage = CgroupPath::find(places, "memory")?;
    let number = |text: &String| text.parse::<u64>().ok();
    match lineage.version {
        CgroupVersion::One => Some(lineage.texts("memory.failcnt").iter().filter_map(number).sum()),
        CgroupVersion::Two => {
            let texts = lineage.texts("memory.events");
            let lines = texts.iter().flat_map(|text| text.lines());
            let hits = lines.filter_map(|line| match line.split_once(' ')? {
                ("high" | "max" | "oom", count) => count.parse::<u64>().ok(),
                _ => None,
            });
            Some(hits.sum())
        }
    }
}

#[cfg(test)]
mod tests;
