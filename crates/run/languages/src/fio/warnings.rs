//! What the original warns of before it begins, in its words: with `--warnings-fatal` such a job is
//! no job.

use super::direction::Direction;
use super::section::Section;

/// Something that is allowed and hardly meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Offsets are no multiples of the smallest request.
    Aligned,
    /// Requests of several sizes are verified, and may overlap.
    VerifiedSizes,
    /// Clones write into the same file, and verify it.
    Writers,
    /// What is written is never verified.
    NeverVerified,
    /// It ends by time, and none is given.
    Timeless,
}

impl Warning {
    /// Its words.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Aligned => "fio: Any use of blockalign= turns off randommap",
            Self::VerifiedSizes => {
                "fio: norandommap given for variable block sizes, verify limited"
            }
            Self::Writers => {
                "fio: multiple writers may overwrite blocks that belong to other jobs. This can \
                 cause verification failures."
            }
            Self::NeverVerified => {
                "fio: verification read phase will never start because write phase uses all of \
                 runtime"
            }
            Self::Timeless => "fio: time_based requires a runtime/timeout setting",
        }
    }

    /// Whether the original says it on standard output.
    pub const fn is_for_output(self) -> bool {
        matches!(self, Self::Writers | Self::NeverVerified)
    }
}

/// All that the original would say of a job whose options are not settled yet, in its order.
pub(super) fn warnings(job: &Section) -> Vec<Warning> {
    let verify = &job.extras.verify;
    let verifies = verify.kind.is_some();
    let is_aligned = |direction| job.align(direction) == job.blocks(direction).least;
    let sizes = Direction::ALL.map(|direction| job.blocks(direction));
    let least = sizes[0].least;
    let has_sizes = sizes.iter().any(|blocks| blocks.least != least || blocks.most != least);
    let shares_file = !job.filenames.is_empty()
        || !job.unique_filename
        || ["$jobname", "$jobnum", "$filenum"].iter().any(|one| !job.filename_format.contains(one));
    let is_without_map = !job.draws.random_map;
    let all = [
        (Warning::Aligned, job.rw.random && !is_without_map && !job.directions().all(is_aligned)),
        (Warning::VerifiedSizes, verifies && is_without_map && has_sizes),
        (Warning::Timeless, job.time_based && job.runtime_us == 0),
        (
            Warning::Writers,
            verifies && job.rw.writes && verify.reads_again && job.clones > 1 && shares_file,
        ),
        (
            Warning::NeverVerified,
            verifies
                && verify.reads_again
                && job.rw.writes
                && !job.rw.reads
                && verify.backlog == 0
                && job.time_based
                && job.runtime_us > 0,
        ),
    ];
    all.into_iter().filter(|(_, holds)| *holds).map(|(warning, _)| warning).collect()
}
