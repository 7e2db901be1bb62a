//! Output lines of compilebench 0.6, byte for byte, its misspelling included.
//!
//! This module only formats; the numbers come with the task. Lines have no newline at their end.

use treering_model::TaskTotals;

use super::tally::SummaryRow;

/// First line of the output.
pub(crate) fn opening_line(directory: &str, initial_dirs: u32, runs: u32) -> String {
    format!("using working directory {directory}, {initial_dirs} intial dirs {runs} runs")
}

/// Line of one operation without time and rate, as a dry run prints it; `None` for tasks for which
/// the original prints nothing.
pub(crate) fn task_outline(kind: &str, subject: &str, listed_bytes: u64) -> Option<String> {
    let mib = listed_bytes >> 20;
    Some(match kind {
        "initial create" => format!("create dir {subject} {mib}MB"),
        "create" | "patch" | "compile" => format!("{kind} dir {subject} {mib}MB"),
        "clean" => format!("clean {subject} {mib}MB"),
        "delete" => format!("delete {subject}"),
        "read" | "stat" => format!("{kind} dir {subject}"),
        native if native.starts_with("native ") => format!("{native} {subject} {mib}MB"),
        _ => return None,
    })
}

/// Line of one operation with time and rate.
pub(crate) fn task_line(task: &TaskTotals) -> Option<String> {
    let outline = task_outline(&task.kind, &task.subject, task.listed_bytes)?;
    let seconds = task.seconds();
    Some(match task.kind.as_str() {
        "delete" | "stat" => format!("{outline} in {seconds:.2} seconds"),
        "read" => format!("{outline} in {seconds:.2} {:.2} MB/s", task.mib_per_second()),
        _ => format!("{outline} in {seconds:.2} seconds ({:.2} MB/s)", task.mib_per_second()),
    })
}

#[derive(Clone, Copy, Debug, Default)]
struct PrintedRow {
    runs: u32,
    /// Sum of the rates or of the seconds.
    figures: f64,
    user_seconds: f64,
    system_seconds: f64,
}

/// Summary with arithmetic means of per-operation figures, as in the original.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClassicSummary {
    rows: [PrintedRow; SummaryRow::ALL.len()],
}

impl ClassicSummary {
    /// Adds a task to the row that its tally names; a task without a tally is ignored.
    pub(crate) fn add(&mut self, task: &TaskTotals) {
        let Some(place) = SummaryRow::ALL.iter().position(|tally| tally.label() == task.tally)
        else {
            return;
        };
        let row = &mut self.rows[place];
        row.runs += 1;
        row.figures += if SummaryRow::ALL[place].in_seconds() {
            task.seconds()
        } else {
            task.mib_per_second()
        };
        // The original's sync is a child process, whose CPU its own times do not contain.
        let cpu = task.cpu.minus(task.sync_cpu);
        row.user_seconds += cpu.user_ns as f64 / 1e9;
        row.system_seconds += cpu.system_ns as f64 / 1e9;
    }

    /// Lines of the summary, including the empty one before it.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut lines = vec![String::new(), "run complete:".to_owned(), "=".repeat(74)];
        lines.extend(SummaryRow::ALL.iter().zip(&self.rows).map(|(tally, row)| line(*tally, row)));
        lines
    }
}

fn line(tally: SummaryRow, row: &PrintedRow) -> String {
    let label = tally.label();
    if row.runs == 0 {
        return format!("no runs for {label}");
    }
    let runs = f64::from(row.runs);
    let unit = if tally.in_seconds() { "seconds" } else { "MB/s" };
    format!(
        "{label} total runs {} avg {:.2} {unit} (user {:.2}s sys {:.2}s)",
        row.runs,
        row.figures / runs,
        row.user_seconds / runs,
        row.system_seconds / runs
    )
}

#[cfg(test)]
mod tests {
    use super::{ClassicSummary, opening_line, task_line};
    use treering_model::{CpuTime, TaskTotals};

    fn task(kind: &str, subject: &str, tally: &str, mib: u64, seconds: f64) -> TaskTotals {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "test")]
        let wall_ns = (seconds * 1e9) as u64;
        TaskTotals {
            kind: kind.into(),
            subject: subject.into(),
            tally: tally.into(),
            listed_bytes: mib << 20,
            wall_ns,
            cpu: CpuTime { user_ns: 1_500_000_000, system_ns: 2_000_000_000 },
            sync_cpu: CpuTime { user_ns: 500_000_000, system_ns: 0 },
            ..TaskTotals::default()
        }
    }

    #[test]
    fn lines_are_those_of_the_original() {
        for (kind, subject, line) in [
            (
                "native patched compiled",
                "native-0",
                "native patched compiled native-0 10MB in 4.00 seconds (2.50 MB/s)",
            ),
            ("initial create", "kernel-0", "create dir kernel-0 10MB in 4.00 seconds (2.50 MB/s)"),
            ("create", "kernel-100", "create dir kernel-100 10MB in 4.00 seconds (2.50 MB/s)"),
            ("patch", "kernel-7", "patch dir kernel-7 10MB in 4.00 seconds (2.50 MB/s)"),
            ("compile", "kernel-7", "compile dir kernel-7 10MB in 4.00 seconds (2.50 MB/s)"),
            ("clean", "kernel-7", "clean kernel-7 10MB in 4.00 seconds (2.50 MB/s)"),
            ("read", "kernel-7", "read dir kernel-7 in 4.00 2.50 MB/s"),
            ("stat", "kernel-2", "stat dir kernel-2 in 4.00 seconds"),
            ("delete", "kernel-4", "delete kernel-4 in 4.00 seconds"),
        ] {
            assert_eq!(task_line(&task(kind, subject, "", 10, 4.0)).unwrap(), line);
        }
        assert_eq!(task_line(&task("walk", "native-0", "", 10, 4.0)), None);
        assert_eq!(
            opening_line("/mnt/scratch/", 30, 100),
            "using working directory /mnt/scratch/, 30 intial dirs 100 runs"
        );
    }

    #[test]
    fn the_summary_is_a_mean_of_rates_without_the_syncs_cpu() {
        let mut summary = ClassicSummary::default();
        summary.add(&task("create", "kernel-0", "intial create", 10, 1.0));
        summary.add(&task("create", "kernel-1", "intial create", 10, 10.0));
        summary.add(&task("delete", "kernel-1", "delete tree", 0, 3.0));
        summary.add(&task("walk", "native-0", "", 10, 10.0));
        assert_eq!(
            summary.lines().join("\n"),
            "\nrun complete:\n\
             ==========================================================================\n\
             intial create total runs 2 avg 5.50 MB/s (user 1.00s sys 2.00s)\n\
             no runs for create\n\
             no runs for patch\n\
             no runs for compile\n\
             no runs for clean\n\
             no runs for read tree\n\
             no runs for read compiled tree\n\
             delete tree total runs 1 avg 3.00 seconds (user 1.00s sys 2.00s)\n\
             no runs for delete compiled tree\n\
             no runs for stat tree\n\
             no runs for stat compiled tree"
        );
    }
}
