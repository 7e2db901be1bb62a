//! Results of bonnie++: the lines with commas of 1.03 and of its formats 1.96, 1.97 and 1.98, and
//! the tables of these and older versions; by themselves or within a line that a web page made of
//! many.
//!
//! A line is exact, so that a table of the same run is only checked against it.

mod csv;
mod name;
mod run;
mod table;
mod trial;
mod unmarked;

use run::Run;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::not_understood;
use treering_kit::import::trial::Content;
use treering_kit::import::{Importer, Reading, Remark};

/// The tool, and its workload.
const TOOL: &str = "bonnie++";
/// No line of its own is longer, nor a table.
const LINE_MOST: usize = 1500;
const TABLE_MOST: usize = 3000;
/// So many lines a mail makes of one of its lines, and a page of a table.
const LINE_BROKEN_INTO_MOST: usize = 8;
const TABLE_LINES_MOST: usize = 60;
/// The table and the line of a run are no further from one another.
const GAP_LINES_MOST: usize = 8;
/// What looks like so many results and is none is not looked at further.
const TORN_MOST: usize = 200;

/// Reads results of bonnie++.
pub(crate) struct Bonnie;

impl Importer for Bonnie {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        has_start(log.line(at))
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> Reading {
        let mut results = Results { end: at + 1, ..Results::default() };
        let mut place = Place { line: at, byte: 0 };
        let mut starts = Starts::of(log, at);
        loop {
            if starts.line != place.line {
                starts = Starts::of(log, place.line);
            }
            let found = match piece(log, &starts, place.byte) {
                Some(found) => Some(found),
                None => results.partner(log, place.line),
            };
            let Some(found) = found else { break };
            let between = if found.from.line == place.line { place.byte } else { 0 };
            let text = log.line(found.from.line).get(between..found.from.byte).unwrap_or("");
            let above = if results.is_empty() { at } else { 0 };
            let name = name::before(log, above, text);
            place = found.to;
            results.take(found, name);
            if results.torn.is_some_and(|(_, count)| count >= TORN_MOST) {
                break;
            }
        }
        results.reading(log, at)
    }
}

/// A place in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    line: usize,
    byte: usize,
}

/// Something that begins as a result does.
struct Piece {
    from: Place,
    to: Place,
    /// `None` when it cannot be read.
    run: Option<Run>,
}

/// Whether a table or a line begins somewhere in a line of the log.
fn has_start(text: &str) -> bool {
    csv::start(text, 0).is_some() || table::start(text, 0).is_some()
}

/// Where tables and lines begin in a line of the log, which is looked through once.
struct Starts {
    line: usize,
    /// In their order, and whether it is a table.
    all: Vec<(usize, bool)>,
}

impl Starts {
    fn of(log: &Log<'_>, line: usize) -> Self {
        let text = log.line(line);
        let lines = std::iter::successors(csv::start(text, 0), |at| csv::start(text, at + 1));
        let tables = std::iter::successors(table::start(text, 0), |at| table::start(text, at + 1));
        let mut all: Vec<(usize, bool)> =
            lines.map(|at| (at, false)).chain(tables.map(|at| (at, true))).collect();
        all.sort_unstable();
        Self { line, all }
    }
}

/// The next result in the rest of a line; it may end in another one.
fn piece(log: &Log<'_>, starts: &Starts, byte: usize) -> Option<Piece> {
    let next = starts.all.partition_point(|(at, _)| *at < byte);
    let (at, is_table) = *starts.all.get(next)?;
    let from = Place { line: starts.line, byte: at };
    let read = if is_table { read_table(log, from) } else { read_line(log, from) };
    Some(match read {
        Some((run, to)) => Piece { from, to, run: Some(run) },
        // Behind what made it look like one.
        None => Piece { from, to: Place { byte: at + 1, ..from }, run: None },
    })
}

fn read_table(log: &Log<'_>, from: Place) -> Option<(Run, Place)> {
    let mut window = Window::of(log, from, TABLE_MOST);
    while window.lines() < TABLE_LINES_MOST && window.append(log, " ", TABLE_MOST) {}
    let (run, bytes) = table::read(&window.text)?;
    Some((run, window.place(bytes)))
}

/// A line, or what a mail program or a shell's backslash made of it.
fn read_line(log: &Log<'_>, from: Place) -> Option<(Run, Place)> {
    let mut window = Window::of(log, from, LINE_MOST);
    let mut first = None;
    loop {
        match csv::read(&window.text) {
            Some((run, bytes)) => {
                let place = window.place(bytes);
                let may_go_on = csv::may_go_on(&run, &window.text[bytes..]);
                if !may_go_on || first.is_some() {
                    let is_more = first.is_none() || csv::is_whole(&run);
                    return if is_more { Some((run, place)) } else { first };
                }
                first = Some((run, place));
            }
            None if first.is_some() => return first,
            None => {}
        }
        let is_at_end = window.lines() >= LINE_BROKEN_INTO_MOST;
        if is_at_end || !window.append(log, "", LINE_MOST) {
            return first;
        }
    }
}

/// Text from a place on, over several lines.
struct Window {
    text: String,
    from: Place,
    /// Where each line behind the first begins: in the text, and how many bytes of it were left
    /// out.
    starts: Vec<(usize, usize)>,
    is_cut: bool,
}

impl Window {
    fn of(log: &Log<'_>, from: Place, most: usize) -> Self {
        let rest = log.line(from.line).get(from.byte..).unwrap_or("");
        let text = head(rest, most);
        let is_cut = text.len() < rest.len();
        Self { text: text.to_owned(), from, starts: Vec::new(), is_cut }
    }

    fn lines(&self) -> usize {
        self.starts.len() + 1
    }

    /// Takes the next line, too. Says whether there is one, and room for it.
    fn append(&mut self, log: &Log<'_>, between: &str, most: usize) -> bool {
        let next = self.from.line + self.lines();
        if self.is_cut || next >= log.len() || self.text.len() >= most {
            return false;
        }
        if between.is_empty() && self.text.ends_with('\\') {
            self.text.pop();
        }
        self.text.push_str(between);
        let line = log.line(next);
        let rest = line.trim_start();
        self.starts.push((self.text.len(), line.len() - rest.len()));
        let part = head(rest, most);
        self.is_cut = part.len() < rest.len();
        self.text.push_str(part);
        true
    }

    /// The place in the log behind so many bytes.
    fn place(&self, bytes: usize) -> Place {
        let mut place = Place { line: self.from.line, byte: self.from.byte + bytes };
        for (number, (start, left_out)) in (1..).zip(&self.starts) {
            if *start < bytes {
                place = Place { line: self.from.line + number, byte: bytes - start + left_out };
            }
        }
        place
    }
}

/// The beginning of a text, no more bytes than this.
fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// One result, from one form of it or both.
struct Reported {
    run: Run,
    /// The name of the file that was shown.
    name: String,
    line: usize,
    has_both: bool,
    differences: Vec<String>,
}

/// What was read from one line on.
#[derive(Default)]
struct Results {
    reported: Vec<Reported>,
    /// The first that could not be read, and how many.
    torn: Option<(usize, usize)>,
    /// Lines with results, the last one not included.
    known: Vec<std::ops::Range<usize>>,
    end: usize,
}

impl Results {
    fn is_empty(&self) -> bool {
        self.reported.is_empty() && self.torn.is_none()
    }

    fn take(&mut self, piece: Piece, name: Option<String>) {
        let Some(run) = piece.run else {
            let (_, count) = self.torn.get_or_insert((piece.from.line, 0));
            *count += 1;
            return;
        };
        self.known.push(piece.from.line..piece.to.line + 1);
        self.end = self.end.max(piece.to.line + 1);
        if let Some(last) = self.reported.last_mut()
            && let Some(differences) = last.also(&run)
        {
            last.has_both = true;
            last.differences = differences;
            if !run.is_table {
                last.run = run;
            }
            return;
        }
        self.reported.push(Reported {
            run,
            name: name.unwrap_or_default(),
            line: piece.from.line,
            has_both: false,
            differences: Vec::new(),
        });
    }

    /// The other form of the last result, in one of the next lines.
    fn partner(&self, log: &Log<'_>, line: usize) -> Option<Piece> {
        let last = self.reported.last().filter(|last| !last.has_both)?;
        let next = (line + 1..=line + GAP_LINES_MOST).find(|next| has_start(log.line(*next)))?;
        let found = piece(log, &Starts::of(log, next), 0)?;
        let run = found.run.as_ref()?;
        last.also(run).is_some().then_some(found)
    }

    fn reading(self, log: &Log<'_>, at: usize) -> Reading {
        let within = at..self.end;
        let mut understood = vec![false; within.len()];
        // The first line is here for what is in it, whatever else is.
        for line in self.known.into_iter().flatten().chain([at]) {
            if let Some(known) = understood.get_mut(line - at) {
                *known = true;
            }
        }
        let mut remarks = not_understood(log, within, &understood);
        if let Some((line, count)) = self.torn {
            let what = match count {
                1 => "a truncated or modified result of bonnie++ was skipped".to_owned(),
                _ => format!("{count} truncated or modified results of bonnie++ were skipped"),
            };
            remarks.push(Remark { line: line + 1, what });
        }
        let mut outputs = Vec::new();
        for reported in self.reported {
            let (mut trial, said) = trial::trial(&reported.run);
            trial.name = reported.name;
            for what in said.into_iter().chain(reported.differences) {
                remarks.push(Remark { line: reported.line + 1, what });
            }
            outputs.push(Content::Foreign(Box::new(trial)));
        }
        Reading { end: self.end, outputs, remarks }
    }
}

impl Reported {
    /// What the two forms say differently, when this is the other form of the same run.
    fn also(&self, other: &Run) -> Option<Vec<String>> {
        match (self.has_both, self.run.is_table, other.is_table) {
            (false, true, false) => other.differences(&self.run),
            (false, false, true) => self.run.differences(other),
            _ => None,
        }
    }
}
