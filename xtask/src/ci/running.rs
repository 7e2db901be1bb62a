//! Running test programs: those that hold loop devices one after the other, and concurrently all
//! work that needs none: the other programs, two at a time, the documentation tests, and the steps
//! after the tests.
//!
//! cargo would run them all one after the other, although tests on filesystems mostly wait. Output
//! of a program is shown when it ends.

use std::error::Error;
use std::fmt::Write;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;
use std::vec;

use super::listener::OutputListener;
use super::programs::CiProgram;
use super::times::{TestTime, TestTimes};
use crate::checkout;
use crate::tally::TestTally;

/// Number of slowest tests that are listed.
const SLOWEST: usize = 10;

/// Results of test programs.
#[derive(Default)]
struct ProgramOutcome {
    tally: TestTally,
    timed: Vec<TestTime>,
}

/// Runs the programs and the documentation tests, and lists the slowest tests. `afterwards` runs
/// when all other programs than those on loop devices have ended.
pub(crate) fn run_all(
    root: &Path,
    programs: &[CiProgram],
    afterwards: impl FnOnce(),
) -> Result<TestTally, Box<dyn Error>> {
    let mut documented = Ok(TestTally::default());
    let outcome = run(programs, || {
        documented = documentation(root);
        afterwards();
    });
    let ProgramOutcome { mut tally, mut timed } = outcome;
    tally.add(documented?);
    timed.sort_by_key(|test| std::cmp::Reverse(test.duration));
    println!("the slowest tests:");
    for test in timed.iter().take(SLOWEST) {
        println!("{:>7.1} s  {}", test.duration.as_secs_f64(), test.name);
    }
    Ok(tally)
}

/// Runs only these programs.
pub(crate) fn run_some(programs: &[CiProgram]) -> TestTally {
    run(programs, || ()).tally
}

fn run(programs: &[CiProgram], afterwards: impl FnOnce()) -> ProgramOutcome {
    let outcome = Mutex::new(ProgramOutcome::default());
    let (on_devices, others): (Vec<_>, Vec<_>) =
        programs.iter().partition(|program| program.is_on_devices());
    let one_after_another = |group: &Mutex<vec::IntoIter<&CiProgram>>| {
        while let Some(program) = next_program(group) {
            let began = Instant::now();
            let (text, tally, timed) = run_program(program).unwrap_or_else(|error| {
                let tally = TestTally { failed: 1, ..TestTally::default() };
                (format!("{error}\n"), tally, Vec::new())
            });
            let mut total = outcome.lock().expect("no thread panics holding it");
            println!(
                "\n     Running {} of {} ({:.1} s)\n{text}",
                program.target,
                program.package,
                began.elapsed().as_secs_f64()
            );
            total.tally.add(tally);
            total.timed.extend(timed);
        }
    };
    let [on_devices, others] = [on_devices, others].map(|group| Mutex::new(group.into_iter()));
    thread::scope(|scope| {
        scope.spawn(|| one_after_another(&on_devices));
        // Two programs run at a time: the last test of a program often leaves a CPU idle.
        let second = scope.spawn(|| one_after_another(&others));
        one_after_another(&others);
        second.join().expect("a program that fails does not panic");
        afterwards();
    });
    outcome.into_inner().expect("no thread panicked")
}

fn next_program<'p>(group: &Mutex<vec::IntoIter<&'p CiProgram>>) -> Option<&'p CiProgram> {
    group.lock().expect("no thread panics holding it").next()
}

/// Runs a program to its end; returns the output to show, the results, and the durations of its
/// tests.
fn run_program(program: &CiProgram) -> Result<(String, TestTally, Vec<TestTime>), Box<dyn Error>> {
    let threads = program.threads(thread::available_parallelism().map_or(2, usize::from));
    let began = Instant::now();
    let mut child = program
        .command()
        .args(["--show-output", "--test-threads", &threads.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let (mut listener, mut times) = (OutputListener::default(), TestTimes::default());
    let mut text = String::new();
    if let Some(output) = child.stdout.take() {
        read_lines(output, &mut listener, &mut |line, is_shown| {
            times.parse_line(line, began.elapsed());
            if is_shown {
                text += line;
                text += "\n";
            }
        })?;
    }
    let status = child.wait()?;
    if !status.success() {
        writeln!(text, "{} of {}: {status}", program.target, program.package)?;
    }
    let timed = times.durations(&program.target, threads);
    Ok((text, listener.tally(status.success()), timed))
}

/// Runs the documentation tests with cargo.
fn documentation(root: &Path) -> Result<TestTally, Box<dyn Error>> {
    let mut child = checkout::cargo()
        .args(["test", "--workspace", "--doc", "--no-fail-fast"])
        .current_dir(root)
        .stdout(Stdio::piped())
        .spawn()?;
    let mut listener = OutputListener::default();
    if let Some(output) = child.stdout.take() {
        read_lines(output, &mut listener, &mut |line, _| println!("{line}"))?;
    }
    Ok(listener.tally(child.wait()?.success()))
}

/// Passes every line to `on_result`, with true if the line is to be shown.
fn read_lines(
    output: impl std::io::Read,
    listener: &mut OutputListener,
    on_result: &mut dyn FnMut(&str, bool),
) -> Result<(), Box<dyn Error>> {
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        let is_shown = listener.parse_line(&line);
        on_result(&line, is_shown);
    }
    Ok(())
}
