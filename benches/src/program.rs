//! The real program as a child: a run with its own account of itself, and its system calls as
//! strace counts them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_model::{TaskTotals, TrialEvent};

use crate::Fault;
use crate::engine::create_options;
use crate::usage::{ChildUsage, wait_for};

/// The `treering` that was built beside this program.
///
/// # Errors
/// When there is none.
pub fn beside_us() -> Result<PathBuf, Fault> {
    let own = std::env::current_exe()?;
    // A test stands one folder deeper.
    let places = own.ancestors().skip(1).take(2).map(|folder| folder.join("treering"));
    let found = places.into_iter().find(|place| place.is_file());
    found.ok_or_else(|| "no treering beside this program: build it, or name it".into())
}

/// `treering run compilebench` with these options, silent and without a store.
fn command(program: &Path, dir: &Path, dataset: &str, trees: u32) -> Command {
    let mut command = Command::new(program);
    command.args(["run", "compilebench", "--quiet", "--no-store", "--keep", "--dir"]).arg(dir);
    for (name, value) in create_options(dataset, trees) {
        command.arg(format!("--{name}")).arg(value);
    }
    command
}

/// Creates trees with the program: each task's own account, and the child's whole usage.
///
/// # Errors
/// When it does not run or does not succeed.
pub fn create(
    program: &Path,
    dir: &Path,
    dataset: &str,
    trees: u32,
) -> Result<(Vec<TaskTotals>, ChildUsage), Fault> {
    let mut command = command(program, dir, dataset, trees);
    let mut child = command.arg("--events").stdout(Stdio::piped()).spawn()?;
    let mut totals = Vec::new();
    if let Some(out) = child.stdout.take() {
        for line in BufReader::new(out).lines() {
            if let TrialEvent::TaskEnded(task) = serde_json::from_str(&line?)? {
                totals.push(task);
            }
        }
    }
    let usage = wait_for(&child)?;
    if !usage.succeeded {
        return Err(format!("{} failed", program.display()).into());
    }
    Ok((totals, usage))
}

/// System calls of a run of the program, by name, as `strace -c -f` counts them.
///
/// # Errors
/// When strace is missing or the program fails.
pub fn strace(
    program: &Path,
    dir: &Path,
    dataset: &str,
    trees: u32,
) -> Result<BTreeMap<String, u64>, Fault> {
    let table = tempfile::NamedTempFile::new()?;
    let run = command(program, dir, dataset, trees);
    let mut traced = Command::new("strace");
    traced.args(["-c", "-f", "-o"]).arg(table.path()).arg(run.get_program()).args(run.get_args());
    let status = traced.status().map_err(|error| format!("strace: {error}"))?;
    if !status.success() {
        return Err(format!("strace of {} failed", program.display()).into());
    }
    Ok(parse_strace(&fs::read_to_string(table.path())?))
}

/// The `calls` column of strace's table.
fn parse_strace(table: &str) -> BTreeMap<String, u64> {
    let rows = table.lines().filter_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [share, _, _, calls, .., name] = words.as_slice() else { return None };
        share.parse::<f64>().ok()?;
        Some(((*name).to_owned(), calls.parse::<u64>().ok()?))
    });
    rows.filter(|(name, _)| name != "total").collect()
}

/// What one more tree costs: the calls of a longer run less those of a shorter one.
pub fn difference(
    longer: &BTreeMap<String, u64>,
    shorter: &BTreeMap<String, u64>,
) -> BTreeMap<String, i64> {
    let names = longer.keys().chain(shorter.keys());
    let calls = |table: &BTreeMap<String, u64>, name: &str| {
        table.get(name).map_or(0, |&calls| i64::try_from(calls).unwrap_or(i64::MAX))
    };
    names
        .map(|name| (name.clone(), calls(longer, name) - calls(shorter, name)))
        .filter(|(_, calls)| *calls != 0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{difference, parse_strace};

    #[test]
    fn straces_table_is_read() {
        let table = "% time     seconds  usecs/call     calls    errors syscall\n\
                     ------ ----------- ----------- --------- --------- ----------------\n \
                     50.00    0.000123           1       120           openat\n \
                     30.00    0.000100           1        20         3 mkdirat\n\
                     ------ ----------- ----------- --------- --------- ----------------\n\
                     100.00    0.000223           1       140         3 total\n";
        let calls = parse_strace(table);
        assert_eq!(calls.len(), 2);
        assert_eq!((calls["openat"], calls["mkdirat"]), (120, 20));
        let mut shorter = calls.clone();
        shorter.insert("openat".to_owned(), 20);
        let more = difference(&calls, &shorter);
        assert_eq!(more.into_iter().collect::<Vec<_>>(), [("openat".to_owned(), 100)]);
    }
}
