//! A place in a text that is read: the file, the line and the byte.

/// A place in one of the files that are read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The number of the file; the first one is 0.
    pub file: u32,
    /// Line number, from 1.
    pub line: u32,
    /// The byte in the line, from 1; 0 where the whole file is meant.
    pub column: u32,
}

impl Place {
    /// The first file as a whole: for what is missing in all of it.
    pub const START: Self = Self { file: 0, line: 1, column: 0 };

    /// A place in the first file, both counted from 1.
    pub fn new(line: usize, column: usize) -> Self {
        Self { file: 0, line: narrow(line), column: narrow(column) }
    }

    /// Position this many bytes further on in the same line.
    #[must_use]
    pub fn after(self, bytes: usize) -> Self {
        Self { column: self.column.saturating_add(narrow(bytes)), ..self }
    }
}

/// A number that no text is too long for.
pub(crate) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
