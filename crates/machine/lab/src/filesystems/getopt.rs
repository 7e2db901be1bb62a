//! Parses the user's mkfs options as getopt(3) does, to find the options, and to refuse operands,
//! which mkfs would take for devices.

use super::OptionRefusal;

/// An option as mkfs will parse it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MkfsOption<'a> {
    /// Letter or long name, such as `E` or `label`.
    pub(super) name: &'a str,
    /// Value of the option, if any.
    pub(super) value: Option<&'a str>,
    /// Half-open range of the arguments that make up the option.
    pub(super) place: (usize, usize),
}

/// Parses the options. `with_value` has the letters of options that require a value.
///
/// # Errors
/// When an argument is a bare word, or `--`, which makes bare words of all that follow.
pub(super) fn read<'a>(
    options: &'a [String],
    with_value: &str,
) -> Result<Vec<MkfsOption<'a>>, OptionRefusal> {
    let mut parsed = Vec::new();
    let mut at = 0;
    while let Some(option) = options.get(at) {
        let begin = at;
        at += 1;
        if let Some(long) = option.strip_prefix("--").filter(|long| !long.is_empty()) {
            let (name, mut value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (long, None),
            };
            // The set of long options with a value depends on the version, so a bare word is taken
            // as the value of the option in front of it.
            if value.is_none()
                && let Some(next) = options.get(at).filter(|next| !next.starts_with('-'))
            {
                value = Some(next);
                at += 1;
            }
            parsed.push(MkfsOption { name, value, place: (begin, at) });
            continue;
        }
        let letters =
            option.strip_prefix('-').filter(|letters| !letters.is_empty() && *letters != "-");
        let Some(letters) = letters else {
            let why = match option.rsplit('/').next() {
                Some(program) if program.starts_with("mkfs") => {
                    "the program is known: write its options alone, such as `-b 1024`"
                }
                _ => "a bare word would be taken for a device: attach the value to its option",
            };
            let why = why.to_owned();
            return Err(OptionRefusal { option: option.clone(), why });
        };
        for (index, letter) in letters.char_indices() {
            let end = index + letter.len_utf8();
            let name = &letters[index..end];
            if !with_value.contains(letter) {
                parsed.push(MkfsOption { name, value: None, place: (begin, at) });
                continue;
            }
            let mut value = Some(&letters[end..]).filter(|value| !value.is_empty());
            if value.is_none() {
                value = options.get(at).map(String::as_str);
                at = (at + 1).min(options.len());
            }
            parsed.push(MkfsOption { name, value, place: (begin, at) });
            break;
        }
    }
    Ok(parsed)
}

/// Substrings of an option that could be paths: the whole option, its parts between commas and
/// equals signs, and the text after the option letter.
pub(crate) fn paths_in(option: &str) -> Vec<&str> {
    let parts = option.split([',', '=']).chain(std::iter::once(option));
    let mut paths: Vec<&str> = Vec::new();
    for part in parts.map(|part| part.trim_matches('"')) {
        paths.push(part);
        paths.extend(part.find(['/', '.']).map(|at| &part[at..]));
    }
    paths.retain(|path| !path.is_empty());
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use super::{paths_in, read};

    fn parsed_options(options: &[&str]) -> Option<Vec<(String, Option<String>)>> {
        let options: Vec<_> = options.iter().map(|&option| option.to_owned()).collect();
        let parsed = read(&options, "EbLm").ok()?;
        let pair = |name: &str, value: Option<&str>| (name.to_owned(), value.map(str::to_owned));
        Some(parsed.into_iter().map(|option| pair(option.name, option.value)).collect())
    }

    fn pair(name: &str, value: Option<&str>) -> (String, Option<String>) {
        (name.to_owned(), value.map(str::to_owned))
    }

    #[test]
    fn short_options_are_parsed_separate_joined_and_with_values() {
        let parsed = parsed_options(&["-qE", "a=1", "-b4096", "-L", "-x", "-n"]).unwrap();
        let expected = [
            pair("q", None),
            pair("E", Some("a=1")),
            pair("b", Some("4096")),
            pair("L", Some("-x")),
            pair("n", None),
        ];
        assert_eq!(parsed, expected);
        assert_eq!(parsed_options(&["-L"]).unwrap(), [pair("L", None)]);
    }

    #[test]
    fn long_options_take_the_next_word_unless_it_is_an_option() {
        let parsed =
            parsed_options(&["--label=x", "--data", "raid0", "--mixed", "-m", "raid1"]).unwrap();
        let expected = [
            pair("label", Some("x")),
            pair("data", Some("raid0")),
            pair("mixed", None),
            pair("m", Some("raid1")),
        ];
        assert_eq!(parsed, expected);
    }

    #[test]
    fn operands_are_refused() {
        for options in [&["/dev/sda"][..], &["-q", "x"], &["--"], &["-"], &[""], &["-b", "1", "2"]]
        {
            assert_eq!(parsed_options(options), None, "{options:?}");
        }
    }

    #[test]
    fn paths_are_found_in_any_part_of_an_option() {
        for option in [
            "/dev/sda",
            "logdev=/dev/sda",
            "size=1,device=/dev/sda",
            "-l/dev/sda",
            "-llogdev=/dev/sda,size=1",
            "\"/dev/sda\"",
        ] {
            assert!(paths_in(option).contains(&"/dev/sda"), "{option}");
        }
        assert!(paths_in("logdev=../../dev/sda").contains(&"../../dev/sda"));
    }
}
