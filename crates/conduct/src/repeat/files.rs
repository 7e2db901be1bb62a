//! Writes the files of a pack to a temporary directory.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Component, Path, PathBuf};

use treering_model::{Trial, TrialId};
use treering_script::JobRecord;

use super::RepeatOptions;
use crate::failure::Failure;

/// Sources of a trial's job, from its artifact.
pub(super) fn job_record(trial: &Trial) -> Option<JobRecord> {
    trial.artifacts.iter().find_map(|made| made.read(JobRecord::KIND, JobRecord::VERSION))
}

/// Directory with the files of a pack, removed after the repetition.
pub(super) struct PackedFiles {
    dir: PathBuf,
    /// Absolute paths of the pack, each with its path on this machine.
    moved: Vec<(String, String)>,
    environment: Vec<(String, String)>,
}

impl PackedFiles {
    /// Writes the files that the jobs of these trials were made from.
    pub(super) fn write_all(
        trials: &[Trial],
        options: &RepeatOptions<'_>,
    ) -> Result<Self, Failure> {
        let dir = options.temporary_dir.join(format!("treering-repeat-{}", TrialId::new().text()));
        DirBuilder::new()
            .mode(0o700)
            .create(&dir)
            .map_err(|error| Failure::of_path(&dir, &error))?;
        let mut files = Self { dir, moved: Vec::new(), environment: Vec::new() };
        for record in trials.iter().filter_map(job_record) {
            files.environment.extend(record.environment);
            for (name, text) in record.files {
                files.write(&name, &text)?;
            }
        }
        Ok(files)
    }

    fn write(&mut self, name: &str, text: &str) -> Result<(), Failure> {
        if self.moved.iter().any(|(known, _)| known == name) {
            return Ok(());
        }
        let is_beneath = |path: &Path| {
            path.components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
        };
        let path = if is_beneath(Path::new(name)) {
            self.dir.join(name)
        } else {
            // An absolute path, or one with `..`, may not exist here or belong to somebody else.
            let path = self.dir.join(format!("elsewhere-{}", self.moved.len() + 1));
            self.moved.push((name.to_owned(), path.to_string_lossy().into_owned()));
            path
        };
        let parent = path.parent().unwrap_or(&self.dir);
        let written = fs::create_dir_all(parent).and_then(|()| fs::write(&path, text));
        written.map_err(|error| Failure::of_path(&path, &error))
    }

    /// Replaces the packed paths in a text by the paths on this machine.
    pub(super) fn document_here(&self, text: &str) -> String {
        let quoted = |name: &str| format!("\"{name}\"");
        self.moved
            .iter()
            .fold(text.to_owned(), |text, (name, here)| text.replace(&quoted(name), &quoted(here)))
    }

    /// Environment variables of the packed jobs, followed by variables of this machine that these
    /// do not set.
    pub(super) fn environment(&self, options: &RepeatOptions<'_>) -> Vec<(String, String)> {
        let is_new = |name: &str| !self.environment.iter().any(|(known, _)| known == name);
        let others = options.environment.iter().filter(|(name, _)| is_new(name));
        self.environment.iter().chain(others).cloned().collect()
    }

    /// Directory of the files.
    pub(super) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Path on this machine of a packed path; any other text is returned unchanged.
    pub(super) fn path_here(&self, text: String) -> String {
        let moved = self.moved.iter().find(|(known, _)| *known == text);
        moved.map_or(text, |(_, here)| here.clone())
    }
}

impl Drop for PackedFiles {
    fn drop(&mut self) {
        let _left_behind = fs::remove_dir_all(&self.dir);
    }
}
