//! The book of the documents: `docs/SUMMARY.md` names each page in `docs` once, in reading order.
//! Pages that tell how to do something are short, and measurements are in `docs/evidence`. Targets
//! of links are checked in `links`.

use super::Problem;
use super::tree::CheckoutTree;

pub(super) const FOLDER: &str = "docs/";
/// Table of contents of the book.
pub(super) const SUMMARY: &str = "docs/SUMMARY.md";

/// Parts of the book with how-to pages.
const HOW_TO_PARTS: &[&str] = &["Start", "How to"];
/// Maximum number of lines of a how-to page.
const HOW_TO_LINES_MAX: usize = 170;
/// The part of the book for measurements, and the folder of its pages.
const EVIDENCE: (&str, &str) = ("Evidence", "evidence/");

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let Some(summary) = tree.documents().find(|file| file.path == SUMMARY) else {
        return Vec::new();
    };
    let mut problems = pages_not_named_once(tree, &summary.text);
    problems.extend(long_how_to_pages(tree, &summary.text));
    problems.extend(pages_in_the_wrong_part(&summary.text));
    problems
}

/// Each linked page with its part of the book.
fn pages_by_part(summary: &str) -> Vec<(&str, &str)> {
    let mut part = "";
    let mut pages = Vec::new();
    for line in summary.lines() {
        if let Some(title) = line.strip_prefix("# ") {
            part = title.trim();
        }
        let links = line.split("](").skip(1).filter_map(|piece| piece.split_once(')'));
        pages.extend(links.map(|(page, _)| (part, page)));
    }
    pages
}

fn long_how_to_pages(tree: &CheckoutTree, summary: &str) -> Vec<Problem> {
    let pages = pages_by_part(summary).into_iter().filter(|(part, _)| HOW_TO_PARTS.contains(part));
    let lines_of = |page: &str| {
        let path = format!("{FOLDER}{page}");
        let file = tree.documents().find(|file| file.path == path)?;
        Some((path, file.text.lines().count()))
    };
    pages
        .filter_map(|(_, page)| lines_of(page))
        .filter(|(_, lines)| *lines > HOW_TO_LINES_MAX)
        .map(|(path, lines)| {
            let finding = format!("{lines} lines on a page of use");
            let advice = "move measurements to docs/evidence, or a topic to a page of its own";
            Problem::new(&path, 1, finding, advice)
        })
        .collect()
}

fn pages_in_the_wrong_part(summary: &str) -> Vec<Problem> {
    let (part_of_evidence, folder) = EVIDENCE;
    pages_by_part(summary)
        .into_iter()
        .filter(|(part, page)| (*part == part_of_evidence) != page.starts_with(folder))
        .map(|(part, page)| {
            let finding = format!("`{page}` is in the part {part}");
            Problem::new(SUMMARY, 1, finding, "the part Evidence has the pages of docs/evidence")
        })
        .collect()
}

fn pages_not_named_once(tree: &CheckoutTree, summary: &str) -> Vec<Problem> {
    let links: Vec<&str> = pages_by_part(summary).into_iter().map(|(_, page)| page).collect();
    let pages = tree.documents().filter_map(|file| file.path.strip_prefix(FOLDER));
    let pages = pages.filter(|page| format!("{FOLDER}{page}") != SUMMARY);
    let times = pages.map(|page| (page, links.iter().filter(|link| **link == page).count()));
    times
        .filter(|(_, times)| *times != 1)
        .map(|(page, times)| {
            let finding = format!("`{page}` stands {times} times in the book");
            Problem::new(SUMMARY, 1, finding, "name each page of docs once")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn missing_and_duplicate_book_pages_are_reported() {
        let summary = "# Summary\n- [A](a.md)\n- [B](x/b.md)\n- [A](a.md)\n";
        let files = [("docs/SUMMARY.md", summary), ("docs/a.md", ""), ("docs/x/b.md", "")];
        let whats = |files: &[(&str, &str)]| -> Vec<String> {
            check(&CheckoutTree::from_texts(files))
                .into_iter()
                .map(|problem| problem.finding)
                .collect()
        };
        assert_eq!(whats(&files), ["`a.md` stands 2 times in the book"]);
        let more = [files.as_slice(), &[("docs/c.md", ""), ("README.md", "")]].concat();
        assert_eq!(whats(&more)[1..], ["`c.md` stands 0 times in the book"]);
    }

    #[test]
    fn long_pages_are_reported_only_in_user_parts() {
        let summary = "# Summary\n# How to\n- [A](a.md)\n# Reference\n- [B](b.md)\n";
        let long = "line\n".repeat(171);
        let files = [("docs/SUMMARY.md", summary), ("docs/a.md", &long), ("docs/b.md", &long)];
        let places: Vec<String> = check(&CheckoutTree::from_texts(&files))
            .into_iter()
            .map(|problem| problem.path)
            .collect();
        assert_eq!(places, ["docs/a.md"]);
    }

    #[test]
    fn evidence_pages_belong_to_their_part_only() {
        let summary =
            "# How to\n- [A](evidence/a.md)\n# Evidence\n- [B](b.md)\n- [C](evidence/c.md)\n";
        let files = [
            ("docs/SUMMARY.md", summary),
            ("docs/evidence/a.md", ""),
            ("docs/b.md", ""),
            ("docs/evidence/c.md", ""),
        ];
        let whats: Vec<String> = check(&CheckoutTree::from_texts(&files))
            .into_iter()
            .map(|problem| problem.finding)
            .collect();
        let expected = ["`evidence/a.md` is in the part How to", "`b.md` is in the part Evidence"];
        assert_eq!(whats, expected);
    }
}
