//! Names of blogs and their files, built without allocation.

use std::ffi::CStr;

use super::draws::FileKind;

/// Prefix of a blog's name, before its number.
const BLOG: &[u8] = b"blog-";
/// Suffix of a file that is still being written.
const UNFINISHED: &[u8] = b".tmp";
/// Buffer size: the longest path is a blog of twenty digits with an unfinished file.
const NAME_BYTES: usize = 64;

/// A file name, or a path of two names.
#[derive(Clone, Copy, Debug)]
pub(super) struct NameBuffer {
    bytes: [u8; NAME_BYTES],
    length: usize,
}

impl Default for NameBuffer {
    fn default() -> Self {
        Self { bytes: [0; NAME_BYTES], length: 0 }
    }
}

impl NameBuffer {
    /// Sets the name `blog-7`.
    pub(super) fn blog(number: u64) -> Self {
        let mut name = Self::default();
        name.push(BLOG);
        name.push_number(number);
        name
    }

    /// `article-3.xml`
    pub(super) fn file(file: FileKind, number: u32) -> Self {
        let mut name = Self::default();
        name.push_file(file, number);
        name
    }

    /// `article-3.xml.tmp`
    pub(super) fn unfinished(file: FileKind, number: u32) -> Self {
        let mut name = Self::file(file, number);
        name.push(UNFINISHED);
        name
    }

    /// `blog-7/article-3.xml`
    pub(super) fn path(blog: u64, file: FileKind, number: u32) -> Self {
        let mut name = Self::blog(blog);
        name.push(b"/");
        name.push_file(file, number);
        name
    }

    pub(super) fn as_c_str(&self) -> &CStr {
        let with_nul = self.bytes.get(..=self.length).unwrap_or(&[0]);
        CStr::from_bytes_with_nul(with_nul).unwrap_or_default()
    }

    fn push_file(&mut self, file: FileKind, number: u32) {
        let (before, behind) = file.affixes();
        self.push(before);
        self.push_number(number.into());
        self.push(behind);
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        // The last byte is kept for the NUL.
        if let Some(room) = self.bytes.get_mut(self.length..end).filter(|_| end < NAME_BYTES) {
            room.copy_from_slice(bytes);
            self.length = end;
        }
    }

    fn push_number(&mut self, number: u64) {
        let mut digits = [b'0'; 20];
        let mut remaining = number;
        let mut first = digits.len() - 1;
        for place in (0..digits.len()).rev() {
            digits[place] = b'0' + u8::try_from(remaining % 10).unwrap_or(0);
            first = place;
            remaining /= 10;
            if remaining == 0 {
                break;
            }
        }
        self.push(&digits[first..]);
    }
}

#[cfg(test)]
mod tests {
    use super::NameBuffer;
    use crate::draws::FileKind;

    #[test]
    fn names_are_those_of_the_original() {
        let text = |name: NameBuffer| name.as_c_str().to_str().unwrap().to_owned();
        assert_eq!(text(NameBuffer::blog(0)), "blog-0");
        assert_eq!(text(NameBuffer::file(FileKind::Article, 100)), "article-100.xml");
        assert_eq!(text(NameBuffer::unfinished(FileKind::Picture, 7)), "picture-7.jpg.tmp");
        assert_eq!(text(NameBuffer::path(120, FileKind::Comment, 1)), "blog-120/comment-1.xml");
        assert_eq!(
            text(NameBuffer::path(u64::MAX, FileKind::Comment, u32::MAX)),
            "blog-18446744073709551615/comment-4294967295.xml"
        );
        assert_eq!(text(NameBuffer::default()), "");
    }
}
