//! Table of settings: their keys, sections and value types.

use super::operation::Operation;

/// Section that a setting belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SettingScope {
    /// Outside of every section.
    Profile,
    Filesystem,
    Group,
    Stats,
}

impl SettingScope {
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
pub(super) enum ValueKind {
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
    /// Obsolete name of this key.
    Former(&'static str),
    /// Obsolete key of the original for the number of sections of this kind.
    Sections(&'static str),
    /// Obsolete switch of the original for an fsync after each write.
    FsyncFile,
}

/// Declaration of a setting.
#[derive(Debug)]
pub(super) struct SettingKey {
    pub(super) name: &'static str,
    pub(super) scope: SettingScope,
    pub(super) kind: ValueKind,
}

/// Maximum number of threads of all groups together; each has its own memory.
pub(super) const THREADS_MAX: u64 = 4096;
/// Maximum of seconds, and of numbers without a closer bound: about thirty years.
const NUMBER_MAX: u64 = 1_000_000_000;
const FILES_MAX: u64 = 1 << 32;
const DIRS_MAX: u64 = 10_000_000;

const fn key(scope: SettingScope, name: &'static str, kind: ValueKind) -> SettingKey {
    SettingKey { name, scope, kind }
}

const fn weight(name: &'static str, operation: Operation) -> SettingKey {
    key(SettingScope::Group, name, ValueKind::Weight(operation))
}

/// Table of all settings.
pub(super) static ALL: &[SettingKey] = &[
    key(SettingScope::Profile, "time", ValueKind::Number(NUMBER_MAX)),
    key(SettingScope::Profile, "directio", ValueKind::Switch),
    key(SettingScope::Profile, "alignio", ValueKind::Switch),
    key(SettingScope::Profile, "bufferio", ValueKind::Switch),
    key(SettingScope::Profile, "bufferedio", ValueKind::Former("bufferio")),
    key(SettingScope::Profile, "verbose", ValueKind::Switch),
    key(SettingScope::Profile, "callout", ValueKind::Command),
    key(SettingScope::Profile, "num_filesystems", ValueKind::Sections("[filesystem]")),
    key(SettingScope::Profile, "num_threadgroups", ValueKind::Sections("[threadgroup]")),
    key(SettingScope::Profile, "fsync_file", ValueKind::FsyncFile),
    key(SettingScope::Filesystem, "location", ValueKind::Path),
    key(SettingScope::Filesystem, "num_files", ValueKind::Number(FILES_MAX)),
    key(SettingScope::Filesystem, "num_dirs", ValueKind::Number(DIRS_MAX)),
    key(SettingScope::Filesystem, "min_filesize", ValueKind::Size),
    key(SettingScope::Filesystem, "max_filesize", ValueKind::Size),
    key(SettingScope::Filesystem, "size_weight", ValueKind::SizeWeight),
    key(SettingScope::Filesystem, "init_size", ValueKind::Size),
    key(SettingScope::Filesystem, "init_util", ValueKind::Share),
    key(SettingScope::Filesystem, "create_blocksize", ValueKind::Block),
    key(SettingScope::Filesystem, "age_blocksize", ValueKind::Block),
    key(SettingScope::Filesystem, "reuse", ValueKind::Switch),
    key(SettingScope::Filesystem, "agefs", ValueKind::Switch),
    key(SettingScope::Filesystem, "desired_util", ValueKind::Share),
    key(SettingScope::Filesystem, "clone", ValueKind::Path),
    key(SettingScope::Group, "num_threads", ValueKind::Number(THREADS_MAX)),
    key(SettingScope::Group, "bindfs", ValueKind::Path),
    key(SettingScope::Group, "op_delay", ValueKind::Number(NUMBER_MAX)),
    key(SettingScope::Group, "read_random", ValueKind::Switch),
    key(SettingScope::Group, "read_size", ValueKind::Size),
    key(SettingScope::Group, "read_blocksize", ValueKind::Block),
    key(SettingScope::Group, "read_skip", ValueKind::Switch),
    key(SettingScope::Group, "read_skipsize", ValueKind::Size),
    key(SettingScope::Group, "write_random", ValueKind::Switch),
    key(SettingScope::Group, "write_size", ValueKind::Size),
    key(SettingScope::Group, "write_blocksize", ValueKind::Block),
    key(SettingScope::Group, "fsync_file", ValueKind::FsyncFile),
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
    key(SettingScope::Group, "meta_weight", ValueKind::Former("metaop_weight")),
    key(SettingScope::Stats, "enable_stats", ValueKind::Switch),
    key(SettingScope::Stats, "enable_range", ValueKind::Switch),
    key(SettingScope::Stats, "ignore", ValueKind::Ignore),
    key(SettingScope::Stats, "msec_range", ValueKind::Range),
];

/// Setting of this name, preferably one of this section.
pub(super) fn find(name: &str, scope: SettingScope) -> Option<&'static SettingKey> {
    let named = || ALL.iter().filter(|key| key.name == name);
    named().find(|key| key.scope == scope).or_else(|| named().next())
}

/// The key of an operation's weight.
pub(super) fn weight_key(operation: Operation) -> &'static str {
    let mut keys = ALL.iter();
    keys.find(|key| key.kind == ValueKind::Weight(operation)).map_or("", |key| key.name)
}

#[cfg(test)]
mod tests {
    use super::{ALL, SettingScope, ValueKind, find, weight_key};
    use crate::language::operation::Operation;
    use treering_model::nearest::nearest;

    #[test]
    fn every_operation_has_its_weight() {
        for operation in Operation::ALL {
            assert_eq!(weight_key(operation), format!("{}_weight", operation.name()));
        }
    }

    #[test]
    fn former_key_names_map_to_keys_of_the_same_section() {
        for key in ALL {
            if let ValueKind::Former(name) = key.kind {
                assert_eq!(find(name, key.scope).map(|to| to.scope), Some(key.scope));
            }
        }
        assert_eq!(
            find("fsync_file", SettingScope::Group).map(|key| key.scope),
            Some(SettingScope::Group)
        );
        assert_eq!(
            find("num_dirs", SettingScope::Group).map(|key| key.scope),
            Some(SettingScope::Filesystem)
        );
        assert!(find("", SettingScope::Profile).is_none());
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
