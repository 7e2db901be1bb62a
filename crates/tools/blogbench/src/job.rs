//! Configured blogbench workload: parameters, space limit, footprint, outline, and the session.

use std::path::Path;

use treering_model::{Caution, Metric, WorkLimit};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
};

use super::config::{RunConfig, ThreadRole};
use super::headline::HeadlineSums;
use super::options::{ClassicOptions, NativeOptions};
use super::output::directory;
use super::room::{full_bytes, full_names, mean_bytes};
use super::session::{BlogSession, ROOT, RunParameters};
use treering_kit::occupied::refuse_existing;
use treering_kit::settings::absolute;

/// Upper bound on the bytes per second that any device writes of such small files; with the run
/// time it limits the usable space.
const WRITTEN_MOST: u64 = 1 << 30;
/// Minimum number of blogs, besides those being written, for a meaningful mix.
const BLOGS_FEWEST: u64 = 2;

/// blogbench job with all its settings.
#[derive(Debug)]
pub(super) struct BlogJob {
    config: RunConfig,
    /// Directory of the blogs, in classic mode.
    directory: Option<String>,
    request: RunRequest,
}

impl BlogJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = ClassicOptions::read(settings)?;
        let config = RunConfig::classic(&options)?;
        let directory = directory(&options)?;
        options.directory = Some(absolute(Path::new(&directory)));
        let request = RunRequest::classic(options.parameters());
        Ok(Self { config, directory: Some(directory), request })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let options = NativeOptions::read(settings)?;
        let config = RunConfig::native(&options)?;
        let request = RunRequest::native(options.parameters());
        Ok(Self { config, directory: None, request })
    }

    fn standing(&self, facts: &TargetFacts) -> u64 {
        self.config.room.blogs(facts).max(1)
    }

    const fn is_classic(&self) -> bool {
        self.directory.is_some()
    }
}

impl Job for BlogJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        refuse_existing(facts, |name| !self.is_classic() && name == ROOT)?;
        let writers = u64::from(self.config.threads_of(ThreadRole::Writer));
        let fewest = writers.saturating_add(BLOGS_FEWEST);
        let fit = self.config.room.blogs(facts);
        if fit < fewest {
            let needs = full_bytes(facts.block_bytes).saturating_mul(fewest) >> 20;
            return Err(ConfigError::new(format!(
                "{fit} blogs fit into the room that --max-size gives them; {writers} writers need \
                 {fewest}"
            ))
            .hint(format!("give at least {needs}M, or fewer writers")));
        }
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let blogs = self.standing(facts);
        let names = blogs.saturating_mul(full_names());
        let seconds = self.config.iterations.saturating_mul(self.config.sleep_seconds);
        let in_time = seconds.saturating_mul(WRITTEN_MOST);
        let bytes = blogs.saturating_mul(mean_bytes()).min(in_time);
        Footprint {
            peak_files: names.saturating_sub(blogs),
            peak_dirs: blogs.saturating_add(1),
            peak_bytes: bytes,
            peak_block_bytes: blogs.saturating_mul(full_bytes(facts.block_bytes)),
            written_files: names.saturating_sub(blogs),
            written_bytes: bytes,
        }
    }

    fn outline(&self, facts: &TargetFacts) -> Vec<OutlineLine> {
        let config = &self.config;
        let place = self.directory.as_deref().unwrap_or(ROOT);
        let threads: Vec<String> = ThreadRole::ALL
            .into_iter()
            .map(|role| format!("{} {}", config.threads_of(role), role.plural()))
            .collect();
        let (iterations, seconds) = (config.iterations, config.sleep_seconds);
        vec![
            "sync".to_owned(),
            format!("{} in {place}", threads.join(", ")),
            format!("for {iterations} intervals of {seconds} seconds"),
            match config.room.blogs(facts) {
                blogs if facts.free_bytes == u64::MAX && blogs > 1 << 32 => {
                    "until the room for blogs is full, then in place of the oldest".to_owned()
                }
                blogs => format!("at most {blogs} blogs stand, then in place of the oldest"),
            },
        ]
    }

    fn work(&self) -> WorkLimit {
        WorkLimit::Timed
    }

    fn times_every_call(&self) -> bool {
        !self.is_classic()
    }

    fn tasks(&self, _facts: &TargetFacts) -> u64 {
        // A sync before; natively also the directory, and a sync after the work.
        let around = if self.is_classic() { 1 } else { 3 };
        u64::from(self.config.all_threads()) + around
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        HeadlineSums::foreseen(self.times_every_call())
    }

    fn begin(&self, facts: &TargetFacts) -> Box<dyn Session + '_> {
        let (config, standing) = (self.config.clone(), self.standing(facts));
        Box::new(BlogSession::new(RunParameters { config, classic: self.is_classic(), standing }))
    }
}

#[cfg(test)]
mod tests {
    use super::BlogJob;
    use treering_script::{Job, Settings, TargetFacts};

    fn job(options: &[(&str, &str)]) -> BlogJob {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        BlogJob::native(&Settings::new(options.iter().map(own).collect())).unwrap()
    }

    #[test]
    fn footprint_is_limited_by_space_and_by_duration() {
        let facts = TargetFacts { free_bytes: 1 << 40, ..TargetFacts::unknown() };
        let minute = job(&[]).footprint(&facts);
        assert!(minute.peak_block_bytes <= 1 << 39, "half of what is free");
        assert_eq!(minute.peak_bytes, 60 << 30);
        let little = job(&[("max-size", "100M")]).footprint(&facts);
        assert!(little.peak_block_bytes <= 100 << 20);
        assert_eq!(little.peak_files, 300 * little.peak_dirs.saturating_sub(1));
        assert!(little.peak_bytes < little.peak_block_bytes);
        // Nothing overflows where nothing is known.
        let unknown = job(&[("iterations", "1000000"), ("sleep", "1000000"), ("max-size", "100%")]);
        assert!(unknown.footprint(&TargetFacts::unknown()).peak_files > 1 << 40);
    }

    #[test]
    fn occupied_or_too_small_targets_are_refused() {
        let mut facts = TargetFacts { free_bytes: 200 << 20, ..TargetFacts::unknown() };
        job(&[]).check(&facts).unwrap();
        facts.existing.push("blogbench-0".to_owned());
        assert!(job(&[]).check(&facts).unwrap_err().message.contains("there already"));
        facts.existing.clear();
        facts.free_bytes = 20 << 20;
        assert!(job(&[]).check(&facts).unwrap_err().hint.is_some());
        job(&[("writers", "0"), ("max-size", "100%")]).check(&facts).unwrap();
    }
}
