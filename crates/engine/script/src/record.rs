//! Record of a classic run: its settings and the answers that its output received. Kept beside a
//! trial, so that the output of the imitated tool can be rebuilt from the store.

mod job;

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

pub use self::job::JobRecord;
use crate::{ClassicScene, DiskCounts, MachineFacts, SettingFiles, Settings, StatfsSpace};

/// Settings of a classic run, sufficient to rebuild its output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClassicRecord {
    given: Vec<(String, String)>,
    base_dir: Option<PathBuf>,
    /// Environment variables that the options or files substituted.
    environment: Vec<(String, String)>,
    started_unix_ms: u64,
    machine: MachineFacts,
    files: BTreeMap<PathBuf, String>,
    /// Content of standard input, if it was read and is UTF-8.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    input: String,
    /// Facts that the output got before it began.
    pub scene: ClassicScene,
}

impl ClassicRecord {
    /// Artifact kind.
    pub const KIND: &str = "classic_run";
    /// Version of the format.
    pub const VERSION: u32 = 1;

    /// Records the settings of the job and all files that were read for it.
    pub fn new(settings: &Settings, scene: &ClassicScene) -> Self {
        let texts = settings.files.texts();
        let input = String::from_utf8(settings.input.clone()).unwrap_or_default();
        let names = |name: &str| {
            let wanted = format!("${{{name}}}");
            let mut values = settings.options().iter().map(|(_, value)| value);
            input.contains(&wanted)
                || texts.values().any(|text| text.contains(&wanted))
                || values.any(|value| value.contains(&wanted))
        };
        let named = settings.environment.iter().filter(|(name, _)| names(name));
        Self {
            given: settings.options().to_vec(),
            base_dir: settings.base_dir.clone(),
            environment: named.cloned().collect(),
            started_unix_ms: settings.started_unix_ms,
            machine: settings.machine.clone(),
            files: texts,
            input: input.clone(),
            scene: scene.clone(),
        }
    }

    /// Rebuilds the settings.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::new(self.given.clone());
        settings.base_dir.clone_from(&self.base_dir);
        settings.environment.clone_from(&self.environment);
        settings.started_unix_ms = self.started_unix_ms;
        settings.machine = self.machine.clone();
        settings.input = self.input.clone().into_bytes();
        settings.files = SettingFiles::from_record(self.files.clone());
        settings
    }
}

/// Answer of a [`crate::OutputContext`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextAnswer {
    /// Space of the first root's filesystem.
    Room(Option<StatfsSpace>),
    /// Time in the format of `ctime`.
    Time(String),
    /// Disk counters.
    Disk(Option<DiskCounts>),
}

impl ContextAnswer {
    /// Artifact kind.
    pub const KIND: &str = "classic_answer";
    /// Version of the format.
    pub const VERSION: u32 = 1;
}

#[cfg(test)]
mod tests {
    use super::ClassicRecord;
    use crate::{ClassicScene, Settings};

    #[test]
    fn recorded_files_and_used_variables_are_restored() {
        let path = std::env::temp_dir().join(format!("record-{}", std::process::id()));
        std::fs::write(&path, "size=${SIZE}").unwrap();
        let mut settings = Settings::new(vec![("runs".to_owned(), "${RUNS}".to_owned())]);
        let variable = |name: &str| (name.to_owned(), "1".to_owned());
        settings.environment = vec![variable("SIZE"), variable("SECRET"), variable("RUNS")];
        assert_eq!(settings.files.read(&path, 100).unwrap(), b"size=${SIZE}");
        let record = ClassicRecord::new(&settings, &ClassicScene::default());
        std::fs::remove_file(&path).unwrap();
        let json = serde_json::to_string(&record).unwrap();
        let again = serde_json::from_str::<ClassicRecord>(&json).unwrap().settings();
        assert_eq!(again.environment, [variable("SIZE"), variable("RUNS")]);
        assert_eq!(again.options(), settings.options());
        assert!(again.files.are_recorded() && !settings.files.are_recorded());
        assert_eq!(again.files.read(&path, 100).unwrap(), b"size=${SIZE}");
        assert!(again.files.read(&path.join("other"), 100).is_err());
    }
}
