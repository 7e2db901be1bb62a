//! Block devices that jobs name, found without an understanding of the other keys, for jobs that
//! the original runs.

use std::path::PathBuf;

use treering_script::{ConfigError, JobDevice};

use crate::language::apply::split_paths;
use crate::language::expand::expand;
use crate::language::lines::{Lines, Setting};
use crate::language::section::placed;
use crate::language::{ParseContext, keys};
use crate::namespace::is_block_device;

/// Files of a section, and whether they are written.
#[derive(Clone, Debug, Default)]
struct NamedFiles {
    directories: Vec<String>,
    unplaced: Vec<String>,
    paths: Vec<String>,
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
            "filename" => self.unplaced.extend(split_paths(&text).unwrap_or_default()),
            "rw" => {
                let word = text.split(':').next().unwrap_or_default();
                self.is_written = !matches!(word, "read" | "randread");
            }
            "ioengine" => self.is_null = text == "null",
            "allow_mounted_write" => self.may_be_mounted = text != "0",
            _ => {}
        }
    }

    /// Adds the named files to those of the sections before, as jobs do.
    fn place(&mut self) {
        self.paths.extend(placed(&mut self.unplaced, &self.directories));
    }

    fn devices(&self) -> impl Iterator<Item = JobDevice> + '_ {
        let paths = self.paths.iter().map(PathBuf::from);
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
        let is_typed = !around.typed.is_empty() && section.place.file == 0;
        for setting in &section.settings {
            named.take(setting, around);
            if is_typed {
                named.place();
            }
        }
        named.place();
        if is_global {
            global = named;
        } else {
            devices.extend(named.devices());
        }
    }
    Ok(devices)
}
