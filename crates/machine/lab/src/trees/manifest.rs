//! Text of a mark: the run, the marked directory, and the trees that the run announced and made
//! there. Each line is written by one call; a truncated line is ignored.

use std::ffi::CStr;

use treering_engine::FileIdentity;
use treering_sys::{FileType, is_single_name};

use crate::PlanIdentity;
use crate::register::{escape, text};

/// First line of a mark.
pub(super) const HEADER: &str = "treering run 2";
/// First line of marks of an early version, which did not list trees.
const HEADER_WITHOUT_LIST: &str = "treering run 1";

/// Identity of a marked directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MarkedDirectory {
    pub(super) identity: FileIdentity,
    /// Filesystem ID (`f_fsid`); 0 if the filesystem has none.
    pub(super) filesystem: u64,
}

impl MarkedDirectory {
    /// True if both are the same directory, even if its filesystem now has another device number
    /// after a remount.
    pub(super) fn is_same_directory(&self, other: &Self) -> bool {
        let is_remounted = self.filesystem != 0
            && self.filesystem == other.filesystem
            && self.identity.born.is_some()
            && other.identity.born.is_some();
        let device = if is_remounted { other.identity.device } else { self.identity.device };
        FileIdentity { device, ..self.identity }.is_same_file(&other.identity)
    }
}

/// A tree that a run announced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ListedTree {
    pub(super) name: String,
    /// Identity of the made directory; `None` if the run was killed before it was recorded.
    pub(super) made: Option<FileIdentity>,
}

/// Parsed content of a mark.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MarkContent {
    pub(super) trial: String,
    pub(super) plan: Option<PlanIdentity>,
    pub(super) directory: Option<MarkedDirectory>,
    pub(super) trees: Vec<ListedTree>,
    /// True for a mark of an early version, which did not list trees.
    pub(super) has_no_list: bool,
}

impl MarkContent {
    /// Parses the text of a mark; `None` if the file is not a mark.
    pub(super) fn parse(marked: &str) -> Option<Self> {
        let mut manifest = Self { trial: "unknown".to_owned(), ..Self::default() };
        if marked.is_empty() {
            // The run was killed between making its mark and writing it: it made nothing else.
            return Some(manifest);
        }
        let mut lines = marked.split_inclusive('\n').map_while(|line| line.strip_suffix('\n'));
        match lines.next()? {
            HEADER => {}
            HEADER_WITHOUT_LIST => manifest.has_no_list = true,
            _ => return None,
        }
        lines.for_each(|line| {
            let _cut_short = manifest.parse_line(line);
        });
        Some(manifest)
    }

    fn parse_line(&mut self, line: &str) -> Option<()> {
        let (word, value) = line.split_once(' ')?;
        match word {
            "trial" => value.clone_into(&mut self.trial),
            "plan" => self.plan = PlanIdentity::parse(value),
            "directory" => self.directory = Some(directory_of(value)?),
            "will" => {
                let name = plain_name(value)?;
                if self.trees.iter().all(|tree| tree.name != name) {
                    self.trees.push(ListedTree { name, made: None });
                }
            }
            "made" => {
                let (identity, name) = value.split_once(' ')?;
                let (made, name) = (identity_of(identity)?, plain_name(name)?);
                self.trees.retain(|tree| tree.name != name);
                self.trees.push(ListedTree { name, made: Some(made) });
            }
            "failed" => {
                let name = plain_name(value)?;
                self.trees.retain(|tree| tree.name != name || tree.made.is_some());
            }
            "removed" => {
                let name = plain_name(value)?;
                self.trees.retain(|tree| tree.name != name);
            }
            _ => {}
        }
        Some(())
    }
}

/// Unescapes a file name without a slash.
fn plain_name(escaped: &str) -> Option<String> {
    text(escaped).filter(|name| is_single_name(name.as_bytes()))
}

/// Header of a mark: version, trial, plan and directory.
pub(super) fn header(
    trial: &str,
    plan: Option<&PlanIdentity>,
    directory: &MarkedDirectory,
) -> String {
    let plan = plan.map_or_else(String::new, |plan| format!("plan {}\n", plan.to_text()));
    format!("{HEADER}\ntrial {trial}\n{plan}{}", directory_line(directory))
}

pub(super) fn directory_line(directory: &MarkedDirectory) -> String {
    format!("directory {} {}\n", identity_text(&directory.identity), directory.filesystem)
}

pub(super) fn will_line(name: &CStr) -> String {
    format!("will {}\n", escape(name.to_bytes()))
}

pub(super) fn made_line(name: &CStr, made: &FileIdentity) -> String {
    format!("made {} {}\n", identity_text(made), escape(name.to_bytes()))
}

pub(super) fn failed_line(name: &CStr) -> String {
    format!("failed {}\n", escape(name.to_bytes()))
}

pub(super) fn removed_line(name: &CStr) -> String {
    format!("removed {}\n", escape(name.to_bytes()))
}

/// Text of an identity: device, inode, owner, and time of birth, or `-` if that is unknown.
fn identity_text(identity: &FileIdentity) -> String {
    let born = match identity.born {
        Some((seconds, nanoseconds)) => format!("{seconds}.{nanoseconds}"),
        None => "-".to_owned(),
    };
    format!("{}:{}:{}:{born}", identity.device, identity.inode, identity.user)
}

fn identity_of(text: &str) -> Option<FileIdentity> {
    let mut parts = text.split(':');
    let (device, inode) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let user = parts.next()?.parse().ok()?;
    let born = match parts.next()? {
        "-" => None,
        time => {
            let (seconds, nanoseconds) = time.split_once('.')?;
            Some((seconds.parse().ok()?, nanoseconds.parse().ok()?))
        }
    };
    let (kind, modified) = (FileType::Directory, (0, 0));
    let identity = FileIdentity { device, inode, born, user, kind, modified };
    parts.next().is_none().then_some(identity)
}

fn directory_of(text: &str) -> Option<MarkedDirectory> {
    let (identity, filesystem) = text.split_once(' ')?;
    let (identity, filesystem) = (identity_of(identity)?, filesystem.parse().ok()?);
    Some(MarkedDirectory { identity, filesystem })
}

#[cfg(test)]
mod tests {
    use super::{
        FileIdentity, FileType, ListedTree, MarkContent, MarkedDirectory, failed_line, header,
        made_line, removed_line, will_line,
    };
    use crate::PlanIdentity;

    fn identity(inode: u64) -> FileIdentity {
        FileIdentity {
            device: 7,
            inode,
            born: Some((1_764_000_000, 5)),
            user: 0,
            kind: FileType::Directory,
            modified: (0, 0),
        }
    }

    fn directory() -> MarkedDirectory {
        MarkedDirectory { identity: identity(2), filesystem: 9 }
    }

    #[test]
    fn marks_round_trip() {
        let plan = PlanIdentity { name: "a plan\n".to_owned(), digest: "9f3c".to_owned() };
        for plan in [None, Some(plan)] {
            let lines = [
                header("0199", plan.as_ref(), &directory()),
                will_line(c"odd name\n"),
                will_line(c"kernel-0"),
                made_line(c"kernel-0", &identity(11)),
                will_line(c"kernel-1"),
                failed_line(c"kernel-1"),
                failed_line(c"kernel-0"),
                will_line(c"kernel-2"),
                made_line(c"kernel-2", &identity(12)),
                removed_line(c"kernel-2"),
            ];
            let read = MarkContent::parse(&lines.concat()).unwrap();
            let tree = |name: &str, made| ListedTree { name: name.to_owned(), made };
            let trees = vec![tree("odd name\n", None), tree("kernel-0", Some(identity(11)))];
            let (trial, directory) = ("0199".to_owned(), Some(directory()));
            assert_eq!(read, MarkContent { trial, plan, directory, trees, has_no_list: false });
        }
    }

    #[test]
    fn a_truncated_mark_line_is_ignored() {
        let top = header("0199", None, &directory());
        let (will, made) = (will_line(c"kernel-0"), made_line(c"kernel-0", &identity(11)));
        for line in [&will, &made] {
            for end in 0..line.len() {
                let cut = format!("{top}{}", &line[..end]);
                assert!(MarkContent::parse(&cut).unwrap().trees.is_empty(), "{cut}");
                // The run continues in the middle of the truncated line.
                let gone_on = format!("{cut}{will}{made}");
                let trees = MarkContent::parse(&gone_on).unwrap().trees;
                assert_eq!(trees.len(), 1, "{gone_on}");
                assert_eq!(trees[0].made, Some(identity(11)), "{gone_on}");
            }
        }
    }

    #[test]
    fn foreign_files_are_not_marks_and_empty_marks_list_nothing() {
        for text in ["hello", "treering run 2", "treering run 3\n", "\n"] {
            assert_eq!(MarkContent::parse(text), None, "{text}");
        }
        assert!(MarkContent::parse("").unwrap().trees.is_empty());
        let old = MarkContent::parse("treering run 1\ntrial 0199\nplan 9f3c other\n").unwrap();
        assert!(old.has_no_list && old.trees.is_empty() && old.plan.is_some());
    }

    #[test]
    fn a_marked_directory_is_recognised_by_inode_and_birth_time() {
        let here = directory();
        let with = |identity, filesystem| MarkedDirectory { identity, filesystem };
        assert!(here.is_same_directory(&here));
        assert!(!here.is_same_directory(&with(identity(3), 9)));
        let later = FileIdentity { born: Some((1_764_000_001, 5)), ..identity(2) };
        assert!(!here.is_same_directory(&with(later, 9)));
        let elsewhere = FileIdentity { device: 8, ..identity(2) };
        assert!(here.is_same_directory(&with(elsewhere, 9)), "mounted again");
        assert!(!here.is_same_directory(&with(elsewhere, 10)), "a snapshot, or another filesystem");
        assert!(!with(identity(2), 0).is_same_directory(&with(elsewhere, 0)));
        let unknown = FileIdentity { born: None, ..elsewhere };
        assert!(!here.is_same_directory(&with(unknown, 9)), "the numbers alone are not enough");
    }
}
