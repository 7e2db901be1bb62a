//! Multiplies a small store into a large one, to measure commands on many trials; nothing in it was
//! measured. `store_multiply FROM TO COPIES [PER_DAY]` copies each trial of FROM COPIES times,
//! PER_DAY on each preceding day, with noise of 1.5 %, varying values of facts, a kernel release
//! for each week, and changes of level: on one filesystem of each workload 8 % worse over the
//! newest twentieth, on the other 12 % better in the middle. Observer artifacts are left out.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::error::Error;
use std::path::Path;
use std::time::Duration;

use treering_model::{BetterDirection, Fact, Metric, TrialEvent, TrialId, TrialSink};
use treering_store::{Access, Filter, Store};

const DAY_MS: i64 = 86_400_000;
/// Relative scatter of metric values, and of facts that vary.
const NOISE: f64 = 0.015;
const NOISE_OF_FACTS: f64 = 0.3;

fn main() -> Result<(), Box<dyn Error>> {
    #[expect(clippy::disallowed_methods, reason = "a program of its own")]
    let arguments = std::env::args().skip(1).collect::<Vec<_>>();
    let [from, to, copies, tail @ ..] = arguments.as_slice() else {
        return Err("store_multiply FROM TO COPIES [PER_DAY]".into());
    };
    let copies: u32 = copies.parse()?;
    let per_day: u32 = tail.first().map_or(Ok(1), |text| text.parse())?;
    let from = Store::open(Path::new(from), Access::ReadOnly)?;
    let mut to = Store::open(Path::new(to), Access::ReadWrite)?;
    let mut trials = Vec::new();
    for summary in from.trials(&Filter::default())?.iter().rev() {
        trials.push(from.events(summary.trial)?);
    }
    let varying = varying(&trials);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    for copy in (0..copies).rev() {
        let mut copied = TrialCopy {
            copy,
            copies,
            per_day: per_day.max(1),
            ids: HashMap::new(),
            varying: &varying,
            random: &mut random,
        };
        for events in &trials {
            let mut recorder = to.recorder();
            for event in copied.trial(events)? {
                recorder.accept(&event)?;
            }
        }
    }
    Ok(())
}

/// Names of facts that differ between trials of a workload on a variant.
fn varying(trials: &[Vec<TrialEvent>]) -> BTreeSet<String> {
    let mut values: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for events in trials {
        let Some(TrialEvent::Began(beginning)) = events.first() else { continue };
        let variant = beginning.cell.as_ref().map_or("", |cell| &cell.variant);
        for event in events {
            let TrialEvent::Environment { facts } = event else { continue };
            for fact in facts {
                let key = (beginning.workload.as_str(), variant, fact.name.as_str());
                values.entry(key).or_default().insert(&fact.value);
            }
        }
    }
    let several = values.into_iter().filter(|(_, values)| values.len() > 2);
    several.map(|((.., name), _)| name.to_owned()).collect()
}

/// One copy of all trials.
struct TrialCopy<'a> {
    /// Index of this copy, 0 being the newest, and number of copies.
    copy: u32,
    copies: u32,
    per_day: u32,
    /// New trial ids by the original ones.
    ids: HashMap<TrialId, TrialId>,
    varying: &'a BTreeSet<String>,
    random: &'a mut Random,
}

impl TrialCopy<'_> {
    fn trial(&mut self, events: &[TrialEvent]) -> Result<Vec<TrialEvent>, Box<dyn Error>> {
        let mut of = (String::new(), String::new());
        let mut copied = Vec::new();
        for event in events {
            let mut event = event.clone();
            match &mut event {
                TrialEvent::Produced(_) => continue,
                TrialEvent::Began(beginning) => {
                    beginning.started_unix_ms -=
                        i64::from(self.copy) * DAY_MS / i64::from(self.per_day);
                    let started = beginning.started_unix_ms;
                    beginning.trial = self.identity(beginning.trial, started)?;
                    if let Some(cell) = &mut beginning.cell {
                        cell.campaign = self.identity(cell.campaign, started)?;
                        of.1.clone_from(&cell.variant);
                    }
                    of.0.clone_from(&beginning.workload);
                }
                TrialEvent::Environment { facts } => {
                    facts.iter_mut().for_each(|fact| self.fact(fact));
                }
                TrialEvent::Measured(metric) => {
                    let noise = 1.0 + NOISE * self.random.normal();
                    metric.value *= noise * self.level(metric, &of.0, &of.1);
                }
                TrialEvent::PhaseEnded(phase) => {
                    let noise = 1.0 + NOISE * self.random.normal();
                    let wall = Duration::from_nanos(phase.wall_ns).mul_f64(noise);
                    phase.wall_ns = u64::try_from(wall.as_nanos())?;
                }
                _ => {}
            }
            copied.push(event);
        }
        Ok(copied)
    }

    /// Trial id for this copy: start time and random part, as in UUID version 7.
    fn identity(&mut self, of: TrialId, started: i64) -> Result<TrialId, Box<dyn Error>> {
        if let Some(known) = self.ids.get(&of) {
            return Ok(*known);
        }
        let (time, chance) = (started.cast_unsigned(), self.random.next());
        let text = format!(
            "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
            time >> 16,
            time & 0xffff,
            chance & 0xfff,
            (chance >> 12) & 0xfff,
            self.random.next() >> 16
        );
        let id = text.parse()?;
        self.ids.insert(of, id);
        Ok(id)
    }

    fn fact(&mut self, fact: &mut Fact) {
        if fact.name == "kernel.release" {
            fact.value = format!("6.12.{}", (self.copies - self.copy) / self.per_day / 7);
        } else if self.varying.contains(&fact.name)
            && let Ok(value) = fact.value.parse::<f64>()
        {
            let noise = 1.0 + NOISE_OF_FACTS * self.random.normal().abs();
            let decimals = fact.value.split_once('.').map_or(0, |(_, behind)| behind.len());
            fact.value = format!("{:.decimals$}", value * noise);
        }
    }

    /// Factor of the planted change of level.
    fn level(&self, metric: &Metric, workload: &str, variant: &str) -> f64 {
        let age = f64::from(self.copy) / f64::from(self.copies);
        let slower = match (workload, variant) {
            ("compilebench", "xfs") | ("fs_mark", "btrfs") if age < 0.05 => 1.08,
            ("fs_mark", "ext4") | ("dbench", "xfs") if age < 0.5 => 1.0 / 1.12,
            _ => 1.0,
        };
        match metric.better {
            BetterDirection::Lower => slower,
            BetterDirection::Higher => 1.0 / slower,
        }
    }
}

/// Self-contained generator: the same store each time.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Approximately normal number: the sum of twelve uniform ones.
    fn normal(&mut self) -> f64 {
        let unit = |random: &mut Self| (random.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (0..12).map(|_| unit(self)).sum::<f64>() - 6.0
    }
}
