//! Command lines of ior in the declared form of its options: names of the original and of its
//! earlier versions, and flags that count.

use treering_kit::imitation::with_dashes;

/// Letters of options that take a value.
const WITH_VALUE: &str = "aAbdDfGijlMNoOQsStTX";

/// Flags that mean more if they are given twice: their letter, and the option of the second time.
const COUNTED: [(char, &str); 2] = [('z', "--random-blocks"), ('Z', "--reorder-shuffled")];

/// Converts the words to the declared form of options.
pub(super) fn in_our_form(words: Vec<String>) -> Vec<String> {
    let mut ours = Vec::with_capacity(words.len());
    let mut times = [0_u32; COUNTED.len()];
    let mut is_value = false;
    for word in words {
        if std::mem::replace(&mut is_value, false) {
            ours.push(word);
            continue;
        }
        let Some(letters) = word.strip_prefix('-').filter(|rest| !rest.starts_with('-')) else {
            ours.extend(long(word));
            continue;
        };
        let flags: String = letters.chars().take_while(|&c| !WITH_VALUE.contains(c)).collect();
        is_value = letters.len() == flags.len() + 1;
        for ((letter, _), times) in COUNTED.iter().zip(&mut times) {
            *times += u32::try_from(flags.matches(*letter).count()).unwrap_or(0);
        }
        ours.push(if word == "-B" { "--direct".to_owned() } else { word });
    }
    for ((_, option), times) in COUNTED.iter().zip(times) {
        ours.extend((times > 1).then(|| (*option).to_owned()));
    }
    ours
}

/// Long option in its declared form; none for a flag that is set to 0.
fn long(word: String) -> Option<String> {
    let (name, value) = word.split_once('=').map_or((&*word, None), |(n, v)| (n, Some(v)));
    let ours = match name {
        "--posix.odirect" => "--direct",
        "--dryRun" => "--dummy-run",
        "--dataPacketType" => {
            let value = value.map_or_else(String::new, |value| format!("={value}"));
            return Some(format!("--packet-type{value}"));
        }
        _ => return Some(with_dashes(word)),
    };
    (value != Some("0")).then(|| ours.to_owned())
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
            ("--posix.odirect -r", "--direct -r"),
            ("--posix.odirect=1 -B", "--direct --direct"),
            ("--posix.odirect=0 -r", "-r"),
            ("--dataPacketType=o -k", "--packet-type=o -k"),
            ("--dataPacketType o", "--packet-type o"),
            ("-o -B -B", "-o -B --direct"),
            ("--warningAsErrors", "--warning-as-errors"),
        ] {
            assert_eq!(ours(words), wanted, "{words}");
        }
    }

    #[test]
    fn flags_that_are_given_twice_mean_more() {
        assert_eq!(ours("-z -k"), "-z -k");
        assert_eq!(ours("-z -z"), "-z -z --random-blocks");
        assert_eq!(ours("-kzz -ZF -Z"), "-kzz -ZF -Z --random-blocks --reorder-shuffled");
        // What follows the letter of an option with a value is that value.
        assert_eq!(ours("-ozz -o zz"), "-ozz -o zz");
    }
}
