//! Cautions of an imported fio run, derived from its options and times.

use treering_model::{Caution, CautionCode};

use crate::report::{Direction, Job, Run};

/// Shortest meaningful runtime: shorter ones mostly measure the start.
const SHORT_MS: u64 = 1_000;
/// Longest time that the kernel keeps dirty pages in memory by default (`dirty_expire_centisecs`).
const EXPIRE_MS: u64 = 30_000;
/// Options that bring written data to the device before fio ends.
const SYNCING: [&str; 6] =
    ["fsync", "fdatasync", "sync_file_range", "end_fsync", "fsync_on_close", "sync"];
/// Engines that move no data to files.
const NOT_DATA: [&str; 4] = ["null", "filecreate", "filestat", "filedelete"];

/// Engines with separate submission and completion.
const ASYNCHRONOUS: [&str; 3] = ["libaio", "io_uring", "posixaio"];

/// Value of an option, of the job or of all jobs.
pub(super) fn option<'r>(run: &'r Run, job: &'r Job, name: &str) -> Option<&'r str> {
    let of = |options: &'r [(String, String)]| options.iter().find(|(known, _)| known == name);
    of(&job.options).or_else(|| of(&run.options)).map(|(_, value)| value.as_str())
}

/// True if the histogram of a direction excludes submission time.
pub(super) fn is_of_completion(direction: &Direction) -> bool {
    direction.bins.as_ref().is_some_and(|(name, _)| *name == "clat")
}

/// Names jobs whose completion latencies say little, since asynchronous I/O through the page cache
/// completes within submission.
pub(super) fn ended_within_submission(run: &Run) -> Option<String> {
    let is_asynchronous = |job: &Job| {
        option(run, job, "ioengine").is_some_and(|engine| ASYNCHRONOUS.contains(&engine))
    };
    let names = moved(run, |job, direction| {
        is_of_completion(direction) && is_asynchronous(job) && is_through_cache(run, job)
    });
    listed(&names)
}

/// Cautions of a run. Those that depend on options are given only if all options are reported.
pub(super) fn cautions(run: &Run) -> Vec<Caution> {
    let mut cautions = Vec::new();
    let mut caution = |code, message: String| cautions.push(Caution { code, message });
    let cached =
        moved(run, |job, direction| direction.name != "write" && is_through_cache(run, job));
    if let Some(names) = listed(&cached) {
        let message = format!("{names}: reads without direct=1 may have come from memory");
        caution(CautionCode::DataFitInMemory, message);
    }
    let unsynced = moved(run, |job, one| {
        let is_set = |value: &str| !matches!(value, "0" | "none");
        let is_synced = |name: &str| option(run, job, name).is_some_and(is_set);
        let is_short = one.runtime_ms < EXPIRE_MS && one.name != "read";
        is_short && is_through_cache(run, job) && !SYNCING.into_iter().any(is_synced)
    });
    if let Some(names) = listed(&unsynced) {
        let message = format!(
            "{names}: written without direct=1 and without a sync in less than {} s, for which \
             the kernel may keep data in memory",
            EXPIRE_MS / 1000
        );
        caution(CautionCode::TooShort, message);
    }
    let short = moved(run, |_, one| one.runtime_ms < SHORT_MS);
    if let Some(names) = listed(&short) {
        caution(CautionCode::TooShort, format!("{names}: shorter than a second"));
    }
    cautions
}

fn is_through_cache(run: &Run, job: &Job) -> bool {
    let is_direct = option(run, job, "direct").is_some_and(|value| value != "0")
        || option(run, job, "buffered") == Some("0");
    let moves = option(run, job, "ioengine").is_none_or(|engine| !NOT_DATA.contains(&engine));
    run.has_all_options && !is_direct && moves
}

/// Names of the directions for which the predicate holds.
fn moved(run: &Run, is_so: impl Fn(&Job, &Direction) -> bool) -> Vec<String> {
    let mut names = Vec::new();
    for job in &run.jobs {
        for direction in job.directions.iter().filter(|direction| is_so(job, direction)) {
            let name = format!("{} {}", job.name, direction.name);
            if names.last() != Some(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Joins some of the names, with the number of the others.
fn listed(names: &[String]) -> Option<String> {
    const SHOWN: usize = 4;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => None,
        count if count <= SHOWN => Some(shown),
        count => Some(format!("{shown} and {} more", count - SHOWN)),
    }
}
