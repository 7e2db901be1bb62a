//! The book of the documents: `docs/SUMMARY.md` names each page in `docs` once, in the order in
//! which it is to be read. Whether the links in it lead somewhere is looked at in `links`.

use super::Problem;
use super::tree::Tree;

pub(super) const FOLDER: &str = "docs/";
/// Where the pages stand in their order.
pub(super) const SUMMARY: &str = "docs/SUMMARY.md";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(summary) = tree.documents().find(|file| file.path == SUMMARY) else {
        return Vec::new();
    };
    let links: Vec<&str> = summary
        .text
        .split("](")
        .skip(1)
        .filter_map(|piece| piece.split_once(')').map(|(link, _)| link))
        .collect();
    let pages = tree.documents().filter_map(|file| file.path.strip_prefix(FOLDER));
    let pages = pages.filter(|page| format!("{FOLDER}{page}") != SUMMARY);
    let times = pages.map(|page| (page, links.iter().filter(|link| **link == page).count()));
    times
        .filter(|(_, times)| *times != 1)
        .map(|(page, times)| {
            let what = format!("`{page}` stands {times} times in the book");
            Problem::new(SUMMARY, 1, what, "name each page of docs once")
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn pages_that_are_missing_or_named_twice_are_found() {
        let summary = "# Summary\n- [A](a.md)\n- [B](x/b.md)\n- [A](a.md)\n";
        let files = [("docs/SUMMARY.md", summary), ("docs/a.md", ""), ("docs/x/b.md", "")];
        let whats = |files: &[(&str, &str)]| -> Vec<String> {
            check(&Tree::of(files)).into_iter().map(|problem| problem.what).collect()
        };
        assert_eq!(whats(&files), ["`a.md` stands 2 times in the book"]);
        let more = [files.as_slice(), &[("docs/c.md", ""), ("README.md", "")]].concat();
        assert_eq!(whats(&more)[1..], ["`c.md` stands 0 times in the book"]);
    }
}
