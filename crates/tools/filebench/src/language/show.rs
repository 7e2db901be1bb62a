//! Output of a parsed script as WML.

use std::fmt::Write;

use super::{
    AttributeValue, Definition, EndCondition, Flowop, RandomVariable, SetupAction, SpannedValue,
    Variable, WorkloadScript,
};

/// Appends a line; writing into a string cannot fail.
macro_rules! line {
    ($text:expr, $($format:tt)*) => {{ let _ = writeln!($text, $($format)*); }};
}

fn bare(text: &str) -> bool {
    let goes_on = |byte: u8| byte.is_ascii_alphanumeric() || b"/._:;_-".contains(&byte);
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'/');
    begins && text.bytes().all(goes_on) && text != "true" && text != "false"
}

fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '$' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            _ => quoted.push(letter),
        }
    }
    quoted + "\""
}

fn value(spanned: &SpannedValue) -> String {
    match &spanned.value {
        AttributeValue::Number(number) => number.to_string(),
        AttributeValue::Switch(switch) => switch.to_string(),
        AttributeValue::Text(text) if bare(text) => text.clone(),
        AttributeValue::Text(text) => quoted(text),
        AttributeValue::Variable(name) => format!("${name}"),
        AttributeValue::Table(rows) => {
            let row = |row: &[SpannedValue; 3]| {
                format!("{{{},{},{}}}", value(&row[0]), value(&row[1]), value(&row[2]))
            };
            format!("{{{}}}", rows.iter().map(row).collect::<Vec<_>>().join(","))
        }
    }
}

fn attributes(definition: &Definition) -> String {
    let assignment =
        |name: &'static str, spanned: &SpannedValue| format!("{name}={}", value(spanned));
    let texts = definition
        .attributes
        .iter()
        .map(|attribute| assignment(attribute.name, &attribute.spanned));
    texts.collect::<Vec<_>>().join(",")
}

fn flowops(text: &mut String, flowops: &[Flowop], indent: &str) {
    line!(text, "{indent}{{");
    for flowop in flowops {
        let mut words: Vec<String> = Vec::new();
        if !flowop.definition.attributes.is_empty() {
            words.push(attributes(&flowop.definition));
        }
        words.extend(
            flowop.locals.iter().map(|(name, spanned)| format!("${name}={}", value(spanned))),
        );
        line!(text, "{indent}  flowop {} {}", flowop.kind, words.join(","));
    }
    line!(text, "{indent}}}");
}

fn variable(name: &str, variable: &Variable) -> String {
    match variable {
        Variable::Plain(spanned) => format!("set ${name}={}", value(spanned)),
        Variable::Drawn(RandomVariable { distribution, definition, .. }) => {
            let function = match distribution {
                super::DistributionSpec::Custom(_) => "cvar",
                _ => "randvar",
            };
            format!("set ${name}={function}({})", attributes(definition))
        }
    }
}

/// Formats the whole file. Printed texts have their variables already substituted.
pub(super) fn text(script: &WorkloadScript) -> String {
    let mut text = String::new();
    for (name, spanned) in &script.variables {
        line!(text, "{}", variable(name, spanned));
    }
    match script.quit {
        EndCondition::Timeout => {}
        EndCondition::AllDone => line!(text, "set mode quit alldone"),
        EndCondition::FirstDone => line!(text, "set mode quit firstdone"),
    }
    if let Some(rate) = &script.rate {
        line!(text, "eventgen rate={}", value(rate));
    }
    for fileset in &script.filesets {
        let kind = if fileset.is_file { "file" } else { "fileset" };
        line!(text, "define {kind} {}", attributes(&fileset.definition));
    }
    for composite in &script.composites {
        let mut words = vec![format!("name={}", plain(&composite.name))];
        words.extend(composite.locals.iter().map(|(name, spanned)| match spanned {
            None => format!("${name}"),
            Some(spanned) => format!("${name}={}", value(spanned)),
        }));
        line!(text, "define flowop {}", words.join(","));
        flowops(&mut text, &composite.flowops, "");
    }
    for process in &script.processes {
        line!(text, "define process {}", attributes(&process.definition));
        line!(text, "{{");
        for thread in &process.threads {
            line!(text, "  thread {}", attributes(&thread.definition));
            flowops(&mut text, &thread.flowops, "  ");
        }
        line!(text, "}}");
    }
    actions(&mut text, script);
    text
}

fn plain(name: &str) -> String {
    if bare(name) { name.to_owned() } else { quoted(name) }
}

fn actions(text: &mut String, script: &WorkloadScript) {
    for action in &script.actions {
        match action {
            SetupAction::Echo(words) => line!(text, "echo {}", quoted(words)),
            SetupAction::Sleep(spanned) => line!(text, "sleep {}", value(spanned)),
            SetupAction::Version => line!(text, "version"),
            SetupAction::ListFilesets => line!(text, "list fileset"),
            SetupAction::ListFlowops => line!(text, "list flowop"),
            SetupAction::CreateFiles => line!(text, "create files"),
            SetupAction::Histograms => line!(text, "enable lathist"),
            SetupAction::Sync => line!(text, "system \"sync\""),
            SetupAction::DropCaches => {
                line!(text, "system \"echo 3 > /proc/sys/vm/drop_caches\"");
            }
        }
    }
    let Some(run) = &script.run else { return };
    let seconds = run.seconds.as_ref().map(|spanned| format!(" {}", value(spanned)));
    let seconds = seconds.unwrap_or_default();
    match run.period {
        None => line!(text, "run{seconds}"),
        Some((0, _)) if seconds.is_empty() => line!(text, "psrun"),
        Some((period, anew)) => {
            line!(text, "psrun {}{period}{seconds}", if anew { "-" } else { "" });
        }
    }
}
