//! Configuration of a run, read from settings.

use std::time::Duration;

use treering_script::ConfigError;

use super::options::{ClassicOptions, NativeOptions, ReadOptions, ThreadOptions};
use super::room::SpaceLimit;

treering_model::named_enum! {
    /// Kinds of threads, in the order in which they start.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum ThreadRole {
        Writer = "writer",
        Rewriter = "rewriter",
        Commenter = "commenter",
        Reader = "reader",
    }
}

impl ThreadRole {
    /// Plural name, which is the name of the option.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Writer => "writers",
            Self::Rewriter => "rewriters",
            Self::Commenter => "commenters",
            Self::Reader => "readers",
        }
    }

    /// Index in tables.
    pub(super) const fn place(self) -> usize {
        self as usize
    }
}

/// Configuration of a run, from either command line.
#[derive(Clone, Debug)]
pub(super) struct RunConfig {
    /// Number of intervals; `sleep_seconds` is the length of each.
    pub(super) iterations: u64,
    pub(super) sleep_seconds: u64,
    pub(super) threads: ThreadOptions,
    pub(super) room: SpaceLimit,
    pub(super) reads: ReadOptions,
}

impl RunConfig {
    pub(super) fn classic(options: &ClassicOptions) -> Result<Self, ConfigError> {
        let ClassicOptions { iterations, sleep, threads, max_size, reads, .. } = options;
        Self::new((*iterations, *sleep), threads, max_size, reads)
    }

    pub(super) fn native(options: &NativeOptions) -> Result<Self, ConfigError> {
        let NativeOptions { iterations, sleep, threads, max_size, reads } = options;
        Self::new((*iterations, *sleep), threads, max_size, reads)
    }

    fn new(
        (iterations, sleep_seconds): (u64, u64),
        threads: &ThreadOptions,
        max_size: &str,
        reads: &ReadOptions,
    ) -> Result<Self, ConfigError> {
        let (room, threads, reads) = (SpaceLimit::read(max_size)?, threads.clone(), reads.clone());
        let config = Self { iterations, sleep_seconds, threads, room, reads };
        if config.all_threads() == 0 {
            return Err(ConfigError::new("there is no thread that could work")
                .hint("give --writers, --rewriters, --commenters or --readers more than 0"));
        }
        Ok(config)
    }

    pub(super) const fn threads_of(&self, role: ThreadRole) -> u16 {
        match role {
            ThreadRole::Writer => self.threads.writers,
            ThreadRole::Rewriter => self.threads.rewriters,
            ThreadRole::Commenter => self.threads.commenters,
            ThreadRole::Reader => self.threads.readers,
        }
    }

    /// Total number of threads.
    pub(super) fn all_threads(&self) -> u32 {
        ThreadRole::ALL.into_iter().map(|role| u32::from(self.threads_of(role))).sum()
    }

    /// Length of one interval.
    pub(super) const fn interval(&self) -> Duration {
        Duration::from_secs(self.sleep_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::{RunConfig, ThreadRole};
    use crate::options::{ClassicOptions, NativeOptions};
    use treering_script::{ConfigError, Settings};

    fn read(pairs: &[(&str, &str)]) -> Result<RunConfig, ConfigError> {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        let settings = Settings::new(pairs.iter().map(own).collect());
        ClassicOptions::read(&settings).and_then(|options| RunConfig::classic(&options))
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let config = read(&[]).unwrap();
        assert_eq!((config.iterations, config.sleep_seconds), (30, 10));
        assert_eq!(ThreadRole::ALL.map(|role| config.threads_of(role)), [3, 1, 5, 100]);
        assert_eq!(config.reads.read_bytes, 65_536);
        assert!(NativeOptions::read(&Settings::default()).unwrap().iterations < 30);
    }

    #[test]
    fn settings_that_hang_the_original_are_refused_or_handled() {
        assert!(read(&[("iterations", "0")]).is_err());
        assert!(read(&[("sleep", "0")]).is_err());
        assert_eq!(read(&[("readers", "0")]).unwrap().threads_of(ThreadRole::Reader), 0);
        let none: Vec<(&str, &str)> =
            ThreadRole::ALL.iter().map(|role| (role.plural(), "0")).collect();
        assert!(read(&none).unwrap_err().message.contains("no thread"));
        for odd in ["0", "2M", "x"] {
            assert!(read(&[("read-bytes", odd)]).is_err(), "{odd}");
        }
        assert_eq!(read(&[("read-bytes", "8")]).unwrap().reads.read_bytes, 8);
    }
}
