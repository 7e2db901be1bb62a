//! Job that runs a command: its outline, and the metrics that it will produce.

use std::path::Path;

use treering_model::metrics::{command, cpu, times};
use treering_model::{Caution, Metric, Scope, WorkLimit};
use treering_script::{ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, TargetFacts};

use super::command_line::{CommandJob, by_shell, shell_line};
use super::options::{CLEANUP, COMMAND, PREPARE};
use super::session::CommandSession;

impl Job for CommandJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, _facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        let program = &self.words[0];
        let is_there = program.contains('/')
            || self.path.is_empty()
            || std::env::split_paths(&self.path).any(|dir| Path::new(&dir).join(program).is_file());
        if is_there {
            return Ok(Vec::new());
        }
        let message = format!("{}: not found in the directories of PATH", self.name());
        Err(ConfigError::new(message).hint(if program.contains(' ') {
            "a text for the shell is given with --shell 'TEXT', and as command = \"TEXT\" in a plan"
        } else {
            "install it, or give its path"
        }))
    }

    fn footprint(&self, _facts: &TargetFacts) -> Footprint {
        Footprint::default()
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let line = |kind: &str, text: String| format!("{kind} {}", text.replace('\n', "; "));
        let prepare = self.prepare.iter().map(|text| line(PREPARE, shell_line(&by_shell(text))));
        let cleanup = self.cleanup.iter().map(|text| line(CLEANUP, shell_line(&by_shell(text))));
        prepare.chain([line(COMMAND, self.line())]).chain(cleanup).collect()
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        let own = [
            times::FINAL_SYNC_SECONDS,
            cpu::CPU_SECONDS,
            cpu::USER_CPU_SECONDS,
            cpu::SYSTEM_CPU_SECONDS,
            cpu::CPU_PERCENT,
            command::STORAGE_READ_BYTES,
            command::STORAGE_WRITTEN_BYTES,
        ];
        let elapsed = times::ELAPSED_SECONDS.of(Scope::Trial, 1.0);
        let wanted = self.wanted.iter().map(|wanted| wanted.metric(1.0, wanted.primary));
        wanted
            .chain([elapsed.primary_if(!self.names_primary())])
            .chain(own.iter().map(|spec| spec.of(Scope::Trial, 1.0)))
            .collect()
    }

    fn work(&self) -> WorkLimit {
        WorkLimit::Named
    }

    fn is_by_program(&self) -> bool {
        true
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(CommandSession::new(self))
    }
}
