//! A configured ior: parameters, footprint, outline, and the session.

use std::sync::Arc;

use treering_model::{Caution, CautionCode, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale,
};

use super::config::{ClassicConfig, native};
use super::headline;
use super::memory::MemoryAmount;
use super::options::REPETITIONS_MAX;
use super::places::read_of;
use super::session::IorSession;
use super::shape::{RunShape, TestKind};
use super::transfer::OWN_DIRECTORY;
use treering_kit::occupied::refuse_existing;
use treering_kit::outline::limited;

/// ior with all its settings.
#[derive(Debug)]
pub(super) struct IorJob {
    shape: Arc<RunShape>,
    request: RunRequest,
}

impl IorJob {
    /// A test of a classic command line.
    pub(super) fn new(test: ClassicConfig) -> Self {
        Self { shape: Arc::new(test.shape), request: test.request }
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let (shape, request) = native(settings)?;
        Ok(Self { shape: Arc::new(shape), request })
    }

    fn is_classic(&self) -> bool {
        self.shape.as_original.is_some()
    }

    /// Caution text for reads answered by a cache. In classic mode ranks may run on several
    /// machines, so only data that a rank wrote itself are certain to be in its cache.
    fn answered_by_cache(&self) -> Option<String> {
        let shape = &self.shape;
        if shape.cold || shape.direct || !shape.reads || !shape.writes {
            return None;
        }
        let own = (0..shape.ranks).filter(|&rank| read_of(shape, rank, TestKind::Read) == rank);
        let own = own.count();
        if own > 0 && (self.is_classic() || shape.ranks > 1) {
            let how = if self.is_classic() { "-C on several machines" } else { "--shift" };
            return Some(format!(
                "{own} of {} ranks read what they wrote themselves, so that the cache of their \
                 client answers as far as the data fit; {how} has them read what others wrote",
                shape.ranks
            ));
        }
        let message = "reading follows writing with all caches kept, so that the memory of this \
                       machine answers it as far as the data fit, whoever wrote them";
        (!self.is_classic()).then(|| message.to_owned())
    }

    fn line(&self, part: TestKind, repetition: u32, rank: u16) -> OutlineLine {
        let shape = &self.shape;
        let owner = read_of(shape, rank, part);
        format!(
            "repetition {}: worker {rank}: {} {} transfers of {} bytes, {}",
            repetition + 1,
            shape.kind(part),
            shape.transfers(),
            shape.transfer_bytes,
            shape.file_of(owner, Some(repetition))
        )
    }
}

impl Job for IorJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let warm = self.answered_by_cache();
        let warm = warm.map(|message| Caution { code: CautionCode::CachesNotDropped, message });
        if let Some(Err(shortage)) = self.shape.memory.map(MemoryAmount::fits) {
            return Err(ConfigError::new(format!("-M: {shortage}")).hint("give less"));
        }
        let own = OWN_DIRECTORY.to_string_lossy();
        refuse_existing(facts, |name| !self.is_classic() && name == own)?;
        Ok(warm.into_iter().collect())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let shape = &self.shape;
        let files = u64::from(if shape.own_files { shape.ranks } else { 1 });
        let kept = if shape.keeps && shape.multi_file { shape.repetitions } else { 1 };
        let bytes = if shape.writes { shape.bytes() } else { 0 };
        let repetitions = u64::from(shape.repetitions);
        // Where time ends it, what fits is not known.
        let peak = bytes.saturating_mul(kept.into());
        let peak = if shape.wall_seconds.is_some() { peak.min(facts.free_bytes) } else { peak };
        Footprint {
            peak_files: files.saturating_mul(kept.into()),
            peak_dirs: u64::from(!self.is_classic()),
            peak_bytes: peak,
            peak_block_bytes: peak,
            written_files: files.saturating_mul(repetitions),
            written_bytes: bytes.saturating_mul(repetitions),
        }
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let parts = self.shape.parts();
        limited((0..self.shape.repetitions).flat_map(|repetition| {
            parts.iter().flat_map(move |&part| {
                (0..self.shape.ranks).map(move |rank| self.line(part, repetition, rank))
            })
        }))
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        headline::foreseen(&self.shape)
    }

    fn overall_metric(&self) -> Option<&'static str> {
        match (self.shape.writes, self.shape.reads) {
            (true, _) => Some("write/mib_per_second"),
            (false, true) => Some("read/mib_per_second"),
            (false, false) => None,
        }
    }

    fn work(&self) -> WorkLimit {
        if self.shape.wall_seconds.is_some() { WorkLimit::Timed } else { WorkLimit::Fixed }
    }

    fn scale(&self) -> Option<WorkScale> {
        let shape = &self.shape;
        (!self.is_classic() && shape.wall_seconds.is_none()).then_some(WorkScale {
            option: "repetitions",
            key: None,
            value: shape.repetitions.into(),
            most: REPETITIONS_MAX,
            unit: ScaleUnit::Amount { name: "repetitions", each: 1 },
            follows: |_| true,
            sizes: &["block", "segments", "repetitions"],
        })
    }

    fn times_every_call(&self) -> bool {
        self.is_classic()
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(IorSession::new(Arc::clone(&self.shape)))
    }
}

#[cfg(test)]
mod tests {
    use treering_script::{Job as _, Settings, TargetFacts};

    use super::{ClassicConfig, IorJob};

    #[test]
    fn ranks_that_read_their_own_data_are_cautioned() {
        let caution_for = |names: &[&str], nodes: &[u32]| {
            let pairs = names.iter().map(|&name| (name.to_owned(), "true".to_owned()));
            let pairs = pairs.chain([("ranks".to_owned(), "4".to_owned())]);
            let mut settings = Settings::new(pairs.collect());
            settings.machine.nodes = nodes.to_vec();
            let job = IorJob::new(ClassicConfig::read(&settings).unwrap());
            let cautions = job.check(&TargetFacts::unknown()).unwrap();
            cautions.first().map(|caution| caution.message.clone()).unwrap_or_default()
        };
        assert!(caution_for(&[], &[]).starts_with("4 of 4 ranks read what they wrote themselves"));
        assert!(caution_for(&["reorder"], &[]).starts_with("4 of 4"), "all are on one machine");
        assert_eq!(caution_for(&["reorder"], &[0, 0, 1, 1]), "");
        for names in [["direct"], ["write"], ["read"]] {
            assert_eq!(caution_for(&names, &[]), "", "{names:?}");
        }
    }
}
