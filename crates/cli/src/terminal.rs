//! Host side of a plan: messages and progress on standard error, leftovers of killed runs, and the
//! command line that continues the plan after a reboot.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::Arc;

use treering_conduct::Host;
use treering_datasets::fingerprint;
use treering_engine::RunProgress;
use treering_lab::ContinuationUnit;
use treering_model::TrialSink;
use treering_results::StoreHost;
use treering_script::{Job, TargetFacts};

use crate::classic_output::say;
use crate::clock::trial_unix_ms;
use crate::failure::Failure;
use crate::places;
use crate::progress::ProgressShow;

/// Environment variables that a continued plan needs to find its files and programs.
const KEPT_VARIABLES: [&str; 5] = ["HOME", "PATH", "TREERING_DATA", "XDG_DATA_HOME", "LANG"];

/// Host of a plan on a terminal.
pub(crate) struct Terminal;

impl Host for Terminal {
    fn say(&self, words: &str) {
        say(words);
    }

    fn unix_ms(&self) -> i64 {
        trial_unix_ms()
    }

    fn listeners(&self, job: &dyn Job, progress: &Arc<RunProgress>) -> Vec<Box<dyn TrialSink>> {
        if !std::io::stderr().is_terminal() {
            return Vec::new();
        }
        let operations = job.tasks(&TargetFacts::unknown());
        vec![Box::new(ProgressShow::begin(operations, progress).of_plan())]
    }

    fn data_set_fingerprint(&self, name: &str) -> Option<String> {
        fingerprint(name, &places::dataset_dirs())
    }

    fn continuation(&self) -> Result<ContinuationUnit, Failure> {
        continuation()
    }
}

impl StoreHost for Terminal {
    fn default_store(&self) -> Result<PathBuf, Failure> {
        places::default_store()
    }

    fn staging_dirs(&self) -> Vec<PathBuf> {
        places::staging_dirs()
    }
}

/// Command line that continues this campaign after a reboot.
fn continuation() -> Result<ContinuationUnit, Failure> {
    let cannot = |what: &str, error: &dyn std::fmt::Display| {
        Failure::environment(format!("{what}: {error}"))
    };
    let text = |word: std::ffi::OsString| {
        word.into_string().map_err(|word| {
            let message = format!("{} cannot be written into a unit", word.to_string_lossy());
            Failure::usage(message).hint("use names in UTF-8 in plans with reboots")
        })
    };
    let program = std::env::current_exe()
        .map_err(|error| cannot("cannot determine where treering is", &error))?;
    let directory = std::env::current_dir()
        .map_err(|error| cannot("cannot determine the current directory", &error))?;
    let mut command = vec![text(program.into_os_string())?];
    for word in std::env::args_os().skip(1) {
        command.push(text(word)?);
    }
    let verb = command.iter().position(|word| word == "compare").unwrap_or(0);
    let own = command.iter().take_while(|word| *word != "--");
    if !own.into_iter().any(|word| word == "--resume") {
        command.insert(verb + 1, "--resume".to_owned());
    }
    let environment = places::environment();
    let is_kept = |(name, _): &(String, String)| KEPT_VARIABLES.contains(&name.as_str());
    Ok(ContinuationUnit {
        command,
        directory: text(directory.into_os_string())?,
        environment: environment.into_iter().filter(is_kept).collect(),
    })
}
