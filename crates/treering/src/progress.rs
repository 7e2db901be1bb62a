//! Progress of a native run: a bar on a terminal, a line per operation in a pipe.

use std::io::{IsTerminal, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use treering_engine::Progress;
use treering_model::{SinkError, TaskTotals, TrialEvent, TrialSink};

use crate::classic_output::say;
use crate::colour::is_dumb;

/// How often the rate in the bar is renewed.
const TICK: Duration = Duration::from_millis(200);

/// Shows how far a run is.
pub(crate) struct ProgressShow {
    bar: Option<ProgressBar>,
    ticker: Option<Ticker>,
    phase: String,
}

impl ProgressShow {
    /// For a run of so many operations.
    pub(crate) fn begin(operations: u64, progress: &Arc<Progress>) -> Self {
        if !stderr().is_terminal() || is_dumb() {
            return Self { bar: None, ticker: None, phase: String::new() };
        }
        let bar = ProgressBar::new(operations);
        let template = "{bar:24} {pos}/{len}  {msg}  {prefix}  left {eta}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        let ticker = Ticker::begin(bar.clone(), Arc::clone(progress));
        Self { bar: Some(bar), ticker: Some(ticker), phase: String::new() }
    }

    fn task_ended(&mut self, task: &TaskTotals) {
        let Some(bar) = &self.bar else {
            say(&format!("{}: {}", self.phase, line(task)));
            return;
        };
        if is_operation(&task.kind) {
            bar.inc(1);
        }
    }
}

impl TrialSink for ProgressShow {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::PhaseBegan { name, .. } => self.phase.clone_from(name),
            TrialEvent::TaskBegan { kind, subject, .. } => {
                if let Some(bar) = &self.bar {
                    bar.set_message(format!("{}: {kind} {subject}", self.phase));
                }
            }
            TrialEvent::TaskEnded(task) => self.task_ended(task),
            TrialEvent::Cautioned(caution) => {
                let words = format!("caution: {} ({})", caution.message, caution.code.name());
                match &self.bar {
                    Some(bar) => bar.suspend(|| say(&words)),
                    None => say(&words),
                }
            }
            TrialEvent::Ended { .. } => {
                self.ticker.take();
                if let Some(bar) = &self.bar {
                    bar.finish_and_clear();
                }
            }
            _ => {}
        }
        Ok(())
    }
}

/// Only what a dry run lists counts: walking and removing a temporary tree does not.
fn is_operation(kind: &str) -> bool {
    !matches!(kind, "walk native" | "remove native")
}

fn line(task: &TaskTotals) -> String {
    let rate = if task.bytes == 0 {
        format!("{:.0} files/s", task.files_per_second())
    } else {
        format!("{:.1} MiB/s", task.mib_per_second())
    };
    format!("{} {} {:.2} s, {} files, {rate}", task.kind, task.subject, task.seconds(), task.files)
}

/// Renews the rate in the bar from what the workers count.
struct Ticker {
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn begin(bar: ProgressBar, progress: Arc<Progress>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        let renew = move || {
            let mut last = (Instant::now(), progress.snapshot());
            while !seen.load(Ordering::Relaxed) {
                sleep(TICK);
                let now = (Instant::now(), progress.snapshot());
                let seconds = now.0.duration_since(last.0).as_secs_f64();
                let bytes = now.1.bytes.saturating_sub(last.1.bytes) as f64;
                let files = now.1.files.saturating_sub(last.1.files) as f64;
                let mib = bytes / 1_048_576.0 / seconds;
                bar.set_prefix(format!("{mib:.0} MiB/s, {:.0} files/s", files / seconds));
                bar.tick();
                last = now;
            }
        };
        // Without a thread to be had the bar has no rate, and whatever needs one says so.
        let thread = Builder::new().name("progress".to_owned()).spawn(renew).ok();
        Self { over, thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _its_panic_is_no_news = thread.join();
        }
    }
}
