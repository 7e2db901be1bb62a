//! Relative links in documents must not be dead: the target of `[text](path)` or `[name]: path` is
//! a file or folder of the checkout, and `#place` is a heading of that document. Pages of the book,
//! which is also shipped without the sources, link to each other only. URLs are not checked.

use super::Problem;
use super::book::FOLDER as BOOK;
use super::titles::prose;
use super::tree::CheckoutTree;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.documents() {
        for (number, line) in prose(&file.text) {
            for link in links(&without_code(line)) {
                if !target_exists(tree, &file.path, link) {
                    let finding = format!("dead link `{link}`");
                    let advice = "name a file of the checkout, relative to this document";
                    problems.push(Problem::new(&file.path, number, finding, advice));
                } else if leaves_the_book(&file.path, link) {
                    let finding = format!("`{link}` leads out of the book");
                    let advice = "name the file in backquotes, without a link";
                    problems.push(Problem::new(&file.path, number, finding, advice));
                } else if !is_heading(tree, &file.path, link) {
                    let finding = format!("no heading for `{link}`");
                    let advice = "name one of the document: lower case, with hyphens for blanks";
                    problems.push(Problem::new(&file.path, number, finding, advice));
                }
            }
        }
    }
    problems
}

/// The line without its `code spans`.
fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join("")
}

fn links(line: &str) -> Vec<&str> {
    let mut links = Vec::new();
    for piece in line.split("](").skip(1) {
        links.extend(piece.split_once(')').map(|(link, _)| link));
    }
    if line.starts_with('[')
        && let Some((_, link)) = line.split_once("]: ")
    {
        links.push(link);
    }
    // A title may follow: [text](path "title").
    links.into_iter().filter_map(|link| link.split_whitespace().next()).collect()
}

/// True if a link leads out of the checkout.
fn is_outside(link: &str) -> bool {
    link.contains("://") || link.starts_with("mailto:")
}

/// Path from the root of the checkout that a relative path means; `None` if it leads out of the
/// checkout.
fn resolved(document: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            parts.pop()?;
        } else {
            parts.push(part);
        }
    }
    (!path.starts_with('/')).then(|| parts.join("/"))
}

/// Path and fragment of a link.
fn split(link: &str) -> (&str, Option<&str>) {
    let link = link.trim_start_matches('<').trim_end_matches('>');
    match link.split_once('#') {
        Some((path, place)) => (path, Some(place)),
        None => (link, None),
    }
}

fn target_exists(tree: &CheckoutTree, document: &str, link: &str) -> bool {
    let (path, _) = split(link);
    if is_outside(link) || path.is_empty() {
        return true;
    }
    resolved(document, path).is_some_and(|target| {
        target.is_empty() || tree.paths.contains(&target) || tree.has_folder(&target)
    })
}

/// True if a book page links to a file outside the book.
fn leaves_the_book(document: &str, link: &str) -> bool {
    let (path, _) = split(link);
    let is_local = !is_outside(link) && !path.is_empty();
    document.starts_with(BOOK)
        && is_local
        && resolved(document, path).is_some_and(|target| !target.starts_with(BOOK))
}

/// True if the fragment of a link is a heading; a link without one refers to the document.
fn is_heading(tree: &CheckoutTree, document: &str, link: &str) -> bool {
    let (path, Some(place)) = split(link) else { return true };
    let target = if path.is_empty() { Some(document.to_owned()) } else { resolved(document, path) };
    let text = tree.documents().find(|file| Some(&file.path) == target.as_ref());
    // Fragments of files other than documents are not checked.
    is_outside(link)
        || text.is_none_or(|file| headings(&file.text).iter().any(|heading| heading == place))
}

/// Fragments of a document's headings, as renderers make them: repeated headings get a number.
fn headings(text: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (_, line) in prose(text) {
        let heading = line.trim_start_matches('#');
        if heading.len() == line.len() || !heading.starts_with(' ') {
            continue;
        }
        let kept = |c: char| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || "-_".contains(c) => Some(c),
            _ => None,
        };
        let name: String = heading.trim().to_lowercase().chars().filter_map(kept).collect();
        let is_twin = |heading: &&String| {
            let number = heading.strip_prefix(&name).map(|suffix| suffix.trim_start_matches('-'));
            number.is_some_and(|suffix| suffix.chars().all(|c| c.is_ascii_digit()))
        };
        match names.iter().filter(is_twin).count() {
            0 => names.push(name),
            twins => names.push(format!("{name}-{twins}")),
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn dead_links_are_found() {
        let text = "# A\n[x](gone.md) and [y](../../out.md)\n[ref]: nowhere/at/all.md\n[z](/abs)\n";
        let places: Vec<(usize, String)> = check(&CheckoutTree::from_texts(&[("docs/a.md", text)]))
            .into_iter()
            .map(|p| (p.line, p.finding))
            .collect();
        assert_eq!(places.len(), 4);
        assert_eq!(places[0], (2, "dead link `gone.md`".to_owned()));
        assert_eq!((places[2].0, places[3].0), (3, 4));
    }

    #[test]
    fn book_pages_link_only_to_book_pages() {
        let files = [
            ("README.md", "[a](docs/a.md)\n"),
            ("docs/a.md", "[b](x/b.md) [r](../README.md)\n"),
            ("docs/x/b.md", "[a](../a.md)\n"),
        ];
        let whats: Vec<String> =
            check(&CheckoutTree::from_texts(&files)).into_iter().map(|p| p.finding).collect();
        assert_eq!(whats, ["`../README.md` leads out of the book"]);
    }

    #[test]
    fn links_to_missing_headings_are_reported() {
        let text = "# A b's, and c\n## A\n## A\n[x](#a-bs-and-c) [y](#a-1) [z](#a-2) [w](a.md#b)\n\
                    ```\n# d\n```\n[v](#d) [u](x.sh#d)\n";
        let problems = check(&CheckoutTree::from_texts(&[("docs/a.md", text), ("docs/x.sh", "")]));
        let problems: Vec<(usize, &str)> =
            problems.iter().map(|p| (p.line, p.finding.as_str())).collect();
        let at = |line, link| (line, format!("no heading for `{link}`"));
        let expected = [at(4, "#a-2"), at(4, "a.md#b"), at(8, "#d")];
        assert_eq!(problems, expected.each_ref().map(|(line, finding)| (*line, finding.as_str())));
    }

    #[test]
    fn valid_links_addresses_and_code_pass() {
        let text = "# A\n[x](b.md#part \"title\") [y](../crates) [z](https://example.org/x)\n\
                    [w](#a) `[v](gone.md)` ![i](./b.md)\n```\n[u](gone.md)\n```\n[r]: ../notes/\n";
        let other = ("notes/b.md", "# B\n## `Part`");
        let tree = CheckoutTree::from_texts(&[("notes/a.md", text), other, ("crates/a.txt", "")]);
        assert_eq!(check(&tree), []);
    }
}
