//! Command lines of ior and mdtest in the declared form of their options. Both tools have the same
//! reader of options: letters stand in groups, a value follows at once, behind `=` or as the next
//! word, a flag may have a number, and numbers have units of 1024.

use treering_script::{OptionSpec, ValueKind};

/// Names of a tool's options that are spelled otherwise in the declarations.
#[derive(Clone, Copy, Debug)]
pub struct OptionNames {
    /// The declared options.
    pub declared: &'static [OptionSpec],
    /// Long names, without dashes, and the declared names.
    pub long: &'static [(&'static str, &'static str)],
    /// Letters, and the declared names.
    pub letters: &'static [(char, &'static str)],
    /// Flags that mean more if they are given twice, and the option for the second time.
    pub counted: &'static [(&'static str, &'static str)],
    /// Options whose value is a text for us and a number for the original.
    pub numbers: &'static [&'static str],
}

impl OptionNames {
    /// Converts the words of a command line to the declared form; unknown words stay as they are.
    pub fn declared_words(&self, words: Vec<String>) -> Vec<String> {
        let mut read = ReadOptions { names: self, ours: Vec::new(), flags: Vec::new() };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            if word == "--" {
                read.ours.push(word);
                read.ours.extend(words.by_ref());
            } else if let Some(long) = word.strip_prefix("--") {
                let (name, value) = parted(long);
                match self.of_long(name) {
                    Some(spec) => read.take(spec, value.map(str::to_owned), &mut words),
                    None => read.ours.push(with_dashes(word)),
                }
            } else if let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
                let (letters, value) = parted(letters);
                if !read.group(letters, value, &mut words) {
                    read.ours.push(word);
                }
            } else {
                read.ours.push(word);
            }
        }
        read.finish()
    }

    fn of_long(&self, name: &str) -> Option<&'static OptionSpec> {
        let ours = self.long.iter().find(|(theirs, _)| *theirs == name).map(|(_, ours)| *ours);
        let spelled = with_dashes(format!("--{name}")).replace(['.', '_'], "-");
        let ours = ours.unwrap_or_else(|| spelled.trim_start_matches("--"));
        self.named(ours)
    }

    fn of_letter(&self, letter: char) -> Option<&'static OptionSpec> {
        let ours = self.letters.iter().find(|(theirs, _)| *theirs == letter);
        match ours {
            Some((_, ours)) => self.named(ours),
            None => self.declared.iter().find(|spec| spec.short == Some(letter)),
        }
    }

    fn named(&self, name: &str) -> Option<&'static OptionSpec> {
        self.declared.iter().find(|spec| spec.name == name)
    }

    /// Value in the declared form of an option.
    fn value(&self, spec: &OptionSpec, value: String) -> String {
        let is_number = matches!(spec.value, ValueKind::Number | ValueKind::Size);
        if !is_number && !self.numbers.contains(&spec.name) {
            return value;
        }
        number(&value).map_or(value, |number| number.to_string())
    }
}

/// Options of a command line as far as it is read.
struct ReadOptions<'n> {
    names: &'n OptionNames,
    ours: Vec<String>,
    /// Flags in the order of their first mention, and their numbers.
    flags: Vec<(&'static str, u64)>,
}

impl ReadOptions<'_> {
    /// Reads a group of letters; false, and nothing is read, if one of them is unknown.
    fn group(
        &mut self,
        letters: &str,
        value: Option<&str>,
        words: &mut impl Iterator<Item = String>,
    ) -> bool {
        let mut specs = Vec::new();
        let mut glued = None;
        for (at, letter) in letters.char_indices() {
            let Some(spec) = self.names.of_letter(letter) else { return false };
            specs.push(spec);
            if takes_value(spec) {
                glued = Some(&letters[at + letter.len_utf8()..]).filter(|rest| !rest.is_empty());
                break;
            }
        }
        let last = specs.len().saturating_sub(1);
        for (at, spec) in specs.into_iter().enumerate() {
            let value = value.filter(|_| at == last || !takes_value(spec));
            let value = match (glued.filter(|_| at == last), value) {
                (Some(glued), Some(value)) => Some(format!("{glued}={value}")),
                (Some(glued), None) => Some(glued.to_owned()),
                (None, value) => value.map(str::to_owned),
            };
            self.take(spec, value, words);
        }
        true
    }

    fn take(
        &mut self,
        spec: &'static OptionSpec,
        value: Option<String>,
        words: &mut impl Iterator<Item = String>,
    ) {
        if takes_value(spec) {
            let Some(value) = value.or_else(|| words.next()) else {
                self.ours.push(format!("--{}", spec.name));
                return;
            };
            let value = self.names.value(spec, value);
            self.ours.push(format!("--{}={value}", spec.name));
            return;
        }
        let known = self.flags.iter().position(|(name, _)| *name == spec.name);
        let at = known.unwrap_or_else(|| {
            self.flags.push((spec.name, 0));
            self.flags.len() - 1
        });
        let times = &mut self.flags[at].1;
        *times = match value {
            // The original reads a text that is no number as 0, so the flag is off.
            Some(value) => number(&value).and_then(|number| number.try_into().ok()).unwrap_or(0),
            None => *times + 1,
        };
    }

    fn finish(mut self) -> Vec<String> {
        let split = self.ours.iter().position(|word| word == "--").unwrap_or(self.ours.len());
        let operands = self.ours.split_off(split);
        for (name, times) in self.flags {
            self.ours.extend((times > 0).then(|| format!("--{name}")));
            let counted = self.names.counted.iter().find(|(flag, _)| *flag == name);
            let second = counted.filter(|_| times > 1);
            self.ours.extend(second.map(|(_, second)| format!("--{second}")));
        }
        self.ours.extend(operands);
        self.ours
    }
}

const fn takes_value(spec: &OptionSpec) -> bool {
    !matches!(spec.value, ValueKind::Flag)
}

/// Converts a long option of mdtest or ior, such as `--dataPacketType`, to the spelling with
/// dashes.
fn with_dashes(word: String) -> String {
    let Some(tail) = word.strip_prefix("--") else { return word };
    let (name, value) = tail.find('=').map_or((tail, ""), |at| tail.split_at(at));
    let mut dashed = "--".to_owned();
    for letter in name.chars() {
        if letter.is_ascii_uppercase() {
            dashed.push('-');
        }
        dashed.push(letter.to_ascii_lowercase());
    }
    // This is the only abbreviation among the options.
    dashed.replace("-c-s-v", "-csv") + value
}

/// Name, and the value behind `=`.
fn parted(word: &str) -> (&str, Option<&str>) {
    word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value)))
}

/// Number as the original reads it: a whole number, with or without a letter for a power of 1024;
/// what else follows counts for nothing.
fn number(text: &str) -> Option<i128> {
    let text = text.trim_start();
    let digits = text.trim_start_matches(['-', '+']);
    let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
    let head = text.len() - digits.len() + end;
    let (digits, rest) = text.split_at(head);
    let unit = match rest.trim_start().chars().next().map(|letter| letter.to_ascii_lowercase()) {
        Some('k') => 1 << 10,
        Some('m') => 1 << 20,
        Some('g') => 1 << 30,
        Some('t') => 1 << 40,
        Some('p') => 1 << 50,
        _ => 1,
    };
    digits.parse::<i64>().ok().map(|number| i128::from(number) * unit)
}

#[cfg(test)]
mod tests {
    use super::{OptionNames, number};
    use treering_script::{OptionSpec, ValueKind};

    static DECLARED: [OptionSpec; 6] = [
        OptionSpec::new("block", Some('b'), ValueKind::Size, None, "."),
        OptionSpec::new("keep", Some('k'), ValueKind::Flag, None, "."),
        OptionSpec::new("random", Some('z'), ValueKind::Flag, None, "."),
        OptionSpec::long("random-blocks", ValueKind::Flag, None, "."),
        OptionSpec::new("data-seed", Some('G'), ValueKind::Text, None, "."),
        OptionSpec::new("directives", Some('O'), ValueKind::Texts, None, "."),
    ];
    static NAMES: OptionNames = OptionNames {
        declared: &DECLARED,
        long: &[("posix.odirect", "keep")],
        letters: &[('B', "keep")],
        counted: &[("random", "random-blocks")],
        numbers: &["data-seed"],
    };

    fn ours(words: &str) -> String {
        NAMES.declared_words(words.split(' ').map(str::to_owned).collect()).join(" ")
    }

    #[test]
    fn values_stand_at_once_behind_an_equals_sign_or_as_the_next_word() {
        for words in ["-b 4k", "-b4k", "-b=4k", "--block 4k", "--block=4kb", "-b 4096,"] {
            assert_eq!(ours(words), "--block=4096", "{words}");
        }
        assert_eq!(ours("-kzb 1m -G -13"), "--block=1048576 --data-seed=-13 --keep --random");
        assert_eq!(
            ours("-O a=1,b=2 -Oc=3 -O --d=4"),
            "--directives=a=1,b=2 --directives=c=3 \
                                                       --directives=--d=4"
        );
        assert_eq!(ours("-G=1k -b"), "--data-seed=1024 --block");
    }

    #[test]
    fn flags_are_counted_and_take_numbers() {
        assert_eq!(ours("-z -k"), "--random --keep");
        assert_eq!(ours("-zkz"), "--random --random-blocks --keep");
        assert_eq!(ours("-z=2"), "--random --random-blocks");
        assert_eq!(ours("-k -k=0 --posix.odirect=0"), "");
        assert_eq!(ours("-B"), "--keep");
    }

    #[test]
    fn unknown_words_stay_as_they_are() {
        assert_eq!(ours("-q4 --ranks 3 --someName=2 x"), "-q4 --ranks 3 --some-name=2 x");
    }

    #[test]
    fn numbers_have_units_of_1024_and_a_sign() {
        for (text, wanted) in [
            ("7", Some(7)),
            (" -3", Some(-3)),
            ("2K", Some(2048)),
            ("1.5m", Some(1)),
            ("1 MiB", Some(1 << 20)),
            ("1p", Some(1 << 50)),
            ("9223372036854775807p", Some(i128::from(i64::MAX) << 50)),
            ("--1", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(number(text), wanted, "{text}");
        }
    }
}
