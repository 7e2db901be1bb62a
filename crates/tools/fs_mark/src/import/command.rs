//! Parser of the command line that fs_mark echoes.

use thiserror::Error;

use treering_kit::import::log::shortened;

/// Parsed fs_mark command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct CommandLine {
    /// Options that determine the work, by their long names; of the directories only their number.
    pub(super) parameters: Vec<(String, String)>,
    pub(super) directories: Vec<String>,
}

/// Options with a value and their parameter names; options without value follow.
const VALUED: [(char, &str); 11] = [
    ('D', "subdirs"),
    ('N', "files-per-subdir"),
    ('n', "files"),
    ('s', "size"),
    ('w', "write-size"),
    ('p', "name-length"),
    ('r', "name-random"),
    ('S', "sync-method"),
    ('L', "iterations"),
    ('t', "threads"),
    ('l', "log"),
];
/// Long options of treering only, true if a value follows; they do not determine the work.
const LONG: [(&str, bool); 7] = [
    ("store", true),
    ("label", true),
    ("seed", true),
    ("workers", true),
    ("no-store", false),
    ("summary", false),
    ("dry-run", false),
];
const FLAGS: [(char, &str); 3] = [('F', "fill"), ('k', "keep"), ('v', "verbose")];

/// Word that is not an option of fs_mark.
#[derive(Debug, Error)]
#[error("{0} in the command line of fs_mark is not understood")]
pub(super) struct UnknownWord(String);

/// Parses the words of a command line, starting with the program.
///
/// # Errors
/// Says which word is not understood.
pub(super) fn parameters(words: &[&str]) -> Result<CommandLine, UnknownWord> {
    let mut command = CommandLine::default();
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        let odd = || UnknownWord(shortened(word));
        if let Some(long) = word.strip_prefix("--") {
            let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
            let (_, has_value) = LONG.iter().find(|(known, _)| *known == name).ok_or_else(odd)?;
            if *has_value && value.is_none() {
                words.next().ok_or_else(odd)?;
            }
            continue;
        }
        let mut letters = word.strip_prefix('-').ok_or_else(odd)?.chars();
        let letter = letters.next().ok_or_else(odd)?;
        let joined = letters.as_str();
        if let Some((_, name)) = FLAGS.iter().find(|(flag, _)| *flag == letter) {
            command.parameters.push(((*name).to_owned(), "true".to_owned()));
            continue;
        }
        let value = match joined {
            "" => (*words.next().ok_or_else(odd)?).to_owned(),
            joined => joined.to_owned(),
        };
        if letter == 'd' {
            command.directories.push(value);
            continue;
        }
        let (_, name) = VALUED.iter().find(|(option, _)| *option == letter).ok_or_else(odd)?;
        // The path of the log does not affect the work.
        if *name != "log" {
            command.parameters.push(((*name).to_owned(), value));
        }
    }
    let count = command.directories.len().to_string();
    command.parameters.push(("directories".to_owned(), count));
    command.parameters.sort();
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn treering_options_are_skipped() {
        let words = "fs_mark -d w --store a.treering -n 5 --label=x --no-store --seed 3";
        let command = parameters(&words.split(' ').collect::<Vec<_>>()).unwrap();
        let names: Vec<&str> = command.parameters.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["directories", "files"]);
        assert!(parameters(&["fs_mark", "--odd"]).is_err());
        assert!(parameters(&["fs_mark", "-d", "w", "--store"]).is_err());
    }

    #[test]
    fn options_are_read_joined_and_apart() {
        let words: Vec<&str> =
            "./fs_mark -D 100 -S0 -n 1000 -s 1 -L 30 -d /m/0 -d /m/1 -k -l x".split(' ').collect();
        let command = parameters(&words).unwrap();
        assert_eq!(command.directories, ["/m/0", "/m/1"]);
        let text: Vec<String> =
            command.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(
            text.join(" "),
            "directories=2 files=1000 iterations=30 keep=true size=1 subdirs=100 sync-method=0"
        );
        for odd in ["fs_mark stray", "fs_mark -X 3", "fs_mark -n", "fs_mark -"] {
            let words: Vec<&str> = odd.split(' ').collect();
            assert!(parameters(&words).is_err(), "{odd}");
        }
    }
}
