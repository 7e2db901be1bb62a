//! What is asked for, read from settings.

use std::time::Duration;

use treering_model::BLOGBENCH_READ_BYTES;
use treering_script::{ConfigError, OptionSpec, Settings};

use super::room::Room;

/// More threads of a kind than this no system starts.
const THREADS_MOST: u64 = 4096;
/// Largest read.
const READ_BYTES_MOST: u64 = 1 << 20;

/// The kinds of threads, in the order in which they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Writer,
    Rewriter,
    Commenter,
    Reader,
}

impl Role {
    pub(super) const ALL: [Self; 4] = [Self::Writer, Self::Rewriter, Self::Commenter, Self::Reader];

    /// One of them: the kind of its task.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Writer => "writer",
            Self::Rewriter => "rewriter",
            Self::Commenter => "commenter",
            Self::Reader => "reader",
        }
    }

    /// Several of them: the option.
    pub(super) const fn plural(self) -> &'static str {
        match self {
            Self::Writer => "writers",
            Self::Rewriter => "rewriters",
            Self::Commenter => "commenters",
            Self::Reader => "readers",
        }
    }

    /// Its place in tables.
    pub(super) const fn place(self) -> usize {
        self as usize
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Config {
    /// How many intervals, and how long each is.
    pub(super) iterations: u64,
    pub(super) sleep_seconds: u64,
    /// Threads by [`Role::place`].
    pub(super) threads: [u16; Role::ALL.len()],
    pub(super) room: Room,
    pub(super) read_bytes: u32,
    pub(super) seed: u64,
}

impl Config {
    /// Reads it.
    pub(super) fn read(settings: &Settings, specs: &[OptionSpec]) -> Result<Self, ConfigError> {
        let number = |name: &str, most: u64, least: u64| {
            settings.number(specs, name, least..=most).map(|number| number.unwrap_or(least))
        };
        let iterations = number("iterations", 1_000_000, 1)?;
        let sleep_seconds = number("sleep", 1_000_000, 1)?;
        let mut threads = [0; Role::ALL.len()];
        for (count, role) in threads.iter_mut().zip(Role::ALL) {
            let asked = number(role.plural(), THREADS_MOST, 0)?;
            *count = u16::try_from(asked).unwrap_or(0);
        }
        if threads.iter().all(|count| *count == 0) {
            return Err(ConfigError::new("there is no thread that could work")
                .hint("give --writers, --rewriters, --commenters or --readers more than 0"));
        }
        let room = Room::read(settings.text_or_default(specs, "max-size").unwrap_or(""))?;
        let read_bytes = settings.size(specs, BLOGBENCH_READ_BYTES)?.unwrap_or(0);
        let read_bytes = u32::try_from(read_bytes).ok();
        let in_range = |bytes: &u32| (1..=READ_BYTES_MOST).contains(&u64::from(*bytes));
        let read_bytes = read_bytes.filter(in_range).ok_or_else(|| {
            ConfigError::new(format!("--{BLOGBENCH_READ_BYTES}: not from 1 to {READ_BYTES_MOST}"))
                .hint("65536 is what blogbench 1.1 reads at once, 8 what 1.2 does")
        })?;
        let seed = number("seed", u64::MAX, 0)?;
        Ok(Self { iterations, sleep_seconds, threads, room, read_bytes, seed })
    }

    pub(super) const fn threads_of(&self, role: Role) -> u16 {
        self.threads[role.place()]
    }

    /// Threads of all kinds.
    pub(super) fn all_threads(&self) -> u32 {
        self.threads.iter().map(|count| u32::from(*count)).sum()
    }

    /// The time of one interval.
    pub(super) const fn interval(&self) -> Duration {
        Duration::from_secs(self.sleep_seconds)
    }

    /// What the store keeps.
    pub(super) fn parameters(&self, room: &str) -> Vec<(String, String)> {
        let mut parameters =
            vec![parameter("iterations", self.iterations), parameter("sleep", self.sleep_seconds)];
        for role in Role::ALL {
            parameters.push(parameter(role.plural(), self.threads_of(role)));
        }
        parameters.push(parameter("max-size", room));
        parameters.push(parameter(BLOGBENCH_READ_BYTES, self.read_bytes));
        parameters.push(parameter("seed", self.seed));
        parameters
    }
}

/// A parameter in words.
pub(super) fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

#[cfg(test)]
mod tests {
    use super::{Config, Role};
    use crate::blogbench::options::{CLASSIC, NATIVE};
    use treering_script::{ConfigError, Settings};

    fn read(given: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let own = |&(name, value): &(&str, &str)| (name.to_owned(), value.to_owned());
        Config::read(&Settings::new(given.iter().map(own).collect()), CLASSIC)
    }

    #[test]
    fn defaults_are_those_of_the_original() {
        let config = read(&[]).unwrap();
        assert_eq!((config.iterations, config.sleep_seconds), (30, 10));
        assert_eq!(config.threads, [3, 1, 5, 100]);
        assert_eq!(config.read_bytes, 65_536);
        assert!(Config::read(&Settings::default(), NATIVE).unwrap().iterations < 30);
    }

    #[test]
    fn what_hung_or_ran_for_ever_is_refused_or_works() {
        assert!(read(&[("iterations", "0")]).is_err());
        assert!(read(&[("sleep", "0")]).is_err());
        assert_eq!(read(&[("readers", "0")]).unwrap().threads_of(Role::Reader), 0);
        let none: Vec<(&str, &str)> = Role::ALL.iter().map(|role| (role.plural(), "0")).collect();
        assert!(read(&none).unwrap_err().message.contains("no thread"));
        for odd in ["0", "2M", "x"] {
            assert!(read(&[("read-bytes", odd)]).is_err(), "{odd}");
        }
        assert_eq!(read(&[("read-bytes", "8")]).unwrap().read_bytes, 8);
    }
}
