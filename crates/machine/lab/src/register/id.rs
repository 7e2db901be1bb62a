//! IDs of records, and the marks and file names derived from them.

use std::path::Path;

/// Sort key of records by creation: start time and ID of the process, and its count of records.
pub(crate) type CreationOrder = [u64; 3];

/// ID of a record: digits, letters `a` to `f` and dashes only.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RecordId(String);

impl RecordId {
    /// ID that is unique on this machine: boot, start time of the process, process ID and a count.
    pub(crate) fn new(pid: u32, start: u64, boot: &str, count: u32) -> Self {
        let boot: String =
            boot.chars().filter(char::is_ascii_hexdigit).take(8).collect::<String>().to_lowercase();
        Self(format!("{boot:0>8}-{start:x}-{pid:x}-{count:x}"))
    }

    /// Parses an ID; `None` if it has another form.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let fits =
            |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte) || byte == b'-';
        let is_name = (1..=63 - MARK.len()).contains(&text.len())
            && text.bytes().all(fits)
            && !text.starts_with('-');
        is_name.then(|| Self(text.to_owned()))
    }

    /// Text of the ID.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Order in which resources were made: start time and ID of the process, and the count.
    pub(crate) fn creation_order(&self) -> CreationOrder {
        let mut parts = self.0.split('-').skip(1).map(|part| u64::from_str_radix(part, 16).ok());
        [(); 3].map(|()| parts.next().flatten().unwrap_or_default())
    }

    /// Mark that identifies a loop device or tmpfs as treering's.
    pub(crate) fn mark(&self) -> String {
        format!("{MARK}{}", self.0)
    }

    /// File name of the image.
    pub(crate) fn image_name(&self) -> String {
        format!("{IMAGE_BEGIN}{}{IMAGE_END}", self.0)
    }

    /// Parses the ID in the file name of an image.
    pub(crate) fn from_image_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Self::parse(name.strip_prefix(IMAGE_BEGIN)?.strip_suffix(IMAGE_END)?)
    }
}

const MARK: &str = "treering ";
const IMAGE_BEGIN: &str = "treering-";
const IMAGE_END: &str = ".img";
