//! Record of a saved image of an aged filesystem.

use serde::{Deserialize, Serialize};

use crate::{FileLayout, Fingerprint, Trial};

/// Record of a saved image: origin, size, fingerprint, layout.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ImageRecord {
    /// Version of this record; a reader refuses a larger one.
    pub version: u32,
    /// Name of the image, which is also that of its folder.
    pub name: String,
    /// Time of saving, in milliseconds since 1970.
    pub saved_unix_ms: i64,
    /// Type of its filesystem.
    pub filesystem: String,
    /// Size of the device that it was saved from, in bytes; a loop device to restore it to has the
    /// same size.
    pub device_bytes: u64,
    /// Stored bytes before compression: blocks in use that are not zero.
    pub data_bytes: u64,
    /// Size of the content file, in bytes.
    pub stored_bytes: u64,
    /// XXH3 with 128 bits over the stored blocks and their offsets, in hexadecimal digits.
    pub fingerprint: String,
    /// Recipe of the image, as names and values: the parameters that determine the operations and
    /// the filesystem.
    pub recipe: Vec<(String, String)>,
    /// Outcome of the aging: the rule that ended it, the operations, the trial.
    #[serde(default)]
    pub outcome: Vec<(String, String)>,
    /// Layout of all its files at the time of saving.
    pub layout: FileLayout,
    /// Fingerprint of the text of this record, without the lines of this one and of the name; empty
    /// in records of older versions.
    #[serde(default)]
    pub record_fingerprint: String,
}

impl ImageRecord {
    /// Fingerprint of the text of a record, for its field of this name.
    pub fn fingerprint_of_text(text: &str) -> String {
        let mut print = Fingerprint::new();
        let is_left_out = |line: &str| {
            ["  \"name\": ", "  \"record_fingerprint\": "].iter().any(|key| line.starts_with(key))
        };
        for line in text.lines().filter(|line| !is_left_out(line)) {
            // A comma is missing behind the last field only.
            print.add(line.trim_end_matches(',').as_bytes());
            print.add(b"\n");
        }
        print.text()
    }

    /// Value of a recipe parameter, if present.
    pub fn made_with(&self, name: &str) -> Option<&str> {
        let pair = self.recipe.iter().find(|(known, _)| known == name);
        pair.map(|(_, value)| value.as_str())
    }

    /// Fingerprint of filesystem, device size and recipe: 16 hexadecimal digits.
    pub fn recipe_key(&self) -> String {
        let mut print = Fingerprint::from_bytes(self.filesystem.as_bytes());
        print.add(&self.device_bytes.to_le_bytes());
        for word in self.recipe.iter().flat_map(|(name, value)| [name, value]) {
            print.add(&(word.len() as u64).to_le_bytes());
            print.add(word.as_bytes());
        }
        print.text()
    }

    /// Builds the record of an image to be saved. `recipe` begins with the properties of the
    /// filesystem; the trial that aged it adds its kernel, its parameters except those in
    /// `unrelated`, and its outcome.
    pub fn describing(
        name: &str,
        saved_unix_ms: i64,
        mut recipe: Vec<(String, String)>,
        trial: Option<&Trial>,
        unrelated: &[&str],
    ) -> Self {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut outcome = Vec::new();
        if let Some(trial) = trial {
            recipe.extend(trial.fact("kernel.release").map(|kernel| pair("kernel", kernel)));
            recipe
                .extend(trial.fact("age.fingerprint").map(|print| pair("age.fingerprint", print)));
            let parameters = trial.beginning.parameters.iter();
            let deciding = parameters.filter(|(name, _)| !unrelated.contains(&name.as_str()));
            recipe.extend(deciding.cloned());
            outcome.push(pair("trial", &trial.beginning.trial.text()));
            let of_age = trial.facts.iter().filter(|fact| fact.name.starts_with("age."));
            outcome.extend(of_age.map(|fact| (fact.name.clone(), fact.value.clone())));
        }
        Self { name: name.to_owned(), saved_unix_ms, recipe, outcome, ..Self::default() }
    }
}
