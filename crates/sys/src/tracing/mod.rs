//! Trace events: perf events, tracefs and their record formats.
pub(crate) mod perf_event;
pub(crate) mod trace_format;
pub(crate) mod trace_pages;
pub(crate) mod tracefs;
