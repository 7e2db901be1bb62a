//! Command lines of fio that also have options of treering.

use std::ffi::OsString;
use std::path::PathBuf;

/// Command line of fio, separated from treering's own options.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FioCommandLine {
    /// Words for fio itself.
    pub words: Vec<OsString>,
    /// Label of the trial; empty without `--label`.
    pub label: String,
    /// File of `--store`.
    pub store: Option<PathBuf>,
    /// True with `--no-store`.
    pub no_store: bool,
    /// True with `--dry-run`.
    pub dry_run: bool,
}

impl FioCommandLine {
    /// Parses the words after the tool's name.
    pub fn parse(typed: impl Iterator<Item = OsString>) -> Self {
        let mut parsed = Self::default();
        let mut typed = typed;
        while let Some(word) = typed.next() {
            let text = word.to_str().unwrap_or_default();
            let (name, value) = match text.split_once('=') {
                Some((name, value)) => (name, Some(OsString::from(value))),
                None => (text, None),
            };
            match name {
                "--no-store" => parsed.no_store = true,
                "--dry-run" => parsed.dry_run = true,
                // This option only lists the options of treering's parser; fio has --debug=parse
                // instead.
                "--show-options" => {}
                "--label" => {
                    let value = value.or_else(|| typed.next()).unwrap_or_default();
                    parsed.label = value.to_string_lossy().into_owned();
                }
                "--store" => parsed.store = value.or_else(|| typed.next()).map(PathBuf::from),
                "--job-option" => {
                    let mut word = OsString::from("--");
                    word.push(value.or_else(|| typed.next()).unwrap_or_default());
                    parsed.words.push(word);
                }
                _ => parsed.words.push(word),
            }
        }
        parsed
    }

    /// Path of fio's report file (`--output`), if given.
    pub fn output(&self) -> Option<PathBuf> {
        let mut path = None;
        let mut words = self.words.iter();
        while let Some(word) = words.next() {
            let text = word.to_str().unwrap_or_default();
            let Some(name) = text.strip_prefix('-') else { continue };
            let name = name.strip_prefix('-').unwrap_or(name);
            match name.split_once('=') {
                Some(("output", file)) => path = Some(PathBuf::from(file)),
                None if name == "output" => path = words.next().map(PathBuf::from),
                _ => {}
            }
        }
        path
    }

    /// True if no device of this machine can be written: nothing is run here, or only read.
    pub fn leaves_devices(&self) -> bool {
        let harmless = ["readonly", "parse-only", "showcmd", "client", "server"];
        self.words.iter().filter_map(|word| word.to_str()).any(|word| {
            let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
            let name = body.map(|body| body.split_once('=').map_or(body, |(name, _)| name));
            name.is_some_and(|name| harmless.contains(&name))
        })
    }

    /// True if a job file is read from standard input (`-`).
    pub fn reads_input(&self) -> bool {
        self.words.iter().any(|word| word == "-")
    }
}

#[cfg(test)]
mod tests {
    use super::FioCommandLine;
    use std::path::PathBuf;

    fn parsed_line(line: &str) -> FioCommandLine {
        FioCommandLine::parse(line.split(' ').map(Into::into))
    }

    #[test]
    fn treerings_own_options_are_not_handed_on() {
        let line = "--label x --verify=md5 --store=s --dry-run j.fio --job-option=rw=read \
                    --output o -";
        let parsed_line = parsed_line(line);
        assert_eq!(parsed_line.words, ["--verify=md5", "j.fio", "--rw=read", "--output", "o", "-"]);
        assert_eq!(
            (parsed_line.label.as_str(), parsed_line.dry_run, parsed_line.no_store),
            ("x", true, false)
        );
        assert_eq!(parsed_line.store, Some(PathBuf::from("s")));
        assert_eq!(parsed_line.output(), Some(PathBuf::from("o")));
        assert!(parsed_line.reads_input());
    }

    #[test]
    fn the_last_output_counts() {
        assert_eq!(parsed_line("--output=a -output b").output(), Some(PathBuf::from("b")));
        assert_eq!(parsed_line("--output-format=json j.fio").output(), None);
        assert!(!parsed_line("j.fio").reads_input());
        assert!(parsed_line("--readonly j.fio").leaves_devices());
        assert!(!parsed_line("--rw=write --readwrite=write").leaves_devices());
    }
}
