//! Trace events: perf events, tracefs, and the formats of their records.
pub(crate) mod perf_event;
pub(crate) mod trace_format;
pub(crate) mod trace_pages;
pub(crate) mod tracefs;
