//! No line of Rust is wider than 100 columns. Lines that cannot be broken are exempt: those with a
//! URL, and the inside of a literal over several lines (goldens, SQL).

use super::Problem;
use super::tree::CheckoutTree;

const COLUMNS_MAX: usize = 100;

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        for (line, text) in (1..).zip(file.text.lines()) {
            let columns = text.chars().count();
            let literal = || rust.tokens.iter().any(|t| t.line < t.end_line && t.holds(line));
            if columns > COLUMNS_MAX && !text.contains("://") && !literal() {
                let finding = format!("{columns} columns");
                let advice = format!("at most {COLUMNS_MAX}");
                problems.push(Problem::new(&file.path, line, finding, advice));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    #[test]
    fn overlong_lines_are_reported() {
        let wide = format!("//! H.\n// {}\n", "é".repeat(98));
        let problems = check(&CheckoutTree::from_texts(&[("a.rs", &wide)]));
        assert_eq!(problems.len(), 1);
        assert_eq!((problems[0].line, problems[0].finding.as_str()), (2, "101 columns"));
    }

    #[test]
    fn addresses_long_literals_and_a_hundred_columns_pass() {
        let text = format!(
            "// {}\n// https://{}\nconst A: &str = \"a\n{}\n\";\n",
            "é".repeat(97),
            "a".repeat(100),
            "b".repeat(120)
        );
        assert_eq!(check(&CheckoutTree::from_texts(&[("a.rs", &text)])), []);
    }
}
