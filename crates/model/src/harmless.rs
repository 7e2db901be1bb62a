//! Words for a terminal and for a shell: sanitizing of foreign texts in messages, quoting, and
//! large numbers, and counts with their nouns.

use std::fmt::Display;

/// Maximum line length in characters.
const LINE_MAX: usize = 160;

/// Replaces characters that control a terminal, or hide or reorder text, by U+FFFD, and truncates
/// lines of more than 160 characters.
pub fn harmless(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        let mut shown: String = line.chars().take(LINE_MAX).map(replaced).collect();
        if line.chars().nth(LINE_MAX).is_some() {
            shown.push('…');
        }
        lines.push(shown.trim_end().to_owned());
    }
    lines.join("\n")
}

/// Reports whether a character controls a terminal, hides or reorders text, or is invisible.
pub fn is_unsafe(sign: char) -> bool {
    sign.is_control()
        || matches!(sign,
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{feff}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Reports whether a spreadsheet would interpret a text as a formula. Numbers are not formulas.
/// Leading apostrophes and spaces are ignored, so that an apostrophe added for protection can be
/// told from an original one.
pub fn is_formula(text: &str) -> bool {
    let begin = text.trim_start_matches(|sign: char| sign == '\'' || sign.is_whitespace());
    let signs = ['=', '+', '-', '@', '＝', '＋', '－', '＠'];
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && text.parse::<f64>().is_ok();
    begin.starts_with(signs) && !is_number
}

fn replaced(sign: char) -> char {
    match sign {
        '\t' => ' ',
        sign if is_unsafe(sign) => char::REPLACEMENT_CHARACTER,
        sign => sign,
    }
}

/// Quotes a word for a shell, unless it is plain.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,%+@".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Digits of a whole number with thousands separators: `6,920`.
pub fn thousands(digits: &str) -> String {
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Count with its noun in the singular or plural: `1 trial`, `6,920 trials`, `2 entries`.
pub fn counted(count: impl Display, noun: &str) -> String {
    let digits = count.to_string();
    let plural = match noun.strip_suffix('y') {
        _ if digits == "1" => noun.to_owned(),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{stem}ies"),
        _ => format!("{noun}s"),
    };
    format!("{} {plural}", thousands(&digits))
}

#[cfg(test)]
mod tests {
    use super::{counted, harmless, quoted, thousands};

    #[test]
    fn nouns_of_counts_are_singular_only_for_one() {
        let texts = [counted(0, "trial"), counted(1, "trial"), counted(6920, "trial")];
        assert_eq!(texts, ["0 trials", "1 trial", "6,920 trials"]);
        assert_eq!(
            [counted(2, "entry"), counted(2, "day"), counted(1, "entry")],
            ["2 entries", "2 days", "1 entry"]
        );
    }

    #[test]
    fn thousands_have_commas() {
        let texts = ["7", "920", "6920", "1234567"].map(thousands);
        assert_eq!(texts, ["7", "920", "6,920", "1,234,567"]);
    }

    #[test]
    fn control_characters_are_replaced_and_long_lines_cut() {
        assert_eq!(harmless("a\u{1b}[2J\tb\nc\u{202e}d \n"), "a\u{fffd}[2J b\nc\u{fffd}d");
        let long = harmless(&"ä".repeat(1000));
        assert_eq!((long.chars().count(), long.ends_with('…')), (161, true));
        assert_eq!(harmless(&"x".repeat(160)), "x".repeat(160));
    }

    #[test]
    fn words_survive_a_shell() {
        assert_eq!(quoted("/mnt/a-b"), "/mnt/a-b");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted("$(rm)"), "'$(rm)'");
        assert_eq!(quoted(""), "''");
    }
}
