//! A configured PostMark: parameters, footprint, outline, and the session.

use treering_kit::occupied::refuse_existing;
use treering_model::{Caution, Metric};
use treering_script::{
    ConfigError, Footprint, Job, OutlineLine, RunRequest, Session, Settings, TargetFacts,
};

use super::headline::HeadlineSums;
use super::options::{self, RunShape};
use super::session::PostmarkSession;
use super::worker::ROOT;

/// PostMark with all its settings.
#[derive(Debug)]
pub(super) struct PostmarkJob {
    shape: RunShape,
    request: RunRequest,
}

impl PostmarkJob {
    /// Reads the native options.
    pub(super) fn native(settings: &Settings) -> Result<Self, ConfigError> {
        let (shape, request) = options::native(settings)?;
        Ok(Self { shape, request })
    }
}

impl Job for PostmarkJob {
    fn request(&self) -> &RunRequest {
        &self.request
    }

    fn check(&self, facts: &TargetFacts) -> Result<Vec<Caution>, ConfigError> {
        refuse_existing(facts, |name| name == ROOT)?;
        Ok(Vec::new())
    }

    /// Footprint of the run. Peaks are upper bounds: all files that can exist at a time, at their
    /// full size; the written amount is the expected one.
    fn footprint(&self, facts: &TargetFacts) -> Footprint {
        let RunShape { low, high, bias_read, bias_create, .. } = self.shape;
        let [number, transactions] = [self.shape.number, self.shape.transactions].map(u64::from);
        let (low, high, block) = (u64::from(low), u64::from(high), facts.block_bytes.max(1));
        let creates = if bias_create > 0 { transactions } else { 0 };
        let standing = number + creates.min(number);
        let written = number + transactions * u64::from(bias_create) / 10;
        let appends = transactions * u64::from(10 - bias_read) / 10;
        let mean = u64::midpoint(low, high);
        Footprint {
            peak_files: standing,
            peak_dirs: 1 + u64::from(self.shape.subdirs),
            peak_bytes: standing * high,
            peak_block_bytes: standing.saturating_mul(high.div_ceil(block).saturating_mul(block)),
            written_files: written,
            written_bytes: written * mean + appends * ((high - mean) / 2),
        }
    }

    fn outline(&self, _facts: &TargetFacts) -> Vec<OutlineLine> {
        let RunShape { low, high, number, transactions, subdirs, .. } = self.shape;
        let RunShape { bias_read, bias_create, .. } = self.shape;
        vec![
            format!("setup: {ROOT} with {subdirs} subdirectories"),
            format!("create {number} files of {low} to {high} bytes"),
            format!(
                "{transactions} transactions: read ({bias_read} of 10) or append, and create \
                 ({bias_create} of 10) or delete"
            ),
            "delete the files that are left".to_owned(),
        ]
    }

    fn foreseen_metrics(&self, _facts: &TargetFacts) -> Vec<Metric> {
        HeadlineSums::foreseen()
    }

    fn overall_metric(&self) -> Option<&'static str> {
        Some("transaction/operations_per_second")
    }

    fn begin(&self, _facts: &TargetFacts) -> Box<dyn Session + '_> {
        Box::new(PostmarkSession::new(self.shape))
    }
}
