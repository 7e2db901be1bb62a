//! What the totals of a trial can tell. The logs of other tools do not tell everything: what a log
//! leaves out is 0 in the totals of an imported trial, and 0 there is not a measured number.

use treering_model::{Cpu, IMPORT_FACT, Trial};

/// Which totals of a trial were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    is_imported: bool,
}

impl Known {
    /// Of a trial with its facts.
    pub fn of(trial: &Trial) -> Self {
        Self { is_imported: trial.fact(IMPORT_FACT).is_some() }
    }

    /// A number of tasks or bytes, or a time; `None` where it is not known.
    pub fn amount<N: Default + PartialEq>(self, amount: N) -> Option<N> {
        (!self.is_imported || amount != N::default()).then_some(amount)
    }

    /// CPU time; `None` where it is not known.
    pub fn cpu(self, cpu: Cpu) -> Option<Cpu> {
        self.amount(cpu)
    }

    /// Files worked on. Workloads that count requests or operations count no files: `None`.
    pub fn files(files: u64) -> Option<u64> {
        (files > 0).then_some(files)
    }
}
