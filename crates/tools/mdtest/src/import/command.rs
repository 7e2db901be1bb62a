//! Parser of the command line of mdtest, to parameters named as those of classic runs.

/// Letters of options with a value.
const VALUES: [(char, &str); 14] = [
    ('n', "items"),
    ('I', "items-per-dir"),
    ('z', "depth"),
    ('b', "branch"),
    ('N', "shift"),
    ('i', "iterations"),
    ('w', "write-bytes"),
    ('e', "read-bytes"),
    ('W', "stonewall"),
    ('p', "pre-delay"),
    ('f', "first"),
    ('l', "last"),
    ('s', "stride"),
    ('a', "api"),
];
/// Letters of options whose values do not affect the work.
const VALUES_LEFT_OUT: [char; 5] = ['d', 'x', 'V', 'G', 'B'];
/// Letters of options without a value.
const FLAGS: [(char, &str); 19] = [
    ('L', "leaf-only"),
    ('u', "unique-dir"),
    ('S', "shared-file"),
    ('c', "collective"),
    ('R', "random"),
    ('C', "only-create"),
    ('T', "only-stat"),
    ('E', "only-read"),
    ('r', "only-remove"),
    ('U', "rename-dirs"),
    ('D', "only-dirs"),
    ('F', "only-files"),
    ('y', "sync-file"),
    ('Y', "call-sync"),
    ('X', "verify-read"),
    ('k', "mknod"),
    ('t', "time-unique"),
    ('P', "rate-and-time"),
    ('Z', "print-time"),
];

/// Parameters of the work, from the words of a command line.
pub(super) fn parameters(words: &[String]) -> Vec<(String, String)> {
    let mut parameters = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(letters) = word.strip_prefix('-').filter(|tail| !tail.starts_with('-')) else {
            continue;
        };
        let mut tail = letters.chars();
        while let Some(letter) = tail.next() {
            let named = VALUES.iter().find(|(known, _)| *known == letter).map(|(_, name)| *name);
            if named.is_none() && !VALUES_LEFT_OUT.contains(&letter) {
                let flag = FLAGS.iter().find(|(known, _)| *known == letter);
                parameters.extend(flag.map(|(_, name)| ((*name).to_owned(), "true".to_owned())));
                continue;
            }
            let attached = tail.as_str().trim_start_matches('=').to_owned();
            let value = if attached.is_empty() { words.next().cloned() } else { Some(attached) };
            parameters.extend(named.zip(value).map(|(name, value)| (name.to_owned(), value)));
            break;
        }
    }
    parameters
}

#[cfg(test)]
mod tests {
    use super::parameters;

    #[test]
    fn options_are_parsed_with_joined_and_separate_values() {
        let words = "-n 10 -uF -N=1 -w3901 -d /mnt/x -W 300 --verify-write -n";
        let words: Vec<String> = words.split(' ').map(str::to_owned).collect();
        let pairs: Vec<String> =
            parameters(&words).iter().map(|(name, value)| format!("{name}={value}")).collect();
        let wanted =
            "items=10 unique-dir=true only-files=true shift=1 write-bytes=3901 stonewall=300";
        assert_eq!(pairs.join(" "), wanted);
    }
}
