//! Metrics specific to blogbench.

use super::MetricSpec;
use super::spec::metrics;

metrics! {
    /// Blogs written, rewritten ones included: the final score for writes by the length of the
    /// run.
    WRITE_SCORE_PER_SECOND = "write_score_per_second", OpsPerSecond, Higher;
    /// Blogs read: the final score for reads by the length of the run.
    READ_SCORE_PER_SECOND = "read_score_per_second", OpsPerSecond, Higher;
    /// The final score for writes, which grows with the length of the run.
    WRITE_SCORE = "write_score", Count, Higher;
    /// The final score for reads, which grows with the length of the run.
    READ_SCORE = "read_score", Count, Higher;
    /// The rate of one score (`write`, `read`) in its worst interval (`min`) or best one (`max`).
    SCORE_PER_SECOND_EXTREME = "{}_score_per_second_{}", OpsPerSecond, Higher;
    /// Seconds for which threads waited since they could not go on, each counted by itself.
    WAITS = "waits", Count, Lower;
    /// Blogs whose number there was before, so that they were written again.
    BLOGS_WRITTEN_ANEW = "blogs_written_anew", Count, Lower;
    /// Files read in an interval, of all kinds.
    READ_FILES_PER_SECOND = "read_files_per_second", FilesPerSecond, Higher;
    /// Files written in an interval, of all kinds.
    WRITTEN_FILES_PER_SECOND = "written_files_per_second", FilesPerSecond, Higher;
    /// Blogs written in an interval.
    BLOGS_WRITTEN_PER_SECOND = "blogs_written_per_second", OpsPerSecond, Higher;
    /// Blogs written since the start, as a row of the log has them.
    BLOGS_SO_FAR = "blogs_so_far", Count, Higher;
    /// Files of a kind in a row of the log, as blogbench prints them: `read_article`,
    /// `write_picture` and so on.
    ROW_FILES = "{}_files", Count, Higher;
}

/// Final scores of writes and reads.
pub const SCORES: [MetricSpec; 2] = [WRITE_SCORE, READ_SCORE];
/// Scores per second of writes and reads.
pub const SCORES_PER_SECOND: [MetricSpec; 2] = [WRITE_SCORE_PER_SECOND, READ_SCORE_PER_SECOND];
