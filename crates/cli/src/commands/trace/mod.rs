//! `treering trace`: the requests that a program makes to block devices.

mod cost;
pub(in crate::commands) mod files;
mod page;
mod record;

use std::process::ExitCode;
use std::time::Duration;

use treering_observe::block_trace::convert_to_blktrace;
use treering_trace::TraceWindow;

use super::typed::origin_of_files;
use crate::arguments::{ShowTraceArgs, TraceArgs, TraceVerb, WindowArgs, size};
use crate::failure::Failure;

/// Runs a subcommand of `treering trace`.
pub(crate) fn run(args: &TraceArgs) -> Result<ExitCode, Failure> {
    match &args.verb {
        None => record::run(&args.record),
        Some(TraceVerb::Show(args)) => show(args),
        Some(TraceVerb::Plot(args)) => page::plot(args),
        Some(TraceVerb::Cost(args)) => cost::run(args),
    }
}

fn show(args: &ShowTraceArgs) -> Result<ExitCode, Failure> {
    let window = window(&args.window)?;
    let read = args.files.iter().map(|path| files::summary(path, window));
    let runs = read.collect::<Result<Vec<_>, _>>()?;
    if let (Some(dir), Some(first)) = (&args.blktrace_out, args.files.first()) {
        convert_to_blktrace(first, dir)?;
    }
    page::write(&runs, origin_of_files(), &args.page)?;
    Ok(ExitCode::SUCCESS)
}

/// Parses the window of a trace to read.
fn window(args: &WindowArgs) -> Result<TraceWindow, Failure> {
    let second = |text: &str| {
        let seconds = text.parse::<f64>().ok().filter(|seconds| (0.0..1e9).contains(seconds));
        let time = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        time.and_then(|time| u64::try_from(time.as_nanos()).ok())
            .ok_or_else(|| Failure::usage(format!("--times: '{text}' is not a number of seconds")))
    };
    let times_ns = args.times.as_deref().map(|text| range("--times", text, second)).transpose()?;
    let offset = |text: &str| size("--offsets", text);
    let offsets =
        args.offsets.as_deref().map(|text| range("--offsets", text, offset)).transpose()?;
    Ok(TraceWindow { times_ns, offsets })
}

fn range(
    option: &str,
    text: &str,
    of: impl Fn(&str) -> Result<u64, Failure>,
) -> Result<(u64, u64), Failure> {
    let wrong = |what: &str| {
        Failure::usage(format!("{option}: '{text}' {what}"))
            .hint("a range is FROM:TO; either may be left out")
    };
    let (from, until) = text.split_once(':').ok_or_else(|| wrong("is not a range"))?;
    let from = if from.is_empty() { 0 } else { of(from)? };
    let until = if until.is_empty() { u64::MAX } else { of(until)? };
    if from >= until { Err(wrong("ends before it begins")) } else { Ok((from, until)) }
}

#[cfg(test)]
mod tests {
    use super::window;
    use crate::arguments::WindowArgs;

    #[test]
    fn windows_are_ranges() {
        let of = |times: Option<&str>, offsets: Option<&str>| {
            window(&WindowArgs {
                times: times.map(str::to_owned),
                offsets: offsets.map(str::to_owned),
            })
        };
        assert_eq!(of(Some("1.5:4"), None).unwrap().times_ns, Some((1_500_000_000, 4_000_000_000)));
        assert_eq!(of(None, Some("1MiB:")).unwrap().offsets, Some((1 << 20, u64::MAX)));
        for wrong in ["5", "5:4", "x:y", "-1:4", "NaN:4"] {
            assert!(of(Some(wrong), None).is_err(), "{wrong}");
        }
    }
}
