//! Cost of datasets: the time to read a shipped one, and the memory of reading very many names
//! through the reader of the original's files. docs/evidence/datasets.md has the commands.

use std::error::Error;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufReader, Read, Write as _};
use std::path::PathBuf;
use std::time::Instant;

use treering_datasets::classic::read_lists;
use treering_datasets::library::{builtin_names, load};
use treering_datasets::{Dataset, TreeState, format};

const USAGE: &str = "dataset_cost read | dataset_cost names COUNT LISTS [write]";

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = std::env::args_os().skip(1).map(OsString::into_string);
    let arguments: Vec<String> = arguments.collect::<Result<_, _>>().map_err(|_| USAGE)?;
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["read"] => read_shipped(),
        ["names", count, lists] => names(count.parse()?, lists.parse()?).map(drop),
        ["names", count, lists, "write"] => write(&names(count.parse()?, lists.parse()?)?),
        _ => Err(USAGE.into()),
    }
}

fn say(text: std::fmt::Arguments<'_>) -> io::Result<()> {
    let mut out = io::stdout();
    out.write_fmt(text)?;
    out.write_all(b"\n")
}

fn read_shipped() -> Result<(), Box<dyn Error>> {
    for name in builtin_names() {
        let mut times = Vec::new();
        for _ in 0..21 {
            let began = Instant::now();
            let dataset = load(name, &[])?;
            times.push(began.elapsed());
            drop(dataset);
        }
        times.sort();
        let (fastest, median) = (times[0], times[times.len() / 2]);
        say(format_args!("{name}: {} reads, fastest {fastest:?}, median {median:?}", times.len()))?;
    }
    Ok(())
}

fn names(count: u64, lists: usize) -> Result<Dataset, Box<dyn Error>> {
    let began = Instant::now();
    let mut place = 0;
    let sources = TreeState::ALL.map(|state| {
        place += 1;
        let last = if place <= lists { count } else { 0 };
        let lines = GeneratedLines { next: 0, last, piece: Vec::new(), given: 0 };
        (PathBuf::from(state.classic_file()), BufReader::with_capacity(64 * 1024, lines))
    });
    let dataset = read_lists("generated", sources)?;
    let files: usize = TreeState::ALL.iter().map(|state| dataset.list(*state).len()).sum();
    say(format_args!(
        "{files} lines, {} names: {:.1} s, peak memory {}",
        dataset.names.len(),
        began.elapsed().as_secs_f64(),
        peak_memory()?
    ))?;
    Ok(dataset)
}

fn write(dataset: &Dataset) -> Result<(), Box<dyn Error>> {
    let began = Instant::now();
    let file = format::write(dataset, Vec::new())?;
    let written = began.elapsed();
    let began = Instant::now();
    let names = format::read(file.as_slice())?.names.len();
    say(format_args!(
        "own file of {} bytes: written in {:.1} s, {names} names read in {:.1} s, peak memory {}",
        file.len(),
        written.as_secs_f64(),
        began.elapsed().as_secs_f64(),
        peak_memory()?
    ))?;
    Ok(())
}

fn peak_memory() -> Result<String, Box<dyn Error>> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    Ok(line.ok_or("no VmHWM in /proc/self/status")?.trim().to_owned())
}

/// Generated lines of a dataset: a hundred files in a directory, paths of 35 bytes.
struct GeneratedLines {
    next: u64,
    last: u64,
    piece: Vec<u8>,
    given: usize,
}

impl Read for GeneratedLines {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.given == self.piece.len() {
            self.given = 0;
            self.piece.clear();
            while self.next < self.last && self.piece.len() < 64 * 1024 {
                let n = self.next;
                let (top, middle, size) = (n / 100_000, n / 100, n * 7919 % 50_021);
                writeln!(self.piece, "dir{top:04}/sub{middle:07}/file{n:09}.c {size}")?;
                self.next += 1;
            }
        }
        let length = buffer.len().min(self.piece.len() - self.given);
        buffer[..length].copy_from_slice(&self.piece[self.given..self.given + length]);
        self.given += length;
        Ok(length)
    }
}
