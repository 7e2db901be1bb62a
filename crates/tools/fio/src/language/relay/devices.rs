//! Block devices that jobs name, found without an understanding of the other keys, for jobs that
//! the original runs.

use std::path::PathBuf;

use treering_script::{ConfigError, JobDevice};

use crate::language::apply::split_paths;
use crate::language::expand::expand;
use crate::language::lines::{Lines, Setting};
use crate::language::{ParseContext, keys};
use crate::namespace::is_block_device;

/// Files of a section, and whether they are written.
#[derive(Clone, Debug, Default)]
struct NamedFiles {
    directories: Vec<String>,
    filenames: Vec<String>,
    is_written: bool,
    is_null: bool,
    may_be_mounted: bool,
}

impl NamedFiles {
    fn take(&mut self, setting: &Setting, around: &ParseContext<'_>) {
        let known = keys::KNOWN.iter().find(|(known, _)| *known == setting.key);
        let Some((_, key)) = known else { return };
        let written = setting.value.as_deref().unwrap_or("1");
        let Ok(text) = expand(written, around.environment, around.machine) else { return };
        match *key {
            "directory" => self.directories = split_paths(&text).unwrap_or_default(),
            "filename" => self.filenames = split_paths(&text).unwrap_or_default(),
            "rw" => {
                let word = text.split(':').next().unwrap_or_default();
                self.is_written = !matches!(word, "read" | "randread");
            }
            "ioengine" => self.is_null = text == "null",
            "allow_mounted_write" => self.may_be_mounted = text != "0",
            _ => {}
        }
    }

    fn devices(&self) -> impl Iterator<Item = JobDevice> + '_ {
        let joined = |file: &String| -> Vec<PathBuf> {
            if self.directories.is_empty() {
                return vec![PathBuf::from(file)];
            }
            self.directories.iter().map(|below| PathBuf::from(format!("{below}/{file}"))).collect()
        };
        let paths = self.filenames.iter().flat_map(joined);
        paths.filter(|path| is_block_device(path)).map(|path| JobDevice {
            path,
            is_written: self.is_written && !self.is_null,
            may_be_mounted: self.may_be_mounted,
        })
    }
}

/// Devices of all jobs of a file and of the command line.
pub(crate) fn named_devices(
    file: &str,
    text: &[u8],
    only: &[String],
    around: &ParseContext<'_>,
) -> Result<Vec<JobDevice>, ConfigError> {
    let (sections, _) = Lines::read(file, text, around)?;
    let (mut global, mut devices) = (NamedFiles::default(), Vec::new());
    for section in &sections {
        let is_global = section.is_global();
        if !is_global && !only.is_empty() && !only.contains(&section.name) {
            continue;
        }
        let mut named = global.clone();
        section.settings.iter().for_each(|setting| named.take(setting, around));
        if is_global {
            global = named;
        } else {
            devices.extend(named.devices());
        }
    }
    Ok(devices)
}
