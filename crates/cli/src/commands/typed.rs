//! Command line that repeats a comparison or a page: the typed words without options about the
//! format of a page and about an earlier run; and the foot of pages that end with it.

use std::ffi::OsString;

use treering_model::Fact;
use treering_report::PageOrigin;

use crate::clock;
use crate::commands::trial::quoted;

/// Page options that take a value.
const PAGE_VALUES: [&str; 7] =
    ["--format", "--output", "-o", "--width", "--color", "--charts", "--accept"];
/// Flags about the page, its gate, and continuing an earlier run.
const PAGE_FLAGS: [&str; 8] =
    ["--quiet", "-q", "--resume", "--brief", "--full", "--gate", "--paper", "--yes"];

/// Typed command line, quoted for a shell.
pub(super) fn typed_again(typed: impl Iterator<Item = OsString>) -> String {
    let mut line = "treering".to_owned();
    let mut words = typed.skip(1).map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        if word == "--" {
            line += " --";
            words.by_ref().for_each(|word| line += &format!(" {}", quoted(&word)));
        } else if PAGE_VALUES.contains(&word.as_str()) {
            words.next();
        } else if !is_of_page(&word) {
            line += &format!(" {}", quoted(&word));
        }
    }
    line
}

/// Origin of a page about what this command found, rather than about stored trials: the machine by
/// these facts, the time, and the command line.
pub(super) fn origin_of_findings(facts: &[Fact], started_unix_ms: i64, wall_ns: u64) -> PageOrigin {
    let version = env!("CARGO_PKG_VERSION");
    with_typed(PageOrigin::of_findings(version, facts, (started_unix_ms, wall_ns)))
}

/// Origin of a page about files: the program, the day on which it read them, and the command line.
pub(super) fn origin_of_files() -> PageOrigin {
    let facts = [("treering", env!("CARGO_PKG_VERSION").to_owned()), ("read", clock::day())];
    let facts = facts.map(|(name, value)| (name.to_owned(), value)).to_vec();
    with_typed(PageOrigin { facts, commands: Vec::new() })
}

/// Adds the command that makes the same page.
pub(super) fn with_typed(origin: PageOrigin) -> PageOrigin {
    origin.with_command("The same page", &typed_again(std::env::args_os()))
}

/// Reports whether a word is a complete page option: `--format=html`, `-q`.
fn is_of_page(word: &str) -> bool {
    let name = word.split_once('=').map_or(word, |(name, _)| name);
    let joined = word.starts_with("-o") && !word.starts_with("--");
    PAGE_FLAGS.contains(&word) || name != word && PAGE_VALUES.contains(&name) || joined
}

#[cfg(test)]
mod tests {
    use super::typed_again;
    use std::ffi::OsString;

    fn again(line: &str) -> String {
        typed_again(line.split(' ').map(OsString::from))
    }

    #[test]
    fn words_about_the_page_are_not_repeated() {
        let typed = "/usr/bin/treering compare --filesystems ext4,xfs -q --format html \
                     -o page.html --charts=dir --rounds 7 --resume -- --runs 5 -q";
        let wanted = "treering compare --filesystems ext4,xfs --rounds 7 -- --runs 5 -q";
        assert_eq!(again(typed), wanted);
        assert_eq!(again("treering compare plan.toml --gate"), "treering compare plan.toml");
    }

    #[test]
    fn names_with_blanks_are_quoted() {
        let words = ["treering", "compare", "my plan.toml"].map(OsString::from);
        assert_eq!(typed_again(words.into_iter()), "treering compare 'my plan.toml'");
    }
}
