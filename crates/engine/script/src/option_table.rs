//! Table of options in a document, generated from their declarations.

use crate::{OptionSpec, ValueKind};

/// Marks that enclose the table.
const BEGIN: &str = "<!-- native options: made by `cargo run --example option_tables` -->\n";
const END: &str = "<!-- end of native options -->\n";

/// Document with the option table inserted between its marks; unchanged without marks.
pub fn with_option_table(document: &str, specs: &[OptionSpec]) -> String {
    let parts = document.split_once(BEGIN).and_then(|(before, tail)| {
        let (_, after) = tail.split_once(END)?;
        Some((before, after))
    });
    let Some((before, after)) = parts else { return document.to_owned() };
    let rows: String = specs.iter().map(row).collect();
    let head = "| option | value | default | meaning |\n|---|---|---|---|\n";
    format!("{before}{BEGIN}\n{head}{rows}\n{END}{after}")
}

fn row(spec: &OptionSpec) -> String {
    let option = match (spec.value, spec.short) {
        (ValueKind::Operand | ValueKind::Operands | ValueKind::Words, _) => {
            format!("`{}`", spec.name)
        }
        (_, Some(short)) => format!("`-{short}`, `--{}`", spec.name),
        (_, None) => format!("`--{}`", spec.name),
    };
    let default = spec.default.map(|default| format!("`{default}`")).unwrap_or_default();
    format!("| {option} | {} | {default} | {} |\n", value(spec), spec.doc.trim_end_matches('.'))
}

/// Value column of an option: its unit or words, and its range.
fn value(spec: &OptionSpec) -> String {
    let unit = match spec.value {
        ValueKind::Flag => return String::new(),
        ValueKind::Choice(words) => return format!("`{}`", words.join("`, `")),
        ValueKind::Percent => return "percentage".to_owned(),
        ValueKind::Path | ValueKind::Operand => return "path".to_owned(),
        ValueKind::Paths | ValueKind::Operands => return "paths".to_owned(),
        ValueKind::Words => return "words".to_owned(),
        ValueKind::Text | ValueKind::Texts | ValueKind::Optional(_) => return "text".to_owned(),
        ValueKind::Number => "number",
        ValueKind::Size => "bytes",
    };
    match spec.range {
        (0, u64::MAX) => unit.to_owned(),
        (least, u64::MAX) => format!("{unit}, at least {least}"),
        (least, most) => format!("{unit}, {least} to {most}"),
    }
}

#[cfg(test)]
mod tests {
    use super::{BEGIN, END, with_option_table};
    use crate::{OptionSpec, ValueKind};

    #[test]
    fn the_option_table_replaces_only_the_text_between_its_marks() {
        let specs = [
            OptionSpec {
                range: (1, 9),
                ..OptionSpec::new("runs", Some('r'), ValueKind::Number, Some("3"), "How often.")
            },
            OptionSpec::long("sync", ValueKind::Flag, None, "Syncs."),
        ];
        let made = with_option_table(&format!("a\n{BEGIN}old\n{END}b\n"), &specs);
        let head = "| option | value | default | meaning |\n|---|---|---|---|\n";
        let rows = "| `-r`, `--runs` | number, 1 to 9 | `3` | How often |\n\
                    | `--sync` |  |  | Syncs |\n";
        assert_eq!(made, format!("a\n{BEGIN}\n{head}{rows}\n{END}b\n"));
        assert_eq!(with_option_table(&made, &specs), made);
        assert_eq!(with_option_table("no marks\n", &specs), "no marks\n");
    }
}
