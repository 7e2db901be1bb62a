//! Record of a native job, kept beside its trial, from which the job can be rebuilt without its
//! original files.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Settings;

/// Options of a job, and the files from which it was built.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JobRecord {
    /// Options as typed, by name.
    pub options: Vec<(String, String)>,
    /// Texts of the files by name; relative names are based on the directory of the plan or of the
    /// command.
    pub files: BTreeMap<String, String>,
    /// Environment variables that the options or files substituted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub environment: Vec<(String, String)>,
    /// Data set, if it is the user's own: its name, and a fingerprint of its files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dataset: Option<(String, String)>,
}

impl JobRecord {
    /// Artifact kind.
    pub const KIND: &str = "job_record";
    /// Version of the format.
    pub const VERSION: u32 = 1;

    /// Records the settings from which a job was made.
    pub fn from_settings(settings: &Settings) -> Self {
        let texts = settings.files.texts();
        let named = |name: &str| {
            let wanted = format!("${{{name}}}");
            let mut values = settings.options().iter().map(|(_, value)| value);
            texts.values().any(|text| text.contains(&wanted))
                || values.any(|value| value.contains(&wanted))
        };
        let environment = settings.environment.iter().filter(|(name, _)| named(name));
        let base = settings.base_dir.as_deref().unwrap_or(Path::new(""));
        let name =
            |path: &Path| path.strip_prefix(base).unwrap_or(path).to_string_lossy().into_owned();
        Self {
            options: settings.options().to_vec(),
            environment: environment.cloned().collect(),
            files: texts.iter().map(|(path, text)| (name(path), text.clone())).collect(),
            dataset: None,
        }
    }

    /// True if the options alone define the job.
    pub fn is_defined_by_options(&self) -> bool {
        self.files.is_empty() && self.environment.is_empty() && self.dataset.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::JobRecord;
    use crate::Settings;

    #[test]
    fn recorded_file_names_are_relative_to_the_plan() {
        let mut settings = Settings::new(vec![("profile".to_owned(), "a.ffsb".to_owned())]);
        settings.base_dir = Some("/plans".into());
        settings.environment =
            vec![("SIZE".to_owned(), "4k".to_owned()), ("SECRET".to_owned(), "x".to_owned())];
        settings.files.note("/plans/a.ffsb".as_ref(), b"size=${SIZE}");
        settings.files.note("/etc/b".as_ref(), b"b");
        settings.files.note("/plans/binary".as_ref(), &[0xff]);
        let record = JobRecord::from_settings(&settings);
        assert_eq!(record.files.keys().collect::<Vec<_>>(), ["/etc/b", "a.ffsb"]);
        assert_eq!(record.environment, [("SIZE".to_owned(), "4k".to_owned())]);
        assert!(!record.is_defined_by_options());
        assert!(JobRecord::from_settings(&Settings::default()).is_defined_by_options());
    }
}
