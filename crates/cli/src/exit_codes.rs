//! Every exit code with its meaning, in one table for `treering --help` and docs/exit-codes.md.

/// The gate of a comparison has no answer.
pub(crate) const UNCLEAR: u8 = 5;

/// The bisection must end: with codes below 128 git would blame or skip the revision.
pub(crate) const BISECTION_ENDS: u8 = 255;
/// `doctor --guard`: the device would not be formatted.
pub(crate) const REFUSED: u8 = 1;
/// `kernel check`: a kernel cannot be used for guests.
pub(crate) const KERNEL_UNUSABLE: u8 = 1;
/// `git bisect` is to skip the revision, which cannot be judged.
pub(crate) const SKIPPED: u8 = 125;

/// Codes with their meanings, the numbers ascending.
pub(crate) const TABLE: [(u8, &str); 24] = [
    (0, "done"),
    (
        1,
        "classic mode: the run failed or was stopped by SIGINT or SIGTERM, as with the original; \
         of ffsb and dbench also: the profile or the load file is wrong",
    ),
    (1, "`compare` and `report` with `--gate`: a primary metric is worse"),
    (
        1,
        "`history` and `watch` with `--gate`: a worse level began within the newest points, or a \
         trend for the worse goes on",
    ),
    (1, "`run fio --check`: fio and treering differ"),
    (1, "`import --strict`: a number of an output was not stored; the message names the lines"),
    (1, "`kernel bisect-step`: the kernel of this revision is worse than the good one"),
    (REFUSED, "`doctor --guard`: the device is in use or not empty, and would not be formatted"),
    (
        KERNEL_UNUSABLE,
        "`kernel check`: a kernel cannot be read, lacks what every guest needs, or does not boot",
    ),
    (2, "wrong usage, or a file that is named is invalid or missing; nothing was done"),
    (
        3,
        "the machine lacks something: a filesystem that reports where files lie (`layout`), a \
         writable directory, a store that can be opened and written, enough space; or a trial \
         that came to its end could not be cleaned up",
    ),
    (
        4,
        "the run failed midway (a full disk, an I/O error); what was measured until then is in \
         the store",
    ),
    (4, "`compare`: every trial of a variant failed, or every trial of the warm-up"),
    (
        UNCLEAR,
        "`compare` and `report` with `--gate`: nothing was compared, a primary metric is unclear, \
         the variants differ in more than was asked, or the rounds break an assumption \
         (`--accept`)",
    ),
    (
        UNCLEAR,
        "`history` and `watch` with `--gate`: the newest point is suspect, or no series is long \
         enough",
    ),
    (
        UNCLEAR,
        "`load`: not even the lowest rate keeps the latency, or the time was over before the \
         answer",
    ),
    (5, "classic mode of bonnie++: stopped by SIGINT or SIGTERM, as with the original"),
    (70, "a bug in treering"),
    (
        SKIPPED,
        "`kernel bisect-step`: this revision cannot be judged: it does not build, does not \
         boot, a trial fails, or a primary metric is unclear",
    ),
    (128, "classic mode of fio: stopped by SIGINT or SIGTERM, as with the original"),
    (130, "native mode: stopped by SIGINT or SIGTERM; the finished tasks are in the store"),
    (
        130,
        "classic mode of ffsb, dbench, blogbench, mdtest and ior: the same; for ffsb and \
         blogbench everything done so far is in the store",
    ),
    (255, "classic mode of mdtest and ior: the run failed, as with the originals under MPI"),
    (
        BISECTION_ENDS,
        "`kernel bisect-step`: anything else went wrong, also what has a code of its own \
         elsewhere; `git bisect run` ends, and no revision is blamed",
    ),
];

/// Width of the meanings in the help, in columns.
const WIDTH: usize = 90;

/// Formats the table for a terminal: each code, and its meaning in wrapped lines.
pub(crate) fn help() -> String {
    let mut text = "Exit codes:\n".to_owned();
    for (code, meaning) in TABLE {
        let mut line = format!("{code:>5}  ");
        let mut is_empty = true;
        for word in meaning.replace('`', "").split(' ') {
            if !is_empty && line.len() + 1 + word.len() > WIDTH {
                text += &line;
                text += "\n";
                line = " ".repeat(7);
                is_empty = true;
            }
            line += if is_empty { "" } else { " " };
            line += word;
            is_empty = false;
        }
        text += &line;
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{TABLE, WIDTH, help};
    use crate::failure::Kind;

    #[test]
    fn the_document_has_the_same_table() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/exit-codes.md");
        let document = std::fs::read_to_string(path).unwrap();
        let rows: Vec<&str> = document
            .lines()
            .filter(|line| line.starts_with("| ") && !line.starts_with("| code"))
            .collect();
        let expected: Vec<String> =
            TABLE.iter().map(|(code, meaning)| format!("| {code} | {meaning} |")).collect();
        assert_eq!(rows, expected);
    }

    #[test]
    fn the_help_has_every_code_in_short_lines() {
        let text = help();
        assert!(text.lines().all(|line| line.len() <= WIDTH), "{text}");
        for (code, _) in TABLE {
            assert!(text.contains(&format!("\n{code:>5}  ")), "{code} is not in {text}");
        }
    }

    #[test]
    fn every_kind_of_failure_has_a_code_of_the_table() {
        for kind in Kind::ALL {
            assert!(TABLE.iter().any(|(code, _)| *code == kind.code()), "{kind:?}");
        }
    }
}
