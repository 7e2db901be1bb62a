//! Export of raw trials for other programs: unrounded, without verdicts, one trial at a time.
//!
//! JSON is complete and can be imported again; the CSV forms are long tables with one row for each
//! task, call kind, second or metric.

mod document;
mod rows;

use std::io;

use treering_model::Trial;

use crate::formats::csv::write_header;

pub(crate) use document::TaskForm;

/// Version of the exported JSON. Readers accept older versions and reject newer ones. Version 2
/// omits unknown values, for which version 1 had 0.
pub const EXPORT_VERSION: u32 = 2;

treering_model::named_enum! {
    /// Export form.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum ExportForm {
        /// `{"treering_export": {"version": 2}, "trials": [Trial, …]}`: every trial with all its
        /// tasks and calls. The buckets of each histogram are in `latency`, as
        /// `[[highest_ns, samples], …]`, and the quantiles in `latency_ns`.
        Json = "json",
        /// CSV with one row for each task.
        Csv = "csv",
        /// CSV with one row for each kind of call in each task (`scope` = `task`), and in each
        /// phase over all its tasks (`scope` = `phase`). Summing both scopes counts calls twice.
        CsvOps = "csv-ops",
        /// CSV with one row for each second of a phase in which a call ended.
        CsvIntervals = "csv-intervals",
        /// CSV with one row for each metric.
        CsvMetrics = "csv-metrics",
    }
}

impl ExportForm {
    /// Looks up a form by its name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }
}

/// An export in progress; holds one trial at a time.
pub struct Exporter<'w> {
    form: ExportForm,
    out: &'w mut dyn io::Write,
    trials: u64,
}

impl<'w> Exporter<'w> {
    /// Begins an export: writes the opening of the JSON, or the header of the table.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn begin(form: ExportForm, out: &'w mut dyn io::Write) -> io::Result<Self> {
        match form {
            ExportForm::Json => document::begin(out)?,
            ExportForm::Csv => write_header(&rows::task_columns(), out)?,
            ExportForm::CsvOps => write_header(&rows::op_columns(), out)?,
            ExportForm::CsvIntervals => write_header(&rows::interval_columns(), out)?,
            ExportForm::CsvMetrics => write_header(&rows::metric_columns(), out)?,
        }
        Ok(Self { form, out, trials: 0 })
    }

    /// Writes one trial.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn trial(&mut self, trial: &Trial) -> io::Result<()> {
        match self.form {
            ExportForm::Json => document::trial(trial, self.trials == 0, self.out)?,
            ExportForm::Csv => rows::tasks(trial, self.out)?,
            ExportForm::CsvOps => rows::ops(trial, self.out)?,
            ExportForm::CsvIntervals => rows::intervals(trial, self.out)?,
            ExportForm::CsvMetrics => rows::metrics(trial, self.out)?,
        }
        self.trials += 1;
        Ok(())
    }

    /// Finishes the export. An unfinished export is invalid JSON, so that readers notice.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn finish(self) -> io::Result<()> {
        if self.form == ExportForm::Json {
            document::finish(self.out)?;
        }
        self.out.flush()
    }
}

/// Exports trials that are all in memory.
///
/// # Errors
/// If the writer fails.
pub fn export<'t>(
    form: ExportForm,
    trials: impl IntoIterator<Item = &'t Trial>,
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut exporter = Exporter::begin(form, out)?;
    for trial in trials {
        exporter.trial(trial)?;
    }
    exporter.finish()
}
