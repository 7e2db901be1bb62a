//! Lines of job files: sections and settings, with their positions.
//!
//! `;` and `#` begin a comment anywhere, also within a value. An `include` is replaced by the lines
//! of another file.

use treering_script::ConfigError;

use treering_kit::cursor;
use treering_kit::faults::{Fault, Faults, Place, shown};

use super::ParseContext;

/// Longest job file, also in total with its includes, in bytes.
const BYTES_MAX: usize = 1 << 20;
/// Deepest nesting of includes.
const DEPTH_MAX: usize = 16;
/// Maximum number of files in total.
const FILES_MAX: usize = 256;
/// Maximum number of sections, and settings, of all files.
const SECTIONS_MAX: usize = 4096;
const SETTINGS_MAX: usize = 1 << 16;
/// Names of the pseudo files that hold settings of the command line.
const OVERRIDING: &str = "set";
const TYPED: &str = "command line";
/// Longest name of a job, in bytes.
const NAME_BYTES_MAX: usize = 255;

/// Reads an included file, given the name of the including one, and the name as written.
pub(crate) type Reader<'r> = dyn Fn(&str, &str) -> Result<(String, Vec<u8>), String> + 'r;

/// Setting of a section: `key = value`, or a key alone.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) value: Option<String>,
    pub(super) value_place: Place,
}

/// Section with its settings.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Section {
    pub(super) name: String,
    pub(super) place: Place,
    pub(super) settings: Vec<Setting>,
}

impl Section {
    /// True if the section applies to the jobs after it.
    pub(super) fn is_global(&self) -> bool {
        self.name.starts_with("global")
    }
}

/// Reader of the sections of files.
pub(super) struct Lines<'r> {
    faults: Faults<'static>,
    reader: &'r Reader<'r>,
    sections: Vec<Section>,
    settings: usize,
    bytes: usize,
}

impl<'r> Lines<'r> {
    /// Reads the sections of the command line, of a file, and of its includes.
    pub(super) fn read(
        name: &str,
        text: &[u8],
        around: &ParseContext<'r>,
    ) -> Result<(Vec<Section>, Faults<'static>), ConfigError> {
        let (faults, reader) = (Faults::default(), around.reader);
        let mut lines = Self { faults, reader, sections: Vec::new(), settings: 0, bytes: 0 };
        let typed = if around.typed.is_empty() { Ok(()) } else { lines.typed(around.typed) };
        let read = typed.and_then(|()| lines.file(name, text, Place::default(), 0));
        read.map_err(|fault| lines.faults.refuse(fault))?;
        lines.overridden(around.overriding);
        Ok((lines.sections, lines.faults))
    }

    /// Appends overriding settings to each job, since the last setting of a key counts.
    fn overridden(&mut self, settings: &[String]) {
        if settings.is_empty() {
            return;
        }
        let file = self.faults.add_file(OVERRIDING, settings.join(" ").into_bytes());
        let mut place = Place { file, line: 1, column: 1 };
        for setting in settings {
            let (key, value) = match setting.split_once('=') {
                Some((key, value)) => (key, Some(value.to_owned())),
                None => (setting.as_str(), None),
            };
            let value_place = place.after(value.as_ref().map_or(0, |_| key.len() + 1));
            let overriding = Setting { key: key.to_owned(), place, value, value_place };
            if key == "filename" {
                // Named files add up, so those of the sections go.
                let sections = self.sections.iter_mut();
                sections.for_each(|section| section.settings.retain(|before| before.key != key));
            }
            let jobs = self.sections.iter_mut().filter(|section| !section.is_global());
            jobs.for_each(|section| section.settings.push(overriding.clone()));
            place = place.after(setting.len() + 1);
        }
    }

    /// Adds the settings typed on the command line: those before the first `name` apply to all
    /// jobs, those of files too.
    fn typed(&mut self, settings: &[String]) -> Result<(), Fault> {
        let file = self.faults.add_file(TYPED, settings.join(" ").into_bytes());
        let mut place = Place { file, line: 1, column: 1 };
        let global = |place| Section { name: "global".to_owned(), place, settings: Vec::new() };
        self.sections.push(global(place));
        for setting in settings {
            match setting.split_once('=') {
                Some(("name", name)) => {
                    self.named(name, place)?;
                    if self.sections.last().is_some_and(Section::is_global) {
                        // As in the original, which lists the name among the global options.
                        let value_place = place.after("name=".len());
                        let (key, value) = ("name".to_owned(), Some(name.to_owned()));
                        self.add(Setting { key, place, value, value_place })?;
                    }
                }
                Some((key, value)) => {
                    let value_place = place.after(key.len() + 1);
                    let (key, value) = (key.to_owned(), Some(value.to_owned()));
                    self.add(Setting { key, place, value, value_place })?;
                }
                None => {
                    let key = setting.clone();
                    self.add(Setting { key, place, value: None, value_place: place })?;
                }
            }
            place = place.after(setting.len() + 1);
        }
        // Settings before the first section of a file belong to no job.
        self.sections.push(global(place));
        Ok(())
    }

    fn file(&mut self, name: &str, text: &[u8], from: Place, depth: usize) -> Result<(), Fault> {
        self.bytes = self.bytes.saturating_add(text.len());
        if depth > DEPTH_MAX || self.faults.files() >= FILES_MAX {
            let what = format!("include {}: too many files", shown(name));
            return Err(self.faults.error(from, what).hint("does a file include itself?"));
        }
        let file = self.faults.add_file(name, text.to_vec());
        let start = Place { file, line: 1, column: 1 };
        if self.bytes > BYTES_MAX {
            let what = format!("the job file has {} bytes", self.bytes);
            let right = format!("a job file has at most {BYTES_MAX} bytes: is this one?");
            return Err(self.faults.error(start, what).hint(right));
        }
        for (place, line) in cursor::lines(text, file) {
            let Ok(line) = std::str::from_utf8(line) else {
                let error = self.faults.error(place, "the line is not UTF-8 text");
                return Err(error.hint("a job file is text: is this one?"));
            };
            if line.contains('\0') {
                let error = self.faults.error(place, "there is a NUL in the line");
                return Err(error.hint("a job file is text: is this one?"));
            }
            self.line(name, line, place, depth)?;
        }
        Ok(())
    }

    fn line(&mut self, file: &str, line: &str, place: Place, depth: usize) -> Result<(), Fault> {
        let end = line.find([';', '#']).unwrap_or(line.len());
        let body = line[..end].trim_start();
        let start = place.after(end - body.len());
        let body = body.trim_end();
        if body.is_empty() {
            return Ok(());
        }
        if let Some(rest) = body.strip_prefix('[') {
            if depth > 0 {
                let error = self.faults.error(start, "a section begins in an included file");
                return Err(error.hint("an included file has settings only: move the section"));
            }
            return self.section(rest, start);
        }
        if let Some(named) = body.strip_prefix("include ") {
            let named = named.trim();
            let (name, text) = (self.reader)(file, named).map_err(|why| {
                let what = format!("include {}: {}", shown(named), shown(&why));
                let right = "the path of an included file begins at the directory of this one";
                self.faults.error(start, what).hint(right)
            })?;
            return self.file(&name, &text, start, depth + 1);
        }
        self.setting(body, start)
    }

    fn section(&mut self, rest: &str, place: Place) -> Result<(), Fault> {
        let Some(end) = rest.find(']') else {
            let what = format!("'[{}' has no closing ]", shown(rest));
            return Err(self.faults.error(place, what).hint("write [name]"));
        };
        self.named(&rest[..end], place)
    }

    /// Begins a section of this name.
    fn named(&mut self, name: &str, place: Place) -> Result<(), Fault> {
        if name.is_empty() || name.len() > NAME_BYTES_MAX {
            let what = format!("a job's name has from 1 to {NAME_BYTES_MAX} bytes");
            return Err(self.faults.error(place, what).hint("write [name]"));
        }
        if self.sections.len() >= SECTIONS_MAX {
            let right = format!("a job file has at most {SECTIONS_MAX} sections");
            return Err(self.faults.error(place, "too many sections").hint(right));
        }
        self.sections.push(Section { name: name.to_owned(), place, settings: Vec::new() });
        Ok(())
    }

    fn setting(&mut self, body: &str, place: Place) -> Result<(), Fault> {
        let (key, value, value_place) = match body.split_once('=') {
            Some((key, value)) => {
                let trimmed = value.trim_start();
                let before = body.len() - trimmed.len();
                let value_place = place.after(before);
                (key.trim_end(), Some(trimmed.to_owned()), value_place)
            }
            None => (body, None, place),
        };
        self.add(Setting { key: key.to_owned(), place, value, value_place })
    }

    /// Adds a setting to the last section.
    fn add(&mut self, setting: Setting) -> Result<(), Fault> {
        let place = setting.place;
        let Some(section) = self.sections.last_mut() else {
            let what = format!("'{}' stands before the first section", shown(&setting.key));
            return Err(self.faults.error(place, what).hint("begin with [global] or [name]"));
        };
        self.settings += 1;
        if self.settings > SETTINGS_MAX {
            let right = format!("a job file has at most {SETTINGS_MAX} settings");
            return Err(self.faults.error(place, "too many settings").hint(right));
        }
        section.settings.push(setting);
        Ok(())
    }
}
