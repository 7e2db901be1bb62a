//! A rank of a trial that a plan has launched: rank 0 reads the request from standard input and
//! reports on standard output.

use std::io::{self, BufRead, Write};
use std::process::ExitCode;
use std::time::Duration;

use treering_conduct::plan::RANK_TIMEOUT_SECONDS;
use treering_conduct::{LaunchedRank, serve_launched, together};
use treering_engine::RankReport;

use super::connection::Connected;
use super::process;
use crate::classic_output::say;
use crate::clock::trial_unix_ms;
use crate::failure::{Failure, Kind};

/// Time after which a silent rank counts as lost, until the timeout of the plan is known.
const TIMEOUT: Duration = Duration::from_secs(RANK_TIMEOUT_SECONDS as u64);

/// Runs this rank to its end.
pub(crate) fn run() -> ExitCode {
    let refuse = |failure: &Failure| {
        StandardStreams.tell(&RankReport::Refused(failure.message().to_owned()));
        ExitCode::from(Kind::Environment.code())
    };
    match Connected::of_launch() {
        Ok(connected) => together(
            &connected,
            &process(),
            TIMEOUT,
            |ranks| serve_launched(ranks, &StandardStreams).map(|()| ExitCode::SUCCESS),
            refuse,
        ),
        Err(failure) => refuse(&failure),
    }
}

struct StandardStreams;

impl LaunchedRank for StandardStreams {
    fn job_line(&self) -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        io::stdin().lock().read_until(b'\n', &mut line)?;
        Ok(line)
    }

    fn tell(&self, report: &RankReport) -> bool {
        let mut line = serde_json::to_vec(report).unwrap_or_default();
        line.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&line).and_then(|()| out.flush()).is_ok()
    }

    fn say(&self, words: &str) {
        say(words);
    }

    fn unix_ms(&self) -> i64 {
        trial_unix_ms()
    }
}
