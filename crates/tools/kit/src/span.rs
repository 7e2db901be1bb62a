//! Time spans of parallel tasks.

use treering_model::TaskTotals;

/// Time span from the first start to the last end of some tasks.
#[derive(Clone, Copy, Debug, Default)]
pub struct TimeSpan {
    began_ns: Option<u64>,
    /// End of the last task, from the start of the trial.
    pub ended_ns: u64,
}

impl TimeSpan {
    /// Extends the span by a task.
    pub fn add(&mut self, task: &TaskTotals) {
        let began_ns = self.began_ns.map_or(task.began_ns, |began| began.min(task.began_ns));
        self.began_ns = Some(began_ns);
        self.ended_ns = self.ended_ns.max(task.began_ns + task.wall_ns);
    }

    /// Length of the span in seconds.
    pub fn seconds(self) -> f64 {
        self.until(self.ended_ns)
    }

    /// Length of the span in nanoseconds.
    pub fn ns(self) -> u64 {
        self.ended_ns.saturating_sub(self.began_ns.unwrap_or(self.ended_ns))
    }

    /// Seconds from the first start to `ended_ns`; 0 if nothing started.
    pub fn until(self, ended_ns: u64) -> f64 {
        let began_ns = self.began_ns.unwrap_or(ended_ns);
        ended_ns.saturating_sub(began_ns) as f64 / 1e9
    }
}
