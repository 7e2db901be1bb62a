//! Importer of bonnie++ results: CSV lines of 1.03 and of the formats 1.96, 1.97 and 1.98, and
//! tables of these and older versions; alone or within one line that a web page made of many.
//!
//! A CSV line is exact; a table of the same run is only checked against it.

mod csv;
mod name;
mod run;
mod table;
mod trial;
mod unmarked;

use run::ParsedRun;
use treering_kit::import::known_text::KnownText;
use treering_kit::import::log::Log;
use treering_kit::import::stretch::not_understood;
use treering_kit::import::{Importer, ParsedOutputs, Remark};

/// Name of the tool and of its workload.
const TOOL: &str = "bonnie++";
/// Longest CSV line, and longest table, in bytes.
const LINE_MOST: usize = 1500;
const TABLE_MOST: usize = 3000;
/// Maximum number of lines into which mail programs break a CSV line, and web pages a table.
const LINE_BROKEN_INTO_MOST: usize = 8;
const TABLE_LINES_MOST: usize = 60;
/// Largest distance between the table and the CSV line of a run, in lines.
const GAP_LINES_MOST: usize = 8;
/// Number of damaged results after which a text is no longer searched.
const TORN_MOST: usize = 200;

/// Importer of bonnie++ results.
pub(crate) struct BonnieImporter;

impl Importer for BonnieImporter {
    fn tool(&self) -> &'static str {
        TOOL
    }

    fn known_text(&self) -> &'static [KnownText] {
        &[]
    }

    fn begins(&self, log: &Log<'_>, at: usize) -> bool {
        has_start(log.line(at))
    }

    fn read(&self, log: &mut Log<'_>, at: usize) -> ParsedOutputs {
        let mut results = ParsedResults { end: at + 1, ..ParsedResults::default() };
        let mut place = LogPosition { line: at, byte: 0 };
        let mut starts = ResultStarts::find(log, at);
        loop {
            if starts.line != place.line {
                starts = ResultStarts::find(log, place.line);
            }
            let result = match piece(log, &starts, place.byte) {
                Some(result) => Some(result),
                None => results.partner(log, place.line),
            };
            let Some(result) = result else { break };
            let between = if result.from.line == place.line { place.byte } else { 0 };
            let text = log.line(result.from.line).get(between..result.from.byte).unwrap_or("");
            let above = if results.is_empty() { at } else { 0 };
            let name = name::before(log, above, text);
            place = result.to;
            results.take(result, name);
            if results.torn.is_some_and(|(_, count)| count >= TORN_MOST) {
                break;
            }
        }
        results.reading(log, at)
    }
}

/// Position in a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LogPosition {
    line: usize,
    byte: usize,
}

/// Text that begins like a result.
struct ResultText {
    from: LogPosition,
    to: LogPosition,
    /// Parsed run; `None` if it is damaged.
    run: Option<ParsedRun>,
}

/// True if a table or a CSV line begins somewhere in a line of the log.
fn has_start(text: &str) -> bool {
    csv::start(text, 0).is_some() || table::start(text, 0).is_some()
}

/// Starts of tables and CSV lines in a line of the log, which is searched once.
struct ResultStarts {
    line: usize,
    /// Byte offsets in order; true for a table.
    all: Vec<(usize, bool)>,
}

impl ResultStarts {
    fn find(log: &Log<'_>, line: usize) -> Self {
        let text = log.line(line);
        let lines = std::iter::successors(csv::start(text, 0), |at| csv::start(text, at + 1));
        let tables = std::iter::successors(table::start(text, 0), |at| table::start(text, at + 1));
        let mut all: Vec<(usize, bool)> =
            lines.map(|at| (at, false)).chain(tables.map(|at| (at, true))).collect();
        all.sort_unstable();
        Self { line, all }
    }
}

/// Next result in the rest of a line; it may end in a later line.
fn piece(log: &Log<'_>, starts: &ResultStarts, byte: usize) -> Option<ResultText> {
    let next = starts.all.partition_point(|(at, _)| *at < byte);
    let (at, is_table) = *starts.all.get(next)?;
    let from = LogPosition { line: starts.line, byte: at };
    let read = if is_table { read_table(log, from) } else { read_line(log, from) };
    Some(match read {
        Some((run, to)) => ResultText { from, to, run: Some(run) },
        // The search continues after the text that looked like a result.
        None => ResultText { from, to: LogPosition { byte: at + 1, ..from }, run: None },
    })
}

fn read_table(log: &Log<'_>, from: LogPosition) -> Option<(ParsedRun, LogPosition)> {
    let mut window = TextWindow::new(log, from, TABLE_MOST);
    while window.lines() < TABLE_LINES_MOST && window.append(log, " ", TABLE_MOST) {}
    let (run, bytes) = table::read(&window.text)?;
    Some((run, window.place(bytes)))
}

/// Parses a CSV line, also if a mail program or a shell's backslash has broken it.
fn read_line(log: &Log<'_>, from: LogPosition) -> Option<(ParsedRun, LogPosition)> {
    let mut window = TextWindow::new(log, from, LINE_MOST);
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

/// Text from a position on, over several lines.
struct TextWindow {
    text: String,
    from: LogPosition,
    /// Start of each line after the first: offset in the text, and number of bytes left out of the
    /// line.
    starts: Vec<(usize, usize)>,
    is_cut: bool,
}

impl TextWindow {
    fn new(log: &Log<'_>, from: LogPosition, most: usize) -> Self {
        let tail = log.line(from.line).get(from.byte..).unwrap_or("");
        let text = head(tail, most);
        let is_cut = text.len() < tail.len();
        Self { text: text.to_owned(), from, starts: Vec::new(), is_cut }
    }

    fn lines(&self) -> usize {
        self.starts.len() + 1
    }

    /// Appends the next line; false if there is none, or the text is full.
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
        let tail = line.trim_start();
        self.starts.push((self.text.len(), line.len() - tail.len()));
        let part = head(tail, most);
        self.is_cut = part.len() < tail.len();
        self.text.push_str(part);
        true
    }

    /// Position in the log after this many bytes of the text.
    fn place(&self, bytes: usize) -> LogPosition {
        let mut place = LogPosition { line: self.from.line, byte: self.from.byte + bytes };
        for (number, (start, left_out)) in (1..).zip(&self.starts) {
            if *start < bytes {
                place =
                    LogPosition { line: self.from.line + number, byte: bytes - start + left_out };
            }
        }
        place
    }
}

/// Start of a text, of at most this many bytes.
fn head(text: &str, most: usize) -> &str {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

/// Result of a run, from its table, its CSV line, or both.
struct ReportedRun {
    run: ParsedRun,
    /// Name of the file that the log shows.
    name: String,
    line: usize,
    has_both: bool,
    differences: Vec<String>,
}

/// Results found from one line on.
#[derive(Default)]
struct ParsedResults {
    reported: Vec<ReportedRun>,
    /// Line of the first damaged result, and the number of damaged ones.
    torn: Option<(usize, usize)>,
    /// Half-open ranges of lines with results.
    known: Vec<std::ops::Range<usize>>,
    end: usize,
}

impl ParsedResults {
    fn is_empty(&self) -> bool {
        self.reported.is_empty() && self.torn.is_none()
    }

    fn take(&mut self, piece: ResultText, name: Option<String>) {
        let Some(mut run) = piece.run else {
            let (_, count) = self.torn.get_or_insert((piece.from.line, 0));
            *count += 1;
            return;
        };
        self.known.push(piece.from.line..piece.to.line + 1);
        self.end = self.end.max(piece.to.line + 1);
        let further = std::mem::take(&mut run.further);
        if let Some(last) = self.reported.last_mut()
            && let Some(differences) = last.differences_from(&run)
        {
            last.has_both = true;
            last.differences = differences;
            if !run.is_table {
                last.run = run;
            }
            return;
        }
        self.reported.push(ReportedRun {
            run,
            name: name.unwrap_or_default(),
            line: piece.from.line,
            has_both: false,
            differences: Vec::new(),
        });
        self.reported.extend(further.into_iter().map(|run| ReportedRun {
            name: run.name.clone(),
            run,
            line: piece.from.line,
            has_both: false,
            differences: Vec::new(),
        }));
    }

    /// Other form of the last result, in one of the next lines.
    fn partner(&self, log: &Log<'_>, line: usize) -> Option<ResultText> {
        let last = self.reported.last().filter(|last| !last.has_both)?;
        let next = (line + 1..=line + GAP_LINES_MOST).find(|next| has_start(log.line(*next)))?;
        let reported = piece(log, &ResultStarts::find(log, next), 0)?;
        let run = reported.run.as_ref()?;
        last.differences_from(run).is_some().then_some(reported)
    }

    fn reading(self, log: &Log<'_>, at: usize) -> ParsedOutputs {
        let within = at..self.end;
        let mut understood = vec![false; within.len()];
        // The first line was chosen for its result, whatever else it contains.
        for line in self.known.into_iter().flatten().chain([at]) {
            if let Some(known) = understood.get_mut(line - at) {
                *known = true;
            }
        }
        let mut remarks = not_understood(log, within, &understood);
        if let Some((line, count)) = self.torn {
            let message = match count {
                1 => "a truncated or modified result of bonnie++ was skipped".to_owned(),
                _ => format!("{count} truncated or modified results of bonnie++ were skipped"),
            };
            remarks.push(Remark { line: line + 1, what: message });
        }
        let mut trials = Vec::new();
        for reported in self.reported {
            let (mut trial, messages) = trial::trial(&reported.run);
            trial.name = reported.name;
            for message in messages.into_iter().chain(reported.differences) {
                remarks.push(Remark { line: reported.line + 1, what: message });
            }
            trials.push(trial);
        }
        ParsedOutputs::new(self.end, trials, remarks)
    }
}

impl ReportedRun {
    /// Differences between the two forms; `None` if the other is not a form of the same run.
    fn differences_from(&self, other: &ParsedRun) -> Option<Vec<String>> {
        match (self.has_both, self.run.is_table, other.is_table) {
            (false, true, false) => other.differences(&self.run),
            (false, false, true) => self.run.differences(other),
            _ => None,
        }
    }
}
