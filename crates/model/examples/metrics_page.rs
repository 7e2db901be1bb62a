//! Prints docs/metrics.md, the page about every metric.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    io::stdout().write_all(treering_model::metrics::page().as_bytes())
}
