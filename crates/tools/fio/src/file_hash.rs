//! Hash of a file's path, from which the original derives the seed of random offsets.

/// Initial value of the hash.
const BEGIN: u32 = 0x61c8_8647;

/// Bob Jenkins' hash of 2006 ("lookup3") as the original implements it: of every block but the last
/// it takes only every fourth byte.
pub(super) fn hash(path: &[u8]) -> u32 {
    let bytes = u32::try_from(path.len()).unwrap_or(u32::MAX);
    let mut words = [BEGIN.wrapping_add(bytes); 3];
    let mut remaining = path;
    while remaining.len() > 12 {
        for (word, byte) in words.iter_mut().zip(remaining.iter().step_by(4)) {
            *word = word.wrapping_add(u32::from(*byte));
        }
        mix(&mut words);
        remaining = &remaining[12..];
    }
    if remaining.is_empty() {
        return words[2];
    }
    for (word, four) in words.iter_mut().zip(remaining.chunks(4)) {
        let number = four.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte));
        *word = word.wrapping_add(number);
    }
    finish(&mut words);
    words[2]
}

fn mix(words: &mut [u32; 3]) {
    // Each round: the mixed word, its operand, and the word that grows.
    let rounds =
        [(0, 2, 1, 4), (1, 0, 2, 6), (2, 1, 0, 8), (0, 2, 1, 16), (1, 0, 2, 19), (2, 1, 0, 4)];
    for (one, with, other, turn) in rounds {
        words[one] = words[one].wrapping_sub(words[with]) ^ words[with].rotate_left(turn);
        words[with] = words[with].wrapping_add(words[other]);
    }
}

fn finish(words: &mut [u32; 3]) {
    let rounds =
        [(2, 1, 14), (0, 2, 11), (1, 0, 25), (2, 1, 16), (0, 2, 4), (1, 0, 14), (2, 1, 24)];
    for (one, with, turn) in rounds {
        let turned = words[with].rotate_left(turn);
        words[one] = (words[one] ^ words[with]).wrapping_sub(turned);
    }
}

#[cfg(test)]
mod tests {
    use super::hash;

    #[test]
    fn path_hashes_equal_those_of_the_original() {
        for (path, expected) in [
            ("", 1_640_531_527),
            ("a", 1_807_654_775),
            ("a.0.0", 2_686_932_836),
            ("123456789012", 2_555_061_280),
            ("../fio-0/a.0.0", 465_598_200),
            ("/mnt/test/a.0.0x", 1_246_257_410),
            ("1234567890123456789012345", 3_107_438_123),
        ] {
            assert_eq!(hash(path.as_bytes()), expected, "{path}");
        }
    }
}
