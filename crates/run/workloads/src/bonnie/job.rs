//! A configured bonnie++: parameters, footprint, outline, and the session.

use treering_model::metrics::times;
use treering_model::{Caution, Metric, Mode};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, Session, Settings, SyncScope, TargetFacts,
};

use super::config::{ClassicConfig, CsvVersion, Wait};
use super::dice::Source;
use super::headline::Headline;
use super::native;
use super::session::{BonnieSession, Style};
use super::shape::{FileKind, Fsync, Shape, possible_tests};
use super::test::Test;

/// A dry run lists no more lines.
const LINES_MAX: usize = 100_000;

/// bonnie++ with all its settings.
#[derive(Debug)]
pub(super) struct BonnieJob {
    shape: Shape,
    style: Style,
    parameters: Vec<(String, String)>,
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

impl BonnieJob {
    /// From the classic command line.
    pub(super) fn classic(settings: &Settings) -> Result<Self, ConfigError> {
        let config = ClassicConfig::read(settings)?;
        let parameters = classic_parameters(settings, &config);
        let style = Style::Classic { process: config.process };
        Ok(Self { shape: config.shape, style, parameters })
    }

    /// From native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let shape = native::shape(settings)?;
        let parameters = native_parameters(&shape);
        Ok(Self { shape, style: Style::Native, parameters })
    }
}

fn classic_parameters(settings: &Settings, config: &ClassicConfig) -> Vec<(String, String)> {
    let ClassicConfig { shape, telling, dir, ram_mib, byte_mib, .. } = config;
    let dir = std::path::absolute(dir).unwrap_or_else(|_| dir.clone());
    let mut parameters = vec![parameter("dir", dir.display())];
    let size = shape.io.map_or_else(
        || "0".to_owned(),
        |io| format!("{}:{}:{}:{}", telling.mib, io.chunk, io.seeks, io.seekers),
    );
    parameters.push(parameter("size", size));
    let number = shape.files.map_or_else(
        || "0".to_owned(),
        |files| {
            let max = match files.kind {
                FileKind::HardLinks => "-1".to_owned(),
                FileKind::SymbolicLinks => "-2".to_owned(),
                FileKind::Regular => files.max_bytes.to_string(),
            };
            format!("{}:{max}:{}:{}:{}", telling.k, files.min_bytes, files.dirs, files.chunk)
        },
    );
    parameters.push(parameter("number", number));
    parameters.push(parameter("machine", &telling.name));
    parameters.push(parameter("ram", ram_mib));
    if telling.lines_only {
        parameters.push(parameter("runs", shape.runs));
    }
    if let Some(who) = telling.greeting {
        parameters.push(parameter("user", format!("{}:{}", who.user, who.group)));
    }
    parameters.push(parameter("quiet", telling.quiet));
    parameters.push(parameter("byte-size", byte_mib));
    parameters.push(parameter("fsync", shape.fsync == Fsync::Updates));
    parameters.push(parameter("fsync-writes", shape.fsync == Fsync::Each));
    parameters.push(parameter("direct", shape.direct));
    match telling.wait {
        Wait::Nothing => {}
        Wait::Line => parameters.push(parameter("wait", "p")),
        Wait::Others => parameters.push(parameter("wait", "s")),
    }
    parameters.push(parameter("seed", telling.seed));
    if let (Some(file), Source::List(_)) = (settings.text("random-file"), &shape.source) {
        let file = settings.file(file);
        let full = std::path::absolute(&file).unwrap_or(file);
        parameters.push(parameter("random-file", full.display()));
    }
    parameters.push(parameter("copies", shape.copies));
    let version = match telling.csv {
        CsvVersion::Short(version) => version,
        CsvVersion::Long => "1.98",
    };
    parameters.push(parameter("csv-version", version));
    let columns = if telling.csv_as_original { "original" } else { "right" };
    parameters.push(parameter("csv-columns", columns));
    let scope = if shape.sync == SyncScope::Machine { "machine" } else { "filesystem" };
    parameters.push(parameter("sync-scope", scope));
    parameters
}

fn native_parameters(shape: &Shape) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    match &shape.io {
        Some(io) => parameters.extend([
            parameter("size", io.bytes),
            parameter("chunk", io.chunk),
            parameter("seeks", io.seeks),
            parameter("seekers", io.seekers),
            parameter("byte-size", io.char_bytes),
        ]),
        None => parameters.push(parameter("size", 0)),
    }
    match &shape.files {
        Some(files) => {
            let links = match files.kind {
                FileKind::Regular => "none",
                FileKind::HardLinks => "hard",
                FileKind::SymbolicLinks => "symbolic",
            };
            parameters.extend([
                parameter("files", files.count),
                parameter("max-size", files.max_bytes),
                parameter("min-size", files.min_bytes),
                parameter("dirs", files.dirs),
                parameter("file-chunk", files.chunk),
                parameter("links", links),
            ]);
        }
        None => parameters.push(parameter("files", 0)),
    }
    let all = possible_tests(shape.io, shape.files, |_| true) == shape.tests;
    let tests: Vec<String> = shape.tests.iter().map(|test| test.name().replace(' ', "-")).collect();
    let fsync = match shape.fsync {
        Fsync::Never => "never",
        Fsync::Updates => "updates",
        Fsync::Each => "each",
    };
    parameters.extend([
        parameter("tests", if all { "all".to_owned() } else { tests.join(",") }),
        parameter("fsync", fsync),
        parameter("direct", shape.direct),
        parameter("copies", shape.copies),
        parameter("drop-caches", if shape.drop_caches { "each" } else { "never" }),
    ]);
    if let Source::Seed(seed) = shape.source {
        parameters.push(parameter("seed", seed));
    }
    parameters
}

impl Job for BonnieJob {
    fn parameters(&self) -> Vec<(String, String)> {
        self.parameters.clone()
    }

    fn mode(&self) -> Mode {
        match self.style {
            Style::Classic { .. } => Mode::Classic,
            Style::Native => Mode::Native,
        }
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        if self.style != Style::Native {
            return Ok(Vec::new());
        }
        let is_ours = |name: &&String| {
            let number = name.strip_prefix("bonnie-");
            number.is_some_and(|rest| rest.parse::<u16>().is_ok())
        };
        if let Some(there) = facts.existing.iter().find(is_ours) {
            return Err(ConfigError::new(format!("{there} is there already")).hint(
                "name an empty directory, or remove it; `treering clean DIR` removes what a \
                 killed run left",
            ));
        }
        Ok(Vec::new())
    }

    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let shape = &self.shape;
        let copies = u64::from(shape.copies);
        let block = facts.block_bytes.max(1);
        let (mut files, mut dirs, mut file_bytes, mut in_blocks) = (0_u64, 0_u64, 0_u64, 0_u64);
        if let Some(asked) = shape.files.filter(|_| shape.tests.iter().any(|test| !test.is_io())) {
            let mean = asked.min_bytes.midpoint(asked.max_bytes);
            let inodes = if asked.kind == FileKind::HardLinks { 1 } else { asked.count };
            files = u64::from(inodes).saturating_mul(copies);
            dirs = u64::from(asked.subdirs() + 1).saturating_mul(copies);
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
        let mut lines = Vec::new();
        for run in 1..=shape.runs {
            for &test in &shape.tests {
                if lines.len() == LINES_MAX {
                    lines.push("and so on".to_owned());
                    return lines;
                }
                let what = self.what(test);
                let run = if shape.runs > 1 { format!("run {run}: ") } else { String::new() };
                let copies = match shape.copies {
                    1 => String::new(),
                    copies => format!(", {copies} copies of it side by side"),
                };
                lines.push(format!("{run}{}: {what}{copies}", test.name()));
            }
        }
        lines
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        Headline::foreseen(&self.shape)
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some(times::ELAPSED_SECONDS.name)
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(BonnieSession::new(self.shape.clone(), self.style))
    }
}

impl BonnieJob {
    /// What a copy does in a test.
    fn what(&self, test: Test) -> String {
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
