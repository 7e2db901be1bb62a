//! Below the command line nobody talks, ends the process, reads the environment or asks for the
//! wall clock: results are events or values, and what the outside says is handed in. clippy.toml
//! bans the same; this check also sees what clippy does not expand, and names what would be right.

use super::Problem;
use super::tree::CheckoutTree;

const CLI: &str = "crates/cli/";

/// Programs beside a library, which have nobody else to speak for them.
const OWN_PROGRAMS: &[&str] = &["/build.rs", "/benches/", "/examples/"];

const SPEAK: &str = "the command line speaks: push an event or return an error";
const HAND_IN: &str = "let the command line hand it in";

/// Forbidden pattern, and advice.
const FORBIDDEN: &[(&str, &str)] = &[
    ("println!", SPEAK),
    ("eprintln!", SPEAK),
    ("print!", SPEAK),
    ("eprint!", SPEAK),
    ("dbg!", SPEAK),
    ("io::stdout", SPEAK),
    ("io::stderr", SPEAK),
    ("process::exit", "return an error; only the command line ends the process"),
    ("env::var", HAND_IN),
    ("env::var_os", HAND_IN),
    ("env::vars", HAND_IN),
    ("env::vars_os", HAND_IN),
    ("env::args", HAND_IN),
    ("env::args_os", HAND_IN),
    ("env::current_dir", HAND_IN),
    ("env::current_exe", HAND_IN),
    ("env::home_dir", HAND_IN),
    ("env::temp_dir", HAND_IN),
    ("env::set_var", HAND_IN),
    ("env::set_current_dir", HAND_IN),
    ("SystemTime::now", HAND_IN),
    ("Timestamp::now", HAND_IN),
    ("Zoned::now", HAND_IN),
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
