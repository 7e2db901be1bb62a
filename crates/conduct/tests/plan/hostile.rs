//! Malicious documents: each is read or refused quickly, and nothing panics.

use std::time::{Duration, Instant};

use proptest::prelude::{Just, Strategy, any, prop_oneof, proptest};

use crate::read_plan;

/// Time limit far above the time of any document, even on a busy machine in a debug build.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn deep_long_and_large_documents_are_refused_quickly() {
    let many = |piece: &str| piece.repeat(1_000_000 / piece.len());
    let numbered = |piece: &dyn Fn(usize) -> String| (0..40_000).map(piece).collect::<String>();
    let variant = "[[variant]]\nfilesystem = \"ext4\"\n";
    let documents = [
        format!("name = {}", many("[")),
        format!("name = {}", many("{a=")),
        format!("{}a = 1", many("a.")),
        format!("{variant}[[job]]\noptions = {}1{}", "{ a = ".repeat(70), "}".repeat(70)),
        many("[[variant]]\n"),
        many("[[job]]\n"),
        many("=\n"),
        many("\""),
        numbered(&|number| format!("key{number} = 1\n")),
        numbered(&|number| format!("[section{number}.b]\n")),
        format!("{variant}mkfs = \"{}\"", many("-m 1 ")),
        format!("{variant}mount = \"{}\"", many("a,")),
        format!("{variant}mount = [{}]", many("\"a\",")),
        format!("{variant}[device]\nloop = \"{}\"", many("9")),
        format!("{variant}[device]\nblock = [{}]", many("\"/a\",")),
        format!("seed = {}", many("9")),
        format!("settle-seconds = 1e{}", many("9")),
        format!("{variant}[stopping]\nrule = \"sequential\"\nlooks = [{}]", many("6,")),
        format!("{variant}[report]\nprimary = [{}]", many("\"a\",")),
        format!("{variant}[report]\nthreshold = \"{}%\"", many("9")),
        format!("{variant}[[job]]\nworkload = \"{}\"", many("x")),
        format!("{variant}[[job]]\noptions = {{ mix = \"{}\" }}", many("x")),
        format!("{} = 1\n{variant}", many("x")),
        format!("name = 'a' {variant}# {}", many("\u{202e}")),
    ];
    for document in documents {
        let begun = Instant::now();
        let begin: String = document.chars().take(60).collect();
        let error = read_plan(&document).expect_err(&begin);
        let text = error.to_string();
        assert!(text.len() < 20_000, "{begin}: {} bytes", text.len());
        assert!(begun.elapsed() < PATIENCE, "{begin}: {:?}", begun.elapsed());
    }
}

#[test]
fn control_characters_are_not_repeated() {
    for text in [
        "name = 3 # \u{202e}txt.exe\n",
        "\u{1b}[2J = 3\n",
        "\"\\u001b[2J\" = 3\n",
        "name = \"\\u009b2J\"\n",
        "[[variant]]\nfilesystem = \"\\u0007\"\n",
        "[[variant]]\nfilesystem = \"ext4\"\n[[job]]\nworkload = \"\\u001b]0;x\"\n",
    ] {
        let shown = read_plan(text).unwrap_err().to_string();
        let obeyed =
            |c: char| (c.is_control() && c != '\n') || ('\u{202a}'..='\u{202e}').contains(&c);
        assert!(!shown.contains(obeyed), "{shown:?}");
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_accepted() {
    let text = "\u{feff}[[variant]]\r\nfilesystem = \"ext4\"\r\nmount = \"noatime\"\r\n";
    assert_eq!(read_plan(text).unwrap().variants[0].mount, ["noatime"]);
    let wrong = "\u{feff}[[variant]]\r\nfilesystem = \"ext5\"\r\nmount = \"noatime\"\r\n";
    let error = read_plan(wrong).unwrap_err().to_string();
    assert!(error.contains("plan.toml:2:14") && !error.contains('\r'), "{error}");
}

/// Fragments of plans, so that much of the input passes the TOML parser.
fn piece() -> impl Strategy<Value = String> {
    let words = [
        "[[variant]]\n",
        "[[job]]\n",
        "[device]\n",
        "[stopping]\n",
        "[report]\n",
        "name",
        "mount",
        "filesystem",
        "mkfs",
        "device",
        "options",
        "loop",
        "block",
        "directory",
        "count",
        "rule",
        "looks",
        "rounds",
        "primary",
        "threshold",
        "baseline",
        "half-width",
        " = ",
        " = ",
        "\n",
        "\"ext4\"",
        "\"btrfs\"",
        "\"sequential\"",
        "\"precision\"",
        "\"3%\"",
        "\"4GiB\"",
        "\"/dev/sdb\"",
        "[",
        "]",
        "{ ",
        " }",
        ", ",
        "6",
        "-1",
        "1e400",
        "nan",
        "true",
        "\"a b\"",
        "'''",
        "\"\"\"",
        "1979-05-27",
        "0x1F",
        "\"\\u0000\"",
        "ä",
        "\u{202e}",
    ];
    prop_oneof![
        20 => (0..words.len()).prop_map(move |index| words[index].to_owned()),
        1 => any::<String>(),
        1 => Just(" ".to_owned()),
    ]
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in any::<String>()) {
        if let Err(error) = read_plan(&text) {
            assert!(!error.to_string().is_empty());
        }
    }

    #[test]
    fn fragments_of_plans_do_not_panic(pieces in proptest::collection::vec(piece(), 0..40)) {
        if let Err(error) = read_plan(&pieces.concat()) {
            assert!(!error.to_string().is_empty());
        }
    }
}
