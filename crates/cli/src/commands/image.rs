//! `treering image`: saved filesystems, listed, shown, saved, verified, removed and restored.

use std::path::Path;
use std::process::ExitCode;

use treering_conduct::trial::OBSERVING_PARAMETERS;
use treering_lab::{AgedTarget, FilesystemProfile, ImageLibrary, ImageRecord, Lab, ReadOnlyView};
use treering_model::{Trial, Unit};
use treering_report::pages::layout::{self, View};
use treering_report::{Cell, Column, Report, Table};
use treering_sys::SignalWatch;

use super::{lab, output};
use crate::arguments::{ImageVerb, OutputArgs};
use crate::classic_output::say;
use crate::failure::{Failure, Kind};
use crate::places;

/// Runs a subcommand of `treering image`.
pub(crate) fn run(verb: &ImageVerb) -> Result<ExitCode, Failure> {
    let library = ImageLibrary::new(&places::images_dir()?);
    match verb {
        ImageVerb::List { output } => output::write(&list(&library), output),
        ImageVerb::Show { name, output } => show(&library, name, output),
        ImageVerb::Save { name, target } => Saving::prepare(name, target)?.save(None),
        ImageVerb::Verify { names } => return Ok(verify(&library, names)),
        ImageVerb::Remove { names } => names.iter().try_for_each(|name| Ok(library.remove(name)?)),
        ImageVerb::Restore { name, to } => Ok(library.load(name)?.restore_to(to)?),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn list(library: &ImageLibrary) -> Report {
    let mut page = Report::new("Saved images");
    let columns = vec![
        Column::text("image"),
        Column::text("filesystem"),
        Column::number("device", Unit::Bytes),
        Column::number("data", Unit::Bytes),
        Column::number("stored", Unit::Bytes),
        Column::text("profile"),
        Column::text("recipe"),
        Column::long_text("damage"),
    ];
    let caption = "`treering image show NAME` says how one was made.";
    let mut table = Table::new("images", caption, columns);
    let bytes = |bytes: u64| Cell::measured(bytes as f64, Unit::Bytes);
    for name in library.names() {
        table.rows.push(match library.load(&name) {
            Ok(image) => {
                let record = &image.record;
                vec![
                    Cell::text(name),
                    Cell::text(&record.filesystem),
                    bytes(record.device_bytes),
                    bytes(record.data_bytes),
                    bytes(record.stored_bytes),
                    Cell::text(record.made_with("profile").unwrap_or("")),
                    Cell::text(record.recipe_key()),
                    Cell::text(""),
                ]
            }
            Err(error) => {
                let mut row = vec![Cell::text(""); 8];
                (row[0], row[7]) = (Cell::text(name), Cell::text(error.to_string()));
                row
            }
        });
    }
    if table.rows.is_empty() {
        page.paragraph("No image is saved. `treering age TARGET … --save NAME` saves one.");
    } else {
        page.table(table);
    }
    for folder in library.left_unfinished() {
        page.note(format!(
            "A run that was killed left {} unfinished; `treering lab release` removes it.",
            folder.display()
        ));
    }
    page
}

fn show(library: &ImageLibrary, name: &str, args: &OutputArgs) -> Result<(), Failure> {
    let image = library.load(name)?;
    let record = &image.record;
    let mut page = Report::new(format!("Saved image {name}"));
    let columns = || vec![Column::text("what"), Column::long_text("value")];
    let row = |name: &str, value: &str| vec![Cell::text(name), Cell::text(value)];
    let mut about = Table::new("image", "", columns());
    let saved = jiff::Timestamp::from_millisecond(record.saved_unix_ms);
    about.rows = vec![
        row("filesystem", &record.filesystem),
        row("saved", &saved.map(|time| time.to_string()).unwrap_or_default()),
        row("device bytes", &record.device_bytes.to_string()),
        row("data bytes", &record.data_bytes.to_string()),
        row("stored bytes", &record.stored_bytes.to_string()),
        row("fingerprint", &record.fingerprint),
        row("recipe", &record.recipe_key()),
    ];
    page.table(about);
    for (name, caption, pairs) in [
        ("recipe", "What decides the list of operations and the filesystem.", &record.recipe),
        ("outcome", "What came of it.", &record.outcome),
    ] {
        let mut table = Table::new(name, caption, columns());
        table.rows = pairs.iter().map(|(name, value)| row(name, value)).collect();
        if !table.rows.is_empty() {
            page.table(table);
        }
    }
    page.heading("Layout");
    let view = View { path: name, through: "the image, when it was saved" };
    page.blocks.extend(layout::page(&record.layout, None, &view).blocks);
    output::write(&page, args)
}

/// Verifies each image, continuing after a damaged one.
fn verify(library: &ImageLibrary, names: &[String]) -> ExitCode {
    let names = if names.is_empty() { library.names() } else { names.to_vec() };
    let mut worst = ExitCode::SUCCESS;
    for name in &names {
        match library.load(name).and_then(|image| image.verify()) {
            Ok(()) => say(&format!("{name}: as it was saved")),
            Err(error) => worst = crate::failure::show(&error.into()),
        }
    }
    worst
}

/// An image to be saved once its filesystem is aged; every check that can refuse the save has
/// passed.
pub(super) struct Saving {
    name: String,
    lab: Lab,
    target: AgedTarget,
    mkfs: Vec<String>,
}

impl Saving {
    /// Checks that the filesystem can be saved under this name.
    pub(super) fn prepare(name: &str, target: &Path) -> Result<Self, Failure> {
        let lab = lab::open();
        places::images_dir()?;
        lab.library().refuse_taken(name)?;
        let directory = target.canonicalize().map_err(|error| Failure::of_path(target, &error))?;
        let found = AgedTarget::examine(&directory, &lab)?;
        let mkfs = FilesystemProfile::read(&ReadOnlyView::open(&directory)?, &directory)?.mkfs;
        Ok(Self { name: name.to_owned(), lab, target: found, mkfs })
    }

    /// Saves the filesystem, with the trial that aged it.
    pub(super) fn save(self, trial: Option<&Trial>) -> Result<(), Failure> {
        let signals = SignalWatch::begin().map_err(|error| {
            Failure::new(Kind::Environment, format!("cannot watch for signals: {error}"))
        })?;
        say(&format!(
            "saving {} as image {}: it is unmounted meanwhile",
            self.target.point().display(),
            self.name
        ));
        let image = self.lab.library().begin(&self.name)?;
        let record = self.record(trial);
        let saved = self.target.save(image, record, signals.flag());
        if signals.flag().is_raised() && saved.is_err() {
            return Err(Failure::new(Kind::Interrupted, "interrupted: no image is saved"));
        }
        Ok(saved?)
    }

    fn record(&self, trial: Option<&Trial>) -> ImageRecord {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut recipe = vec![
            pair("mkfs", &self.mkfs.join(" ")),
            pair("mount", &self.target.options()),
            pair("treering", env!("CARGO_PKG_VERSION")),
        ];
        let mut outcome = Vec::new();
        if let Some(trial) = trial {
            recipe.extend(trial.fact("kernel.release").map(|kernel| pair("kernel", kernel)));
            recipe
                .extend(trial.fact("age.fingerprint").map(|print| pair("age.fingerprint", print)));
            let all = trial.beginning.parameters.iter();
            let decides = all.filter(|(name, _)| !OBSERVING_PARAMETERS.contains(&name.as_str()));
            recipe.extend(decides.cloned());
            outcome.push(pair("trial", &trial.beginning.trial.text()));
            let of_age = trial.facts.iter().filter(|fact| fact.name.starts_with("age."));
            outcome.extend(of_age.map(|fact| (fact.name.clone(), fact.value.clone())));
        }
        let saved_unix_ms = i64::try_from(crate::clock::unix_ms()).unwrap_or(i64::MAX);
        ImageRecord {
            name: self.name.clone(),
            saved_unix_ms,
            recipe,
            outcome,
            ..ImageRecord::default()
        }
    }
}
