//! CSV lines of bonnie++: 48 fields in the formats 1.96 and 1.97, 50 in 1.98, which adds the
//! numbers of seeks and seekers.

use super::run::{ColumnContent, FILES, ParsedRun, TESTS, is_too_short, latency};
use super::unmarked;
use treering_kit::import::number::whole;

/// Formats with their numbers of fields.
const FORMATS: [(&str, usize); 3] = [("1.96", 48), ("1.97", 48), ("1.98", 50)];
/// Both numbers of fields: some programs print a format's number with the fields of another.
const FIELDS: [usize; 2] = [48, 50];
/// Longest name, in bytes.
const NAME_MOST: usize = 255;
/// Maximum number of unparsable figures in a line of bonnie++.
const ODD_MOST: usize = 4;
/// Least value that is taken for a size, not for a number of directories.
const DIRECTORIES_END: u64 = 100_000;

/// Finds the next line of bonnie++ in a text, from this byte on: format and program version, name,
/// concurrency, seed. Any text may precede it.
pub(super) fn start(text: &str, from: usize) -> Option<usize> {
    if from == 0
        && let Some(at) = unmarked::start(text)
    {
        return Some(at);
    }
    let mut from = from;
    loop {
        let at = from + text.get(from..)?.find("1.9")?;
        if text.get(at..).is_some_and(is_head) {
            return Some(at);
        }
        from = at + 1;
    }
}

fn is_head(text: &str) -> bool {
    // Format, version, concurrency and seed are short as well.
    let text = super::head(text, NAME_MOST + 60);
    let mut fields = text.splitn(6, ',');
    let mut field = || fields.next();
    field().is_some_and(|format| format_fields(format).is_some())
        && field().is_some_and(is_version)
        && field().is_some_and(|name| !name.chars().any(char::is_control))
        && field().and_then(whole).is_some()
        && field().is_some_and(|seed| seed.is_empty() || whole(seed).is_some())
        && field().is_some()
}

fn format_fields(format: &str) -> Option<usize> {
    FORMATS.iter().find(|(known, _)| *known == format).map(|(_, fields)| *fields)
}

/// True for a version: `1.96`, `1.03e`, `2.00a`.
pub(super) fn is_version(word: &str) -> bool {
    let Some((major, minor)) = word.split_once('.') else { return false };
    let minor = minor.strip_suffix(|letter: char| letter.is_ascii_lowercase()).unwrap_or(minor);
    let is_number = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
    word.len() <= 8 && is_number(major) && is_number(minor)
}

/// Parses the line at the start of a text, and returns its length in bytes. Any text may follow its
/// last field.
pub(super) fn read(text: &str) -> Option<(ParsedRun, usize)> {
    let format = text.split(',').next()?;
    let fields: Vec<&str> = text.split(',').take(FIELDS[1]).collect();
    let Some(own) = format_fields(format) else { return unmarked::read(text) };
    let others = FIELDS.into_iter().filter(|count| *count != own);
    let mut best: Option<(ParsedRun, usize)> = None;
    for count in std::iter::once(own).chain(others) {
        let Some(read) = fields.get(..count).and_then(parse_fields) else { continue };
        if best.as_ref().is_none_or(|(run, _)| read.0.odd() < run.odd()) {
            best = Some(read);
        }
    }
    best.filter(|(run, _)| run.odd() <= ODD_MOST)
}

fn parse_fields(fields: &[&str]) -> Option<(ParsedRun, usize)> {
    let mut fields = fields.to_vec();
    let last = fields.last_mut()?;
    *last = closing(last);
    let bytes = fields.iter().map(|field| field.len() + 1).sum::<usize>() - 1;
    let at = |place: usize| fields.get(place).map_or("", |field| field.trim());
    let mut run = ParsedRun {
        format: at(0).to_owned(),
        version: at(1).to_owned(),
        name: at(2).to_owned(),
        ..ParsedRun::default()
    };
    run.parameter("concurrency", at(3));
    run.parameter("size", at(5));
    run.parameter("chunk", at(6));
    // Both new fields of 1.98 come before all figures.
    let moved = fields.len() - FIELDS[0];
    if moved > 0 {
        run.parameter("seeks", at(7));
        run.parameter("seekers", at(8));
    }
    run.files(at(19 + moved));
    run.parameter("max-size", at(20 + moved));
    run.parameter("min-size", at(21 + moved));
    let (directories, chunk) = (at(22 + moved), at(23 + moved));
    // Lines of 1.98 have the number of directories one field too late.
    let is_late = |chunk: &str| whole(chunk).is_some_and(|number| number < DIRECTORIES_END);
    if moved > 0 && directories.is_empty() && is_late(chunk) {
        run.parameter("dirs", chunk);
    } else {
        run.parameter("dirs", directories);
        run.parameter("file-chunk", chunk);
    }
    run.parameter("seed", at(4));
    for test in 0..TESTS {
        // The parameters of the files come between the tests.
        let place = 7 + moved + 2 * test + if test < FILES { 0 } else { 5 };
        run.rates[test] = ColumnContent::rate(at(place));
        run.cpus[test] = ColumnContent::percent(at(place + 1));
        run.latencies[test] = ColumnContent::latency(at(36 + moved + test));
    }
    Some((run, bytes))
}

/// Last field, without text glued to it.
fn closing(field: &str) -> &str {
    let plus = field.bytes().take_while(|byte| *byte == b'+').count();
    match (latency(field), field.get(..plus)) {
        (Some((_, tail)), _) => field.strip_suffix(tail).unwrap_or(field),
        (None, Some(signs)) if is_too_short(signs) => signs,
        _ => "",
    }
}

/// True if the last latency is present, or its neighbour is absent too.
pub(super) fn is_whole(run: &ParsedRun) -> bool {
    let [.., before, last] = &run.latencies;
    *last != ColumnContent::Absent || *before == ColumnContent::Absent
}

/// True if the last latency may continue in the next line; `tail` is the remainder of this one.
pub(super) fn may_go_on(run: &ParsedRun, tail: &str) -> bool {
    let tail = tail.trim_end_matches('\\').trim_end_matches(['u', 'm']);
    !is_whole(run) && tail.len() < 12 && tail.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{ColumnContent, ParsedRun, read, start};

    const OLD: &str = "1.96,1.96,oak,2,77,1G,4k,101,1,102,2,103,3,104,4,105,5,106.5,6,\
                       16,2000,1000,8,512,201,11,202,12,203,13,204,14,205,15,206,16,\
                       1us,2us,3us,4us,5us,6us,7ms,8ms,9ms,10ms,11ms,12s";
    const NEW: &str = "1.98,2.00a,oak,1,78,2G,,8192,5,101,1,102,2,103,3,104,4,105,5,106.5,6,\
                       40,1024,,,10,201,11,202,12,203,13,204,14,205,15,206,16,\
                       1us,2us,3us,4us,5us,6us,7ms,8ms,9ms,10ms,11ms,12s";

    fn values(row: &[ColumnContent]) -> Vec<f64> {
        let value = |figure: &ColumnContent| match figure {
            ColumnContent::Value { value, .. } => *value,
            other => panic!("{other:?}"),
        };
        row.iter().map(value).collect()
    }

    fn parameters(run: &ParsedRun) -> String {
        let words = run.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        words.collect::<Vec<_>>().join(" ")
    }

    fn check_figures(run: &ParsedRun) {
        let rates =
            [101.0, 102.0, 103.0, 104.0, 105.0, 106.5, 201.0, 202.0, 203.0, 204.0, 205.0, 206.0];
        assert_eq!(values(&run.rates), rates);
        let cpus = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0];
        assert_eq!(values(&run.cpus), cpus);
        let latencies = [1e3, 2e3, 3e3, 4e3, 5e3, 6e3, 7e6, 8e6, 9e6, 1e7, 1.1e7, 1.2e10];
        assert_eq!(values(&run.latencies), latencies);
        assert!(run.remarks.is_empty(), "{:?}", run.remarks);
    }

    #[test]
    fn every_field_of_the_older_formats_is_read() {
        for format in ["1.96", "1.97"] {
            let (run, bytes) = read(&OLD.replace("1.96", format)).unwrap();
            assert_eq!(bytes, OLD.len());
            assert_eq!((&*run.format, &*run.version, &*run.name), (format, format, "oak"));
            let wanted = "concurrency=2 size=1G chunk=4k files=16384 max-size=2000 min-size=1000 \
                          dirs=8 file-chunk=512 seed=77";
            assert_eq!(parameters(&run), wanted);
            check_figures(&run);
        }
    }

    #[test]
    fn every_field_of_the_newer_format_is_read() {
        let (run, bytes) = read(NEW).unwrap();
        assert_eq!(bytes, NEW.len());
        assert_eq!((&*run.format, &*run.version), ("1.98", "2.00a"));
        let wanted = "concurrency=1 size=2G seeks=8192 seekers=5 files=40960 max-size=1024 dirs=10 \
                      seed=78";
        assert_eq!(parameters(&run), wanted);
        check_figures(&run);
        // Some lines have the number of one format and the fields of the other.
        check_figures(&read(&NEW.replacen("1.98", "1.97", 1)).unwrap().0);
        check_figures(&read(&OLD.replacen("1.96", "1.98", 1)).unwrap().0);
        let right = NEW.replace("40,1024,,,10,", "40,link,,10,131072,");
        let (run, _) = read(&right).unwrap();
        assert_eq!((run.value("dirs"), run.value("file-chunk")), (Some("10"), Some("131072")));
        assert_eq!(run.value("max-size"), Some("link"));
    }

    #[test]
    fn tests_that_were_not_run_or_too_short_have_no_figure() {
        let without = "1.97,1.97,oak,1,9,1G,,,,102,2,+++++,+++,,,105,5,106.5,6,,,,,,,,,,,,,,,,,,\
                       ,2us,3us,,5us,6us,,,,,,";
        let (run, bytes) = read(without).unwrap();
        assert_eq!(bytes, without.len());
        assert_eq!(
            (&run.rates[0], &run.rates[2]),
            (&ColumnContent::Absent, &ColumnContent::TooShort)
        );
        assert_eq!(
            (&run.cpus[2], &run.rates[6]),
            (&ColumnContent::TooShort, &ColumnContent::Absent)
        );
        assert_eq!(values(&run.latencies[1..3]), [2e3, 3e3]);
        assert_eq!((run.odd(), run.value("files")), (0, None));
    }

    #[test]
    fn a_csv_line_is_found_within_other_text() {
        let glued = format!("Latency 650us{OLD}me@host:~$ ls, or not, and on");
        let at = start(&glued, 0).unwrap();
        let (run, bytes) = read(&glued[at..]).unwrap();
        assert_eq!(&glued[at..at + bytes], OLD);
        check_figures(&run);
        assert_eq!(start(&glued, at + 1), None);
        assert_eq!(start(&format!("24{OLD}"), 0), Some(2), "behind a number");
    }

    #[test]
    fn text_without_a_csv_line_is_not_parsed() {
        let names = "1.96,1.96,name,concurrency,seed,file_size";
        for text in [names, "version 1.96, 1.97 and 1.98", "1.9", "1.96,x,a,1,2,", "1.95,1.96,a,1,"]
        {
            assert_eq!(start(text, 0), None, "{text}");
        }
        assert_eq!(read(&OLD[..OLD.len() / 2]), None, "cut off");
        assert_eq!(read(&format!("1.96,1.96,a,1,2,{}", "x,".repeat(60))), None);
        let odd = OLD.replace("102,2", "-102,2").replace(",16,2000", ",99999999999999999999,2 0");
        let (run, _) = read(&odd).unwrap();
        assert!(run.rates[1].is_odd());
        assert_eq!(run.remarks.len(), 2, "{:?}", run.remarks);
    }
}
