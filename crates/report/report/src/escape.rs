//! Makes text of unknown origin safe to show.
//!
//! File names, labels and output of other programs may contain anything: escape sequences for
//! terminals, characters that change the writing direction, or invisible ones. They are shown as
//! `\x1b` or `\u{202e}`; nothing is removed.

use std::fmt::Write as _;

use treering_model::is_unsafe;

/// Escapes characters that control a terminal or are invisible.
pub(crate) fn visible(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        push_visible(&mut safe, c);
    }
    safe
}

/// Replaces the typographic characters of treering's own pages by ASCII, and escapes characters
/// that control a terminal or are invisible. Letters of any script are kept.
pub(crate) fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '–' | '—' => safe.push('-'),
            'µ' | 'μ' => safe.push('u'),
            '×' => safe.push('x'),
            '▲' => safe.push('+'),
            '▼' => safe.push('-'),
            '→' => safe.push_str("->"),
            '±' => safe.push_str("+-"),
            '≤' => safe.push_str("<="),
            '≥' => safe.push_str(">="),
            '…' => safe.push_str("..."),
            '’' => safe.push('\''),
            '\u{a0}' => safe.push(' '),
            c => push_visible(&mut safe, c),
        }
    }
    safe
}

fn push_visible(safe: &mut String, c: char) {
    match c {
        '\n' => safe.push_str("\\n"),
        '\r' => safe.push_str("\\r"),
        '\t' => safe.push_str("\\t"),
        c if is_unsafe(c) => push_code(safe, c),
        c => safe.push(c),
    }
}

fn push_code(safe: &mut String, c: char) {
    let code = u32::from(c);
    // Writing to a String cannot fail.
    let _ =
        if c.is_ascii() { write!(safe, "\\x{code:02x}") } else { write!(safe, "\\u{{{code:x}}}") };
}

#[cfg(test)]
mod tests {
    use treering_model::is_unsafe;

    use super::{plain, visible};
    use proptest::prelude::{any, proptest};

    #[test]
    fn escapes_are_visible() {
        assert_eq!(visible("a\x1b[31mred\x07\r\n\tb"), "a\\x1b[31mred\\x07\\r\\n\\tb");
        assert_eq!(visible("\u{9b}31m\u{7f}"), "\\u{9b}31m\\x7f");
        assert_eq!(visible("abc\u{202e}fdp.exe\u{200b}"), "abc\\u{202e}fdp.exe\\u{200b}");
        assert_eq!(visible("no\u{ffff}character"), "no\\u{ffff}character");
        assert_eq!(visible("größe 木"), "größe 木");
    }

    #[test]
    fn plain_text_spells_our_own_signs_and_keeps_letters() {
        assert_eq!(plain("1–2 µs ≥ 3…"), "1-2 us >= 3...");
        assert_eq!(plain("größe 木\x1b\u{202e}"), "größe 木\\x1b\\u{202e}");
    }

    proptest! {
        #[test]
        fn escaped_text_has_no_unsafe_characters(text in any::<String>()) {
            assert!(!visible(&text).chars().any(is_unsafe));
            let shown = plain(&text);
            assert!(!shown.chars().any(is_unsafe), "{shown:?}");
        }
    }
}
