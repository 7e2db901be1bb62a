//! Progress of a native run: a bar on a terminal, a line per operation in a pipe.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::{IsTerminal, stderr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle, sleep};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use treering_age::operations_of;
use treering_engine::RunProgress;
use treering_model::{Caution, SinkError, TaskTotals, TrialEvent, TrialSink};
use treering_report::pages::tools::progress::{AgingLines, task_line};

use crate::classic_output::say;
use crate::colour::is_dumb;
use crate::launcher::is_launched;

/// Interval at which the rate in the bar is updated.
const TICK: Duration = Duration::from_millis(200);

/// Phases of aging whose tasks count as operations: that of the generator, and that of
/// compilebench.
const AGING_PHASES: [&str; 2] = ["age", "operations"];

/// Progress display of a run.
pub(crate) struct ProgressShow {
    bar: Option<ProgressBar>,
    ticker: Option<Ticker>,
    phase: String,
    /// Printer of lines about the layouts of an aging run; `None` for other runs.
    aging: Option<AgingLines>,
    /// True if a caution that was said for an earlier trial of the plan is not said again.
    is_of_plan: bool,
}

/// Codes of the cautions that this process has said for trials of its plan.
static SAID: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

impl ProgressShow {
    /// Starts the display of a run of `operations` operations.
    pub(crate) fn begin(operations: u64, progress: &Arc<RunProgress>) -> Self {
        if !stderr().is_terminal() || is_dumb() || is_launched() {
            return Self::of(None, None);
        }
        let bar = ProgressBar::new(operations);
        let template = "{bar:24} {pos}/{len}  {msg}  {prefix}  {left}";
        // Before the first operation has ended, nothing tells how long all take.
        let left = |state: &ProgressState, out: &mut dyn Write| {
            if state.pos() > 0 {
                let _always = write!(out, "left {}", HumanDuration(state.eta()));
            }
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.with_key("left", left));
        }
        let ticker = Ticker::begin(bar.clone(), Arc::clone(progress));
        Self::of(Some(bar), Some(ticker))
    }

    const fn of(bar: Option<ProgressBar>, ticker: Option<Ticker>) -> Self {
        Self { bar, ticker, phase: String::new(), aging: None, is_of_plan: false }
    }

    /// Says a caution only for the first of the plan's trials that has it; the page counts all.
    pub(crate) fn of_plan(self) -> Self {
        Self { is_of_plan: true, ..self }
    }

    /// True if the caution is to be said now.
    fn is_news(&self, caution: &Caution) -> bool {
        !self.is_of_plan || SAID.lock().is_ok_and(|mut said| said.insert(caution.code.name()))
    }

    /// Adds a line for each measured layout.
    pub(crate) fn with_layouts(self) -> Self {
        Self { aging: Some(AgingLines::default()), ..self }
    }

    fn say(&self, words: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| say(words)),
            None => say(words),
        }
    }

    fn task_ended(&mut self, task: &TaskTotals) {
        if let Some(aging) = self.aging.as_mut().filter(|_| AGING_PHASES.contains(&&*self.phase)) {
            aging.operations += operations_of(task);
        }
        let Some(bar) = &self.bar else {
            say(&format!("{}: {}", self.phase, task_line(task)));
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
            TrialEvent::Cautioned(caution) if self.is_news(caution) => {
                let words = format!("caution: {} ({})", caution.message, caution.code.name());
                self.say(&words);
            }
            TrialEvent::Produced(artifact) => {
                let line = self.aging.as_mut().and_then(|aging| aging.line(artifact));
                line.into_iter().for_each(|line| self.say(&line));
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

/// True for the tasks that a dry run lists; walks and the removal of a temporary tree are none.
fn is_operation(kind: &str) -> bool {
    !matches!(kind, "walk native" | "remove native")
}

/// Thread that updates the rate in the bar from the workers' counters.
struct Ticker {
    is_finished: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    fn begin(bar: ProgressBar, progress: Arc<RunProgress>) -> Self {
        let is_finished = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&is_finished);
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
        // If the thread cannot be started, the bar has no rate; the workers report the error.
        let thread = Builder::new().name("progress".to_owned()).spawn(renew).ok();
        Self { is_finished, thread }
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.is_finished.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _its_panic_is_no_news = thread.join();
        }
    }
}
