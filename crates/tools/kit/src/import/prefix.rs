//! Decoration of log lines by other programs: terminal colours, and times and names before each
//! line, as `ts`, syslog, the journal, the kernel's log, docker compose, autotest and avocado write
//! them.

use std::collections::BTreeSet;

/// Maximum number of stamps before a line: for example the time of a recorder before that of the
/// kernel.
const STAMPS_MOST: usize = 3;
const ESCAPE: char = '\u{1b}';
const BEL: char = '\u{7}';
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// Names of levels, some shortened to five letters.
const LEVELS: [&str; 7] = ["DEBUG", "INFO", "WARNI", "WARNING", "ERROR", "CRITI", "CRITICAL"];
const WEEKDAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// Removes escape sequences that colour the text or move the cursor (ECMA-48).
pub(crate) fn without_escapes(text: String) -> String {
    if !text.contains(ESCAPE) {
        return text;
    }
    let mut plain = String::with_capacity(text.len());
    let mut parts = text.split(ESCAPE);
    plain.push_str(parts.next().unwrap_or(""));
    for part in parts {
        plain.push_str(behind_sequence(part));
    }
    plain
}

/// Text after the escape sequence at the start of `part`; an unterminated sequence ends with its
/// line.
fn behind_sequence(part: &str) -> &str {
    let mut letters = part.char_indices();
    let Some((_, kind)) = letters.next() else { return part };
    let tail = letters.as_str();
    match kind {
        '[' => match tail.find(|letter: char| !(' '..='?').contains(&letter)) {
            Some(end) if ('@'..='~').contains(&tail[end..].chars().next().unwrap_or(' ')) => {
                &tail[end + 1..]
            }
            Some(end) => &tail[end..],
            None => "",
        },
        // A title ends at a BEL or the next escape.
        ']' => match tail.find([BEL, '\n', '\r']) {
            Some(end) => tail[end..].strip_prefix(BEL).unwrap_or(&tail[end..]),
            None => "",
        },
        ' '..='/' => match tail.char_indices().next() {
            Some((_, letter)) if ('0'..='~').contains(&letter) => &tail[letter.len_utf8()..],
            _ => tail,
        },
        '0'..='~' => tail,
        _ => part,
    }
}

/// Tags of web pages that can stand on the lines of an output.
const TAGS: [&str; 17] = [
    "a",
    "b",
    "blockquote",
    "body",
    "br",
    "code",
    "div",
    "em",
    "font",
    "html",
    "i",
    "p",
    "pre",
    "span",
    "strong",
    "td",
    "tt",
];
/// Character references of web pages, with the characters.
const REFERENCES: [(&str, &str); 9] = [
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&quot;", "\""),
    ("&#34;", "\""),
    ("&#39;", "'"),
    ("&#x27;", "'"),
    ("&nbsp;", " "),
    ("&#160;", " "),
    ("&amp;", "&"),
];
/// Blanks that browsers copy from web pages.
const PAGE_BLANKS: [char; 3] = ['\u{a0}', '\u{2007}', '\u{202f}'];

/// Removes the markup of web pages: tags, character references and their kinds of blanks.
pub(crate) fn without_markup(text: String) -> String {
    let mut text = if text.contains(PAGE_BLANKS) { text.replace(PAGE_BLANKS, " ") } else { text };
    if text.contains('<') && TAGS.iter().any(|tag| text.contains(&format!("<{tag}"))) {
        text = without_tags(&text);
    }
    for (reference, character) in REFERENCES {
        if text.contains(reference) {
            text = text.replace(reference, character);
        }
    }
    text
}

fn without_tags(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut tail = text;
    while let Some(at) = tail.find('<') {
        let (before, tag) = tail.split_at(at);
        plain.push_str(before);
        let name = tag[1..].trim_start_matches('/');
        let end = name.find(|letter: char| !letter.is_ascii_alphanumeric()).unwrap_or(name.len());
        let close = tag.find(['>', '\n', '\r']).filter(|close| tag[*close..].starts_with('>'));
        match close.filter(|_| TAGS.contains(&&name[..end])) {
            Some(close) => tail = &tag[close + 1..],
            None => {
                plain.push('<');
                tail = &tag[1..];
            }
        }
    }
    plain.push_str(tail);
    plain
}

/// Host and program of a line, as in syslog.
type LineOrigin = (String, String);

/// Prefixes known from neighbouring lines.
#[derive(Default)]
pub(crate) struct KnownPrefixes {
    /// `HOST PROGRAM: ` prefixes without a process number, which could also be text of the line
    /// itself. They count as prefixes if an adjacent line has the same one.
    writers: BTreeSet<LineOrigin>,
}

impl KnownPrefixes {
    /// Learns the prefixes of consecutive lines.
    pub(crate) fn learn<'t>(lines: impl Iterator<Item = &'t str>) -> Self {
        let mut prefixes = Self::default();
        let mut above: Option<(&str, &str)> = None;
        for line in lines.filter(|line| !line.trim().is_empty()) {
            let tail = stamp(behind_container(line).trim_start_matches(['>', ' ']));
            let writer = tail.and_then(writer).map(|(host, program, _)| (host, program));
            if let Some((host, program)) = writer
                && above == writer
            {
                prefixes.writers.insert((host.to_owned(), program.to_owned()));
            }
            above = writer;
        }
        prefixes
    }

    /// Line without its prefixes. Blanks after them are kept.
    pub(crate) fn without<'t>(&self, line: &'t str) -> &'t str {
        let mut line = behind_container(line);
        for _ in 0..STAMPS_MOST {
            let Some(tail) = stamp(line) else { break };
            if let Some(behind) = behind_level(tail) {
                return behind;
            }
            line = match writer(tail) {
                Some((host, program, behind)) if self.is_writer(host, program) => behind,
                _ => tail,
            };
        }
        line
    }

    fn is_writer(&self, host: &str, program: &str) -> bool {
        let has_number = program.strip_suffix(']').and_then(|program| program.rsplit_once('['));
        has_number.is_some_and(|(_, number)| is_digits(number))
            || self.writers.contains(&(host.to_owned(), program.to_owned()))
    }
}

/// Text after `web-1  | ` or `web_1  | `, the container prefix of docker compose; the whole line if
/// there is none.
fn behind_container(line: &str) -> &str {
    let Some((before, behind)) = line.split_once('|') else { return line };
    let name = before.trim_end_matches(' ');
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let numbered = name.rsplit_once(['-', '_']);
    let is_container = name.len() < before.len()
        && name.chars().all(is_word)
        && numbered.is_some_and(|(service, number)| !service.is_empty() && is_digits(number));
    if !is_container {
        return line;
    }
    match behind.strip_prefix(' ') {
        Some(behind) => behind,
        None if behind.is_empty() => behind,
        None => line,
    }
}

/// Text after `DEBUG| [stdout] `, as test harnesses write it behind the time, with the place in
/// their code: `utils L0153 DEBUG| [stdout] ` or `DEBUG|     utils:0153| [stdout] `.
fn behind_level(text: &str) -> Option<&str> {
    let (before, behind) = text.split_once('|')?;
    let (place, level) = before.trim_end().rsplit_once(' ').unwrap_or(("", before.trim_end()));
    let is_place = place.is_empty()
        || place.rsplit_once(" L").is_some_and(|(_, line)| is_digits(line.trim_end()));
    if !is_place || !LEVELS.contains(&level) {
        return None;
    }
    let in_module = behind.split_once('|').and_then(|(place, behind)| {
        place.rsplit_once(':').filter(|(_, line)| is_digits(line)).map(|_| behind)
    });
    let message = in_module.unwrap_or(behind);
    let message = message.strip_prefix(' ').unwrap_or(message);
    let streams = ["[stdout] ", "[stderr] "].into_iter();
    let of_stream = streams.into_iter().find_map(|stream| message.strip_prefix(stream));
    // An empty line has lost its last blank.
    let is_empty = ["[stdout]", "[stderr]"].contains(&message);
    Some(if is_empty { &message[message.len()..] } else { of_stream.unwrap_or(message) })
}

/// Splits `HOST PROGRAM: ` from the rest.
fn writer(text: &str) -> Option<(&str, &str, &str)> {
    let (host, tail) = text.split_once(' ')?;
    let (program, _) = tail.split_once(' ').unwrap_or((tail, ""));
    let program = program.strip_suffix(':').filter(|program| !program.is_empty())?;
    let is_host = !host.is_empty() && !host.ends_with(':');
    let behind = &tail[program.len() + 1..];
    is_host.then(|| (host, program, behind.strip_prefix(' ').unwrap_or(behind)))
}

/// Text after a leading time and one blank; `None` without a time.
fn stamp(line: &str) -> Option<&str> {
    let first = line.bytes().next()?;
    if !(first.is_ascii_digit() || b"[<JFMASOND".contains(&first) || b"TWIE".contains(&first)) {
        return None;
    }
    let line = priority(line);
    if let Some(behind) = kernel_time(line).or_else(|| library_time(line)) {
        return Some(behind);
    }
    let (inner, is_bracketed) = match line.strip_prefix('[') {
        Some(inner) => (inner, true),
        None => (line, false),
    };
    let dated = written_date(inner).or_else(|| iso_date(inner)).or_else(|| short_date(inner));
    let behind = dated.or_else(|| time(inner))?;
    let behind = if is_bracketed { behind.strip_prefix(']')? } else { behind };
    match behind.strip_prefix(' ') {
        Some(behind) => Some(behind),
        None => behind.is_empty().then_some(behind),
    }
}

/// Text after `<13>`.
fn priority(line: &str) -> &str {
    let inner = line.strip_prefix('<').and_then(|line| line.split_once('>'));
    match inner {
        Some((number, tail)) if number.len() <= 3 && is_digits(number) => tail,
        _ => line,
    }
}

/// Text after `[   12.345678] `, and after a task or processor: `[   12.345678][  T123] `.
fn kernel_time(line: &str) -> Option<&str> {
    let (inner, tail) = line.strip_prefix('[')?.split_once(']')?;
    let (seconds, fraction) = inner.trim_start().split_once('.')?;
    let is_time = is_digits(seconds) && is_digits(fraction);
    let tail = caller(tail).unwrap_or(tail);
    is_time.then(|| tail.strip_prefix(' ').unwrap_or(tail))
}

/// Text after `I1122 17:35:09.123456`, as Google's logging libraries write it.
fn library_time(line: &str) -> Option<&str> {
    let day = line.strip_prefix(['I', 'W', 'E', 'F'])?;
    let behind = time(digits(day, 4, 4)?.strip_prefix(' ')?)?;
    behind.strip_prefix(' ').or(Some(behind))
}

/// Text after `[  T123]` or `[    C0]`.
fn caller(text: &str) -> Option<&str> {
    let (inner, tail) = text.strip_prefix('[')?.split_once(']')?;
    let number = inner.trim_start().strip_prefix(['T', 'C'])?;
    is_digits(number).then_some(tail)
}

/// Text after `Nov 22 17:35:09`, `Sun Nov 22 17:35:09 2026`.
fn written_date(text: &str) -> Option<&str> {
    let word = |text: &str, words: &[&str]| text.get(..3).is_some_and(|word| words.contains(&word));
    let text = if word(text, &WEEKDAYS) { text[3..].strip_prefix(' ')? } else { text };
    if !word(text, &MONTHS) {
        return None;
    }
    let day = text[3..].strip_prefix(' ')?.trim_start();
    let tail = digits(day, 1, 2)?;
    let tail = time(tail.strip_prefix(' ')?)?;
    let year = tail.strip_prefix(' ').and_then(|year| digits(year, 4, 4));
    Some(year.filter(|tail| tail.is_empty() || tail.starts_with([' ', ']'])).unwrap_or(tail))
}

/// Text after `2026-11-22T17:35:09.5+00:00`, also with a blank for the `T`.
fn iso_date(text: &str) -> Option<&str> {
    let tail = digits(text, 4, 4)?.strip_prefix(['-', '/'])?;
    let tail = digits(tail, 2, 2)?.strip_prefix(['-', '/'])?;
    time(digits(tail, 2, 2)?.strip_prefix(['T', ' '])?)
}

/// Text after `11/22 17:35:09`.
fn short_date(text: &str) -> Option<&str> {
    let day = digits(text, 2, 2)?.strip_prefix('/')?;
    time(digits(day, 2, 2)?.strip_prefix(' ')?)
}

/// Text after `17:35:09`, with an optional fraction and zone.
fn time(text: &str) -> Option<&str> {
    let tail = digits(text, 2, 2)?.strip_prefix(':')?;
    let tail = digits(tail, 2, 2)?.strip_prefix(':')?;
    let tail = digits(tail, 2, 2)?;
    let tail = tail.strip_prefix(['.', ',']).and_then(|tail| digits(tail, 1, 9)).unwrap_or(tail);
    if let Some(tail) = tail.strip_prefix('Z') {
        return Some(tail);
    }
    let zone = tail.strip_prefix(['+', '-']).and_then(|tail| digits(tail, 2, 4));
    let zone = zone.map(|tail| {
        let minutes = tail.strip_prefix(':').and_then(|tail| digits(tail, 2, 2));
        minutes.unwrap_or(tail)
    });
    let tail = zone.unwrap_or(tail);
    (tail.is_empty() || tail.starts_with([' ', ']'])).then_some(tail)
}

/// Text after `least` to `most` digits.
fn digits(text: &str, least: usize, most: usize) -> Option<&str> {
    let count = text.bytes().take_while(u8::is_ascii_digit).count();
    (least..=most).contains(&count).then(|| &text[count..])
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::{KnownPrefixes, without_escapes, without_markup};

    #[test]
    fn colours_and_titles_are_removed() {
        let plain = |text: &str| without_escapes(text.to_owned());
        assert_eq!(plain("\u{1b}[1;31mred\u{1b}[0m\u{1b}[K x"), "red x");
        assert_eq!(plain("\u{1b}]0;title\u{7}a\u{1b}(Bb\u{1b}=c"), "abc");
        assert_eq!(plain("\u{1b}]0;title\u{1b}\\a"), "a");
        assert_eq!(plain("a\u{1b}[31\nb"), "a\nb", "cut at the end of the line");
        assert_eq!(plain("a\u{1b}"), "a");
        assert_eq!(plain("\u{1b}é"), "é");
    }

    #[test]
    fn markup_of_web_pages_is_removed() {
        let plain = |text: &str| without_markup(text.to_owned());
        assert_eq!(
            plain("<pre><code class=\"x\">a &gt;=64=1&nbsp;\u{a0}b<br/>\n</pre>"),
            "a >=64=1  b\n"
        );
        for text in ["ior <file> [1,0]<stdout>: a", "a < b > c", "<pre", "<b\n>", "a & b &lt"] {
            assert_eq!(plain(text), text);
        }
        assert_eq!(plain("&amp;gt;"), "&gt;", "once");
    }

    #[test]
    fn times_and_writers_are_removed() {
        let row = "     5          100";
        for before in [
            "[   12.345678] ",
            "[   12.345678][  T123] ",
            "Nov 22 17:35:09 ",
            "Nov  2 17:35:09 ",
            "Sun Nov 22 17:35:09 2026 ",
            "[Sun Nov 22 17:35:09 2026] ",
            "2026-11-22T17:35:09.123+00:00 ",
            "2026-11-22 17:35:09,5 ",
            "[2026-11-22T17:35:09Z] ",
            "17:35:09 ",
            "[17:35:09.25] ",
            "Nov 22 17:35:09 oak run.sh[12]: ",
            "<13>Nov 22 17:35:09 oak run.sh[12]: ",
            "2026-11-22T17:35:09+0000 oak kernel[1]: [ 1.5] ",
            "17:35:09 DEBUG| [stdout] ",
            "17:35:09 INFO | ",
            "I1122 17:35:09.123456 ",
            "11/22 17:35:09 DEBUG|         utils:0287| [stdout] ",
            "2026-11-22 17:35:09,123 process          L0453 DEBUG| [stdout] ",
            "web_1  | ",
            "my-web-12 | ",
            "bench.fs-1  | 2026-11-22T17:35:09.123456789Z ",
        ] {
            assert_eq!(
                KnownPrefixes::default().without(&format!("{before}{row}")),
                row,
                "{before}"
            );
        }
    }

    #[test]
    fn a_writer_without_process_number_is_recognised_by_neighbouring_lines() {
        let logged = ["Nov 22 17:35:09 oak root: a b", "Nov 22 17:35:10 oak root: c"];
        let prefixes = KnownPrefixes::learn(logged.into_iter());
        assert_eq!(logged.map(|line| prefixes.without(line)), ["a b", "c"]);
        let stamped =
            ["Nov 22 17:35:09 Read Throughput: 133MB/sec", "Nov 22 17:35:09 run complete:"];
        let prefixes = KnownPrefixes::learn(stamped.into_iter());
        let plain = stamped.map(|line| prefixes.without(line));
        assert_eq!(plain, ["Read Throughput: 133MB/sec", "run complete:"]);
    }

    #[test]
    fn lines_without_prefix_stay_unchanged() {
        for line in [
            "",
            "[",
            "12:34",
            "2026-11-22",
            "[   open]\t0.050000\t3.980161",
            "35318: 12.795: IO Summary",
            "2012-12-05T03:20:58x",
            "Mai 5 17:35:09 x",
            "     |  1.00th=[   35],  5.00th=[   36]",
            "ext4 | 5",
            "-1 | 5",
            "web-1| 5",
            "<13",
            "Sunday",
            "é",
        ] {
            assert_eq!(KnownPrefixes::default().without(line), line);
        }
    }
}
