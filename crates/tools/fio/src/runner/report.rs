//! Results of a clone, at its end or while it is at work.

use crate::language::Direction;
use treering_script::{ResourceUsage, StatusText, TaskUsage};

use super::super::tally::{COARSE, Latencies, Stat, Tally};
use super::Runner;

/// Adds the duration of a pass, in milliseconds, to those of the given directions that moved data.
fn add_runtime(tally: &mut Tally, directions: [bool; 3], ms: u64) {
    let directions = tally.directions.iter_mut().zip(directions);
    for (direction, _) in directions.filter(|(direction, counts)| *counts && direction.bytes > 0) {
        direction.runtime_ms += ms;
    }
}

impl Runner {
    /// Adds the runtime of a pass to each direction that moved data.
    pub(super) fn end_pass(&mut self) {
        let ms = self.clock.pass_ms();
        let directions = self.directions_of_pass();
        add_runtime(&mut self.tally, directions, ms);
    }

    /// Directions in which data may move in this pass.
    fn directions_of_pass(&self) -> [bool; 3] {
        let reads_back = self.is_reading_back();
        Direction::ALL.map(|direction| {
            if reads_back {
                direction == Direction::Read
            } else {
                self.worker.job.directions().any(|moved| moved == direction)
            }
        })
    }

    /// Publishes the progress as it would be reported if the clone ended now.
    #[cold]
    pub(super) fn show(&self, snapshot: &StatusText, spent: TaskUsage) {
        let mut tally = Tally { complaints: Vec::new(), ..self.tally.clone() };
        if self.progress.is_in_pass {
            add_runtime(&mut tally, self.directions_of_pass(), self.clock.pass_ms());
        }
        let TaskUsage { cpu, usage: ResourceUsage { switches, major_faults, minor_faults } } =
            spent;
        (tally.user_ns, tally.system_ns) = (cpu.user_ns, cpu.system_ns);
        tally.usage = [switches, major_faults, minor_faults];
        self.complete(&mut tally);
        snapshot.show(tally.counters().json());
    }

    /// Completes the tally with the runtime and the depth, and drops statistics that the job
    /// disabled.
    pub(super) fn complete(&self, tally: &mut Tally) {
        let job = &self.worker.job;
        for direction in &mut tally.directions {
            if job.reported.disable_bw {
                direction.bandwidth = Stat::default();
            }
            if job.reported.disable_clat {
                direction.clat = Latencies::default();
            }
        }
        if job.reported.disable_clat {
            tally.coarse = [0; COARSE];
        }
        tally.runtime_ms = self.clock.runtime_ms();
        let is_idle = job.extras.creates_only || self.progress.is_unable;
        let depth = if is_idle { 0 } else { job.depth };
        tally.depth = self.pacing.depth.as_ref().map_or(depth, |control| control.depth());
    }
}
