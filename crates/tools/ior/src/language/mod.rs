//! Parser of ior's scripts: the tests between `IOR START` and `IOR STOP`, each with the directives
//! before its `RUN`. The workload checks names and values of directives.

use treering_kit::cursor;
use treering_kit::faults::{Fault, Faults, Place, shown};

/// The longest script.
pub(crate) const BYTES_MAX: usize = 1 << 20;
/// Maximum number of tests of a script.
const TESTS_MAX: usize = 1000;

const RIGHT: &str = "a line is NAME=VALUE, as blockSize=4m, RUN, IOR STOP or a comment behind a #";

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Directive<'t> {
    /// Directive name as written.
    pub name: &'t str,
    /// Position of the name.
    pub place: Place,
    /// Directive value.
    pub value: &'t str,
    /// Position of the value.
    pub value_place: Place,
}

/// A test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TestDefinition<'t> {
    /// Directives of this test; all other settings are inherited from the previous test.
    pub directives: Vec<Directive<'t>>,
    /// Position of its `RUN`, or of the first directive if the last test has no `RUN`.
    pub place: Place,
}

/// Parses the tests of a script, at least one. As in the original, text before the first `IOR
/// START` and after `IOR STOP` is ignored; directives after the last `RUN`, and those of a script
/// without a `RUN`, also make a test. Invalid directives are kept as faults.
///
/// # Errors
/// When it is no script.
pub(crate) fn read<'t>(
    text: &'t [u8],
    faults: &mut Faults<'t>,
) -> Result<Vec<TestDefinition<'t>>, Fault> {
    if text.len() > BYTES_MAX {
        let message = format!("the script has {} bytes", text.len());
        let right = format!("a script has at most {BYTES_MAX} bytes: is this one?");
        return Err(faults.error(Place::START, message).hint(right));
    }
    let mut lines = cursor::lines(text, 0).map(|(place, line)| (place, content(line)));
    let Some((start, _)) = lines.find(|(_, line)| is_line(line, "ior start")) else {
        let right = "the tests stand between the lines IOR START and IOR STOP";
        return Err(faults.error(Place::START, "there is no line IOR START").hint(right));
    };
    let mut tests = Vec::new();
    let mut next = TestDefinition { directives: Vec::new(), place: start };
    for (place, line) in lines {
        if line.is_empty() {
            continue;
        }
        if faults.is_full() || is_line(line, "ior stop") {
            break;
        }
        if is_line(line, "run") {
            next.place = place.after(blanks(line));
            tests.push(std::mem::take(&mut next));
        } else {
            read_line(line, place, &mut next, faults);
        }
        if tests.len() > TESTS_MAX {
            let message = format!("there are more than {TESTS_MAX} tests");
            return Err(faults.error(place, message).hint("distribute them over several scripts"));
        }
    }
    if tests.is_empty() || !next.directives.is_empty() {
        next.place = next.directives.first().map_or(next.place, |first| first.place);
        tests.push(next);
    }
    Ok(tests)
}

/// Line content before a comment.
fn content(line: &[u8]) -> &[u8] {
    cursor::before(line, b"#").trim_ascii_end()
}

/// Number of leading blanks.
fn blanks(line: &[u8]) -> usize {
    line.len() - line.trim_ascii_start().len()
}

fn is_line(line: &[u8], words: &str) -> bool {
    line.trim_ascii().eq_ignore_ascii_case(words.as_bytes())
}

/// Parses a line of directives, separated by commas.
fn read_line<'t>(
    line: &'t [u8],
    place: Place,
    test: &mut TestDefinition<'t>,
    faults: &mut Faults<'t>,
) {
    let text = cursor::text(line, place, "a script is text in UTF-8", faults);
    let Some(text) = faults.ok_or_record(text) else { return };
    let mut at = 0;
    for part in text.split(',') {
        let read = directive(part, place.after(at), faults);
        test.directives.extend(faults.ok_or_record(read));
        at += part.len() + 1;
    }
}

fn directive<'t>(text: &'t str, place: Place, faults: &Faults) -> Result<Directive<'t>, Fault> {
    let is_blank = |character: char| character.is_ascii_whitespace();
    let (name, name_place, value) = cursor::setting(text, place, is_blank);
    let wrong = |place, message: String| Err(faults.error(place, message).hint(RIGHT));
    let Some((value, value_place)) = value else {
        let message = if name.is_empty() {
            "nothing stands between the commas".to_owned()
        } else {
            format!("'{}' has no =", shown(name))
        };
        return wrong(name_place, message);
    };
    if name.is_empty() || name.contains(is_blank) {
        return wrong(name_place, format!("'{}' is no name", shown(name)));
    }
    if value.is_empty() {
        return wrong(value_place, format!("{} has no value", shown(name)));
    }
    if let Some(end) = value.find(is_blank) {
        let message = format!("'{}' stands behind the value", shown(value[end..].trim_ascii()));
        return wrong(value_place.after(end), message);
    }
    Ok(Directive { name, place: name_place, value, value_place })
}

#[cfg(test)]
mod tests {
    use super::{BYTES_MAX, Faults, TestDefinition, read};

    /// Formats each test as a line.
    fn tests(text: &str) -> Vec<String> {
        let words = |test: &TestDefinition| {
            let directives = test
                .directives
                .iter()
                .map(|directive| format!("{}={}", directive.name, directive.value));
            format!("{}: {}", test.place.line, directives.collect::<Vec<_>>().join(" "))
        };
        let mut faults = Faults::new("f", text.as_bytes());
        let read = read(text.as_bytes(), &mut faults).unwrap();
        faults.check().unwrap();
        read.iter().map(words).collect()
    }

    fn refused(text: &[u8]) -> String {
        let mut faults = Faults::new("f", text);
        let fault = read(text, &mut faults).err();
        let error = fault.map(|fault| faults.refuse(fault));
        let error = error.unwrap_or_else(|| faults.check().unwrap_err());
        assert!(error.hint.is_some());
        error.message
    }

    #[test]
    fn tests_end_with_run() {
        let text = "before=all that\n ior start \r\na = 1, b=2 # c, d\n\n#\n\tRun\nRUN # again\n\
                    --posix.odirect=0\n  IOR STOP\nbehind";
        assert_eq!(tests(text), ["6: a=1 b=2", "7: ", "8: --posix.odirect=0"]);
        assert_eq!(tests("IOR START"), ["1: "]);
        assert_eq!(tests("IOR START\nRUN"), ["2: "]);
    }

    #[test]
    fn malformed_directives_are_reported_with_position() {
        assert_eq!(refused(b"RUN\n"), "f:1:1: there is no line IOR START");
        let after_start = |line: &str| refused(format!("IOR START\n{line}\n").as_bytes());
        for (line, message) in [
            ("a=1, b", "f:2:6: 'b' has no =\n  2 | a=1, b\n    |      ^"),
            ("a=1,", "f:2:5: nothing stands between the commas\n  2 | a=1,\n    |     ^"),
            ("a =", "f:2:4: a has no value\n  2 | a =\n    |    ^"),
            ("a b=1", "f:2:1: 'a b' is no name\n  2 | a b=1\n    | ^"),
            ("=1", "f:2:1: '' is no name\n  2 | =1\n    | ^"),
            ("a=1 b=2", "f:2:4: 'b=2' stands behind the value\n  2 | a=1 b=2\n    |    ^"),
            ("runs", "f:2:1: 'runs' has no =\n  2 | runs\n    | ^"),
        ] {
            assert_eq!(after_start(line), message);
        }
        let bytes = refused(b"IOR START\na=\xff");
        assert!(bytes.starts_with("f:2:3: the byte 0xff is no UTF-8\n"), "{bytes}");
    }

    #[test]
    fn script_length_is_limited() {
        let long = refused(&vec![b'\n'; BYTES_MAX + 1]);
        assert_eq!(long, "f:1:1: the script has 1048577 bytes");
        let many = format!("IOR START\n{}", "RUN\n".repeat(1001));
        assert!(refused(many.as_bytes()).starts_with("f:1002:1: there are more than 1000 tests"));
        let wrong = format!("IOR START\n{}", "x\n".repeat(100_000));
        assert_eq!(refused(wrong.as_bytes()).matches("has no =").count(), 20);
    }
}
