//! Share of a rank: the tasks of a group that it runs, the agreement before a group, and the
//! exchange of results after it.

use std::ops::Range;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use treering_model::IntervalTotals;
use treering_sys::{StopFlag, monotonic_ns};

use crate::ranks::idle::LONGEST_REST;
use crate::ranks::packed::{packed, unpacked};
use crate::totals::merge_intervals;
use crate::workers::reported::ReportedRun;
use crate::workers::worker::{TaskEnd, TaskRun};
use crate::{EngineError, RankError, World};

/// Name of a rank's directory, if each rank has one of its own.
pub fn own_directory(rank: usize) -> String {
    format!("rank-{rank}")
}

/// Message of a rank that is ready for a phase or a group.
#[derive(Serialize, Deserialize)]
struct ReadyMessage {
    /// Name of the next step, which must be equal on all ranks.
    what: String,
    signal: Option<i32>,
    problem: Option<String>,
}

/// Start message of rank 0.
#[derive(Serialize, Deserialize)]
struct StartMessage {
    /// Start time, by the clock of rank 0.
    at_ns: u64,
    signal: Option<i32>,
    /// Rank that cannot start, and its reason.
    problem: Option<(usize, String)>,
}

/// Result of a task: run by this rank, or reported by another.
pub(crate) enum TaskAnswer {
    Own(Box<TaskRun>),
    Reported(Box<ReportedRun>),
}

impl TaskAnswer {
    /// Result of a task that ran on this rank, or on ranks with the same clock.
    pub(crate) fn run(self) -> TaskRun {
        match self {
            Self::Own(run) => *run,
            Self::Reported(run) => run.into_run(),
        }
    }
}

/// Parses the result reported by another rank.
fn parse_run(bytes: &[u8]) -> ReportedRun {
    serde_json::from_slice(bytes).unwrap_or_else(|error| {
        let why = format!("not understood: {error}");
        ReportedRun::from_run(TaskRun::lost(why, monotonic_ns()))
    })
}

impl World<'_> {
    /// Tasks of this rank in a group of `tasks`.
    pub(crate) fn share(&self, tasks: usize) -> Range<usize> {
        share(self.rank(), self.size(), tasks)
    }

    /// Rank that runs a task of a group of `tasks`.
    pub(crate) fn rank_of(&self, task: usize, tasks: usize) -> usize {
        task * self.size() / tasks.max(1)
    }

    /// Waits until all ranks are ready for the same step without a problem; returns the start time
    /// by the local clock, `begins_after` the arrival of the last rank.
    pub(crate) fn agree(
        &self,
        step: &str,
        begins_after: Duration,
        stop: &StopFlag,
        own: Result<(), EngineError>,
    ) -> Result<u64, EngineError> {
        let problem = own.as_ref().err().map(EngineError::why);
        let ready = ReadyMessage { what: step.to_owned(), signal: stop.signal(), problem };
        let go = self.ask(&ready, begins_after).map_err(EngineError::Rank);
        // The local error says more than the one relayed by rank 0.
        own?;
        let go = go?;
        if let Some((rank, why)) = go.problem {
            return Err(EngineError::Rank(self.error(rank, why)));
        }
        if let Some(signal) = go.signal {
            stop.raise(signal);
            return Err(EngineError::Interrupted { signal });
        }
        Ok(self.on_own_clock(go.at_ns))
    }

    fn ask(&self, ready: &ReadyMessage, begins_after: Duration) -> Result<StartMessage, RankError> {
        let bytes = serde_json::to_vec(ready).unwrap_or_default();
        if !self.is_first() {
            self.gather(&bytes)?;
            let bytes = self.broadcast(&[])?;
            return serde_json::from_slice(&bytes)
                .map_err(|error| self.error(0, format!("it is not understood: {error}")));
        }
        let (parts, lost) = self.gather_most(&bytes);
        self.have_met();
        let mut go = StartMessage {
            at_ns: 0,
            signal: None,
            problem: lost.map(|lost| (lost.rank, lost.why)),
        };
        for (rank, part) in parts.iter().enumerate() {
            let Some(part) = part else { continue };
            match serde_json::from_slice::<ReadyMessage>(part) {
                Err(error) => go.fail(rank, format!("it is not understood: {error}")),
                Ok(other) => {
                    go.signal = go.signal.or(other.signal);
                    if let Some(problem) = other.problem {
                        go.fail(rank, problem);
                    } else if other.what != ready.what {
                        let why = format!("it is at '{}', rank 0 at '{}'", other.what, ready.what);
                        go.fail(rank, why);
                    }
                }
            }
        }
        let begins_after = u64::try_from(begins_after.as_nanos()).unwrap_or(0);
        go.at_ns = monotonic_ns() + begins_after;
        self.broadcast(&serde_json::to_vec(&go).unwrap_or_default())?;
        Ok(go)
    }

    /// Delay between the last rank's arrival and the start of a group, so that all ranks receive
    /// the start message in time.
    pub(crate) fn head_start(&self) -> Duration {
        // Waiting ranks may be asleep.
        LONGEST_REST + Duration::from_micros(500 + 20 * self.size() as u64)
    }

    /// Exchanges the results of a group: returns those of all tasks, in task order. Ranks other
    /// than 0 get them without latencies, intervals and heat.
    pub(crate) fn exchange(
        &self,
        tasks: usize,
        own: Vec<TaskRun>,
        stop: &StopFlag,
    ) -> Result<Vec<TaskAnswer>, EngineError> {
        // The tasks of others would go on for nothing.
        if own.iter().any(|run| !matches!(run.end, TaskEnd::Finished)) {
            self.halt(stop.signal());
        }
        if self.is_first() {
            return self.collect(tasks, own, stop);
        }
        let results = self.own_results(own, stop);
        self.gather(&packed(&results)).map_err(EngineError::Rank)?;
        let combined = self.broadcast(&[]).map_err(EngineError::Rank)?;
        let (signal, parts) = MessageParts::split(&combined);
        if parts.len() != tasks {
            let why = format!("it told of {} tasks, not of {tasks}", parts.len());
            return Err(EngineError::Rank(self.error(0, why)));
        }
        signal.into_iter().for_each(|signal| stop.raise(signal));
        Ok(parts.into_iter().map(|part| TaskAnswer::Reported(Box::new(parse_run(part)))).collect())
    }

    /// Encoded results of this rank's tasks.
    fn own_results(&self, own: Vec<TaskRun>, stop: &StopFlag) -> Vec<u8> {
        let mut parts = MessageParts::new(stop.signal());
        for mut run in own {
            run.began_ns = self.to_first(run.began_ns);
            let run = ReportedRun::from_run(run);
            parts.add(&serde_json::to_vec(&run).unwrap_or_default());
        }
        parts.bytes
    }

    /// Gathers the results of all ranks at rank 0, and broadcasts them.
    fn collect(
        &self,
        tasks: usize,
        own: Vec<TaskRun>,
        stop: &StopFlag,
    ) -> Result<Vec<TaskAnswer>, EngineError> {
        let mut answers: Vec<TaskAnswer> = Vec::with_capacity(tasks);
        let (told, lost) = self.gather_most(&[]);
        let (mut slim, mut signal) = (Vec::with_capacity(tasks), stop.signal());
        for run in own {
            let run = ReportedRun::from_run(run);
            slim.push(serde_json::to_vec(&run.without_details()).unwrap_or_default());
            answers.push(TaskAnswer::Own(Box::new(run.into_run())));
        }
        for (rank, told) in told.into_iter().enumerate().skip(1) {
            let share = share(rank, self.size(), tasks);
            let why = || {
                let lost = lost.as_ref().filter(|lost| lost.rank == rank);
                lost.map_or_else(|| self.error(rank, "lost".to_owned()), RankError::clone)
            };
            let results = told.and_then(|bytes| unpacked(&bytes).ok()).unwrap_or_default();
            let (rank_signal, parts) = MessageParts::split(&results);
            signal = signal.or(rank_signal);
            if parts.len() != share.len() {
                for _ in share {
                    let run =
                        ReportedRun::from_run(TaskRun::lost(why().to_string(), monotonic_ns()));
                    slim.push(serde_json::to_vec(&run).unwrap_or_default());
                    answers.push(TaskAnswer::Own(Box::new(run.into_run())));
                }
                continue;
            }
            for part in parts {
                let run = parse_run(part);
                slim.push(serde_json::to_vec(&run.without_details()).unwrap_or_default());
                answers.push(TaskAnswer::Reported(Box::new(run)));
            }
        }
        let mut message = MessageParts::new(signal);
        slim.iter().for_each(|part| message.add(part));
        self.broadcast(&message.bytes).map_err(EngineError::Rank)?;
        signal.into_iter().for_each(|signal| stop.raise(signal));
        Ok(answers)
    }

    /// Run of an answer, with its times converted to the local clock.
    pub(crate) fn on_common_clock(&self, answer: TaskAnswer) -> TaskRun {
        let is_by_first = matches!(answer, TaskAnswer::Reported(_));
        let run = answer.run();
        let began_ns = if is_by_first { self.on_own_clock(run.began_ns) } else { run.began_ns };
        TaskRun { began_ns, ..run }
    }

    /// Calls and bytes of all ranks in each second of a phase, at rank 0; the own ones elsewhere.
    pub(crate) fn merge_seconds(
        &self,
        own: &[IntervalTotals],
    ) -> Result<Vec<IntervalTotals>, RankError> {
        let seconds = serde_json::to_vec(own).unwrap_or_default();
        let Some(parts) = self.gather(&seconds)? else { return Ok(own.to_vec()) };
        let read = |part: &Vec<u8>| serde_json::from_slice(part).unwrap_or_default();
        Ok(merge_intervals(parts.iter().map(read)))
    }
}

impl StartMessage {
    fn fail(&mut self, rank: usize, why: String) {
        self.problem.get_or_insert((rank, why));
    }
}

/// Tasks of a rank: contiguous, and a single task belongs to rank 0.
fn share(rank: usize, ranks: usize, tasks: usize) -> Range<usize> {
    // The first of those whose task * ranks / tasks is this rank.
    let first = |rank: usize| (rank * tasks).div_ceil(ranks);
    first(rank)..first(rank + 1)
}

/// Encoding of several byte strings, after the signal that a rank has received.
struct MessageParts {
    bytes: Vec<u8>,
}

impl MessageParts {
    fn new(signal: Option<i32>) -> Self {
        Self { bytes: signal.unwrap_or(0).to_le_bytes().to_vec() }
    }

    fn add(&mut self, part: &[u8]) {
        self.bytes.extend_from_slice(&(part.len() as u64).to_le_bytes());
        self.bytes.extend_from_slice(part);
    }

    /// Decodes the signal and the parts; truncated parts are omitted.
    fn split(bytes: &[u8]) -> (Option<i32>, Vec<&[u8]>) {
        let Some((signal, mut unread)) = bytes.split_first_chunk() else {
            return (None, Vec::new());
        };
        let signal = Some(i32::from_le_bytes(*signal)).filter(|signal| *signal > 0);
        let mut parts = Vec::new();
        while let Some((length, behind)) = unread.split_first_chunk() {
            let length = usize::try_from(u64::from_le_bytes(*length)).unwrap_or(usize::MAX);
            let Some((part, behind)) = behind.split_at_checked(length) else { break };
            parts.push(part);
            unread = behind;
        }
        (signal, parts)
    }
}

#[cfg(test)]
mod tests {
    use super::{MessageParts, share};

    #[test]
    fn shares_of_all_ranks_cover_all_tasks_in_order() {
        for (ranks, tasks) in [(1, 5), (4, 8), (4, 1), (4, 3), (3, 10), (7, 0), (5, 5)] {
            let shared: Vec<usize> =
                (0..ranks).flat_map(|rank| share(rank, ranks, tasks)).collect();
            assert_eq!(shared, (0..tasks).collect::<Vec<_>>(), "{ranks} ranks, {tasks} tasks");
        }
        assert_eq!(share(0, 4, 1), 0..1);
        assert_eq!(share(2, 4, 8), 4..6);
    }

    #[test]
    fn message_parts_round_trip_and_truncated_parts_are_dropped() {
        let mut parts = MessageParts::new(Some(15));
        parts.add(b"one");
        parts.add(b"");
        assert_eq!(MessageParts::split(&parts.bytes), (Some(15), vec![&b"one"[..], b""]));
        let cut = &parts.bytes[..parts.bytes.len() - 1];
        assert_eq!(MessageParts::split(cut), (Some(15), vec![&b"one"[..]]));
        assert_eq!(MessageParts::split(b"x"), (None, Vec::new()));
        assert_eq!(
            MessageParts::split(&[0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]).1.len(),
            0
        );
    }
}
