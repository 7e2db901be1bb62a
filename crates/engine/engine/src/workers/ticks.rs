//! Ticks: periodic calls of the session while a group works.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use treering_model::SinkError;

use crate::EngineError;
use crate::workers::start::cannot_start;

/// Runs the work on a thread of its own and ticks on this one meanwhile, with the elapsed
/// nanoseconds; results of ticks are reported. After a listener has failed it is not called again,
/// but the ticks continue, since they may end the work.
pub(crate) fn ticking<T: Send, S>(
    every: Duration,
    work: impl FnOnce() -> T + Send,
    mut tick: impl FnMut(u64) -> S,
    mut tell: impl FnMut(S) -> Result<(), SinkError>,
) -> Result<T, EngineError> {
    let every = every.max(Duration::from_millis(1));
    let start = |source| cannot_start(0, 1, source);
    thread::scope(|scope| {
        let (done, ended) = channel::<()>();
        let began = Instant::now();
        let working = move || {
            // When it is dropped, also in a panic, the ticks end.
            let _done = done;
            work()
        };
        let builder = thread::Builder::new().name("group".to_owned());
        let worker = builder.spawn_scoped(scope, working).map_err(start)?;
        let mut reported = Ok(());
        let mut next = every;
        loop {
            let wait = next.saturating_sub(began.elapsed());
            if ended.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                break;
            }
            let counters = tick(u64::try_from(began.elapsed().as_nanos()).unwrap_or(u64::MAX));
            reported = reported.and_then(|()| tell(counters));
            // Ticks that were missed are not made up for.
            while next <= began.elapsed() {
                next = next.saturating_add(every);
            }
        }
        let worked = worker.join();
        reported?;
        worked.map_err(|_panic| start(io::Error::other("the group's thread ended before its work")))
    })
}

#[cfg(test)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use treering_model::SinkError;

    use super::ticking;

    #[test]
    fn ticks_last_as_long_as_the_work_and_its_result_is_returned() {
        let mut ticks = Vec::new();
        let work = || {
            sleep(Duration::from_millis(50));
            7
        };
        let tick = |elapsed_ns| ticks.push(elapsed_ns);
        let done = ticking(Duration::from_millis(5), work, tick, Ok);
        assert_eq!(done.unwrap(), 7);
        assert!(!ticks.is_empty());
        assert!(ticks.is_sorted());
        assert!(ticks[0] >= 5_000_000);
    }

    #[test]
    fn a_panic_of_the_ticked_work_is_an_error() {
        let work = || -> u8 { panic!("on purpose") };
        assert!(ticking(Duration::from_millis(5), work, |_| (), Ok).is_err());
    }

    #[test]
    fn ticks_continue_after_the_listener_failed() {
        let (ends, end) = std::sync::mpsc::channel::<()>();
        let mut ticks = 0;
        let work = move || end.recv().is_err();
        let mut ends = Some(ends);
        let tick = |_elapsed_ns| {
            ticks += 1;
            if ticks == 3 {
                ends = None;
            }
        };
        let mut reported = 0;
        let report = |()| {
            reported += 1;
            Err(SinkError::new("on purpose", std::io::Error::other("a test")))
        };
        assert!(ticking(Duration::from_millis(5), work, tick, report).is_err());
        assert_eq!((ticks >= 3, reported), (true, 1));
    }
}
