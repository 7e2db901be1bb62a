//! Positions in parsed texts: file, line and byte.

/// Position in one of the files that are parsed together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Number of the file, from 0.
    pub file: u32,
    /// Line number, from 1.
    pub line: u32,
    /// Byte in the line, from 1; 0 for the whole file.
    pub column: u32,
}

impl Place {
    /// Position of the whole first file, for errors about missing content.
    pub const START: Self = Self { file: 0, line: 1, column: 0 };

    /// Position in the first file, by line and byte from 1.
    pub fn new(line: usize, column: usize) -> Self {
        Self { file: 0, line: narrow(line), column: narrow(column) }
    }

    /// Position this many bytes further on in the same line.
    #[must_use]
    pub fn after(self, bytes: usize) -> Self {
        Self { column: self.column.saturating_add(narrow(bytes)), ..self }
    }
}

/// Converts to u32, saturating.
pub(crate) fn narrow(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
