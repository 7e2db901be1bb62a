//! Table of settings: their keys, sections and value types.

use super::operation::Operation;
use treering_kit::nearest::closest;

/// Section that a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// Outside of every section.
    Profile,
    Filesystem,
    Group,
    Stats,
}

impl Scope {
    /// Description of the section that completes "belongs ...".
    pub(super) const fn inside(self) -> &'static str {
        match self {
            Self::Profile => "outside of the sections",
            Self::Filesystem => "in [filesystem]",
            Self::Group => "in [threadgroup]",
            Self::Stats => "in [stats]",
        }
    }
}

/// Value type of a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// 0 or 1.
    Switch,
    /// A whole number up to this.
    Number(u64),
    /// Bytes.
    Size,
    /// Bytes of a call.
    Block,
    /// Fraction, 0 to 1.
    Share,
    /// Path; inner blanks are kept.
    Path,
    /// Shell command; inner blanks are kept.
    Command,
    /// Call whose times are not printed; repeatable.
    Ignore,
    /// Weight of an operation in the random draw.
    Weight(Operation),
    /// `size_weight SIZE WEIGHT`, without `=`; repeatable.
    SizeWeight,
    /// `msec_range FROM TO`, without `=`; repeatable.
    Range,
    /// A former name of this key.
    Former(&'static str),
    /// The original's former number of sections of this word.
    Sections(&'static str),
    /// The original's former switch for an fsync after each write.
    FsyncFile,
}

/// Declaration of a setting.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) scope: Scope,
    pub(super) kind: Kind,
}

/// The most threads of all groups together: each has its own memory.
pub(super) const THREADS_MAX: u64 = 4096;
/// The most seconds and other numbers without a closer bound: about thirty years.
const NUMBER_MAX: u64 = 1_000_000_000;
const FILES_MAX: u64 = 1 << 32;
const DIRS_MAX: u64 = 10_000_000;

const fn key(scope: Scope, name: &'static str, kind: Kind) -> Key {
    Key { name, scope, kind }
}

const fn weight(name: &'static str, operation: Operation) -> Key {
    key(Scope::Group, name, Kind::Weight(operation))
}

/// Table of all settings.
pub(super) static ALL: &[Key] = &[
    key(Scope::Profile, "time", Kind::Number(NUMBER_MAX)),
    key(Scope::Profile, "directio", Kind::Switch),
    key(Scope::Profile, "alignio", Kind::Switch),
    key(Scope::Profile, "bufferio", Kind::Switch),
    key(Scope::Profile, "bufferedio", Kind::Former("bufferio")),
    key(Scope::Profile, "verbose", Kind::Switch),
    key(Scope::Profile, "callout", Kind::Command),
    key(Scope::Profile, "num_filesystems", Kind::Sections("[filesystem]")),
    key(Scope::Profile, "num_threadgroups", Kind::Sections("[threadgroup]")),
    key(Scope::Profile, "fsync_file", Kind::FsyncFile),
    key(Scope::Filesystem, "location", Kind::Path),
    key(Scope::Filesystem, "num_files", Kind::Number(FILES_MAX)),
    key(Scope::Filesystem, "num_dirs", Kind::Number(DIRS_MAX)),
    key(Scope::Filesystem, "min_filesize", Kind::Size),
    key(Scope::Filesystem, "max_filesize", Kind::Size),
    key(Scope::Filesystem, "size_weight", Kind::SizeWeight),
    key(Scope::Filesystem, "init_size", Kind::Size),
    key(Scope::Filesystem, "init_util", Kind::Share),
    key(Scope::Filesystem, "create_blocksize", Kind::Block),
    key(Scope::Filesystem, "age_blocksize", Kind::Block),
    key(Scope::Filesystem, "reuse", Kind::Switch),
    key(Scope::Filesystem, "agefs", Kind::Switch),
    key(Scope::Filesystem, "desired_util", Kind::Share),
    key(Scope::Filesystem, "clone", Kind::Path),
    key(Scope::Group, "num_threads", Kind::Number(THREADS_MAX)),
    key(Scope::Group, "bindfs", Kind::Path),
    key(Scope::Group, "op_delay", Kind::Number(NUMBER_MAX)),
    key(Scope::Group, "read_random", Kind::Switch),
    key(Scope::Group, "read_size", Kind::Size),
    key(Scope::Group, "read_blocksize", Kind::Block),
    key(Scope::Group, "read_skip", Kind::Switch),
    key(Scope::Group, "read_skipsize", Kind::Size),
    key(Scope::Group, "write_random", Kind::Switch),
    key(Scope::Group, "write_size", Kind::Size),
    key(Scope::Group, "write_blocksize", Kind::Block),
    key(Scope::Group, "fsync_file", Kind::FsyncFile),
    weight("read_weight", Operation::Read),
    weight("readall_weight", Operation::ReadAll),
    weight("write_weight", Operation::Write),
    weight("create_weight", Operation::Create),
    weight("append_weight", Operation::Append),
    weight("delete_weight", Operation::Delete),
    weight("metaop_weight", Operation::MetaOp),
    weight("createdir_weight", Operation::CreateDir),
    weight("stat_weight", Operation::Stat),
    weight("writeall_weight", Operation::WriteAll),
    weight("writeall_fsync_weight", Operation::WriteAllFsync),
    weight("open_close_weight", Operation::OpenClose),
    weight("write_fsync_weight", Operation::WriteFsync),
    weight("create_fsync_weight", Operation::CreateFsync),
    weight("append_fsync_weight", Operation::AppendFsync),
    key(Scope::Group, "meta_weight", Kind::Former("metaop_weight")),
    key(Scope::Stats, "enable_stats", Kind::Switch),
    key(Scope::Stats, "enable_range", Kind::Switch),
    key(Scope::Stats, "ignore", Kind::Ignore),
    key(Scope::Stats, "msec_range", Kind::Range),
];

/// Setting of this name, preferably one of this section.
pub(super) fn find(name: &str, scope: Scope) -> Option<&'static Key> {
    let named = || ALL.iter().filter(|key| key.name == name);
    named().find(|key| key.scope == scope).or_else(|| named().next())
}

/// The key of an operation's weight.
pub(super) fn weight_key(operation: Operation) -> &'static str {
    let mut keys = ALL.iter();
    keys.find(|key| key.kind == Kind::Weight(operation)).map_or("", |key| key.name)
}

/// Most similar word, if one is similar enough.
pub(super) fn nearest<'w>(word: &str, words: impl Iterator<Item = &'w str>) -> Option<&'w str> {
    let (changes, meant) = closest(word, words)?;
    (changes <= 1 + word.len() / 4).then_some(meant)
}

#[cfg(test)]
mod tests {
    use super::{ALL, Kind, Scope, find, nearest, weight_key};
    use crate::language::operation::Operation;

    #[test]
    fn every_operation_has_its_weight() {
        for operation in Operation::ALL {
            assert_eq!(weight_key(operation), format!("{}_weight", operation.name()));
        }
    }

    #[test]
    fn former_names_lead_to_keys_of_the_same_place() {
        for key in ALL {
            if let Kind::Former(name) = key.kind {
                assert_eq!(find(name, key.scope).map(|to| to.scope), Some(key.scope));
            }
        }
        assert_eq!(find("fsync_file", Scope::Group).map(|key| key.scope), Some(Scope::Group));
        assert_eq!(find("num_dirs", Scope::Group).map(|key| key.scope), Some(Scope::Filesystem));
        assert!(find("", Scope::Profile).is_none());
    }

    #[test]
    fn similar_words_are_suggested() {
        let near = |word| nearest(word, ALL.iter().map(|key| key.name));
        assert_eq!(near("num_thread"), Some("num_threads"));
        assert_eq!(near("read_block_size"), Some("read_blocksize"));
        assert_eq!(near("TIME"), Some("time"));
        assert_eq!(near("colour"), None);
        assert_eq!(near(&"x".repeat(100_000)), None);
    }
}
