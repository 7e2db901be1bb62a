//! Configured dbench workload: its load, its demands on the filesystem, and the session.

use treering_model::metrics::dbench::PASS_SECONDS;
use treering_model::metrics::rates;
use treering_model::{Caution, Metric, Op, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale,
};

use super::config::{BASE, EndCondition, LoadSource, RunConfig};
use super::headline::HeadlineSums;
use super::session::{PLAY, PlaySession};
use super::weigh::load_footprint;
use crate::language::{OperationKind, PathTemplate, long_name};
use treering_kit::occupied::refuse_existing;

/// Maximum number of passes, or of seconds, of a job that is scaled.
const SCALE_MAX: u64 = 1_000_000_000;

/// Top directory in all loads of the original.
const CLIENTS: &str = "clients";

/// dbench with all its settings.
#[derive(Debug)]
pub(super) struct PlayJob {
    config: RunConfig,
}

impl PlayJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        Ok(Self { config: RunConfig::classic(settings)? })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        Ok(Self { config: RunConfig::native(settings)? })
    }
}

impl Job for PlayJob {
    fn request(&self) -> &RunRequest {
        &self.config.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if !self.config.request.is_classic() {
            refuse_existing(facts, |name| name == BASE)?;
            return Ok(Vec::new());
        }
        let sources = self.config.sources.iter();
        let mut tops = sources.flat_map(|source| source.load.names.iter().map(PathTemplate::top));
        let is_in_use = |top: &[u8]| {
            top != CLIENTS.as_bytes() && facts.existing.iter().any(|name| name.as_bytes() == top)
        };
        match tops.find(|top| is_in_use(top)) {
            None => Ok(Vec::new()),
            Some(top) => {
                let name = String::from_utf8_lossy(top).escape_debug().to_string();
                Err(ConfigError::new(format!("the load works on {name}, which is there already"))
                    .hint("name an empty directory with -D: the load could remove what is there"))
            }
        }
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let mut footprint = Footprint::default();
        let per_process = u64::from(self.config.per_process);
        let processes = u64::from(self.config.processes);
        let fill = self.config.fill.iter().map(|fill| (load_footprint(fill), processes));
        let played = self.config.sources.iter().map(|source| {
            (load_footprint(&source.load), processes.div_ceil(self.config.sources.len() as u64))
        });
        for (weight, processes) in played.chain(fill) {
            let clients = processes.saturating_mul(per_process);
            let of_clients = |of_client: u64| of_client.saturating_mul(clients);
            footprint.peak_files = footprint.peak_files.saturating_add(of_clients(weight.files));
            footprint.peak_dirs = footprint.peak_dirs.saturating_add(of_clients(weight.dirs));
            footprint.peak_bytes = footprint.peak_bytes.saturating_add(of_clients(weight.bytes));
            // Half a block is left over in each file.
            let remainder = weight.files.saturating_mul(facts.block_bytes);
            let in_blocks = weight.bytes.saturating_add(remainder);
            footprint.peak_block_bytes =
                footprint.peak_block_bytes.saturating_add(of_clients(in_blocks));
            footprint.written_files =
                footprint.written_files.saturating_add(of_clients(weight.made));
            footprint.written_bytes =
                footprint.written_bytes.saturating_add(of_clients(weight.written));
        }
        footprint
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let config = &self.config;
        let mut lines = Vec::new();
        for source in &config.sources {
            lines.extend(source.load.warnings.iter().cloned());
            let operations: u64 = source.load.counts().iter().sum();
            let weight = load_footprint(&source.load);
            let name = match &source.path {
                Some(path) => path.to_string_lossy().escape_debug().to_string(),
                None => source.name.clone(),
            };
            lines.push(format!(
                "{name}: {operations} operations a pass, {} bytes read, {} bytes written",
                weight.read, weight.written
            ));
            let counts = source.load.counts();
            for kind in OperationKind::ALL.into_iter().filter(|&kind| counts[kind as usize] > 0) {
                let count = counts[kind as usize];
                let percent = count as f64 / operations.max(1) as f64 * 100.0;
                lines.push(format!("  {count:9}  {percent:5.2} %  {}", long_name(kind)));
            }
        }
        if let Some(fill) = &config.fill {
            let operations: u64 = fill.counts().iter().sum();
            lines.push(format!("before, once: {operations} operations that make the files"));
        }
        lines.push(format!("{} clients side by side", config.clients()));
        lines.push(match config.ends {
            EndCondition::Passes(passes) => format!("until each has played {passes} passes"),
            EndCondition::Time { seconds, .. } if config.playback.passes.is_some() => {
                format!("until each has played it once, {seconds} seconds at most")
            }
            EndCondition::Time { warmup, seconds } => {
                format!("for {seconds} seconds after {warmup} seconds of warm-up")
            }
        });
        lines
    }

    fn work(&self) -> WorkLimit {
        match self.config.ends {
            EndCondition::Passes(_) => WorkLimit::Fixed,
            EndCondition::Time { .. } if self.config.playback.passes.is_some() => WorkLimit::Fixed,
            EndCondition::Time { .. } => WorkLimit::Timed,
        }
    }

    fn scale(&self) -> Option<WorkScale> {
        let of = |option, value, unit| WorkScale {
            option,
            key: None,
            value,
            most: SCALE_MAX,
            unit,
            follows: |phase| phase == PLAY,
            sizes: &["passes", "time"],
        };
        match self.config.ends {
            _ if self.config.request.is_classic() => None,
            EndCondition::Passes(passes) => {
                Some(of("passes", passes, ScaleUnit::Amount { name: "passes", each: 1 }))
            }
            EndCondition::Time { seconds, .. } => Some(of("time", seconds, ScaleUnit::Seconds)),
        }
    }

    fn times_every_call(&self) -> bool {
        true
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        let setup = u64::from(!self.config.request.is_classic());
        let groups = 1 + u64::from(self.config.fill.is_some());
        setup + u64::from(self.config.processes) * groups
    }

    fn deciding_sync(&self) -> Option<Op> {
        let flushes = |source: &LoadSource| source.load.counts()[OperationKind::Flush as usize] > 0;
        let syncs = self.config.sources.iter().any(flushes);
        (!self.config.request.is_classic() && syncs).then_some(Op::Fsync)
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        let counts: Vec<_> =
            self.config.sources.iter().map(|source| source.load.counts()).collect();
        let is_played =
            |kind: &OperationKind| counts.iter().any(|counts| counts[*kind as usize] > 0);
        HeadlineSums::foreseen(OperationKind::ALL.into_iter().filter(is_played))
    }

    fn overall_metric(&self) -> Option<&'static str> {
        // Whether a pass ends within the time is not known beforehand.
        Some(match self.work() {
            WorkLimit::Fixed => PASS_SECONDS.name,
            _ => rates::OPERATIONS_PER_SECOND.name,
        })
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(PlaySession::new(&self.config))
    }
}
