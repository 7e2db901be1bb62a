//! Availability of a trial's totals. Logs of other tools omit some numbers, which are 0 in the
//! totals of an imported trial; such a 0 is not a measurement.

use treering_model::{CpuTime, IMPORT_FACT, Trial};

/// Distinguishes measured totals from missing ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTotals {
    is_imported: bool,
}

impl KnownTotals {
    /// Detects from the trial's facts whether it was imported.
    pub fn for_trial(trial: &Trial) -> Self {
        Self { is_imported: trial.fact(IMPORT_FACT).is_some() }
    }

    /// Count of tasks or bytes, or a time; `None` where an imported log omits it.
    pub fn amount<N: Default + PartialEq>(self, amount: N) -> Option<N> {
        (!self.is_imported || amount != N::default()).then_some(amount)
    }

    /// CPU time; `None` where an imported log omits it.
    pub fn cpu(self, cpu: CpuTime) -> Option<CpuTime> {
        self.amount(cpu)
    }

    /// Number of files worked on; `None` for workloads that count requests or operations instead.
    pub fn files(files: u64) -> Option<u64> {
        (files > 0).then_some(files)
    }
}
