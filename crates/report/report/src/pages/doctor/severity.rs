//! Order of the cautions on the doctor's page: the most harmful first.

use treering_model::{Caution, CautionCode};

use crate::Warning;

/// All cautions in order of severity: first those that make numbers wrong, then those that make
/// them specific to another machine, those about noise, and last those for information.
const WORST_FIRST: [CautionCode; CautionCode::ALL.len()] = [
    CautionCode::KernelWarning,
    CautionCode::DebugKernel,
    CautionCode::MayNotFit,
    CautionCode::HostMayFill,
    CautionCode::AppendedToExisting,
    CautionCode::HostCacheAnswers,
    CautionCode::ImageInMemory,
    CautionCode::DataFitInMemory,
    CautionCode::CachesNotDropped,
    CautionCode::CompressibleData,
    CautionCode::CgroupLimits,
    CautionCode::MemorySqueezed,
    CautionCode::Swapped,
    CautionCode::Misaligned,
    CautionCode::OtherSectors,
    CautionCode::Throttled,
    CautionCode::Stolen,
    CautionCode::OtherLoad,
    CautionCode::NotQuiet,
    CautionCode::CachesDroppedOutside,
    CautionCode::Governor,
    CautionCode::TooShort,
    CautionCode::NotLocked,
    CautionCode::ConfinedByWalk,
    CautionCode::StoreStaged,
    CautionCode::Handicapped,
    CautionCode::TooFewOperations,
    CautionCode::ShortOfSpace,
    CautionCode::NamesCollided,
    CautionCode::FlushesDecide,
    CautionCode::RequestsLate,
    CautionCode::MeansOnly,
    CautionCode::VersionUnknown,
    CautionCode::OtherwiseThanRecorded,
    CautionCode::TraceIncomplete,
    CautionCode::MetricMissing,
    CautionCode::ProcessesLeft,
    CautionCode::Emulated,
    CautionCode::PlayedLate,
    CautionCode::NotFresh,
    CautionCode::NotShared,
    CautionCode::MountsDiffer,
];

/// Cautions as warnings with advice, the worst first.
pub fn worst_first(mut cautions: Vec<Caution>) -> Vec<Warning> {
    let rank = |caution: &Caution| WORST_FIRST.iter().position(|code| *code == caution.code);
    cautions.sort_by_key(rank);
    cautions.iter().map(Warning::from).collect()
}

#[cfg(test)]
mod tests {
    use super::WORST_FIRST;
    use std::collections::HashSet;

    #[test]
    fn every_caution_has_its_rank() {
        let ranked: HashSet<_> = WORST_FIRST.into_iter().collect();
        assert_eq!(ranked.len(), WORST_FIRST.len(), "as many as there are, none twice");
    }
}
