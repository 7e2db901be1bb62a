//! Comparison of a job run by the original and natively: the totals and the requests of each.
//!
//! The caller runs the jobs and judges the differences.

mod iolog;
mod rehearsed;

use std::collections::BTreeMap;

use crate::language::Section;
use treering_model::{TaskTotals, Trial};
use treering_script::{ConfigError, Job, Settings};

use super::job::FileJob;
use super::tally::Tally;
use super::with_fio::{ForeignJob, program_of, with_job_file_option};

pub use iolog::{Moved, moved};
pub use rehearsed::rehearsed_requests;

/// Bytes and requests of the clones of each job, by job name and direction.
pub type JobWork = BTreeMap<(String, &'static str), [u64; 2]>;

/// Work of each job of a trial. The trial must come from this process, since the store does not
/// keep the tally.
pub fn job_work(trial: &Trial) -> JobWork {
    let mut work = JobWork::new();
    for task in &trial.tasks {
        let Some(done) = done(task) else { continue };
        for (way, word) in ["read", "write"].into_iter().enumerate() {
            if done.requests[way] > 0 {
                let [bytes, requests] = work.entry((task.kind.clone(), word)).or_default();
                *bytes = bytes.saturating_add(done.bytes[way]);
                *requests = requests.saturating_add(done.requests[way]);
            }
        }
    }
    work
}

/// Totals of a clone; index 0 is reads, 1 is writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct CloneTotals {
    /// Bytes moved.
    bytes: [u64; 2],
    /// Number of requests.
    requests: [u64; 2],
}

/// Totals of a task's clone, native or by the original; `None` for other tasks.
fn done(task: &TaskTotals) -> Option<CloneTotals> {
    let tally = Tally::read(&task.counters)?;
    let [read, write, _trim] = &tally.directions;
    Some(CloneTotals {
        bytes: [read.bytes, write.bytes],
        requests: [read.requests, write.requests],
    })
}

/// Job for both implementations.
pub struct JobPair {
    /// The job run natively.
    pub ours: Box<dyn Job>,
    /// The job run by the original.
    pub theirs: Box<dyn Job>,
}

/// Creates the job of these settings for both implementations.
///
/// # Errors
/// When the settings, the job file or the original is not as it must be.
pub fn job_pair(settings: &Settings) -> Result<JobPair, ConfigError> {
    let path = program_of(settings);
    let settings = with_job_file_option(settings);
    let ours = Box::new(FileJob::native(&settings)?);
    Ok(JobPair { ours, theirs: Box::new(ForeignJob::new(&settings, path, &|_| Vec::new())?) })
}

/// First clone of each job, whose requests can be compared.
pub struct Sequences {
    /// Native jobs: each task of a phase other than setup is one of them.
    pub ours: Box<dyn Job>,
    /// The job run by the original, which writes logs.
    pub theirs: Box<dyn Job>,
    /// Jobs in their order.
    pub jobs: Vec<Logged>,
}

/// Job whose requests are logged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logged {
    /// Name of the job.
    pub name: String,
    /// Path of its log, relative to the target.
    pub log: String,
    /// Reason why its requests cannot be equal; `None` if they must be.
    pub differs: Option<&'static str>,
}

/// Logged time of a job that does not end before, in seconds.
const LOGGED_SECONDS: u64 = 1;

/// Creates the job of these settings for a comparison of its requests.
///
/// # Errors
/// As [`job_pair`].
pub fn sequences(settings: &Settings) -> Result<Sequences, ConfigError> {
    let alone = |job: &mut Section| {
        job.clones = 1;
        (job.ramp_us, job.start_delay_us) = (0, [0; 2]);
    };
    let path = program_of(settings);
    let settings = &with_job_file_option(settings);
    let ours = FileJob::native_but(settings, &alone)?;
    let more = |number: usize| {
        let pair = |key: &str, value: String| (key.to_owned(), value);
        vec![
            pair("numjobs", "1".to_owned()),
            pair("runtime", format!("{LOGGED_SECONDS}s")),
            pair("ramp_time", "0".to_owned()),
            pair("startdelay", "0".to_owned()),
            pair("write_iolog", log(number)),
        ]
    };
    let theirs = ForeignJob::new(settings, path, &more)?;
    let place = theirs.working_directory();
    let logged = |(number, job): (usize, &Section)| Logged {
        name: job.name.clone(),
        log: format!("{place}/{}", log(number)),
        differs: why_other(job),
    };
    let jobs = ours.sections().enumerate().map(logged).collect();
    Ok(Sequences { ours: Box::new(ours), theirs: Box::new(theirs), jobs })
}

fn log(number: usize) -> String {
    format!("requests-{number}.log")
}

fn why_other(job: &Section) -> Option<&'static str> {
    let is_random = job.rw.random || job.rw.is_mixed();
    if !job.draws.repeatable && !job.sets("randseed") && is_random {
        return Some("randrepeat=0: other seeds each time");
    }
    if !job.engine.moves_data() {
        return Some("its requests move no data");
    }
    let rated = job.rate.iter().chain(&job.rate_iops).any(|rate| *rate > 0);
    if job.rw.is_mixed() && rated {
        return Some("with a rate the mix hangs on the time");
    }
    None
}
