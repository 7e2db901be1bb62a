//! Output of a parsed script as WML.

use std::fmt::Write;

use super::{
    Action, Definition, EndCondition, Flowop, Random, Script, SpannedValue, Value, Variable,
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

fn value(given: &SpannedValue) -> String {
    match &given.value {
        Value::Number(number) => number.to_string(),
        Value::Switch(switch) => switch.to_string(),
        Value::Text(text) if bare(text) => text.clone(),
        Value::Text(text) => quoted(text),
        Value::Variable(name) => format!("${name}"),
        Value::Table(rows) => {
            let row = |row: &[SpannedValue; 3]| {
                format!("{{{},{},{}}}", value(&row[0]), value(&row[1]), value(&row[2]))
            };
            format!("{{{}}}", rows.iter().map(row).collect::<Vec<_>>().join(","))
        }
    }
}

fn attributes(thing: &Definition) -> String {
    let one = |name: &'static str, given: &SpannedValue| format!("{name}={}", value(given));
    let all = thing.attributes.iter().map(|attribute| one(attribute.name, &attribute.given));
    all.collect::<Vec<_>>().join(",")
}

fn flowops(text: &mut String, all: &[Flowop], indent: &str) {
    line!(text, "{indent}{{");
    for flowop in all {
        let mut words: Vec<String> = Vec::new();
        if !flowop.thing.attributes.is_empty() {
            words.push(attributes(&flowop.thing));
        }
        words.extend(flowop.locals.iter().map(|(name, given)| format!("${name}={}", value(given))));
        line!(text, "{indent}  flowop {} {}", flowop.kind, words.join(","));
    }
    line!(text, "{indent}}}");
}

fn variable(name: &str, variable: &Variable) -> String {
    match variable {
        Variable::Plain(given) => format!("set ${name}={}", value(given)),
        Variable::Drawn(Random { spread, thing, .. }) => {
            let function = match spread {
                super::DistributionSpec::Custom(_) => "cvar",
                _ => "randvar",
            };
            format!("set ${name}={function}({})", attributes(thing))
        }
    }
}

/// Formats the whole file. Printed texts have their variables already substituted.
pub(super) fn text(script: &Script) -> String {
    let mut text = String::new();
    for (name, given) in &script.variables {
        line!(text, "{}", variable(name, given));
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
        line!(text, "define {kind} {}", attributes(&fileset.thing));
    }
    for composite in &script.composites {
        let mut words = vec![format!("name={}", plain(&composite.name))];
        words.extend(composite.locals.iter().map(|(name, given)| match given {
            None => format!("${name}"),
            Some(given) => format!("${name}={}", value(given)),
        }));
        line!(text, "define flowop {}", words.join(","));
        flowops(&mut text, &composite.flowops, "");
    }
    for process in &script.processes {
        line!(text, "define process {}", attributes(&process.thing));
        line!(text, "{{");
        for thread in &process.threads {
            line!(text, "  thread {}", attributes(&thread.thing));
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

fn actions(text: &mut String, script: &Script) {
    for action in &script.actions {
        match action {
            Action::Echo(words) => line!(text, "echo {}", quoted(words)),
            Action::Sleep(given) => line!(text, "sleep {}", value(given)),
            Action::Version => line!(text, "version"),
            Action::ListFilesets => line!(text, "list fileset"),
            Action::ListFlowops => line!(text, "list flowop"),
            Action::CreateFiles => line!(text, "create files"),
            Action::Histograms => line!(text, "enable lathist"),
        }
    }
    let Some(run) = &script.run else { return };
    let seconds = run.seconds.as_ref().map(|given| format!(" {}", value(given)));
    let seconds = seconds.unwrap_or_default();
    match run.period {
        None => line!(text, "run{seconds}"),
        Some((0, _)) if seconds.is_empty() => line!(text, "psrun"),
        Some((period, anew)) => {
            line!(text, "psrun {}{period}{seconds}", if anew { "-" } else { "" });
        }
    }
}
