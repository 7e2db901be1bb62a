//! Operations by name, with the number of names and numbers that each takes.

use super::{CreateDisposition, NameId, Operation, OperationKind};

/// First word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Operation(OperationKind),
    Sleep,
    Loop,
    EndLoop,
    Repeat,
    SetPoint,
    WaitPoint,
    WritePattern,
    RandomString,
}

/// Operation names in load files.
const OPERATIONS: [(&str, OperationKind); OperationKind::COUNT] = [
    ("NTCreateX", OperationKind::NtCreateX),
    ("Close", OperationKind::Close),
    ("ReadX", OperationKind::ReadX),
    ("WriteX", OperationKind::WriteX),
    ("Flush", OperationKind::Flush),
    ("Unlink", OperationKind::Unlink),
    ("Rename", OperationKind::Rename),
    ("Mkdir", OperationKind::Mkdir),
    ("Rmdir", OperationKind::Rmdir),
    ("Deltree", OperationKind::Deltree),
    ("QUERY_PATH_INFORMATION", OperationKind::Qpathinfo),
    ("QUERY_FILE_INFORMATION", OperationKind::Qfileinfo),
    ("QUERY_FS_INFORMATION", OperationKind::Qfsinfo),
    ("SET_FILE_INFORMATION", OperationKind::Sfileinfo),
    ("FIND_FIRST", OperationKind::Find),
    ("LockX", OperationKind::LockX),
    ("UnlockX", OperationKind::UnlockX),
];

const DIRECTIVES: [(&str, Verb); 8] = [
    ("SLEEP", Verb::Sleep),
    ("LOOP", Verb::Loop),
    ("ENDLOOP", Verb::EndLoop),
    ("REPEAT", Verb::Repeat),
    ("SETSP", Verb::SetPoint),
    ("WAITSP", Verb::WaitPoint),
    ("WRITEPATTERN", Verb::WritePattern),
    ("RANDOMSTRING", Verb::RandomString),
];

/// Hint that lists the valid operations.
pub(super) const RIGHT: &str = "operations are NTCreateX, Close, ReadX, WriteX, Flush, Unlink, \
     Rename, Mkdir, Rmdir, Deltree, QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, \
     QUERY_FS_INFORMATION, SET_FILE_INFORMATION, FIND_FIRST, LockX and UnlockX; others are LOOP, \
     ENDLOOP, REPEAT, SLEEP, SETSP, WAITSP, WRITEPATTERN and RANDOMSTRING; those of NFS, SMB, \
     iSCSI and block devices are other backends' and not played here";

/// Operations of dbench's other backends, without the number at the end of those of NFS.
const OTHER_BACKENDS: [(&str, &[&str]); 5] = [
    ("smb", &["OPEN", "OPENFILE", "CLOSEFILE", "READFILE", "WRITEFILE", "READDIR"]),
    ("smb or block", &["READ", "WRITE"]),
    ("nfs", &["LOCK4", "UNLOCK4", "TEST4"]),
    (
        "nfs",
        &[
            "GETATTR",
            "SETATTR",
            "LOOKUP",
            "ACCESS",
            "READLINK",
            "READ",
            "WRITE",
            "CREATE",
            "MKDIR",
            "SYMLINK",
            "MKNOD",
            "REMOVE",
            "RMDIR",
            "RENAME",
            "LINK",
            "READDIR",
            "READDIRPLUS",
            "FSSTAT",
            "FSINFO",
            "PATHCONF",
            "COMMIT",
        ],
    ),
    (
        "iscsi",
        &[
            "TESTUNITREADY",
            "READ6",
            "READ10",
            "READ12",
            "READ16",
            "WRITE10",
            "WRITE12",
            "WRITE16",
            "WRITESAME10",
            "WRITESAME16",
            "READCAPACITY10",
            "READCAPACITY16",
            "SYNCHRONIZECACHE10",
            "SYNCHRONIZECACHE16",
            "INQUIRY",
            "REPORTLUNS",
            "ORWRITE",
            "VERIFY10",
            "VERIFY12",
            "VERIFY16",
            "WRITEVERIFY10",
            "WRITEVERIFY12",
            "WRITEVERIFY16",
            "COMPAREANDWRITE",
            "PREFETCH10",
            "PREFETCH16",
            "STARTSTOPUNIT",
            "UNMAP",
            "GETLBASTATUS",
            "RESERVE6",
            "RELEASE6",
            "PRIN",
            "PROUT",
        ],
    ),
];

/// Backend of dbench that has an operation of this name and is not played here.
pub(super) fn other_backend(word: &[u8]) -> Option<&'static str> {
    let of_nfs = word.strip_suffix(b"3").unwrap_or_default();
    let has = |(backend, names): &&(&str, &[&str])| {
        let is_it = |name: &&str| name.as_bytes().eq_ignore_ascii_case(word);
        let is_of_nfs = |name: &&str| name.as_bytes().eq_ignore_ascii_case(of_nfs);
        names.iter().any(|name| is_it(name) || *backend == "nfs" && is_of_nfs(name))
    };
    OTHER_BACKENDS.iter().find(has).map(|(backend, _)| *backend)
}

/// Verb of this name, ignoring case.
pub(super) fn verb(word: &[u8]) -> Option<Verb> {
    let is = |name: &str| name.as_bytes().eq_ignore_ascii_case(word);
    let operation = OPERATIONS.iter().find(|(name, _)| is(name));
    let directive = || DIRECTIVES.iter().find(|(name, _)| is(name)).map(|&(_, verb)| verb);
    operation.map(|&(_, kind)| Verb::Operation(kind)).or_else(directive)
}

/// The name of an operation in load files.
pub(crate) fn long_name(kind: OperationKind) -> &'static str {
    OPERATIONS.iter().find(|&&(_, other)| other == kind).map_or(kind.name(), |&(name, _)| name)
}

impl OperationKind {
    /// Arguments before the status: number of names, and minimum and maximum number of numbers.
    pub(super) const fn words(self) -> (usize, usize, usize) {
        match self {
            Self::NtCreateX => (1, 3, 3),
            Self::Close | Self::Flush => (0, 1, 1),
            Self::ReadX | Self::WriteX => (0, 4, 4),
            Self::Unlink => (1, 0, 1),
            Self::Rename => (2, 0, 0),
            Self::Mkdir | Self::Rmdir | Self::Deltree => (1, 0, 0),
            Self::Qpathinfo => (1, 0, 1),
            Self::Qfileinfo | Self::Sfileinfo => (0, 1, 2),
            Self::Qfsinfo => (0, 0, 1),
            Self::Find => (1, 1, 3),
            Self::LockX | Self::UnlockX => (0, 3, 3),
        }
    }

    /// Syntax of the operation's line, for messages.
    pub(super) const fn form(self) -> &'static str {
        match self {
            Self::NtCreateX => "NTCreateX NAME OPTIONS DISPOSITION HANDLE STATUS",
            Self::Close => "Close HANDLE STATUS",
            Self::ReadX => "ReadX HANDLE OFFSET SIZE MOVED STATUS",
            Self::WriteX => "WriteX HANDLE OFFSET SIZE MOVED STATUS",
            Self::Flush => "Flush HANDLE STATUS",
            Self::Unlink => "Unlink NAME [ATTRIBUTES] STATUS",
            Self::Rename => "Rename FROM TO STATUS",
            Self::Mkdir => "Mkdir NAME STATUS",
            Self::Rmdir => "Rmdir NAME STATUS",
            Self::Deltree => "Deltree NAME STATUS",
            Self::Qpathinfo => "QUERY_PATH_INFORMATION NAME LEVEL STATUS",
            Self::Qfileinfo => "QUERY_FILE_INFORMATION HANDLE LEVEL STATUS",
            Self::Qfsinfo => "QUERY_FS_INFORMATION LEVEL STATUS",
            Self::Sfileinfo => "SET_FILE_INFORMATION HANDLE LEVEL STATUS",
            Self::Find => "FIND_FIRST PATTERN LEVEL MOST COUNT STATUS",
            Self::LockX => "LockX HANDLE OFFSET SIZE STATUS",
            Self::UnlockX => "UnlockX HANDLE OFFSET SIZE STATUS",
        }
    }

    /// Index of the number that is a handle.
    pub(crate) const fn handle_at(self) -> Option<usize> {
        match self {
            Self::NtCreateX => Some(2),
            Self::Close
            | Self::Flush
            | Self::ReadX
            | Self::WriteX
            | Self::Qfileinfo
            | Self::Sfileinfo
            | Self::LockX
            | Self::UnlockX => Some(0),
            _ => None,
        }
    }

    /// Builds the operation from its names and numbers; `None` if a number is out of range.
    pub(crate) fn to_operation(
        self,
        names: &[NameId],
        numbers: &[u64],
        handle: u32,
    ) -> Option<Operation> {
        let name = names.first().copied().unwrap_or_default();
        let number = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let size = |at: usize| u32::try_from(number(at)).ok().filter(|&size| size <= SIZE_MAX);
        let offset = || i64::try_from(number(1)).ok().map(i64::cast_unsigned);
        Some(match self {
            Self::NtCreateX => Operation::Create {
                name,
                handle,
                how: match number(1) {
                    2 => CreateDisposition::Create,
                    4 | 5 => CreateDisposition::Overwrite,
                    _ => CreateDisposition::Open,
                },
                directory: number(0) & 1 != 0,
            },
            Self::Close => Operation::Close { handle },
            Self::ReadX => {
                Operation::Read { handle, offset: offset()?, bytes: size(2)?, moved: size(3)? }
            }
            Self::WriteX => {
                Operation::Write { handle, offset: offset()?, bytes: size(2)?, moved: size(3)? }
            }
            Self::Flush => Operation::Flush { handle },
            Self::Unlink => Operation::Unlink { name },
            Self::Rename => Operation::Rename { from: name, to: *names.get(1)? },
            Self::Mkdir => Operation::Mkdir { name },
            Self::Rmdir => Operation::Rmdir { name },
            Self::Deltree => Operation::Deltree { name },
            Self::Qpathinfo => Operation::QueryPath { name },
            Self::Qfileinfo => Operation::QueryFile { handle },
            Self::Qfsinfo => Operation::QueryFs,
            Self::Sfileinfo => Operation::SetFile { handle },
            Self::Find => {
                Operation::Find { name, most: u32::try_from(number(1)).unwrap_or(u32::MAX) }
            }
            Self::LockX | Self::UnlockX => Operation::Lock {
                handle,
                start: u32::try_from(number(1)).ok()?,
                bytes: u32::try_from(number(2)).ok()?,
                locks: self == Self::LockX,
            },
        })
    }
}

/// Maximum number of bytes that an operation moves.
pub(super) const SIZE_MAX: u32 = 1 << 30;
