//! Version of blogbench behind an output. The output does not name it, though scores of 1.2 are not
//! comparable with earlier ones; the text around it may.

use std::ops::Range;

use treering_kit::import::log::Log;

/// A version with its read size in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlogbenchVersion {
    pub(super) name: &'static str,
    pub(super) read_bytes: u64,
}

const VERSIONS: [BlogbenchVersion; 3] = [
    BlogbenchVersion { name: "1.0", read_bytes: 65_536 },
    BlogbenchVersion { name: "1.1", read_bytes: 65_536 },
    BlogbenchVersion { name: "1.2", read_bytes: 8 },
];
/// Lines above and below an output in which a version is searched.
const ABOVE_LINES_MOST: usize = 200;
const BELOW_LINES_MOST: usize = 10;
/// Longest line in which a version is searched, in bytes.
const LINE_MOST: usize = 500;

/// Version in the nearest line that names one, above before below, with the index of that line.
pub(super) fn version(log: &Log<'_>, output: &Range<usize>) -> Option<(BlogbenchVersion, usize)> {
    let above = (output.start.saturating_sub(ABOVE_LINES_MOST)..output.start).rev();
    let below = output.end..log.len().min(output.end + BELOW_LINES_MOST);
    above.chain(below).find_map(|at| Some((named(log.line(at))?, at)))
}

/// Version after the tool's name; `None` if there are several.
fn named(text: &str) -> Option<BlogbenchVersion> {
    if text.len() > LINE_MOST {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let mut versions: Vec<BlogbenchVersion> =
        text.split("blogbench").skip(1).filter_map(leading).collect();
    versions.dedup();
    match versions.as_slice() {
        [name] => Some(*name),
        _ => None,
    }
}

/// Version at the start of a text: `-1.1.0`, ` v1.2`, ` version 1.0`.
fn leading(text: &str) -> Option<BlogbenchVersion> {
    let text = text.trim_start_matches(['-', '_', ' ', '/']);
    let text = text.strip_prefix("version").unwrap_or(text).trim_start();
    let text = text.strip_prefix('v').unwrap_or(text);
    let is_it = |version: &&BlogbenchVersion| {
        text.strip_prefix(version.name)
            .is_some_and(|tail| !tail.starts_with(|next: char| next.is_ascii_digit()))
    };
    VERSIONS.iter().find(is_it).copied()
}

#[cfg(test)]
mod tests {
    use super::{named, version};
    use treering_kit::import::log::Log;

    fn name(text: &str) -> Option<&'static str> {
        named(text).map(|version| version.name)
    }

    #[test]
    fn version_is_parsed_from_several_spellings() {
        for text in ["pts/blogbench-1.1.0", "BlogBench v1.1", "./Blogbench version 1.1, built"] {
            assert_eq!(name(text), Some("1.1"), "{text}");
        }
        assert_eq!(name("blogbench_1.2-1_amd64.deb"), Some("1.2"));
        for text in ["blogbench", "blogbench 1.15", "1.1 of blogbench", "blogbench -d 1.1 x"] {
            assert_eq!(name(text), None, "{text}");
        }
        assert_eq!(name("blogbench 1.1 against blogbench 1.2"), None);
    }

    #[test]
    fn the_nearest_line_with_a_version_decides() {
        let log = Log::of_bytes(b"blogbench 1.0\nblogbench 1.2\nx\noutput\nblogbench 1.1\n", &[]);
        assert_eq!(version(&log, &(3..4)).map(|(parsed, at)| (parsed.name, at)), Some(("1.2", 1)));
        assert_eq!(version(&log, &(0..4)).map(|(parsed, at)| (parsed.name, at)), Some(("1.1", 4)));
        assert_eq!(version(&log, &(0..1)).map(|(parsed, _)| parsed.read_bytes), Some(8));
    }
}
