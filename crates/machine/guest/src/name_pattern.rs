//! Names of modules, and patterns of names as modprobe has them.

/// Name with `_` for every `-`, except in the brackets of a pattern, where `-` makes a range.
pub(crate) fn canonical(name: &str) -> String {
    let mut is_inside = false;
    let each = |letter: char| {
        is_inside = match letter {
            '[' => true,
            ']' => false,
            _ => is_inside,
        };
        if letter == '-' && !is_inside { '_' } else { letter }
    };
    name.chars().map(each).collect()
}

/// Reports whether a name is one of a pattern with `*`, `?`, `[a-z]`, `[!a-z]` and `\`, as
/// fnmatch(3) does without flags.
pub(crate) fn is_match(pattern: &str, name: &str) -> bool {
    let (pattern, name) = (pattern.as_bytes(), name.as_bytes());
    let (mut at, mut read) = (0, 0);
    // Place of the last `*`, and the part of the name that it does not take yet.
    let mut star: Option<(usize, usize)> = None;
    loop {
        if at == pattern.len() && read == name.len() {
            return true;
        }
        if pattern.get(at) == Some(&b'*') {
            star = Some((at, read));
            at += 1;
            continue;
        }
        let next = name.get(read).and_then(|&letter| matched_piece(&pattern[at..], letter));
        if let Some(length) = next {
            at += length;
            read += 1;
            continue;
        }
        match &mut star {
            Some((place, taken)) if *taken < name.len() => {
                *taken += 1;
                (at, read) = (*place + 1, *taken);
            }
            _ => return false,
        }
    }
}

/// Length of the first piece of a pattern, if it stands for this letter.
fn matched_piece(pattern: &[u8], letter: u8) -> Option<usize> {
    match pattern {
        [b'?', ..] => Some(1),
        [b'[', set @ ..] => match bracket(set, letter) {
            Some((length, is_in)) => is_in.then_some(length + 1),
            // A bracket without its end stands for itself.
            None => (letter == b'[').then_some(1),
        },
        [b'\\', escaped, ..] => (*escaped == letter).then_some(2),
        [plain, ..] => (*plain == letter).then_some(1),
        [] => None,
    }
}

/// Length of a set up to its `]`, and true if the letter is in it; `None` without an end.
fn bracket(set: &[u8], letter: u8) -> Option<(usize, bool)> {
    let is_negated = matches!(set.first(), Some(b'!' | b'^'));
    let begin = usize::from(is_negated);
    let (mut at, mut is_in) = (begin, false);
    loop {
        match set.get(at)? {
            b']' if at > begin => return Some((at + 1, is_in != is_negated)),
            &low => {
                let high = match set.get(at + 1..at + 3) {
                    Some(&[b'-', high]) if high != b']' => Some(high),
                    _ => None,
                };
                is_in |= (low..=high.unwrap_or(low)).contains(&letter);
                at += if high.is_some() { 3 } else { 1 };
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{canonical, is_match};
    use proptest::prelude::*;

    #[test]
    fn patterns_of_aliases_match_as_fnmatch_does() {
        for (pattern, name, is) in [
            ("crypto_crc32c", "crypto_crc32c", true),
            ("crypto_crc32c", "crypto_crc32", false),
            ("cpu:type:x86,ven*fam*mod*:feature:*0094*", PROCESSOR, true),
            ("cpu:type:x86,ven*fam*mod*:feature:*0099*", PROCESSOR, false),
            ("cpu:type:x86,ven0000fam0006mod006B:feature:*", PROCESSOR, true),
            ("pci:v*d*sv*sd*bc01sc06i01*", "pci:v00008086d00002922sv1sd2bc01sc06i01", true),
            ("block_major_6[5-9]_*", "block_major_66_0", true),
            ("block_major_6[5-9]_*", "block_major_64_0", false),
            ("a[!b-d]e", "axe", true),
            ("a[!b-d]e", "ace", false),
            ("a[]x]", "a]", true),
            ("a[b", "a[b", true),
            ("a\\*", "a*", true),
            ("a\\*", "ab", false),
            ("*", "", true),
            ("?", "", false),
            ("**a*b", "xxaxxb", true),
        ] {
            assert_eq!(is_match(pattern, name), is, "{pattern} {name}");
        }
    }

    const PROCESSOR: &str = "cpu:type:x86,ven0000fam0006mod006B:feature:,0000,0002,0094,00C0";

    #[test]
    fn hyphens_are_underscores_except_in_brackets() {
        assert_eq!(canonical("crc32c-intel"), "crc32c_intel");
        assert_eq!(canonical("block-major-[0-9]-*"), "block_major_[0-9]_*");
    }

    proptest! {
        #[test]
        fn a_name_matches_itself_and_every_pattern_ends(
            name in "[a-z0-9_:,]{0,40}", pattern in "[a-c*?\\[\\]!\\\\-]{0,20}",
        ) {
            prop_assert!(is_match(&name, &name));
            let longer = format!("*{name}*");
            prop_assert!(is_match(&longer, &name));
            let _ends = is_match(&pattern, &name);
        }
    }
}
