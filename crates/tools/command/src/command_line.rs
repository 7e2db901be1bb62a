//! Request of a command line or a plan: the words of the command, the commands before and after it,
//! and the metrics that its output is searched for.

use std::path::Path;

use treering_model::quoted;
use treering_script::{ConfigError, ProgramWatch, RunRequest, Settings};

use super::found::MetricPattern;
use super::options::{CLEANUP, COMMAND, METRIC, PREPARE, SHELL};

/// Maximum number of metrics of a command.
const METRICS_MAX: usize = 64;

/// Command with the commands around it.
#[derive(Debug)]
pub(super) struct CommandJob {
    /// Program and arguments, at least the program.
    pub(super) words: Vec<String>,
    pub(super) prepare: Option<String>,
    pub(super) cleanup: Option<String>,
    pub(super) wanted: Vec<MetricPattern>,
    pub(super) request: RunRequest,
    /// Value of `PATH` for finding programs.
    pub(super) path: String,
}

/// Command line that runs a text in the shell; the directory is passed as a variable, which is safe
/// for any name.
pub(super) fn by_shell(text: &str) -> Vec<String> {
    let variable = format!("${{{}}}", ProgramWatch::DIRECTORY);
    vec!["sh".to_owned(), "-c".to_owned(), text.replace(ProgramWatch::PLACE, &variable)]
}

/// Reports whether a word is a command line with spaces rather than the name of a program.
fn is_whole_line(word: &str) -> bool {
    let has_space = word.trim().contains(char::is_whitespace);
    has_space && !word.contains(ProgramWatch::PLACE) && !Path::new(word).exists()
}

impl CommandJob {
    pub(super) fn new(settings: &Settings) -> Result<Self, ConfigError> {
        let words: Vec<String> = settings.values(COMMAND).map(str::to_owned).collect();
        let shell = settings.text(SHELL);
        let example = "for instance treering run command --dir /mnt/test -- tar cf a.tar /usr/lib";
        let words = match (words.first().map(String::as_str), shell) {
            (Some(_), Some(_)) => {
                let message = format!("--{SHELL}: the command is given twice");
                return Err(ConfigError::new(message).hint("leave the words or the text out"));
            }
            (None | Some(""), None) => {
                return Err(ConfigError::new("no command is given").hint(example));
            }
            (None, Some(text)) if text.trim().is_empty() => {
                return Err(ConfigError::new(format!("--{SHELL}: no command is given")));
            }
            (None, Some(text)) => by_shell(text),
            (Some(word), None) if words.len() == 1 && is_whole_line(word) => {
                let message = format!("'{word}' is no program, but a whole line in one word");
                let hint = format!("give its words apart, or --{SHELL} {}", quoted(word));
                return Err(ConfigError::new(message).hint(hint));
            }
            (Some(_), None) => words,
        };
        let texts = [SHELL, PREPARE, CLEANUP].map(|name| settings.text(name).unwrap_or_default());
        if words.iter().map(String::as_str).chain(texts).any(|text| text.contains('\0')) {
            return Err(ConfigError::new("a command cannot contain the character NUL"));
        }
        let wanted: Vec<MetricPattern> =
            settings.values(METRIC).map(MetricPattern::parse).collect::<Result<_, _>>()?;
        if wanted.len() > METRICS_MAX {
            return Err(ConfigError::new(format!("--{METRIC}: more than {METRICS_MAX} are given")));
        }
        for (number, pattern) in wanted.iter().enumerate() {
            if wanted[..number].iter().any(|other| other.name == pattern.name) {
                let message = format!("--{METRIC}: two metrics are called {}", pattern.name);
                return Err(ConfigError::new(message));
            }
        }
        let text = |name: &str| settings.text(name).map(str::to_owned);
        let mut variables = settings.environment.iter();
        let path = variables.find(|(name, _)| name == "PATH").map(|(_, value)| value.clone());
        Ok(Self {
            request: RunRequest::native(parameters(settings)),
            words,
            prepare: text(PREPARE),
            cleanup: text(CLEANUP),
            wanted,
            path: path.unwrap_or_default(),
        })
    }

    /// True if a metric of the output is primary, and not the elapsed time.
    pub(super) fn names_primary(&self) -> bool {
        self.wanted.iter().any(|wanted| wanted.primary)
    }

    /// Name of the program in messages.
    pub(super) fn name(&self) -> String {
        self.words[0].chars().take(60).collect::<String>().escape_debug().to_string()
    }

    /// Command in one line.
    pub(super) fn line(&self) -> String {
        shell_line(&self.words)
    }
}

fn parameters(settings: &Settings) -> Vec<(String, String)> {
    let mut recorded: Vec<(String, String)> = Vec::new();
    for name in [SHELL, PREPARE, CLEANUP] {
        recorded.extend(settings.text(name).map(|text| (name.to_owned(), text.to_owned())));
    }
    let metrics = settings.values(METRIC).enumerate();
    recorded.extend(metrics.map(|(number, text)| (format!("{METRIC}.{number}"), text.to_owned())));
    let words: Vec<String> = settings.values(COMMAND).map(str::to_owned).collect();
    if !words.is_empty() {
        recorded.push((COMMAND.to_owned(), shell_line(&words)));
    }
    recorded
}

/// Quotes words for the shell.
pub(super) fn shell_line(words: &[String]) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    let quoted = |word: &String| match word.as_str() {
        "" => "''".to_owned(),
        word if word.chars().all(plain) => word.to_owned(),
        word => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(quoted).collect::<Vec<_>>().join(" ")
}
