//! Language of job files: sections of keys, resolved to jobs.
//!
//! `lines` parses the text, `expand` substitutes variables, `keys` and `values` interpret settings,
//! `apply` stores them in the [`Section`], `check` validates the jobs, and `show` writes resolved
//! jobs as a job file. `relay` prepares a file for the original.

mod apply;
mod check;
mod command_line;
mod direction;
mod distribution;
mod engine;
mod expand;
mod extras;
mod keys;
mod lines;
mod logs;
mod pattern;
mod relay;
mod replay;
mod section;
mod show;
mod steering;
mod units;
mod values;
mod verifying;

use treering_script::ConfigError;

use treering_kit::faults::{Fault, Faults, Place};

pub(crate) use check::WORKERS_MAX;
pub(crate) use command_line::command_line;
pub(crate) use direction::Direction;
pub(crate) use distribution::{Distribution, Zone};
pub(crate) use engine::Engine;
pub(crate) use expand::{Environment, Machine};
pub(crate) use extras::{FadviseHint, NumberFormat, Redundancy, UnifiedReporting, Warning};
pub(crate) use keys::{KNOWN, WITH_FIO, is_key, is_switch_key, nearest_key};
pub(crate) use lines::Reader;
pub(crate) use logs::LogOptions;
pub(crate) use pattern::Pattern;
pub(crate) use relay::{RelayedJob, named_devices, number_of, relay};
pub(crate) use replay::{BYTES_MAX as REPLAY_BYTES_MAX, Replay, ReplayAction, ReplayLine};
pub(crate) use section::{
    ExitScope, FileOrder, Preallocation, RandomOptions, Section, ThinkTime, joined_path,
};
pub(crate) use show::show;
pub(crate) use steering::{LatencyTarget, MinimumRates, SteadyState, StridedZones};
pub(crate) use units::time_us;
pub(crate) use values::Amount;
pub(crate) use verifying::{HEADER_BYTES, VerifyKind, VerifyOptions};

use std::cell::RefCell;

use expand::expand;
use lines::{Lines, Setting};
use units::UnitBases;
use values::RawValue;

/// Context of parsing a job file: included files, environment, command line, machine.
pub(crate) struct ParseContext<'s> {
    /// Reader of included files.
    pub reader: &'s Reader<'s>,
    /// Lookup of environment variables.
    pub environment: &'s Environment<'s>,
    /// Settings of the command line as `KEY=VALUE`, which precede the file.
    pub typed: &'s [String],
    /// Settings as `KEY=VALUE` that override those of the sections.
    pub overriding: &'s [String],
    /// Values of the machine keywords, such as `$ncpus`.
    pub machine: Machine,
}

impl<'s> ParseContext<'s> {
    /// Creates a context without settings of the command line.
    pub(crate) fn new(
        reader: &'s Reader<'s>,
        environment: &'s Environment<'s>,
        machine: Machine,
    ) -> Self {
        Self { reader, environment, typed: &[], overriding: &[], machine }
    }
}

/// Parses a job file into its jobs, in order. `only` selects sections by name; empty selects all.
pub(crate) fn parse(
    file: &str,
    text: &[u8],
    only: &[String],
    around: &ParseContext<'_>,
) -> Result<Vec<Section>, ConfigError> {
    let (sections, mut faults) = Lines::read(file, text, around)?;
    let mut global = Section::defaults();
    let mut jobs = Vec::new();
    for read in sections {
        let is_global = read.is_global();
        if !is_global && !only.is_empty() && !only.contains(&read.name) {
            continue;
        }
        let mut section = global.clone();
        section.heading.place = read.place;
        section.name.clone_from(&read.name);
        section.heading.title.clone_from(&read.name);
        let is_typed = !around.typed.is_empty() && read.place.file == 0;
        if is_typed && !is_global {
            // As in the original, a name from the command line is an option of the job.
            section.given.push(("name".to_owned(), read.name.clone()));
        }
        if !is_typed {
            section.bases = bases(&read.settings, section.bases, &faults)
                .map_err(|fault| faults.refuse(fault))?;
        }
        for setting in &read.settings {
            if is_typed {
                // As in the original, a setting of the command line applies to what follows.
                let settings = std::slice::from_ref(setting);
                section.bases = bases(settings, section.bases, &faults)
                    .map_err(|fault| faults.refuse(fault))?;
            }
            let set = section.set(setting, &faults, around);
            faults.ok_or_record(set);
            if is_typed {
                section.place_files();
            }
        }
        section.place_files();
        if is_global {
            section.given_globally = std::mem::take(&mut section.given);
            let before = std::mem::take(&mut global.given_globally);
            section.given_globally.splice(..0, before);
            section.given_globally.dedup();
            global = section;
            // The stonewall applies to the first job after it only.
            continue;
        }
        jobs.push(section);
    }
    faults.check()?;
    if jobs.is_empty() {
        let fault = faults.error(Place::START, "there is no job");
        let right = "a job is a section with a name of its own, as [reader]";
        return Err(faults.refuse(fault.hint(right)));
    }
    check::check(&mut jobs, &faults).map_err(|fault| faults.refuse(fault))?;
    Ok(jobs)
}

/// Number base of a section's sizes, wherever in the section it is set.
fn bases(settings: &[Setting], before: UnitBases, to: &Faults<'_>) -> Result<UnitBases, Fault> {
    let mut bases = before;
    let notes = RefCell::default();
    for setting in settings.iter().filter(|setting| setting.key == "kb_base") {
        let text = setting.value.as_deref().unwrap_or_default();
        let value =
            RawValue { key: "kb_base", text, place: setting.value_place, bases, to, notes: &notes };
        let kb = value.word(&[("1024", 1024), ("1000", 1000)])?;
        bases = UnitBases { kb };
    }
    Ok(bases)
}

impl Section {
    fn set(
        &mut self,
        setting: &Setting,
        to: &Faults<'_>,
        around: &ParseContext<'_>,
    ) -> Result<(), Fault> {
        let name = keys::canonical_key(&setting.key, setting.place, to)?;
        let written = setting.value.as_deref().unwrap_or_default();
        let place = setting.value_place;
        let text = expand(written, around.environment, around.machine).map_err(|why| {
            let what = format!("{}: {why}", setting.key);
            to.error(place, what).hint("set the variable, or write the value itself")
        })?;
        let bare = setting.value.is_none();
        let (bases, notes) = (self.bases, RefCell::default());
        let value = RawValue { key: &setting.key, text: &text, place, bases, to, notes: &notes };
        if bare && !check::is_switch(name) || !bare && text.is_empty() {
            let right = format!("write {}=...", setting.key);
            return Err(value.refuse("is no value", right));
        }
        self.apply(name, &value)?;
        for note in notes.take() {
            if !self.extras.notes.contains(&note) {
                self.extras.notes.push(note);
            }
        }
        // As in fio, a bare key counts as 1.
        let value = if bare { "1".to_owned() } else { text.into_owned() };
        self.given.retain(|(before, _)| before != name);
        self.given.push((name.to_owned(), value));
        self.extras.bare.retain(|before| before != name);
        self.extras.bare.extend(bare.then(|| name.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
