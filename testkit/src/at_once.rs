//! Cases of one test that wait more than they compute: done side by side.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{available_parallelism, scope};

/// Concurrent cases per CPU.
const FOR_EACH_CPU: usize = 4;

/// Runs a closure for every case, several at a time, in no order. Fails when one of them fails,
/// after all that were begun have ended.
pub fn at_once<T: Sync>(cases: &[T], work: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    let workers = available_parallelism().map_or(1, usize::from) * FOR_EACH_CPU;
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
