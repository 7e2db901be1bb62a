//! Tables of bonnie++, parsed word by word, since lines may have been broken or joined. Two halves:
//! one large file, many files; each may be missing.

use super::csv;
use super::run::{
    ColumnContent, FILES, PER_CHAR, ParsedRun, SEEKS, TESTS, is_parameter, is_too_short, latency,
};
use treering_kit::import::number::{decimal, whole};

const LARGE: &str = "------Sequential Output------";
const MANY: &str = "------Sequential Create------";
/// Largest distance from a heading to the end of the column names, in bytes.
const HEADING_MOST: usize = 900;
/// Largest length of a row, and of the text between the halves, in bytes.
const ROW_MOST: usize = 600;
/// Maximum number of words in a name.
const NAME_WORDS_MOST: usize = 5;
/// First version whose table has wrong rates of files.
const WRONG_RATES_FROM: f64 = 1.98;

/// Finds the next table in a text, from this byte on.
pub(super) fn start(text: &str, from: usize) -> Option<usize> {
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("Version")?;
        let tail = super::head(&text[at..], ROW_MOST);
        if let Some((_, tail)) = version(tail)
            && (tail.starts_with(LARGE) || tail.starts_with(MANY))
        {
            return Some(at);
        }
        from = at + 1;
    }
}

/// Version at the start of a text, and the rest.
fn version(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix("Version")?.trim_start();
    let (word, tail) = text.split_once(char::is_whitespace)?;
    csv::is_version(word).then_some((word, tail.trim_start()))
}

/// Parses the table at the start of a text, and returns its length in bytes.
pub(super) fn read(text: &str) -> Option<(ParsedRun, usize)> {
    let (version, tail) = version(text)?;
    let mut run = ParsedRun { is_table: true, version: version.to_owned(), ..ParsedRun::default() };
    let mut place = text.len() - tail.len();
    let mut is_any = false;
    if tail.starts_with(LARGE) {
        let row = heading(&text[place..])?;
        if let Some(count) = concurrency(&text[place..place + row]) {
            run.parameter("concurrency", count);
        }
        place += row;
        place += large(&mut run, &text[place..])?;
        while let Some(bytes) = further(&mut run, &text[place..]) {
            place += bytes;
        }
        is_any = true;
    }
    if let Some(at) = many_begins(&text[place..])
        && let Some(row) = heading(&text[place + at..])
        && let Some(bytes) = many(&mut run, &text[place + at + row..])
    {
        place += at + row + bytes;
        is_any = true;
        for other in &mut run.further {
            let Some(bytes) = many(other, &text[place..]) else { break };
            place += bytes;
        }
    }
    is_any.then_some((run, place))
}

/// Offset of the end of the six column names.
fn heading(text: &str) -> Option<usize> {
    let text = super::head(text, HEADING_MOST);
    text.match_indices("%CP").nth(5).map(|(at, name)| at + name.len())
}

fn concurrency(heading: &str) -> Option<&str> {
    let word = heading.split("Concurrency").nth(1)?.split_whitespace().next()?;
    whole(word).is_some().then_some(word)
}

/// Offset of the second half, if it belongs to the same table.
fn many_begins(text: &str) -> Option<usize> {
    let text = super::head(text, ROW_MOST);
    let at = text.find(MANY)?;
    let before = &text[..at];
    (!before.contains(LARGE) && csv::start(before, 0).is_none()).then_some(at)
}

/// Row of figures at the start of a text. Latencies, another half or a CSV line may follow it.
fn row(text: &str) -> &str {
    let text = super::head(text, ROW_MOST);
    let ends = ["Latency", "Version ", LARGE, MANY].into_iter().map(|end| text.find(end));
    let end = ends.chain([csv::start(text, 0)]).flatten().min();
    &text[..end.unwrap_or(text.len())]
}

/// Words of a text with the offsets of their ends.
fn words(text: &str) -> impl Iterator<Item = (&str, usize)> {
    text.split_whitespace().map(move |word| {
        let end = word.as_ptr().addr() - text.as_ptr().addr() + word.len();
        (word, end)
    })
}

/// Parses the row of the large file, and returns its length in bytes, with its latencies.
fn large(run: &mut ParsedRun, text: &str) -> Option<usize> {
    let row = row(text);
    let row_words: Vec<(&str, usize)> = words(row).take(NAME_WORDS_MOST + 2 * SEEKS + 4).collect();
    let sizes = row_words.iter().take(NAME_WORDS_MOST + 1).position(|(word, _)| is_size(word));
    let first = match sizes {
        Some(place) => {
            let name: Vec<&str> = row_words[..place].iter().map(|(word, _)| *word).collect();
            run.name = name.join(" ");
            sized(run, row_words[place].0);
            place + 1
        }
        None => {
            row_words.first()?.0.clone_into(&mut run.name);
            let message = "the size of the file cannot be determined from the table";
            run.remarks.push(message.to_owned());
            1
        }
    };
    let (figures, end) = figures(&row_words[first..])?;
    let tests = 0..FILES;
    let tests: Vec<usize> = match figures.len() {
        12 => tests.collect(),
        8 => tests.filter(|test| !PER_CHAR.contains(test)).collect(),
        other => {
            run.remarks.push(format!(
                "a row of the table has {other} of 12 figures: which ones cannot be determined"
            ));
            Vec::new()
        }
    };
    take(run, &tests, &figures);
    Some(latencies(run, &tests, text, end, row.len()))
}

/// Parses a further row of the large file: bon_csv2txt prints one for each line that it is given.
fn further(run: &mut ParsedRun, text: &str) -> Option<usize> {
    let row_words: Vec<(&str, usize)> =
        words(row(text)).take(NAME_WORDS_MOST + 1 + 2 * FILES).collect();
    let size = row_words.iter().position(|(word, _)| is_size(word))?;
    let (found, _) = figures(&row_words[size + 1..])?;
    if !(1..=NAME_WORDS_MOST).contains(&size) || ![8, 12].contains(&found.len()) {
        return None;
    }
    let mut other =
        ParsedRun { is_table: true, version: run.version.clone(), ..ParsedRun::default() };
    let bytes = large(&mut other, text)?;
    run.further.push(other);
    Some(bytes)
}

/// Parses the row of the small files, and returns its length in bytes, with its latencies.
fn many(run: &mut ParsedRun, text: &str) -> Option<usize> {
    let row = row(text);
    let most = NAME_WORDS_MOST + 2 * (TESTS - FILES) + 1;
    let all_words: Vec<(&str, usize)> = words(row).take(most).collect();
    // bon_csv2txt begins the row with the name.
    let is_count = |(word, _): &(&str, usize)| {
        let mut parts = word.split([':', '/']);
        let is_quantity = |part: &str| whole(part.trim_end_matches(['k', 'm', 'g'])).is_some();
        parts.next().is_some_and(|count| whole(count).is_some()) && parts.all(is_quantity)
    };
    let name = all_words.iter().position(is_count).filter(|name| *name <= NAME_WORDS_MOST)?;
    let row_words = &all_words[name..];
    let (files, _) = row_words.first()?;
    let (files, directories) = files.split_once('/').unwrap_or((files, ""));
    let mut parts = files.split(':');
    let count = parts.next().filter(|word| whole(word).is_some())?;
    let (figures, end) = figures(&row_words[1..])?;
    // Something stands before the row if it has a figure too many.
    let after_all = row_words.get(2 * (TESTS - FILES) + 1);
    let has_more = after_all.is_some_and(|(word, _)| is_too_short(word) || decimal(word).is_some());
    if has_more || name > 0 && figures.len() != 2 * (TESTS - FILES) {
        return None;
    }
    run.files(count);
    run.parameter("max-size", parts.next().unwrap_or(""));
    run.parameter("min-size", parts.next().unwrap_or(""));
    run.parameter("dirs", directories);
    let mut tests: Vec<usize> = (FILES..TESTS).collect();
    if figures.len() != 2 * tests.len() {
        let message = format!("the row of files has {} of 12 figures", figures.len());
        run.remarks.push(format!("{message}: which ones cannot be determined"));
        tests.clear();
    }
    take(run, &tests, &figures);
    let has_wrong_rates = {
        let number = run.version.trim_end_matches(|letter: char| letter.is_ascii_lowercase());
        decimal(number).is_some_and(|version| version >= WRONG_RATES_FROM)
    };
    if has_wrong_rates {
        for rate in &mut run.rates[FILES..] {
            if matches!(rate, ColumnContent::Value { .. }) {
                *rate = ColumnContent::Absent;
            }
        }
    }
    Some(latencies(run, &tests, text, end, row.len()))
}

/// Figures at the start of the words, rates and percentages in turn, and the offset of their end.
fn figures<'t>(words: &[(&'t str, usize)]) -> Option<(Vec<&'t str>, usize)> {
    let mut figures = Vec::new();
    let mut end = 0;
    for (before, behind) in words.iter().take(12) {
        let word = number_before(before);
        // Text may be glued to the last figure.
        if word.is_empty() || word.len() < before.len() && figures.len() < 11 {
            break;
        }
        figures.push(word);
        end = behind - before.len() + word.len();
    }
    (!figures.is_empty()).then_some((figures, end))
}

/// Number with its unit, or plus signs, at the start of a word.
fn number_before(word: &str) -> &str {
    let signs = word.bytes().take_while(|byte| *byte == b'+').count();
    if is_too_short(&word[..signs]) {
        return &word[..signs];
    }
    let digits = word.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    let unit = usize::from(digits > 0 && matches!(&word[digits..], "k" | "m" | "g"));
    &word[..digits + unit]
}

fn take(run: &mut ParsedRun, tests: &[usize], figures: &[&str]) {
    for (test, pair) in tests.iter().zip(figures.chunks_exact(2)) {
        run.rates[*test] = ColumnContent::rate(pair[0]);
        run.cpus[*test] = ColumnContent::percent(pair[1]);
    }
}

/// Parses the latencies after a row of length `row` whose figures end at `end`; returns the offset
/// of their end.
fn latencies(run: &mut ParsedRun, tests: &[usize], text: &str, end: usize, row: usize) -> usize {
    let Some(behind) = text[row..].strip_prefix("Latency") else { return end };
    let mut tail = super::head(behind, ROW_MOST);
    let whole = tail.len();
    let mut parsed = Vec::new();
    while parsed.len() < TESTS - FILES
        && let Some((ns, behind)) = latency(tail.trim_start())
    {
        parsed.push(ns);
        tail = behind;
    }
    if parsed.len() == tests.len() {
        for (test, ns) in tests.iter().zip(&parsed) {
            run.latencies[*test] = ColumnContent::Value { value: *ns, slack: 0.0 };
        }
    } else if !parsed.is_empty() {
        let message = format!("{} latencies for {} tests", parsed.len(), tests.len());
        run.remarks.push(format!("the table has {message}: which ones cannot be determined"));
    }
    row + "Latency".len() + whole - tail.len()
}

/// True for a size with further parameters: `2264M`, `1G:4k:2:20000`.
fn is_size(word: &str) -> bool {
    let (size, _) = word.split_once(':').unwrap_or((word, ""));
    let number = size.strip_suffix(['M', 'G', 'T']);
    number.and_then(whole).is_some() && word.split(':').all(is_parameter)
}

/// Stores the parameters in the name field: size, chunk, concurrency, seeks, seekers.
fn sized(run: &mut ParsedRun, word: &str) {
    let names = ["size", "chunk", "concurrency", "seeks", "seekers"];
    for (name, value) in names.into_iter().zip(word.split(':')) {
        if !value.is_empty() {
            run.parameter(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ColumnContent, read, start};
    use crate::import::run::{NAMES, ParsedRun};

    const OLD: &str = "\
Version  1.96       ------Sequential Output------ --Sequential Input- --Random-
Concurrency   1     -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Machine        Size K/sec %CP K/sec %CP K/sec %CP K/sec %CP K/sec %CP  /sec %CP
oak              1G   101   1   102   2   103   3   104   4   105   5 106.5   6
Latency                 1us       2us       3us       4us       5us       6us
Version  1.96       ------Sequential Create------ --------Random Create--------
oak                 -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
              files  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
                 16   201  11 +++++ +++   203  13   204  14   205  15   206  16
Latency                 7ms       8ms       9ms      10ms      11ms       12s
";
    const NEW: &str = "\
Version 2.00a       ------Sequential Output------ --Sequential Input- --Random-
                    -Per Chr- --Block-- -Rewrite- -Per Chr- --Block-- --Seeks--
Name:Size etc        /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
h     1G:4k:2:20000            406m  21  867m  44            +++++ +++ +++++ +++
Latency                         307us    2372us              3664us   10975us
Version 2.00a       ------Sequential Create------ --------Random Create--------
h                   -Create-- --Read--- -Delete-- -Create-- --Read--- -Delete--
files:max            /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP  /sec %CP
       40:1024:0/10 40960  49 +++++ +++ 40960  39 40960  51 +++++ +++ 40960  36
Latency             35121us   15112us   10300us   15333us   15888us   51011us
";

    fn shown(row: &[ColumnContent]) -> String {
        let show = |figure: &ColumnContent| match figure {
            ColumnContent::Absent => "-".to_owned(),
            ColumnContent::TooShort => "+".to_owned(),
            ColumnContent::Odd(word) => format!("?{word}"),
            ColumnContent::Value { value, .. } => format!("{value}"),
        };
        row.iter().map(show).collect::<Vec<_>>().join(" ")
    }

    fn check_old(run: &ParsedRun) {
        assert_eq!((&*run.version, &*run.name, run.value("size")), ("1.96", "oak", Some("1G")));
        assert_eq!((run.value("concurrency"), run.value("files")), (Some("1"), Some("16384")));
        assert_eq!(shown(&run.rates), "101 102 103 104 105 106.5 201 + 203 204 205 206");
        assert_eq!(shown(&run.cpus), "1 2 3 4 5 6 11 + 13 14 15 16");
        let latencies = "1000 2000 3000 4000 5000 6000 7000000 8000000 9000000 10000000 11000000 \
                         12000000000";
        assert_eq!(shown(&run.latencies), latencies);
        assert!(run.remarks.is_empty(), "{:?}", run.remarks);
    }

    #[test]
    fn an_older_table_is_read_whole_broken_and_glued() {
        let (run, bytes) = read(OLD).unwrap();
        assert_eq!(bytes, OLD.trim_end().len());
        check_old(&run);
        let words: Vec<&str> = OLD.split_whitespace().collect();
        let broken = words.join(" ").replace("%CP ", "%CP\n").replace("-- ", "--\n");
        check_old(&read(&broken).unwrap().0);
        let glued: Vec<&str> = OLD.lines().map(str::trim_end).collect();
        let glued = format!("x{}1.96,1.96,oak,", glued.concat());
        let at = start(&glued, 0).unwrap();
        let (run, bytes) = read(&glued[at..]).unwrap();
        check_old(&run);
        assert_eq!(&glued[at + bytes..], "1.96,1.96,oak,");
    }

    #[test]
    fn a_newer_table_has_units_and_no_rates_of_files() {
        let (run, bytes) = read(NEW).unwrap();
        assert_eq!(bytes, NEW.trim_end().len());
        let parameters = ["size", "chunk", "concurrency", "seeks", "files", "max-size", "dirs"];
        let values: Vec<&str> = parameters.iter().filter_map(|name| run.value(name)).collect();
        assert_eq!(values, ["1G", "4k", "2", "20000", "40960", "1024", "10"]);
        assert_eq!(shown(&run.rates), "- 415744 887808 - + + - + - - + -", "{NAMES:?}");
        assert_eq!(shown(&run.cpus), "- 21 44 - + + 49 + 39 51 + 36");
        assert!(shown(&run.latencies).starts_with("- 307000 2372000 - 3664000 10975000 35121000"));
        assert!(run.remarks.is_empty(), "{:?}", run.remarks);
    }

    #[test]
    fn each_half_of_a_table_can_stand_alone() {
        let second = OLD.find("Version  1.96       ------Sequential Create").unwrap();
        let (run, bytes) = read(&OLD[..second]).unwrap();
        assert_eq!(bytes, OLD[..second].trim_end().len());
        assert_eq!(shown(&run.rates[4..8]), "105 106.5 - -");
        let (run, _) = read(&OLD[second..]).unwrap();
        assert_eq!(shown(&run.rates[4..8]), "- - 201 +");
        // Version 1.03 had no latencies.
        let lines = OLD.lines().filter(|line| !line.starts_with("Latency"));
        let oldest = lines.collect::<Vec<_>>().join("\n").replace("1.96", "1.03e") + "$ ls";
        let (run, bytes) = read(&oldest).unwrap();
        assert_eq!(shown(&run.rates[10..]), "205 206");
        assert_eq!(shown(&run.latencies), "- - - - - - - - - - - -");
        assert_eq!(&oldest[bytes..], "$ ls");
    }

    #[test]
    fn unparsable_rows_give_remarks() {
        let torn = OLD.replace("  104   4", "").replace("12s", "");
        let (run, _) = read(&torn).unwrap();
        assert_eq!(shown(&run.rates[..6]), "- - - - - -");
        assert_eq!(run.remarks.len(), 3, "{:?}", run.remarks);
        let (run, _) = read(&OLD.replace("oak              1G", "oak1G")).unwrap();
        assert_eq!(shown(&run.rates[..2]), "101 102");
        assert_eq!(run.remarks.len(), 1);
        let row = "                 16   201";
        let is = "201 + 203 204 205 206";
        for (before, shows) in [("12:", is), ("12:oak ", is), ("   12\t", "- - - - - -")] {
            let (run, _) = read(&OLD.replace(row, &format!("{before}{row}"))).unwrap();
            assert_eq!(shown(&run.rates[6..]), shows, "{before}");
        }
        for text in ["Version 1.96", "Version 1.96 ------Sequential Output------ x", "Version"] {
            assert_eq!(read(text), None, "{text}");
        }
        assert_eq!(start("Version 1.96 of bonnie++; Version", 0), None);
    }
}
