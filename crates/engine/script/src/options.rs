//! Options of workloads, each declared once; and the settings given by a user.
//!
//! Help, parsing, documents and the fidelity table are derived from [`OptionSpec`]. Nothing here
//! depends on a command-line library: the command line converts the declarations to its own.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};
use treering_model::nearest::nearest;

use crate::{ClassicMode, ClassicPayload, ConfigError, Job, SettingFiles};

/// Value type of an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// Flag without a value.
    Flag,
    /// A whole number from 0, with suffix: `500`, `10k`, `64Ki`.
    Number,
    /// Bytes, with suffix: `4096`, `256K`, `8GiB`.
    Size,
    /// A share: `40%`.
    Percent,
    /// A path.
    Path,
    /// A path; the option may be given several times.
    Paths,
    /// Path given as an operand, without an option name.
    Operand,
    /// Several operands.
    Operands,
    /// Choice among these words.
    Choice(&'static [&'static str]),
    /// Words of a command: the first one and all that follow it on the line.
    Words,
    /// Text; its form is described by the help text.
    Text,
    /// Any text; the option may be given several times.
    Texts,
    /// Text that may be omitted; defaults to the given one.
    Optional(&'static str),
}

/// Fidelity of an option to the original option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionSupport {
    /// Behaves as the original.
    Full,
    /// Behaves nearly as the original; the text tells the difference.
    Approximate(&'static str),
    /// Accepted without effect; the text tells why.
    Ignored(&'static str),
    /// Refused; the text tells why and what to do instead.
    Rejected(&'static str),
}

/// Declaration of an option.
#[derive(Clone, Copy, Debug)]
pub struct OptionSpec {
    /// Name in plans and in the store; `--name` on the command line.
    pub name: &'static str,
    /// Short spelling, if there is one.
    pub short: Option<char>,
    /// Value type.
    pub value: ValueKind,
    /// Default value as text; `None` if the absence of the option has a meaning of its own.
    pub default: Option<&'static str>,
    /// Smallest and largest allowed number, or size in bytes.
    pub range: (u64, u64),
    /// Help text, a sentence or two.
    pub doc: &'static str,
    /// Fidelity to the imitated tool.
    pub support: OptionSupport,
}

impl OptionSpec {
    /// Declares an option that behaves like the imitated tool's, or that the tool does not have.
    pub const fn new(
        name: &'static str,
        short: Option<char>,
        value: ValueKind,
        default: Option<&'static str>,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            short,
            value,
            default,
            range: (0, u64::MAX),
            doc,
            support: OptionSupport::Full,
        }
    }

    /// Option without a short spelling.
    pub const fn long(
        name: &'static str,
        value: ValueKind,
        default: Option<&'static str>,
        doc: &'static str,
    ) -> Self {
        Self::new(name, None, value, default, doc)
    }
}

/// Manifest of a workload: names, description and options.
#[derive(Clone, Copy, Debug)]
pub struct WorkloadManifest {
    /// Name: of the subcommand, of the link to the program, in plans and in the store.
    pub name: &'static str,
    /// Further names of the subcommand and of links.
    pub aliases: &'static [&'static str],
    /// Description in a line.
    pub about: &'static str,
    /// Tool and version that the classic mode imitates; empty without a classic mode.
    pub imitates: &'static str,
    /// Options of the classic command line.
    pub classic: &'static [OptionSpec],
    /// Options of the native command line and of plans.
    pub native: &'static [OptionSpec],
    /// Data that the imitated tool writes.
    pub classic_payload: ClassicPayload,
    /// Exit code of the imitated tool after an invalid command line.
    pub classic_usage_exit: u8,
}

impl WorkloadManifest {
    /// True if the workload has a classic mode.
    pub fn has_classic(&self) -> bool {
        !self.imitates.is_empty()
    }
}

fn imitates_nothing(name: &str) -> ConfigError {
    ConfigError::new(format!("{name} imitates no tool")).hint(format!("use `treering run {name}`"))
}

/// Workload: converts settings to jobs.
pub trait Workload: Sync {
    /// Manifest of the workload.
    fn manifest(&self) -> &'static WorkloadManifest;

    /// Command line of the tool, converted to the declared form of its options.
    fn classic_words(&self, words: Vec<String>) -> Vec<String> {
        words
    }

    /// Builds a job from the imitated tool's command line. May read the files that the settings
    /// name.
    ///
    /// # Errors
    /// When a setting is invalid; the message says which one and what is valid. Always fails if no
    /// tool is imitated.
    fn classic(&self, _settings: &Settings) -> Result<Box<dyn Job>, ConfigError> {
        Err(imitates_nothing(self.manifest().name))
    }

    /// Classic mode for the command line of these settings: roots, log and output.
    ///
    /// # Errors
    /// As for [`Self::classic`].
    fn classic_mode(&self, _settings: &Settings) -> Result<ClassicMode, ConfigError> {
        Err(imitates_nothing(self.manifest().name))
    }

    /// Builds a native job.
    ///
    /// # Errors
    /// When a setting is invalid; the message says which one and what is valid.
    fn native(&self, settings: &Settings) -> Result<Box<dyn Job>, ConfigError>;

    /// Distribution of a native job over ranks, which may be on several machines.
    fn over_ranks(&self) -> RankDistribution {
        RankDistribution::Never
    }

    /// Classic option that gives the number of ranks, for tools that a launcher starts, which
    /// determines the number. `None` for tools without launchers.
    fn ranks_option(&self) -> Option<&'static str> {
        None
    }
}

/// Distribution of a job's work over ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RankDistribution {
    /// Workers share only files: the workers of all ranks form one group, and the native option of
    /// this name gives the number for each rank.
    Workers(&'static str),
    /// Workers share memory: each rank runs the whole job in a directory of its own.
    Apart,
    /// The job runs on one machine only.
    Never,
}

/// Facts about machine and process on which classic tools depend.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineFacts {
    /// Host name.
    pub name: String,
    /// Memory in bytes; 0 if unknown.
    pub memory_bytes: u64,
    /// True if the effective user is root.
    pub is_root: bool,
    /// Process ID.
    pub process: u32,
    /// Machine of each rank, numbered from that of rank 0; empty if all ranks are on this machine.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<u32>,
}

/// Distribution of ranks over machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankPlacement {
    /// Number of machines.
    pub count: u64,
    /// Number of ranks on the machine of rank 0.
    pub ranks_on_first: u64,
    /// True if rank 1 is on the machine of rank 0: launchers place neighbours together by default.
    pub in_blocks: bool,
}

impl MachineFacts {
    /// True if the rank is on the machine of rank 0.
    pub fn is_on_first(&self, rank: u16) -> bool {
        self.nodes.get(usize::from(rank)).is_none_or(|&node| node == 0)
    }

    /// Distribution of the first `ranks` ranks.
    pub fn nodes(&self, ranks: u16) -> RankPlacement {
        let nodes = self.nodes.get(..ranks.into()).unwrap_or(&self.nodes);
        if nodes.is_empty() {
            return RankPlacement { count: 1, ranks_on_first: ranks.into(), in_blocks: true };
        }
        let mut distinct = nodes.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        RankPlacement {
            count: distinct.len() as u64,
            ranks_on_first: nodes.iter().filter(|&&node| node == nodes[0]).count() as u64,
            in_blocks: nodes.get(1).is_none_or(|&node| node == nodes[0]),
        }
    }
}

/// Settings given by the user: option names with values as typed, checked when read.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    options: Vec<(String, String)>,
    /// Directories that are searched for the user's own files of the workload, in order of
    /// precedence.
    pub data_dirs: Vec<std::path::PathBuf>,
    /// Base of relative file paths: the directory of the plan. `None` uses the current directory.
    pub base_dir: Option<std::path::PathBuf>,
    /// Environment variables that files may substitute: names and values.
    pub environment: Vec<(String, String)>,
    /// Start of the command in milliseconds since 1970, which seeds and timestamps of classic tools
    /// are based on.
    pub started_unix_ms: u64,
    /// Machine on which the command runs.
    pub machine: MachineFacts,
    /// Files that options name.
    pub files: SettingFiles,
    /// Content of standard input, if a file named `-` is requested.
    pub input: Vec<u8>,
    /// Raised when a signal requests an interim report; lowered by the session.
    pub report_asked: Arc<AtomicBool>,
}

impl Settings {
    /// Settings from names and values; a flag has the value `true`.
    pub fn new(options: Vec<(String, String)>) -> Self {
        Self { options, ..Self::default() }
    }

    /// Settings with other options and the same environment.
    #[must_use]
    pub fn with_options(&self, options: Vec<(String, String)>) -> Self {
        Self { options, ..self.clone() }
    }

    /// Options in the order given; enough to rebuild the settings.
    pub fn options(&self) -> &[(String, String)] {
        &self.options
    }

    /// Value of an option as typed; the last one wins.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .rev()
            .find(|(option, _)| option == name)
            .map(|(_, value)| value.as_str())
    }

    /// Path of a file named by the user.
    pub fn file(&self, typed: &str) -> std::path::PathBuf {
        match &self.base_dir {
            // An absolute path stays as it is.
            Some(base) => base.join(typed),
            None => typed.into(),
        }
    }

    /// Values of a repeatable option, as typed.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.options
            .iter()
            .filter(move |(option, _)| option == name)
            .map(|(_, value)| value.as_str())
    }

    /// Value as typed, else the default of the declaration.
    pub fn text_or_default<'a>(&'a self, specs: &[OptionSpec], name: &str) -> Option<&'a str> {
        self.text(name)
            .or_else(|| specs.iter().find(|spec| spec.name == name).and_then(|spec| spec.default))
    }

    /// True if a flag is set.
    pub fn flag(&self, name: &str) -> bool {
        self.text(name) == Some("true")
    }

    /// A whole number, with a suffix if need be ([`parse_count`]).
    ///
    /// # Errors
    /// When it is not one, or outside `least..=most`.
    pub fn number(
        &self,
        specs: &[OptionSpec],
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ConfigError> {
        let Some(text) = self.text_or_default(specs, name) else { return Ok(None) };
        let right = format!("a whole number from {} to {}", range.start(), range.end());
        match parse_count(text) {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => Err(ConfigError::new(format!("--{name}: '{text}' is not {right}"))),
        }
    }

    /// A size in bytes.
    ///
    /// # Errors
    /// When it is not one.
    pub fn size(&self, specs: &[OptionSpec], name: &str) -> Result<Option<u64>, ConfigError> {
        let Some(text) = self.text_or_default(specs, name) else { return Ok(None) };
        parse_size(text).map(Some).ok_or_else(|| {
            ConfigError::new(format!("--{name}: '{text}' is not a size"))
                .hint("a size is a number with an optional K, M, G or T (powers of 1024), as 256K")
        })
    }

    /// A size in bytes within a range.
    ///
    /// # Errors
    /// When it is not a size, or outside `range`.
    pub(crate) fn size_within(
        &self,
        specs: &[OptionSpec],
        name: &str,
        range: std::ops::RangeInclusive<u64>,
    ) -> Result<Option<u64>, ConfigError> {
        let size = self.size(specs, name)?;
        if size.is_none_or(|bytes| range.contains(&bytes)) {
            return Ok(size);
        }
        let text = self.text_or_default(specs, name).unwrap_or_default();
        let (least, most) = range.into_inner();
        Err(ConfigError::new(format!("--{name}: '{text}' is not from {least} to {most} bytes")))
    }

    /// A share between 0 and 1.
    ///
    /// # Errors
    /// When it is not a percentage from 0 to 100.
    pub fn percent(&self, specs: &[OptionSpec], name: &str) -> Result<Option<f64>, ConfigError> {
        let Some(text) = self.text_or_default(specs, name) else { return Ok(None) };
        let number = text.strip_suffix('%').unwrap_or(text).trim_end();
        match number.parse::<f64>() {
            Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(Some(percent / 100.0)),
            _ => Err(ConfigError::new(format!("--{name}: '{text}' is not a percentage"))
                .hint("a percentage is a number from 0 to 100, as 40%")),
        }
    }

    /// Word of a choice option.
    ///
    /// # Errors
    /// When it is another word.
    pub fn choice(
        &self,
        specs: &[OptionSpec],
        name: &str,
    ) -> Result<Option<&'static str>, ConfigError> {
        let Some(text) = self.text_or_default(specs, name) else { return Ok(None) };
        let words = specs.iter().find(|spec| spec.name == name).map(|spec| spec.value);
        let Some(ValueKind::Choice(words)) = words else { return Ok(None) };
        words.iter().find(|word| **word == text).copied().map(Some).ok_or_else(|| {
            let known = words.join(", ");
            let error = ConfigError::new(format!("--{name}: '{text}' is not one of: {known}"));
            match nearest(text, words.iter().copied()) {
                Some(meant) => error.hint(format!("did you mean `{meant}`?")),
                None => error,
            }
        })
    }
}

/// A whole number from `500`, `10k`, `2M`, `64Ki`: k, M and G are thousands, millions and
/// billions; Ki, Mi and Gi are powers of 1024.
pub fn parse_count(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let factor: u64 = match suffix {
        "" => 1,
        "k" | "K" => 1000,
        "m" | "M" => 1_000_000,
        "g" | "G" => 1_000_000_000,
        "ki" | "Ki" => 1 << 10,
        "mi" | "Mi" => 1 << 20,
        "gi" | "Gi" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(factor)
}

/// Bytes from `4096`, `256K`, `8GiB`, `1.5g`; suffixes are powers of 1024.
pub fn parse_size(text: &str) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, suffix) = text.split_at(digits);
    let shift = match suffix.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return None,
    };
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(1 << shift);
    }
    let value = number.parse::<f64>().ok()? * (1u64 << shift) as f64;
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked")]
    let bytes = (value.is_finite() && (0.0..9.2e18).contains(&value)).then_some(value as u64);
    bytes
}

#[cfg(test)]
mod tests {
    use super::{OptionSpec, Settings, ValueKind, parse_count, parse_size};

    const SPECS: &[OptionSpec] = &[
        OptionSpec::new("runs", Some('r'), ValueKind::Number, Some("100"), ""),
        OptionSpec::long("sync", ValueKind::Choice(&["each", "none"]), Some("each"), ""),
    ];

    fn given(name: &str, value: &str) -> Settings {
        Settings::new(vec![(name.into(), value.into())])
    }

    #[test]
    fn counts_are_thousands_and_powers_of_1024() {
        for (text, number) in [("0", 0), ("10k", 10_000), ("2M", 2_000_000), ("64Ki", 65_536)] {
            assert_eq!(parse_count(text), Some(number), "{text}");
        }
        for wrong in ["", "k", "-1", "1.5k", "10kb", "10 k", "99999999999G", "1e3"] {
            assert_eq!(parse_count(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn sizes_take_suffixes_and_refuse_nonsense() {
        assert_eq!(parse_size("4096"), Some(4096));
        assert_eq!(parse_size("256K"), Some(262_144));
        assert_eq!(parse_size("8GiB"), Some(8 << 30));
        assert_eq!(parse_size("1.5k"), Some(1536));
        for wrong in ["", "K", "-1", "1.2.3", "8X", "99999999999999999999", "20000000T"] {
            assert_eq!(parse_size(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn numbers_have_defaults_and_ranges() {
        let none = Settings::default();
        assert_eq!(none.number(SPECS, "runs", 0..=10_000).unwrap(), Some(100));
        assert_eq!(given("runs", "7").number(SPECS, "runs", 0..=9).unwrap(), Some(7));
        let error = given("runs", "10").number(SPECS, "runs", 0..=9).unwrap_err();
        assert_eq!(error.message, "--runs: '10' is not a whole number from 0 to 9");
        assert!(given("runs", "-1").number(SPECS, "runs", 0..=9).is_err());
    }

    #[test]
    fn invalid_choices_list_the_valid_words() {
        assert_eq!(Settings::default().choice(SPECS, "sync").unwrap(), Some("each"));
        let error = given("sync", "maybe").choice(SPECS, "sync").unwrap_err();
        assert_eq!(error.message, "--sync: 'maybe' is not one of: each, none");
    }

    #[test]
    fn percentages_are_parsed_as_fractions() {
        assert_eq!(given("fill", "40%").percent(SPECS, "fill").unwrap(), Some(0.4));
        assert!(given("fill", "140%").percent(SPECS, "fill").is_err());
        assert!(given("fill", "NaN").percent(SPECS, "fill").is_err());
    }

    #[test]
    fn the_last_value_of_an_option_wins() {
        let settings =
            Settings::new(vec![("runs".into(), "1".into()), ("runs".into(), "2".into())]);
        assert_eq!(settings.text("runs"), Some("2"));
    }
}
