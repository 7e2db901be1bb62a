//! System calls of a program, as recorded by strace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::{skip, temp_dir};

/// A system call with the process or thread that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TracedCall {
    /// Id of the process or thread, as text.
    pub process: String,
    /// Complete call with its arguments and its result.
    pub call: String,
}

/// Runs a command and its children under strace in a directory. Returns the calls of these kinds in
/// the order in which they ended, with file names after descriptors. If strace is not installed,
/// prints a reason to skip and returns `None`.
///
/// # Panics
/// When the command fails.
pub fn traced(command: &Command, dir: &Path, calls: &str) -> Option<Vec<TracedCall>> {
    let record = temp_dir();
    let out = record.path().join("strace.out");
    let mut strace = Command::new("strace");
    strace.args(["-f", "-y", "-qq", "-s", "300", "-e", &format!("trace={calls}"), "-o"]).arg(&out);
    strace.arg(command.get_program()).args(command.get_args()).current_dir(dir);
    for (name, value) in command.get_envs() {
        strace.env(name, value.unwrap_or_default());
    }
    let Ok(output) = strace.output() else {
        skip("strace is not installed");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text =
        fs::read_to_string(&out).unwrap_or_else(|error| panic!("{}: {error}", out.display()));
    Some(join_interrupted(&text))
}

/// Joins the two lines in which strace prints a call that was interrupted by another thread's.
fn join_interrupted(text: &str) -> Vec<TracedCall> {
    let mut unfinished = BTreeMap::new();
    let mut calls_read = Vec::new();
    for line in text.lines() {
        let Some((process, call)) = line.split_once(' ') else { continue };
        let call = call.trim_start();
        if let Some((begun, _)) = call.split_once(" <unfinished") {
            unfinished.insert(process.to_owned(), begun.to_owned());
            continue;
        }
        let call = match call.split_once(" resumed>") {
            Some((_, tail)) => unfinished.remove(process).unwrap_or_default() + tail,
            None => call.to_owned(),
        };
        calls_read.push(TracedCall { process: process.to_owned(), call });
    }
    calls_read
}

#[cfg(test)]
mod tests {
    use super::join_interrupted;

    #[test]
    fn an_interrupted_call_of_two_lines_is_joined() {
        let text = "12  fsync(3 <unfinished ...>\n13  close(4) = 0\n12  <... fsync resumed>) = 0\n";
        let calls = join_interrupted(text);
        let calls: Vec<_> =
            calls.iter().map(|call_traced| (&*call_traced.process, &*call_traced.call)).collect();
        assert_eq!(calls, [("13", "close(4) = 0"), ("12", "fsync(3) = 0")]);
    }
}
