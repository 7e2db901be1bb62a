//! Consumers of trace entries.

use std::io::{self, Write};

use crate::blktrace::BlktraceWriter;
use crate::event::TraceEntry;
use crate::own::TraceWriter;

/// Consumer of trace entries, such as a file writer.
pub trait EntrySink {
    /// Accepts the next entry.
    ///
    /// # Errors
    /// If the entry cannot be written.
    fn entry(&mut self, entry: &TraceEntry) -> io::Result<()>;

    /// Flushes and closes the sink.
    ///
    /// # Errors
    /// If buffered entries cannot be written.
    fn end(&mut self) -> io::Result<()>;
}

impl<W: Write> EntrySink for TraceWriter<W> {
    fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        Self::entry(self, entry)
    }

    fn end(&mut self) -> io::Result<()> {
        self.finish()
    }
}

impl<W: Write, F: FnMut(&str, u32) -> io::Result<W>> EntrySink for BlktraceWriter<W, F> {
    fn entry(&mut self, entry: &TraceEntry) -> io::Result<()> {
        Self::entry(self, entry)
    }

    fn end(&mut self) -> io::Result<()> {
        self.flush()
    }
}
