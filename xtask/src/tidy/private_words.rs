//! Nothing private leaves the machine: no file contains the absolute path of the checkout, a key,
//! or a password. Test data are checked, too.

use super::Problem;
use super::tree::CheckoutTree;

/// Prefixes of keys that services issue. Each is split, so that this file does not match itself.
const KEYS: &[&str] = &[
    concat!("PRIVATE", " KEY-----"),
    concat!("gh", "p_"),
    concat!("github", "_pat_"),
    concat!("gl", "pat-"),
    concat!("AK", "IA"),
    concat!("xox", "b-"),
    concat!("xox", "p-"),
];

/// Names whose quoted value is a secret.
const SECRETS: &[&str] = &[
    "password",
    "passwd",
    "secret",
    "secret_key",
    "api_key",
    "apikey",
    "access_token",
    "auth_token",
];

/// Minimum length of a key after its prefix; a shorter word is no key.
const KEY_CHARS_MIN: usize = 16;
/// Minimum length of a secret; shorter values are placeholders.
const SECRET_CHARS_MIN: usize = 8;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in &tree.files {
        for (number, line) in (1..).zip(file.text.lines()) {
            if names_checkout(line, &tree.root) {
                let finding = "absolute path of the checkout";
                problems.push(Problem::new(&file.path, number, finding, "write it relative"));
            }
            if holds_key(line) || holds_secret(line) {
                let finding = "looks like a key or a password";
                let advice = "take it out, and change it where it was valid";
                problems.push(Problem::new(&file.path, number, finding, advice));
            }
        }
    }
    problems
}

/// Reports whether a line contains the root of the checkout. A root of one component, such as
/// `/src`, occurs in too many texts.
fn names_checkout(line: &str, root: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || "_-./".contains(c);
    root.matches('/').count() >= 2
        && line.match_indices(root).any(|(at, _)| {
            let (before, after) = (&line[..at], &line[at + root.len()..]);
            !before.ends_with(part) && !after.starts_with(|c: char| c != '/' && c != '.' && part(c))
        })
}

fn holds_key(line: &str) -> bool {
    KEYS.iter().any(|key| {
        line.match_indices(key).any(|(at, _)| {
            let whole = key.ends_with('-') && key.contains(' ');
            let starts_word = !line[..at].ends_with(|c: char| c.is_alphanumeric());
            let value = line[at + key.len()..].chars().take_while(char::is_ascii_alphanumeric);
            whole || (starts_word && value.count() >= KEY_CHARS_MIN)
        })
    })
}

/// True for `name = "value"` or `"name": "value"`, if the value is long enough for a secret.
fn holds_secret(line: &str) -> bool {
    let lower = line.to_ascii_lowercase().replace('-', "_");
    SECRETS.iter().any(|name| {
        lower.match_indices(name).any(|(at, _)| {
            let value = lower[at + name.len()..].trim_start_matches(['"', '\'']).trim_start();
            let Some(value) = value.strip_prefix(['=', ':']) else {
                return false;
            };
            let value = value.trim_start();
            let Some(inside) = value.strip_prefix(['"', '\'']) else {
                return false;
            };
            inside.find(['"', '\'']).is_some_and(|end| end >= SECRET_CHARS_MIN)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    fn faults(text: &str) -> Vec<usize> {
        let mut tree = CheckoutTree::from_texts(&[("a.txt", text)]);
        tree.root = "/place/of/ours".to_owned();
        check(&tree).iter().map(|problem| problem.line).collect()
    }

    #[test]
    fn the_path_of_the_checkout_is_found() {
        assert_eq!(faults("cd /place/of/ours\nx\nsee \"/place/of/ours/target\".\n"), [1, 3]);
        assert!(faults("/place/of/ourselves and else/place/of/ours and place/of\n").is_empty());
    }

    #[test]
    fn keys_and_passwords_are_found() {
        let key = format!("x = {}{}", concat!("gh", "p_"), "0123456789abcdef0123");
        let pem = format!("-----BEGIN RSA {}", concat!("PRIVATE", " KEY-----"));
        let word = format!("{}word = \"{}\"", "pass", "correct horse");
        let json = format!("{{\"api{}\": \"{}\"}}", "-key", "0123456789");
        assert_eq!(faults(&format!("{key}\n{pem}\n{word}\n{json}\n")), [1, 2, 3, 4]);
    }

    #[test]
    fn words_about_passwords_pass() {
        assert!(faults("the password: none\nlet secret = \"\";\nghp_short\n").is_empty());
    }
}
