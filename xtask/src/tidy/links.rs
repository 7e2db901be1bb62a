//! No dead relative links in documents: what `[text](path)` or `[name]: path` names is a file or
//! folder of the checkout. Addresses of the web and places inside a document are not looked at.

use super::Problem;
use super::titles::prose;
use super::tree::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.documents() {
        for (number, line) in prose(&file.text) {
            for link in links(&without_code(line)) {
                if !leads_somewhere(tree, &file.path, link) {
                    let what = format!("dead link `{link}`");
                    let right = "name a file of the checkout, relative to this document";
                    problems.push(Problem::new(&file.path, number, what, right));
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
    let mut found = Vec::new();
    for piece in line.split("](").skip(1) {
        found.extend(piece.split_once(')').map(|(link, _)| link));
    }
    if line.starts_with('[')
        && let Some((_, link)) = line.split_once("]: ")
    {
        found.push(link);
    }
    // A title may follow: [text](path "title").
    found.into_iter().filter_map(|link| link.split_whitespace().next()).collect()
}

fn leads_somewhere(tree: &Tree, document: &str, link: &str) -> bool {
    let link = link.trim_start_matches('<').trim_end_matches('>');
    let outside = link.contains("://") || link.starts_with("mailto:") || link.starts_with('#');
    let path = link.split('#').next().unwrap_or_default();
    if outside || path.is_empty() {
        return true;
    }
    let mut parts: Vec<&str> = document.split('/').collect();
    parts.pop();
    for part in path.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part != ".." {
            parts.push(part);
        } else if parts.pop().is_none() {
            return false;
        }
    }
    let target = parts.join("/");
    !path.starts_with('/')
        && (target.is_empty() || tree.paths.contains(&target) || tree.has_folder(&target))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::Tree;

    #[test]
    fn dead_links_are_found() {
        let text = "# A\n[x](gone.md) and [y](../../out.md)\n[ref]: nowhere/at/all.md\n[z](/abs)\n";
        let places: Vec<(usize, String)> = check(&Tree::of(&[("docs/a.md", text)]))
            .into_iter()
            .map(|p| (p.line, p.what))
            .collect();
        assert_eq!(places.len(), 4);
        assert_eq!(places[0], (2, "dead link `gone.md`".to_owned()));
        assert_eq!((places[2].0, places[3].0), (3, 4));
    }

    #[test]
    fn files_folders_addresses_places_and_code_pass() {
        let text = "# A\n[x](b.md#part \"title\") [y](../crates) [z](https://example.org/x)\n\
                    [w](#part) `[v](gone.md)` ![i](./b.md)\n```\n[u](gone.md)\n```\n[r]: ../docs/\n";
        let tree = Tree::of(&[("docs/a.md", text), ("docs/b.md", "# B"), ("crates/a.txt", "")]);
        assert_eq!(check(&tree), []);
    }
}
