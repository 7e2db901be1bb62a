//! Repeats packed trials on this machine: their plan, or a run without a plan, with the files of
//! the pack.

mod files;
mod machine;
mod plan;

use std::path::PathBuf;

use treering_model::{CellRole, Trial, TrialId};
use treering_script::Workload;

use self::files::PackedFiles;
use self::machine::{adapt, machine_differences};
use self::plan::{plan_of_document, plan_of_runs};
use crate::failure::Failure;
use crate::host::Host;
use crate::plan::Plan;

/// Contents of a pack.
pub struct PackedTrials {
    /// File of the pack, for messages.
    pub file: PathBuf,
    /// Documents of plans, each with its campaign.
    pub documents: Vec<(TrialId, String)>,
    /// The trials.
    pub trials: Vec<Trial>,
}

/// Options of a repetition.
pub struct RepeatOptions<'a> {
    /// Campaign to repeat, as a prefix of its identity; `None` for the only one.
    pub campaign: Option<String>,
    /// Work directory that replaces the packed trials' directory.
    pub dir: Option<PathBuf>,
    /// Block devices that replace those of the packed trials.
    pub devices: Vec<PathBuf>,
    /// Kernels of guests: a file for all variants, or `VARIANT=FILE`.
    pub kernels: Vec<String>,
    /// Number of rounds; `None` for the number in the pack.
    pub rounds: Option<u32>,
    /// True if nothing is to be run.
    pub dry_run: bool,
    /// The workloads.
    pub workloads: &'a [&'static dyn Workload],
    /// Directories of the user's own data sets.
    pub data_dirs: Vec<PathBuf>,
    /// Environment variables that a job's files may refer to.
    pub environment: Vec<(String, String)>,
    /// Directory for temporary files.
    pub temporary_dir: PathBuf,
}

/// A repetition that is ready to be run. Dropping the repetition removes the packed files.
pub struct Repetition {
    /// Plan on this machine.
    pub plan: Plan,
    /// Differences from the packed trials, in words.
    pub differences: Vec<String>,
    trials: Vec<Trial>,
    _files: PackedFiles,
}

impl Repetition {
    /// Prepares the repetition of packed trials.
    ///
    /// # Errors
    /// When the pack has nothing to repeat, or this machine lacks what it needs.
    pub fn prepare(
        packed: PackedTrials,
        options: &RepeatOptions<'_>,
        host: &dyn Host,
    ) -> Result<Self, Failure> {
        let packed = packed.choose(options.campaign.as_deref())?;
        let files = PackedFiles::write_all(&packed.trials, options)?;
        let has_plan = packed.trials.iter().any(|trial| trial.beginning.cell.is_some());
        let mut plan = match packed.documents.first() {
            Some((_, document)) => plan_of_document(document, &files, options)?,
            None if has_plan => {
                let message = format!("{}: the pack has no plan", packed.file.display());
                let hint =
                    "the first trial of a campaign has it: pack it whole, with --campaign ID";
                return Err(Failure::usage(message).hint(hint));
            }
            None => plan_of_runs(&packed.trials, &files, options)?,
        };
        let mut differences = adapt(&mut plan, &packed.trials, options, host)?;
        differences.extend(machine_differences(&packed.trials));
        Ok(Self { plan, differences, trials: packed.trials, _files: files })
    }

    /// Packed trials of a variant, to be compared with those of the repetition.
    pub fn packed_trials(&self, variant: &str) -> Vec<Trial> {
        let is_measured = |trial: &&Trial| match &trial.beginning.cell {
            None => true,
            Some(cell) => cell.variant == variant && cell.role == CellRole::Round,
        };
        let measured = self.trials.iter().filter(is_measured);
        measured.filter(|trial| trial.exclusion().is_none()).cloned().collect()
    }
}

impl PackedTrials {
    /// Keeps only the trials of the requested campaign, or those outside of campaigns.
    fn choose(mut self, wanted: Option<&str>) -> Result<Self, Failure> {
        let mut campaigns: Vec<TrialId> = Vec::new();
        let cells = self.trials.iter().filter_map(|trial| trial.beginning.cell.as_ref());
        for campaign in cells.map(|cell| cell.campaign) {
            let is_wanted = wanted.is_none_or(|prefix| campaign.text().starts_with(prefix));
            if is_wanted && !campaigns.contains(&campaign) {
                campaigns.push(campaign);
            }
        }
        let usage = |message: String| Failure::usage(message);
        let file = self.file.display();
        let chosen = match (campaigns.as_slice(), wanted) {
            ([], Some(prefix)) => {
                return Err(usage(format!("--campaign {prefix}: {file} has no such campaign")));
            }
            ([], None) => None,
            ([alone], _) => Some(*alone),
            (several, _) => {
                let names: Vec<String> = several.iter().map(|campaign| campaign.text()).collect();
                let message = format!("{file} has {} campaigns", several.len());
                let hint = format!("choose one with --campaign: {}", names.join(", "));
                return Err(usage(message).hint(hint));
            }
        };
        self.trials
            .retain(|trial| trial.beginning.cell.as_ref().map(|cell| cell.campaign) == chosen);
        self.documents.retain(|(campaign, _)| Some(*campaign) == chosen);
        if self.trials.is_empty() {
            return Err(usage(format!("{file} has no trial")));
        }
        Ok(self)
    }
}
