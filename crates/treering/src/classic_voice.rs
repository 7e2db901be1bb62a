//! What the imitated tool would say: its lines while it runs, its summary at the end.

use std::io::{self, Write};

use treering_model::{CautionCode, SinkError, TrialEvent, TrialSink};
use treering_workloads::compilebench::{ClassicSummary, task_line};

/// compilebench's lines, on standard error as the original has them.
#[derive(Debug, Default)]
pub(crate) struct CompilebenchVoice {
    summary: ClassicSummary,
}

impl CompilebenchVoice {
    /// Prints the summary on standard output. A reader that went away is no failure.
    pub(crate) fn finish(&self) -> io::Result<()> {
        let mut text = self.summary.lines().join("\n");
        text.push('\n');
        let mut out = io::stdout().lock();
        out.write_all(text.as_bytes()).and_then(|()| out.flush())
    }
}

impl TrialSink for CompilebenchVoice {
    fn accept(&mut self, event: &TrialEvent) -> Result<(), SinkError> {
        match event {
            TrialEvent::TaskEnded(task) => {
                self.summary.add(task);
                if let Some(line) = task_line(task) {
                    say(&line);
                }
            }
            TrialEvent::Cautioned(caution) => match caution.code {
                CautionCode::CachesNotDropped => {
                    say("error on drop caches, will skip it from now on");
                }
                CautionCode::AppendedToExisting
                | CautionCode::MayNotFit
                | CautionCode::NotLocked
                | CautionCode::ConfinedByWalk => {
                    say(&format!("treering: {}", caution.message));
                }
                // What is doubtful about the machine stands in the store: the lines stay those of
                // the original.
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }
}

/// A line on standard error; nobody listening is no reason to stop a run.
pub(crate) fn say(line: &str) {
    let _nobody_listens = writeln!(io::stderr(), "{line}");
}
