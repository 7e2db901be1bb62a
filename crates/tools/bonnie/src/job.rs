//! A configured bonnie++: parameters, footprint, outline, and the session.

use treering_model::metrics::times;
use treering_model::{Caution, Metric};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
};

use super::asked::FileKind;
use super::config::ClassicConfig;
use super::headline::HeadlineSums;
use super::native;
use super::options::NativeOptions;
use super::session::{BonnieSession, RunStyle};
use super::shape::RunShape;
use super::test::Test;
use treering_kit::occupied::{is_numbered, refuse_existing};
use treering_kit::outline::limited;

/// bonnie++ with all its settings.
#[derive(Debug)]
pub(super) struct BonnieJob {
    shape: RunShape,
    style: RunStyle,
    request: RunRequest,
}

impl BonnieJob {
    /// Reads the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let ClassicConfig { shape, request, process, .. } = ClassicConfig::read(settings)?;
        Ok(Self { shape, style: RunStyle::Classic { process }, request })
    }

    /// Reads native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = NativeOptions::read(settings)?;
        let shape = native::shape(&mut options)?;
        let request = RunRequest::native(options.parameters());
        Ok(Self { shape, style: RunStyle::Native, request })
    }
}

impl Job for BonnieJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if self.style != RunStyle::Native {
            return Ok(Vec::new());
        }
        refuse_existing(facts, |name| is_numbered(name, "bonnie-"))?;
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let shape = &self.shape;
        let copies = u64::from(shape.copies);
        let block = facts.block_bytes.max(1);
        let (mut files, mut dirs, mut file_bytes, mut in_blocks) = (0_u64, 0_u64, 0_u64, 0_u64);
        if let Some(small_files) =
            shape.files.filter(|_| shape.tests.iter().any(|test| !test.is_io()))
        {
            let mean = small_files.min_bytes.midpoint(small_files.max_bytes);
            let inodes =
                if small_files.kind == FileKind::HardLinks { 1 } else { small_files.count };
            files = u64::from(inodes).saturating_mul(copies);
            dirs = u64::from(small_files.subdirs() + 1).saturating_mul(copies);
            file_bytes = files.saturating_mul(mean);
            in_blocks = files.saturating_mul(mean.div_ceil(block).saturating_mul(block));
        }
        let tests =
            |is: fn(Test) -> bool| shape.tests.iter().filter(|test| is(**test)).count() as u64;
        let works = tests(Test::is_io) > 0;
        let io_bytes = shape.io.filter(|_| works).map_or(0, |io| io.bytes.saturating_mul(copies));
        let writes = tests(|test| matches!(test, Test::BlockWrite | Test::Rewrite)).max(1);
        let creates =
            tests(|test| matches!(test, Test::SequentialCreate | Test::RandomCreate)).max(1);
        let runs = u64::from(shape.runs);
        let written = io_bytes
            .saturating_mul(writes)
            .saturating_add(file_bytes.saturating_mul(creates))
            .saturating_mul(runs);
        Footprint {
            peak_files: files.max(copies),
            peak_dirs: dirs.saturating_add(copies),
            // The large file is gone when the many are made.
            peak_bytes: io_bytes.max(file_bytes),
            peak_block_bytes: io_bytes.max(in_blocks),
            written_files: files.saturating_mul(creates).saturating_mul(runs),
            written_bytes: written,
        }
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let shape = &self.shape;
        let copies = match shape.copies {
            1 => String::new(),
            copies => format!(", {copies} copies of it side by side"),
        };
        let line = |run, test: Test| {
            let run = if shape.runs > 1 { format!("run {run}: ") } else { String::new() };
            format!("{run}{}: {}{copies}", test.name(), self.outline_of(test))
        };
        let line = &line;
        limited(
            (1..=shape.runs).flat_map(|run| shape.tests.iter().map(move |&test| line(run, test))),
        )
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        HeadlineSums::foreseen(&self.shape)
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some(times::ELAPSED_SECONDS.name)
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(BonnieSession::new(self.shape.clone(), self.style))
    }
}

impl BonnieJob {
    /// Description of a copy's work in a test.
    fn outline_of(&self, test: Test) -> String {
        let shape = &self.shape;
        if let Some(files) = shape.files.filter(|_| !test.is_io()) {
            let (count, dirs) = (files.count, files.dirs);
            let kind = match files.kind {
                FileKind::Regular if files.min_bytes == files.max_bytes => {
                    format!("files of {} bytes", files.max_bytes)
                }
                FileKind::Regular => {
                    format!("files of {} to {} bytes", files.min_bytes, files.max_bytes)
                }
                FileKind::HardLinks => "names of one file".to_owned(),
                FileKind::SymbolicLinks => "symbolic links to the first".to_owned(),
            };
            return format!("{count} {kind} in {dirs} directories");
        }
        let Some(io) = shape.io else { return String::new() };
        match test {
            Test::CharWrite | Test::CharRead => format!("{} bytes, one a call", io.char_bytes),
            Test::Seeks => format!(
                "{} seeks of {} seekers in {} bytes, {} bytes each",
                io.seeks, io.seekers, io.bytes, io.chunk
            ),
            _ => format!("{} bytes, {} a call", io.bytes, io.chunk),
        }
    }
}
