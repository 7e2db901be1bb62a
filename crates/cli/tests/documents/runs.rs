//! Commands of a page that ran: their exit codes, and the kind of what they wrote.

use std::fs;
use std::path::Path;

/// Shell code around a command: runs it, keeps its output and exit code, and compares the code with
/// the allowed ones. The command's name is `$name`; `$limit` and `$allowed` are set before.
pub(crate) const RECORDED: &str = r#"
run=$(mktemp -d -p "$TOOLS")
mkfifo "$run/pipe"
tee "$run/out" < "$run/pipe" &
began=$(date +%s)
timeout --foreground --preserve-status -s INT -k 600 "$limit" "$real" "$@" \
    > "$run/pipe" 2> "$run/said"
code=$?
wait
took=$(($(date +%s) - began))
cat "$run/said" >&2
for word in "$name" "$@"; do printf '%s\n' "$word"; done > "$run/words"
before=
for word in "$@"; do
    case $before in -o|--output) ! [ -f "$word" ] || cp "$word" "$run/made";; esac
    before=$word
done
# A command that was interrupted ends as documented: 130, what the imitated tool ends with, or with
# `trace` as the program does. A first example is not to be interrupted.
if [ "$took" -ge "$limit" ] && [ -z "${TO_END-}" ]; then
    case ${name#treering}${1-} in
        bonnie++*) allowed="$allowed 5";;
        fio*) allowed="$allowed 128";;
        compilebench*|fs_mark*|filebench*) allowed="$allowed 1";;
        trace*) allowed="$allowed 1 128 130";;
        *) allowed="$allowed 130";;
    esac
    : > "$run/interrupted"
fi
for one in $allowed; do
    [ "$code" != "$one" ] || exit 0
done
echo "$name $*: exit $code, not $allowed: $(tail -n 4 "$run/said")" >> "$FAULTS"
exit "$code"
"#;

/// Problems of what the commands recorded below this directory wrote: an output that is not of the
/// format that was asked for.
pub(crate) fn wrong_kinds(tools: &Path) -> Vec<String> {
    let mut wrong = Vec::new();
    for entry in fs::read_dir(tools).expect("the directory was made").flatten() {
        let run = entry.path();
        let is_run = entry.file_name().to_string_lossy().starts_with("run.");
        if !is_run || run.join("interrupted").exists() {
            continue;
        }
        let read = |name: &str| {
            fs::read(run.join(name)).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let Ok(words) = read("words") else { continue };
        let words: Vec<&str> = words.lines().collect();
        let written = read("made").or_else(|_| read("out")).unwrap_or_default();
        if !is_of_kind(kind(&words), &written) {
            let beginning: String = written.chars().take(120).collect();
            wrong.push(format!("{}: not {}: {beginning}", words.join(" "), kind(&words)));
        }
    }
    wrong
}

/// Format that a command line asks for; `text` where it names none.
fn kind<'a>(words: &[&'a str]) -> &'a str {
    let own: Vec<&str> = words.iter().copied().take_while(|word| *word != "--").collect();
    let after = |names: &[&str]| {
        let at = own.iter().position(|word| names.contains(word))?;
        own.get(at + 1).copied()
    };
    let is_native = own.first() == Some(&"treering") && own.get(1) != Some(&"fio");
    if !is_native || own.contains(&"--help") || own.contains(&"--dry-run") {
        return "text";
    }
    if own.contains(&"--events") {
        return "events";
    }
    let ending = after(&["-o", "--output"]).and_then(|file| file.rsplit_once('.'));
    match (after(&["--format"]), ending) {
        (Some(format), _) => format,
        (None, Some((_, "md"))) => "markdown",
        (None, Some((_, ending @ ("html" | "json" | "csv")))) => ending,
        (None, _) if own.get(1) == Some(&"export") => "json",
        (None, _) => "text",
    }
}

fn is_of_kind(kind: &str, written: &str) -> bool {
    let is_json = |text: &str| serde_json::from_str::<serde_json::Value>(text).is_ok();
    // A traced program may have written before.
    let begins = if written.starts_with('{') { Some(0) } else { written.find("\n{") };
    match kind {
        "json" => {
            begins.is_some_and(|at| is_json(&written[at..]))
                || !written.is_empty() && written.lines().all(is_json)
        }
        "events" => written.lines().filter(|line| line.starts_with('{')).all(is_json),
        "html" => {
            let text = written.trim();
            text.to_ascii_lowercase().starts_with("<!doctype html>") && text.ends_with("</html>")
        }
        "markdown" => written.lines().any(|line| line.starts_with("| ") || line.starts_with('#')),
        csv if csv.starts_with("csv") => {
            written.lines().next().is_some_and(|header| header.contains(','))
        }
        _ => !written.starts_with(['{', '<']),
    }
}

#[test]
fn the_format_that_is_asked_for_is_the_kind_of_output() {
    for (words, expected) in [
        (&["treering", "show", "last"][..], "text"),
        (&["treering", "show", "last", "--format", "csv"], "csv"),
        (&["treering", "report", "-o", "page.html"], "html"),
        (&["treering", "report", "--format", "json", "-o", "page.html"], "json"),
        (&["treering", "export", "last"], "json"),
        (&["treering", "trace", "--", "grep", "--format", "json"], "text"),
        (&["fio", "--output-format", "json"], "text"),
    ] {
        assert_eq!(kind(words), expected, "{words:?}");
    }
    assert!(is_of_kind("json", "{\"a\": 1}\n") && !is_of_kind("json", "a  b\n"));
    assert!(is_of_kind("text", "a  b\n") && !is_of_kind("text", "<!DOCTYPE html>"));
    assert!(is_of_kind("html", "<!DOCTYPE html><html></html>\n") && !is_of_kind("html", "<html>"));
    assert!(is_of_kind("csv", "a,b\n1,2\n") && !is_of_kind("csv", "a b\n"));
}
