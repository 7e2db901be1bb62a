//! A document has exactly one title: one line that begins with `# ` outside code fences. The table
//! of contents of the book has one for each of its parts.

use super::Problem;
use super::book::SUMMARY;
use super::tree::CheckoutTree;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.documents().filter(|file| file.path != SUMMARY) {
        let titles: Vec<usize> = prose(&file.text)
            .filter(|(_, line)| line.starts_with("# "))
            .map(|(number, _)| number)
            .collect();
        match titles.as_slice() {
            [_] => {}
            [] => problems.push(Problem::new(&file.path, 1, "no title", "one `# ` line")),
            [_, second, ..] => {
                let finding = format!("{} titles", titles.len());
                problems.push(Problem::new(
                    &file.path,
                    *second,
                    finding,
                    "one `# `, the rest `##`",
                ));
            }
        }
    }
    problems
}

/// The numbered lines of a document outside code fences.
pub(super) fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let trimmed = line.trim_start();
        let mark = ["```", "~~~"].into_iter().find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) => return true,
            _ => {}
        }
        false
    })
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn missing_and_duplicate_titles_are_reported() {
        let tree =
            CheckoutTree::from_texts(&[("a.md", "## Only a part\n"), ("b.md", "# One\n\n# Two\n")]);
        let places: Vec<(String, usize)> =
            check(&tree).into_iter().map(|p| (p.path, p.line)).collect();
        assert_eq!(places, [("a.md".to_owned(), 1), ("b.md".to_owned(), 3)]);
    }

    #[test]
    fn a_comment_in_a_fence_is_no_title() {
        let text = "# One\n\n```sh\n# run it\n```\n\n~~~\n# this too\n```\n~~~\n";
        let tree = CheckoutTree::from_texts(&[("a.md", text), ("x/fixtures/b.md", "")]);
        assert_eq!(check(&tree), []);
    }
}
