//! Only the command line prints, ends the process, reads the environment or asks for the wall
//! clock; the other crates return events or values, and get such inputs as parameters. clippy.toml
//! has the same bans; this check also sees unexpanded macros, and advises what to do instead.

use super::Problem;
use super::tree::CheckoutTree;

const CLI: &str = "crates/cli/";

/// Programs beside a library, which have to print for themselves.
const OWN_PROGRAMS: &[&str] = &["/build.rs", "/benches/", "/examples/"];

const PRINT_ADVICE: &str = "the command line speaks: push an event or return an error";
const PARAMETER_ADVICE: &str = "let the command line hand it in";

/// Forbidden patterns, each with advice.
const FORBIDDEN: &[(&str, &str)] = &[
    ("println!", PRINT_ADVICE),
    ("eprintln!", PRINT_ADVICE),
    ("print!", PRINT_ADVICE),
    ("eprint!", PRINT_ADVICE),
    ("dbg!", PRINT_ADVICE),
    ("io::stdout", PRINT_ADVICE),
    ("io::stderr", PRINT_ADVICE),
    ("process::exit", "return an error; only the command line ends the process"),
    ("env::var", PARAMETER_ADVICE),
    ("env::var_os", PARAMETER_ADVICE),
    ("env::vars", PARAMETER_ADVICE),
    ("env::vars_os", PARAMETER_ADVICE),
    ("env::args", PARAMETER_ADVICE),
    ("env::args_os", PARAMETER_ADVICE),
    ("env::current_dir", PARAMETER_ADVICE),
    ("env::current_exe", PARAMETER_ADVICE),
    ("env::home_dir", PARAMETER_ADVICE),
    ("env::temp_dir", PARAMETER_ADVICE),
    ("env::set_var", PARAMETER_ADVICE),
    ("env::set_current_dir", PARAMETER_ADVICE),
    ("SystemTime::now", PARAMETER_ADVICE),
    ("Timestamp::now", PARAMETER_ADVICE),
    ("Zoned::now", PARAMETER_ADVICE),
];

pub(super) fn check(tree: &CheckoutTree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (file, rust) in tree.rust() {
        let below = file.path.starts_with("crates/") && !file.path.starts_with(CLI);
        if !below || OWN_PROGRAMS.iter().any(|place| file.path.contains(place)) {
            continue;
        }
        for (pattern, advice) in FORBIDDEN {
            for token in rust.find(pattern).into_iter().filter(|t| !rust.is_test(t.line)) {
                let finding = format!("`{pattern}` below the command line");
                problems.push(Problem::new(&file.path, token.line, finding, *advice));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::tree::CheckoutTree;

    const TALK: &str = "fn a() {\n    println!(\"x\");\n    std::process::exit(1);\n    \
                        let b = std::env::var(\"HOME\");\n    let c = SystemTime::now();\n}\n";

    #[test]
    fn printing_exit_environment_and_clock_are_reported() {
        let problems = check(&CheckoutTree::from_texts(&[("crates/engine/x/src/lib.rs", TALK)]));
        let mut lines: Vec<usize> = problems.iter().map(|p| p.line).collect();
        lines.sort_unstable();
        assert_eq!(lines, [2, 3, 4, 5]);
        assert_eq!(problems[0].finding, "`println!` below the command line");
    }

    #[test]
    fn the_cli_tools_tests_and_compile_time_values_pass() {
        let tree = CheckoutTree::from_texts(&[
            ("crates/cli/src/main.rs", TALK),
            ("xtask/src/main.rs", TALK),
            ("crates/engine/x/tests/a.rs", TALK),
            ("crates/engine/x/build.rs", TALK),
            ("crates/engine/x/examples/show.rs", TALK),
            ("crates/engine/x/src/lib.rs", "fn a() { env!(\"CARGO_PKG_VERSION\"); writeln!(w) }\n"),
        ]);
        assert_eq!(check(&tree), []);
    }
}
