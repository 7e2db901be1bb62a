//! Output of mdtest before and after its tables, byte for byte.

use super::verbose;
use std::fmt::Write as _;

use treering_kit::space::{FilesystemUsage, space};

/// Version of mdtest that the output imitates.
pub(crate) const VERSION: &str = "4.1.0+dev";

/// Source line number that the original prints with the shift.
const SHIFT_LINE: u32 = 2594;

/// Parameters shown in the header.
#[derive(Clone, Debug, Default)]
pub(crate) struct HeaderParams {
    /// Ranks.
    pub ranks: usize,
    /// First directory as typed.
    pub path: String,
    /// Number of ranks by which each phase is shifted.
    pub stride: u64,
    /// Machines.
    pub nodes: u64,
    /// Per rank: true if it is on the machine of rank 0.
    pub on_first: Vec<bool>,
    /// Seed of rank 0's random order, if the order is random.
    pub random_seed: Option<u64>,
    /// Files are opened for reading, but no bytes are read.
    pub reads_nothing: bool,
    /// Items of all ranks.
    pub items: u64,
    /// Directory tests are done.
    pub dirs: bool,
    /// File tests are done.
    pub files: bool,
    /// All ranks use the same file.
    pub shared_file: bool,
    /// Lines about the settings, if they are asked for.
    pub settings: String,
}

/// Converts a time in the format of `ctime` to the original's format: month, day, year and clock.
pub(crate) fn stamp(ctime: &str) -> String {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let words: Vec<&str> = ctime.split_whitespace().collect();
    let [_, month, day, clock, year] = words[..] else { return ctime.to_owned() };
    let number = MONTHS.iter().position(|name| *name == month).unwrap_or(0) + 1;
    format!("{number:02}/{day:0>2}/{year} {clock}")
}

/// Command line as echoed.
pub(crate) fn typed(words: &[String]) -> String {
    let mut words = words.iter();
    let mut text = words.next().cloned().unwrap_or_default();
    for word in words {
        // Writing to a string does not fail.
        let _ = write!(text, " '{word}'");
    }
    text
}

/// The lines before the work.
pub(crate) fn header(
    started: &str,
    words: &[String],
    params: &HeaderParams,
    filesystem: Option<FilesystemUsage>,
) -> String {
    let HeaderParams { ranks, path, stride, items, .. } = params;
    let mut text = format!(
        "-- started at {} --\n\nmdtest-{VERSION} was launched with {ranks} total task(s) on {} \
         node(s)\nCommand line used: {}\n",
        stamp(started),
        params.nodes,
        typed(words)
    );
    if params.reads_nothing {
        text += "WARNING: Read bytes is 0, thus, a read test will actually just open/close\n";
    }
    text += &params.settings;
    let map = params.on_first.iter().map(|&is_on_first| if is_on_first { '1' } else { '0' });
    text += &format!("Nodemap: {}\n", map.collect::<String>());
    text += &format!("{:<20}: {path}\n", "Path");
    text += &space(filesystem);
    if *stride > 0 {
        text += &format!(
            "V-0: Rank {:3} Line {SHIFT_LINE:5} Shifting ranks by {stride} for each phase.\n",
            0
        );
    }
    if let Some(seed) = params.random_seed {
        text += &format!("random seed: {seed}\n");
    }
    text += &match (params.dirs, params.files) {
        (true, true) => format!("{ranks} tasks, {items} files/directories\n"),
        (false, true) if params.shared_file => format!("{ranks} tasks, 1 file\n"),
        (false, true) => format!("{ranks} tasks, {items} files\n"),
        (true, false) => format!("{ranks} tasks, {items} directories\n"),
        (false, false) => String::new(),
    };
    if params.settings.is_empty() { text } else { text + &verbose::head() }
}

/// Line about a creation test that the time limit ended.
pub(crate) fn wall_hit(done: &[u64]) -> String {
    let (min, max) = (done.iter().min().unwrap_or(&0), done.iter().max().unwrap_or(&0));
    let average = done.iter().sum::<u64>() as f64 / done.len().max(1) as f64;
    format!("Continue stonewall hit min: {min} max: {max} avg: {average:.1} \n\n")
}

/// The last line.
pub(crate) fn footer(now: &str) -> String {
    format!("-- finished at {} --\n\n", stamp(now))
}

#[cfg(test)]
mod tests {
    use super::{FilesystemUsage, HeaderParams, footer, header, stamp};

    #[test]
    fn the_first_lines_are_those_of_the_original() {
        let words = ["mdtest", "-n", "10"].map(str::to_owned);
        let params = HeaderParams {
            ranks: 4,
            path: "./out".to_owned(),
            stride: 1,
            nodes: 1,
            on_first: vec![true; 4],
            random_seed: Some(7),
            reads_nothing: true,
            items: 40,
            dirs: true,
            files: true,
            shared_file: false,
            settings: String::new(),
        };
        let filesystem = FilesystemUsage {
            capacity_bytes: 12_670_153_523,
            unused_bytes: 12_670_153_523,
            inodes: (30, 3_040_870),
        };
        let text = header("Tue Nov  4 05:48:01 2026", &words, &params, Some(filesystem));
        let wanted = "\
-- started at 11/04/2026 05:48:01 --

mdtest-4.1.0+dev was launched with 4 total task(s) on 1 node(s)
Command line used: mdtest '-n' '10'
WARNING: Read bytes is 0, thus, a read test will actually just open/close
Nodemap: 1111
Path                : ./out
FS                  : 11.8 GiB   Used FS: 0.0%   Inodes: 2.9 Mi   Used Inodes: 0.0%
V-0: Rank   0 Line  2594 Shifting ranks by 1 for each phase.
random seed: 7
4 tasks, 40 files/directories
";
        assert_eq!(text, wanted);
        assert_eq!(footer("Tue Nov 24 05:48:02 2026"), "-- finished at 11/24/2026 05:48:02 --\n\n");
        assert_eq!(stamp("whenever"), "whenever");
    }
}
