//! Times of tasks that run side by side.

use treering_model::TaskTotals;

/// From the first beginning to the last end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Span {
    began_ns: Option<u64>,
    /// The end of the last task, from the start of the trial.
    pub ended_ns: u64,
}

impl Span {
    /// One more task.
    pub fn add(&mut self, task: &TaskTotals) {
        let began_ns = self.began_ns.map_or(task.began_ns, |began| began.min(task.began_ns));
        self.began_ns = Some(began_ns);
        self.ended_ns = self.ended_ns.max(task.began_ns + task.wall_ns);
    }

    /// How long all took together.
    pub fn seconds(self) -> f64 {
        self.until(self.ended_ns)
    }

    /// The same in nanoseconds.
    pub fn ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns.unwrap_or(self.ended_ns))
    }

    /// From the first beginning to this time; 0 when nothing began.
    pub fn until(self, ended_ns: u64) -> f64 {
        let began_ns = self.began_ns.unwrap_or(ended_ns);
        ended_ns.saturating_sub(began_ns) as f64 / 1e9
    }
}
