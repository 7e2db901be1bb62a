//! Lines about a run in progress: its tasks, and layouts of a filesystem during aging.

use treering_model::{Artifact, FileLayout, LAYOUT_ARTIFACT, TaskTotals, counted};

use crate::number::grouped;

/// Number of measurements in a sparkline.
const SPARKLINE_CHARS: usize = 24;

/// Layout of a filesystem during aging, one line for each measurement.
#[derive(Debug, Default)]
pub struct AgingLines {
    /// Number of operations so far.
    pub operations: u64,
    /// Traversal scores measured so far, in percent.
    scores: Vec<f64>,
}

impl AgingLines {
    /// Formats a line about a layout measured during a phase.
    pub fn line(&mut self, artifact: &Artifact) -> Option<String> {
        if artifact.kind != LAYOUT_ARTIFACT || artifact.name.is_empty() {
            return None;
        }
        let layout: FileLayout = serde_json::from_str(&artifact.body).ok()?;
        self.scores.extend(layout.traversal_score);
        let percent =
            |share: Option<f64>| share.map_or("-".into(), |share| format!("{:.1}%", share * 100.0));
        let free = layout.free_space.as_ref().map_or("-".into(), |free| free.extents.to_string());
        Some(format!(
            "{:>9} operations: {} full, traversal {}, adjacent {}, {free} free extents  {}",
            self.operations,
            percent(layout.fullness.data.share()),
            percent(layout.traversal_score),
            percent(layout.adjacent_siblings),
            sparkline(&self.scores)
        ))
    }
}

/// Formats the last values as a sparkline, scaled from their minimum to their maximum.
fn sparkline(values: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let last = &values[values.len().saturating_sub(SPARKLINE_CHARS)..];
    let (low, high) =
        last.iter().fold((1.0f64, 0.0f64), |(low, high), &value| (low.min(value), high.max(value)));
    let bar = |value: &f64| {
        let share = if high > low { (value - low) / (high - low) } else { 1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a share of seven"
        )]
        let height = (share * 7.0).round() as usize;
        BARS[height.min(7)]
    };
    last.iter().map(bar).collect()
}

/// Formats a line about a task that ended.
pub fn task_line(task: &TaskTotals) -> String {
    let rate = if task.bytes == 0 {
        format!("{} files/s", grouped(&format!("{:.0}", task.files_per_second())))
    } else {
        format!("{:.1} MiB/s", task.mib_per_second())
    };
    let files = counted(task.files, "file");
    format!("{} {} {:.2} s, {files}, {rate}", task.kind, task.subject, task.seconds())
}
