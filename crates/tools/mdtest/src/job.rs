//! A configured mdtest: parameters, footprint, outline, and the session.

use std::sync::Arc;

use treering_model::{Caution, CautionCode, Metric, Op, RunMode, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, ScaleUnit, Session, Settings,
    TargetFacts, WorkScale,
};

use super::config::ClassicConfig;
use super::headline;
use super::names::TEST_DIRECTORY;
use super::native::native;
use super::options::ITERATIONS_MAX;
use super::session::TestSession;
use super::shape::{ItemOperation, IterationStep, RunShape};
use treering_kit::occupied::refuse_existing;
use treering_kit::outline::limited;

/// mdtest with all its settings.
#[derive(Debug)]
pub(super) struct TestJob {
    shape: Arc<RunShape>,
    request: RunRequest,
}

impl TestJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let ClassicConfig { shape, request, .. } = ClassicConfig::read(settings)?;
        Ok(Self { shape: Arc::new(shape), request })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let (shape, request) = native(settings)?;
        Ok(Self { shape: Arc::new(shape), request })
    }

    fn is_classic(&self) -> bool {
        self.shape.as_original.is_some()
    }

    /// Caution text for stat and read calls answered by a cache. In classic mode ranks may run on
    /// several machines, so only items that a rank made itself are certain to be in its cache.
    fn answered_by_cache(&self) -> Option<String> {
        let shape = &self.shape;
        if shape.cold || !shape.acts.create {
            return None;
        }
        let tests = [
            (shape.acts.stat, ItemOperation::Stat, "stat"),
            (shape.acts.read && shape.files, ItemOperation::Read, "read"),
        ];
        let done = tests.into_iter().filter(|(is_done, ..)| *is_done);
        let own: Vec<&str> =
            done.filter(|(_, act, _)| shape.owner(0, *act) == 0).map(|(.., name)| name).collect();
        let option = if self.is_classic() { "-N" } else { "--shift" };
        if !own.is_empty() && (self.is_classic() || shape.ranks > 1) {
            return Some(format!(
                "each of {} ranks looks at what it made itself ({}; {option} {}), so that the \
                 cache of its client answers",
                shape.ranks,
                own.join(" and "),
                shape.stride
            ));
        }
        let message = "stat and read follow the creation with all caches kept, so that the memory \
                       of this machine answers them, whoever made the items";
        (!self.is_classic()).then(|| message.to_owned())
    }

    /// Outline of a part, a line for each rank that works in it.
    fn outline_of(&self, part: IterationStep, iteration: u32) -> Vec<OutlineLine> {
        let shape = &self.shape;
        let line = |rank: u16, action: String| {
            format!("iteration {}: worker {rank}: {} {action}", iteration + 1, part.kind())
        };
        match part {
            IterationStep::MakeTrees | IterationStep::RemoveTrees => {
                let directories = shape.tree.directories().unwrap_or(u64::MAX);
                let makers = 0..shape.tree_makers();
                let action = |rank: u16| {
                    let trees = shape.trees_of_maker(rank).len() as u64 * shape.loops;
                    line(rank, format!("{trees} trees of {directories} directories"))
                };
                makers.map(action).collect()
            }
            IterationStep::Items { act, .. } => {
                let action = |rank: u16| {
                    let owner = shape.owner(rank, act);
                    line(rank, format!("{} items of worker {owner}", shape.items()))
                };
                (0..shape.ranks).map(action).collect()
            }
        }
    }
}

impl Job for TestJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let warm = self.answered_by_cache();
        let warm = warm.map(|message| Caution { code: CautionCode::CachesNotDropped, message });
        refuse_existing(facts, |name| !self.is_classic() && name.starts_with(TEST_DIRECTORY))?;
        Ok(warm.into_iter().collect())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let shape = &self.shape;
        let ranks = u64::from(if shape.shared_file { 1 } else { shape.ranks });
        let items = shape.items().saturating_mul(ranks);
        // Time ends the creation where that is asked for: what fits is not known.
        let files = if shape.files { items } else { 0 };
        let block = facts.block_bytes.max(1);
        let bytes = u64::from(shape.data.write_bytes);
        let trees = u64::from(if shape.own_trees { shape.ranks } else { 1 });
        let directories = shape.tree.directories().unwrap_or(u64::MAX);
        let directories = directories.saturating_mul(trees).saturating_mul(shape.loops);
        let kept = u64::from(if shape.acts.remove { 1 } else { shape.iterations });
        let peak = |number: u64| number.saturating_mul(kept);
        let iterations = u64::from(shape.iterations);
        Footprint {
            peak_files: peak(files),
            peak_dirs: peak(directories.saturating_add(if shape.dirs { items } else { 0 })),
            peak_bytes: peak(files.saturating_mul(bytes)),
            peak_block_bytes: peak(files.saturating_mul(bytes.div_ceil(block) * block)),
            written_files: files.saturating_mul(iterations),
            written_bytes: files.saturating_mul(bytes).saturating_mul(iterations),
        }
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let parts = self.shape.parts();
        limited((0..self.shape.iterations).flat_map(|iteration| {
            parts.iter().flat_map(move |&part| self.outline_of(part, iteration))
        }))
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        headline::foreseen(&self.shape.parts())
    }

    fn deciding_sync(&self) -> Option<Op> {
        (self.mode() == RunMode::Native && self.shape.data.fsync).then_some(Op::Fsync)
    }

    fn overall_metric(&self) -> Option<&'static str> {
        let creates =
            |is_directory| IterationStep::Items { is_directory, act: ItemOperation::Create };
        let parts = self.shape.parts();
        if parts.contains(&creates(false)) {
            Some("file-create/operations_per_second")
        } else if parts.contains(&creates(true)) {
            Some("dir-create/operations_per_second")
        } else {
            None
        }
    }

    fn work(&self) -> WorkLimit {
        if self.shape.wall_seconds.is_some() { WorkLimit::Timed } else { WorkLimit::Fixed }
    }

    fn scale(&self) -> Option<WorkScale> {
        let shape = &self.shape;
        let each = shape.items().saturating_mul(shape.ranks.into());
        (!self.is_classic() && shape.wall_seconds.is_none()).then_some(WorkScale {
            option: "iterations",
            key: None,
            value: shape.iterations.into(),
            most: ITERATIONS_MAX,
            unit: ScaleUnit::Amount { name: "items", each },
            follows: |_| true,
            sizes: &["items", "items-per-dir", "depth", "branch", "iterations"],
        })
    }

    fn times_every_call(&self) -> bool {
        self.shape.around.keeps_times
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(TestSession::new(Arc::clone(&self.shape)))
    }
}

#[cfg(test)]
mod tests {
    use treering_script::{Job as _, Settings, TargetFacts};

    use super::TestJob;

    fn settings(words: &str) -> Settings {
        let pairs = words.split_whitespace().map(|word| {
            let (name, value) = word.split_once('=').unwrap_or((word, "true"));
            (name.to_owned(), value.to_owned())
        });
        Settings::new(pairs.collect())
    }

    #[test]
    fn ranks_that_stat_their_own_items_are_cautioned() {
        let caution_for = |job: TestJob| {
            let cautions = job.check(&TargetFacts::unknown()).unwrap();
            cautions.first().map(|caution| caution.message.clone()).unwrap_or_default()
        };
        let classic = |words: &str| caution_for(TestJob::classic(&settings(words)).unwrap());
        assert!(classic("items=9 ranks=4").contains("(stat and read; -N 0)"));
        assert_eq!(classic("items=9 ranks=4 shift=1"), "");
        // Reading is shifted twice: with two ranks that is back to the own items.
        assert!(classic("items=9 ranks=2 shift=1").contains("(read; -N 1)"));
        assert!(classic("items=9").contains("each of 1 ranks"));
        assert_eq!(classic("items=9 ranks=4 only-stat"), "", "who made them is not known");
        let native = |words: &str| caution_for(TestJob::native(&settings(words)).unwrap());
        assert!(native("workers=4 shift=0").contains("each of 4 ranks"));
        assert!(native("workers=4").contains("whoever made the items"));
        assert_eq!(native("workers=4 shift=0 drop-caches=each"), "");
    }
}
