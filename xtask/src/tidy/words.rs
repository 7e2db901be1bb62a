//! Names and documents use the field's terms: this check finds former words of the project, and
//! advises the right one. The changelog is not checked.

use super::Problem;
use super::tree::CheckoutTree;

/// Former words, also as parts of names: `wave` is found in `next_wave` and in `SetupWave`.
const WORDS: &[(&str, &str)] = &[
    ("arm", "variant"),
    ("arms", "variants"),
    ("bell", "deadline"),
    ("bells", "deadlines"),
    ("crew", "workers"),
    ("deed", "operation"),
    ("deeds", "operations"),
    ("disguise", "run-as"),
    ("impersonate", "run as the original"),
    ("impersonation", "classic mode"),
    ("doubt", "caution"),
    ("doubts", "cautions"),
    ("law", "distribution"),
    ("laws", "distributions"),
    ("mend", "fix"),
    ("mended", "fixed"),
    ("mends", "fixes"),
    ("stumble", "call error"),
    ("voice", "output"),
    ("voices", "outputs"),
    ("wave", "parallel group"),
    ("waves", "parallel groups"),
];

/// Phrases that read like a translation, in lower case.
const PHRASES: &[(&str, &str)] = &[
    ("how often all is done", "number of iterations"),
    ("free what no run that is alive has", "release what dead runs left behind"),
    ("it takes root", "requires root"),
    ("sides are unlike", "unintended difference between the variants"),
    ("stand against measuring", "problems affect measurements"),
    ("stands against measuring", "a problem affects measurements"),
    ("tell which data are hot", "report hot data"),
    ("the door", "the command line"),
    ("would settle it", "a verdict needs"),
];

/// Established terms that contain such words.
const NAMES: &[&str] = &["ARM\\x64", "Universal Scalability Law", "arm64", "qemu-system-arm"];

/// Files that contain the words on purpose: this list and the changelog.
const EXEMPT: &[&str] = &["xtask/src/tidy/words.rs", "CHANGELOG.md"];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let code = tree.rust().map(|(file, _)| file);
    let texts = code.chain(tree.documents()).filter(|file| !EXEMPT.contains(&file.path.as_str()));
    let mut problems = Vec::new();
    for file in texts {
        // Names in old stores are still read.
        let lines = (1..).zip(file.text.lines()).filter(|(_, line)| !line.contains("(alias = "));
        for (number, line) in lines {
            let line = NAMES.iter().fold(line.to_owned(), |line, name| line.replace(name, ""));
            let small = line.to_lowercase();
            let mut phrases: Vec<(&str, &str)> = PHRASES.to_vec();
            phrases.retain(|(phrase, _)| small.contains(phrase));
            let words = parts(&line).filter_map(|part| {
                WORDS.iter().find(|(word, _)| part.eq_ignore_ascii_case(word)).copied()
            });
            phrases.extend(words);
            problems.extend(phrases.into_iter().map(|(word, advice)| {
                let finding = format!("`{word}` is a word of our own");
                Problem::new(&file.path, number, finding, format!("write `{advice}`"))
            }));
        }
    }
    problems
}

/// Words of the names in a line, split at non-letters and at capitals.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphabetic()).flat_map(|word| {
        let capital = |(at, c): (usize, char)| {
            (at == 0 || (c.is_uppercase() && !word[..at].ends_with(char::is_uppercase)))
                .then_some(at)
        };
        let starts: Vec<usize> = word.char_indices().filter_map(capital).collect();
        let ends = starts.clone().into_iter().skip(1).chain([word.len()]);
        starts.into_iter().zip(ends).map(|(start, end)| &word[start..end]).collect::<Vec<_>>()
    })
}

#[cfg(test)]
mod tests {
    use super::{check, parts};
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn words_are_found_in_names_comments_and_documents() {
        let code = "//! A wave.\nfn next_wave() -> SetupWave {}\n";
        let tree = CheckoutTree::from_texts(&[("a.rs", code), ("b.md", "# A\n\nIt takes root.\n")]);
        let problems = check(&tree);
        let places: Vec<(&str, usize)> =
            problems.iter().map(|p| (p.path.as_str(), p.line)).collect();
        assert_eq!(places, [("a.rs", 1), ("a.rs", 2), ("a.rs", 2), ("b.md", 3)]);
        assert!(problems[0].to_string().contains("write `parallel group`"), "{}", problems[0]);
    }

    #[test]
    fn other_words_that_contain_one_pass() {
        let tree = CheckoutTree::from_texts(&[
            ("a.rs", "//! A waveform, labelled, amended.\n"),
            ("CHANGELOG.md", "wave"),
        ]);
        assert_eq!(check(&tree), []);
    }

    #[test]
    fn names_are_split_into_words() {
        let words_of_line: Vec<&str> = parts("let next_wave: SetupWave = HTTPWave;").collect();
        assert_eq!(words_of_line, ["let", "next", "wave", "Setup", "Wave", "HTTPWave"]);
    }
}
