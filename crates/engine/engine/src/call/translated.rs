//! Conversion between the flags and results of scripts and those of the system.

use treering_script::{CallResult, CreateHow, OpenHow as Opened};
use treering_sys::{FileAttributes, FileType, OpenHow};

use crate::CallReply;

pub(super) const fn created(how: CreateHow) -> OpenHow {
    match how {
        CreateHow::Append => OpenHow::Append,
        CreateHow::Truncate => OpenHow::Truncate,
        CreateHow::TruncateToRead => OpenHow::TruncateToRead,
        CreateHow::Exclusive => OpenHow::Exclusive,
        CreateHow::ExclusiveToRead => OpenHow::ExclusiveToRead,
        CreateHow::OrOpen => OpenHow::OrMake,
    }
}

pub(super) const fn opened(how: Opened) -> OpenHow {
    match how {
        Opened::Read => OpenHow::Read,
        Opened::Write => OpenHow::Write,
        Opened::Append => OpenHow::WriteAtEnd,
        Opened::ReadWrite => OpenHow::ReadWrite,
        Opened::Directory => OpenHow::Directory,
    }
}

/// Size reply from the result of `stat`.
pub(super) fn size_reply(attributes: &FileAttributes) -> CallReply {
    let is_file = attributes.kind == FileType::RegularFile;
    CallReply::once(CallResult::Size(if is_file { attributes.bytes } else { 0 }))
}
