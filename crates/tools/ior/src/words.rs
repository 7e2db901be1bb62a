//! Command lines of ior in the declared form of its options: names of the original and of its
//! earlier versions.

use treering_kit::imitation::option_words::OptionNames;

use super::options::MANIFEST;

/// Names that ior spells otherwise, and letters of ior 3.
static NAMES: OptionNames = OptionNames {
    declared: MANIFEST.classic,
    long: &[
        ("posix.odirect", "direct"),
        ("dryRun", "dummy-run"),
        ("dataPacketType", "packet-type"),
    ],
    letters: &[
        ('B', "direct"),
        ('H', "mpiio-show-hints"),
        ('p', "mpiio-preallocate"),
        ('S', "mpiio-use-strided-datatype"),
        ('U', "mpiio-hints-file-name"),
        ('V', "mpiio-use-file-view"),
    ],
    counted: &[("random", "random-blocks"), ("reorder-random", "reorder-shuffled")],
    numbers: &["data-seed"],
};

/// Converts the words to the declared form of options.
pub(super) fn in_our_form(words: Vec<String>) -> Vec<String> {
    NAMES.declared_words(words).into_iter().filter_map(meant).collect()
}

/// Word with the meaning that a negative number has: all ranks, the seed of the time, and a seed of
/// 32 bits.
fn meant(word: String) -> Option<String> {
    if matches!(&*word, "--tasks=-1" | "--random-offset-seed=-1") {
        return None;
    }
    let seed = word.strip_prefix("--random-offset-seed=").and_then(|seed| seed.parse::<i32>().ok());
    let Some(seed) = seed.filter(|seed| *seed < 0) else { return Some(word) };
    Some(format!("--random-offset-seed={}", seed.cast_unsigned()))
}

#[cfg(test)]
mod tests {
    use super::in_our_form;

    fn ours(words: &str) -> String {
        in_our_form(words.split(' ').map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn names_of_the_original_and_its_earlier_versions_are_ours() {
        for (words, wanted) in [
            ("--posix.odirect -r", "--direct --read"),
            ("--posix.odirect=1 -B", "--direct"),
            ("--posix.odirect=0 -r", "--read"),
            ("--dataPacketType=o -k", "--packet-type=o --keep"),
            ("--dataPacketType o", "--packet-type=o"),
            ("-o -B -B", "--file=-B --direct"),
            ("--warningAsErrors", "--warning-as-errors"),
            (
                "-a MPIIO --mpiio.showHints -V",
                "--api=MPIIO --mpiio-show-hints --mpiio-use-file-view",
            ),
        ] {
            assert_eq!(ours(words), wanted, "{words}");
        }
    }

    #[test]
    fn flags_that_are_given_twice_mean_more() {
        assert_eq!(ours("-z -k"), "--random --keep");
        assert_eq!(
            ours("-kzz -ZF -Z"),
            "--keep --random --random-blocks --reorder-random --reorder-shuffled \
             --file-per-process"
        );
        assert_eq!(ours("-z=2 -Z=0"), "--random --random-blocks");
    }

    #[test]
    fn negative_numbers_mean_what_they_mean_to_the_original() {
        assert_eq!(ours("-N -1 -G=-7"), "--data-seed=-7");
        assert_eq!(ours("--random-offset-seed=-2"), "--random-offset-seed=4294967294");
        assert_eq!(ours("-Q -1"), "--task-offset=-1");
    }
}
