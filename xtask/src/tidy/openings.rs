//! Doc comments begin with a subject or a verb. At most 2 % of all doc comments have an opening
//! that makes the reader look for the subject (What, Where, How, Whether, Of, So many, Its …).

use super::Problem;
use super::tree::CheckoutTree;

/// Openings without a subject, as whole words.
const OPENINGS: &[&str] = &[
    "What",
    "Where",
    "Which",
    "How",
    "Whether",
    "Of",
    "So many",
    "So much",
    "So long",
    "So large",
    "So often",
    "By whom",
    "As whom",
    "From whom",
    "To whom",
    "Whose",
    "Who",
    "Whom",
    "Its",
    "Their",
    "Those",
    "Why",
];

/// Maximum share of such openings, in percent.
const SHARE_MAX: f64 = 2.0;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut comments = 0_usize;
    let mut subjectless = Vec::new();
    for (file, _) in tree.rust().filter(|(file, _)| file.path.starts_with("crates/")) {
        for (line, text) in doc_comments(&file.text) {
            comments += 1;
            if OPENINGS.iter().any(|opening| opens_with(text, opening)) {
                subjectless.push((file.path.as_str(), line, text));
            }
        }
    }
    let share = 100.0 * subjectless.len() as f64 / comments.max(1) as f64;
    if share <= SHARE_MAX {
        return Vec::new();
    }
    let advice = "begin with a noun or a verb in the third person: say what the thing is";
    let of_all = format!("{share:.1} % of {comments} doc comments; at most {SHARE_MAX} %");
    let problem = |(path, line, text): &(&str, usize, &str)| {
        let begin: String = text.chars().take(40).collect();
        Problem::new(path, *line, format!("`{begin}` has no subject ({of_all})"), advice)
    };
    subjectless.iter().map(problem).collect()
}

/// First line of each doc comment, with its number.
fn doc_comments(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_inside = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        let line = line.trim_start();
        let comment = line.strip_prefix("///").or_else(|| line.strip_prefix("//!"));
        let begins = comment.is_some() && !is_inside;
        is_inside = comment.is_some();
        comment.filter(|_| begins).map(|comment| (index + 1, comment.trim()))
    })
}

fn opens_with(comment: &str, opening: &str) -> bool {
    let tail = comment.strip_prefix(opening);
    tail.is_some_and(|tail| !tail.starts_with(|letter: char| letter.is_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    fn problems(comments: &[&str]) -> usize {
        let mut text = String::new();
        for (number, comment) in comments.iter().enumerate() {
            text += &format!("/// {comment}\nconst A{number}: u8 = 0;\n");
        }
        check(&CheckoutTree::from_texts(&[("crates/x/src/lib.rs", &text)])).len()
    }

    #[test]
    fn openings_without_a_subject_are_found_above_the_share() {
        assert_eq!(problems(&["What came of it.", "Parent of a rank."]), 1);
        assert_eq!(problems(&["Of a task.", "So many of them."]), 2);
        assert_eq!(problems(&["Whatever happens.", "Offset of the extent.", "Howl."]), 0);
        let mut many = vec!["The offset."; 99];
        many.push("Which one.");
        assert_eq!(problems(&many), 0);
    }

    #[test]
    fn only_the_first_line_of_a_comment_counts() {
        let text = "/// The offset.\n/// What follows is not its beginning.\nconst A: u8 = 0;\n";
        assert!(check(&CheckoutTree::from_texts(&[("crates/x/src/lib.rs", text)])).is_empty());
    }
}
