//! `play_load`: a load file of dbench played by the original and by treering, in turns.

use std::fmt;
use std::fs::remove_dir_all;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use treering_engine::Target;
use treering_model::filesystems::name_of;

use crate::Fault;
use crate::rounds::{Spread, in_turns};
use crate::usage::wait_for;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// The directory in which the clients work.
    pub dir: PathBuf,
    /// The load file.
    pub load: PathBuf,
    /// Clients.
    pub clients: u32,
    /// Seconds of a round, after a warm-up of a fifth of them.
    pub seconds: u32,
    /// Rounds, after one that is not counted.
    pub rounds: usize,
    /// treering.
    pub program: PathBuf,
    /// The original dbench 4.00.
    pub original: Option<PathBuf>,
}

/// A way to play it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Method {
    Processes,
    Threads,
    Original,
}

impl Method {
    fn name(self) -> &'static str {
        match self {
            Self::Processes => "treering dbench (classic)",
            Self::Threads => "the same, clients as threads",
            Self::Original => "original dbench",
        }
    }
}

/// One round of one way.
#[derive(Clone, Copy, Debug)]
struct Figure {
    /// Operations that the table counts, by the second of the limit.
    rate: f64,
    /// User and system time of an operation, the warm-up's time and operations left in.
    cpu_us: f64,
}

/// One way's figures.
#[derive(Clone, Debug, Serialize)]
pub struct MethodFigures {
    /// Which way.
    pub method: &'static str,
    /// Operations per second.
    pub ops_per_second: Spread,
    /// User and system time of the whole run by the operations of its measured part: to be compared
    /// with the other ways only.
    pub cpu_us: Spread,
    /// This rate by that of the original, each in its own round, where there is one.
    pub to_original: Option<Spread>,
}

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// The filesystem's type.
    pub filesystem: &'static str,
    /// Clients.
    pub clients: u32,
    /// Seconds of a round.
    pub seconds: u32,
    /// Rounds that count.
    pub rounds: usize,
    /// The ways.
    pub methods: Vec<MethodFigures>,
}

/// Measures.
///
/// # Errors
/// When a program cannot be run, fails, or prints no table.
pub fn measure(options: &Options) -> Result<Report, Fault> {
    let target = Target::open(&options.dir)?;
    let mut methods = vec![Method::Processes, Method::Threads];
    methods.extend(options.original.is_some().then_some(Method::Original));
    let figures =
        in_turns(methods.len(), options.rounds, |method, _round| play(options, methods[method]))?;
    let original = methods.iter().position(|method| *method == Method::Original);
    let to = |method: usize, base: usize| {
        let pairs = figures[method].iter().zip(&figures[base]);
        Spread::of(pairs.map(|(one, base)| one.rate / base.rate).collect())
    };
    let methods = methods.iter().enumerate().map(|(number, method)| MethodFigures {
        method: method.name(),
        ops_per_second: Spread::of(figures[number].iter().map(|one| one.rate).collect()),
        cpu_us: Spread::of(figures[number].iter().map(|one| one.cpu_us).collect()),
        to_original: original.map(|original| to(number, original)),
    });
    Ok(Report {
        filesystem: name_of(target.filesystem()?.type_magic).unwrap_or("unknown"),
        clients: options.clients,
        seconds: options.seconds,
        rounds: options.rounds,
        methods: methods.collect(),
    })
}

fn play(options: &Options, method: Method) -> Result<Figure, Fault> {
    let mut command = match (method, &options.original) {
        (Method::Original, Some(original)) => Command::new(original),
        _ => {
            let mut command = Command::new(&options.program);
            command.args(["dbench", "--no-store"]);
            let clients = if method == Method::Threads { "threads" } else { "processes" };
            command.args(["--clients-as", clients]);
            command
        }
    };
    command.args(["-t", &options.seconds.to_string(), "-c"]).arg(&options.load);
    command.arg("-D").arg(&options.dir).arg(options.clients.to_string());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let text = child.stdout.take().map(std::io::read_to_string).transpose()?.unwrap_or_default();
    let usage = wait_for(&child)?;
    // What both leave behind.
    let clients = options.dir.join("clients");
    if clients.is_dir() {
        remove_dir_all(clients)?;
    }
    let operations = operations(&text);
    if !usage.succeeded || operations == 0 {
        return Err(format!("{} failed", Path::new(command.get_program()).display()).into());
    }
    let operations = operations as f64;
    Ok(Figure {
        rate: operations / f64::from(options.seconds.max(1)),
        cpu_us: usage.cpu_ns as f64 / 1000.0 / operations,
    })
}

/// The sum of the table's counts.
fn operations(text: &str) -> u64 {
    let table = text.lines().skip_while(|line| !line.trim_start().starts_with("Operation"));
    let rows = table.skip(2).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let counts =
        rows.take_while(|words| words.len() == 4).filter_map(|words| words[1].parse::<u64>().ok());
    counts.sum()
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} clients, {} seconds, on {}; {} rounds; medians (middle half)",
            self.clients, self.seconds, self.filesystem, self.rounds
        )?;
        writeln!(f, "{:<32} {:>9} {:>8}  {:<20}", "", "ops/s", "CPU us", "ops/s to original")?;
        for method in &self.methods {
            let original = method.to_original.map_or("-".to_owned(), |ratio| ratio.to_string());
            writeln!(
                f,
                "{:<32} {:>9.0} {:>8.3}  {original:<20}",
                method.method, method.ops_per_second.median, method.cpu_us.median
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::operations;

    #[test]
    fn the_table_is_added_up() {
        let text = "   2     90760    95.00 MB/sec  execute   9 sec  latency 355.893 ms\n\n \
                    Operation      Count    AvgLat    MaxLat\n \
                    ----------------------------------------\n \
                    NTCreateX      31325     0.009    10.701\n \
                    Flush           2198     8.196   355.888\n\n\
                    Throughput 94.9984 MB/sec  2 clients  2 procs  max_latency=355.893 ms\n";
        assert_eq!(operations(text), 33_523);
        assert_eq!(operations("Throughput 94.9984 MB/sec"), 0);
    }
}
