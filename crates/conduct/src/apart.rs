//! Job run in full by each of several ranks, in a directory of its own. Used for workloads whose
//! workers share memory within a process and cannot be divided among ranks.

use treering_engine::own_directory;
use treering_model::{Caution, Fact, Metric, WorkLimit};
use treering_script::{
    Conductor, ConfigError, Footprint, Job, LayoutFeed, OutlineLine, RunRequest, Session,
    SessionResult, TargetFacts,
};

/// Job of a rank, repeated on all ranks.
pub(crate) struct PerRankJob {
    job: Box<dyn Job>,
    ranks: u32,
}

impl PerRankJob {
    /// # Errors
    /// When the job cannot run on several ranks.
    pub(crate) fn new(job: Box<dyn Job>, ranks: u32) -> Result<Self, ConfigError> {
        if let Some(why) = job.refuses_ranks() {
            let message = format!("this cannot run on {ranks} ranks: {why}");
            return Err(ConfigError::new(message).hint("leave that out, or run it without ranks"));
        }
        Ok(Self { job, ranks })
    }

    fn directories(&self) -> impl Iterator<Item = String> {
        (0..self.ranks as usize).map(own_directory)
    }

    /// Target facts for the directory of one rank: the free bytes and inodes of the whole target
    /// are divided by the number of ranks.
    fn facts_per_rank(&self, facts: &TargetFacts) -> TargetFacts {
        let ranks = u64::from(self.ranks.max(1));
        TargetFacts {
            existing: Vec::new(),
            free_bytes: facts.free_bytes / ranks,
            free_inodes: facts.free_inodes.map(|inodes| inodes / ranks),
            ..facts.clone()
        }
    }
}

impl Job for PerRankJob {
    fn request(&self) -> &RunRequest {
        self.job.request()
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if let Some(there) = self.directories().find(|name| facts.existing.contains(name)) {
            let message =
                format!("{there} is there already: each rank makes a directory of this name");
            return Err(ConfigError::new(message).hint("name another directory, or remove it"));
        }
        self.job.check(&self.facts_per_rank(facts))
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let each = self.job.footprint(&self.facts_per_rank(facts));
        let ranks = u64::from(self.ranks);
        let for_all_ranks = |of_one: u64| of_one.saturating_mul(ranks);
        Footprint {
            peak_files: for_all_ranks(each.peak_files),
            peak_dirs: for_all_ranks(each.peak_dirs).saturating_add(ranks),
            peak_bytes: for_all_ranks(each.peak_bytes),
            peak_block_bytes: for_all_ranks(each.peak_block_bytes),
            written_files: for_all_ranks(each.written_files),
            written_bytes: for_all_ranks(each.written_bytes),
        }
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let heading = format!("# each of {} ranks, in a directory of its own:", self.ranks);
        let mut lines = vec![heading];
        lines.extend(self.job.outline(&self.facts_per_rank(facts)));
        lines
    }

    fn foreseen_metrics(&self, facts: &TargetFacts) -> Vec<Metric> {
        self.job.foreseen_metrics(&self.facts_per_rank(facts))
    }

    fn overall_metric(&self) -> Option<&'static str> {
        self.job.overall_metric()
    }

    fn work(&self) -> WorkLimit {
        self.job.work()
    }

    fn times_every_call(&self) -> bool {
        self.job.times_every_call()
    }

    fn remounts(&self) -> bool {
        self.job.remounts()
    }

    fn works_apart(&self) -> bool {
        true
    }

    fn tasks(&self, facts: &TargetFacts) -> u64 {
        self.job.tasks(&self.facts_per_rank(facts)).saturating_mul(u64::from(self.ranks))
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let own = self.job.begin(&self.facts_per_rank(facts));
        Box::new(PerRankSession { own, directories: self.directories().collect() })
    }
}

/// Session of this rank. The directories of all ranks are left behind.
struct PerRankSession<'j> {
    own: Box<dyn Session + 'j>,
    directories: Vec<String>,
}

impl Session for PerRankSession<'_> {
    fn run(&mut self, conductor: &mut dyn Conductor) -> SessionResult {
        self.own.run(conductor)
    }

    fn layouts(&self) -> Option<LayoutFeed> {
        self.own.layouts()
    }

    fn facts(&self) -> Vec<Fact> {
        let own = Fact { name: "ranks.directories".to_owned(), value: "own".to_owned() };
        self.own.facts().into_iter().chain([own]).collect()
    }

    fn metrics(&self) -> Vec<Metric> {
        self.own.metrics()
    }

    fn cautions(&self) -> Vec<Caution> {
        self.own.cautions()
    }

    fn remains(&self) -> Vec<String> {
        self.directories.clone()
    }
}
