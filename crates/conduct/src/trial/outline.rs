//! Dry runs of a job: its operations, or each of their calls.

use std::io::{self, Write};

use treering_script::{Job, TargetFacts};

use super::calls::write_calls;

/// Writes the operations of a job, or each of their calls.
///
/// # Errors
/// When the writer fails.
pub fn write_outline(
    job: &dyn Job,
    facts: &TargetFacts,
    lists_calls: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    let is_by_program = job.is_by_program();
    if lists_calls && !is_by_program {
        return write_calls(job, facts, out);
    }
    if lists_calls {
        writeln!(out, "# another program makes the calls; it is not run here")?;
    }
    job.outline(facts).iter().try_for_each(|line| writeln!(out, "{line}"))
}
