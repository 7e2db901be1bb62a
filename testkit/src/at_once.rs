//! Runs the cases of one test concurrently, for cases that mostly wait.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// Concurrent cases per CPU.
const CASES_PER_CPU: usize = 4;

/// Runs a closure for every case, several at a time, in no order. If a case fails, the test fails
/// after all started cases have ended.
pub fn at_once<T: Sync>(cases: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = available_parallelism().map_or(1, usize::from) * CASES_PER_CPU;
    scope(|scope| {
        for _ in 0..workers.min(cases.len()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    work(case);
                }
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::at_once;

    #[test]
    fn every_case_runs_once() {
        let done = Mutex::new(Vec::new());
        let cases: Vec<u32> = (0..100).collect();
        at_once(&cases, |case| done.lock().unwrap().push(*case));
        let mut done = done.into_inner().unwrap();
        done.sort_unstable();
        assert_eq!(done, cases);
    }
}
