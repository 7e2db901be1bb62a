//! Converts the options of a workload to clap arguments, and the parsed values to settings.

use super::{AnyRunArgs, CompareArgs, NativeRunArgs};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, ArgMatches, Args as _, Command};
use treering_conduct::plan::shipped_files;
use treering_model::nearest::nearest;
use treering_script::{OptionSpec, OptionSupport, SettingFiles, Settings, ValueKind};

pub(super) fn argument(spec: &OptionSpec) -> Arg {
    let mut doc = spec.doc.trim_end_matches('.').to_owned();
    if let Some(default) = spec.default {
        doc = format!("{doc} [default: {default}]");
    }
    match spec.support {
        OptionSupport::Full => {}
        OptionSupport::Approximate(how) => doc = format!("{doc} ({how})"),
        OptionSupport::Ignored(why) => doc = format!("{doc} (without effect: {why})"),
        OptionSupport::Rejected(why) => doc = format!("{doc} (refused: {why})"),
    }
    let arg = Arg::new(spec.name).help(doc);
    let arg = match (spec.value, spec.short) {
        (ValueKind::Operand | ValueKind::Operands | ValueKind::Words, _) => arg,
        (_, Some(short)) => arg.long(spec.name).short(short),
        (_, None) => arg.long(spec.name),
    };
    match spec.value {
        ValueKind::Flag => arg.action(ArgAction::SetTrue).overrides_with(spec.name),
        ValueKind::Choice(words) => value(arg.value_parser(words.to_vec()), "WORD"),
        ValueKind::Number => value(arg, "N"),
        ValueKind::Size => value(arg, "SIZE"),
        ValueKind::Percent => value(arg, "N%"),
        ValueKind::Path => value(arg, "PATH"),
        ValueKind::Operand => arg.action(ArgAction::Set),
        ValueKind::Operands => arg.action(ArgAction::Append),
        ValueKind::Optional(missing) => {
            value(arg, "TEXT").num_args(0..=1).default_missing_value(missing)
        }
        ValueKind::Paths => arg.value_name("PATH").action(ArgAction::Append),
        ValueKind::Texts => arg.value_name("TEXT").action(ArgAction::Append),
        ValueKind::Words => arg.num_args(1..).trailing_var_arg(true).action(ArgAction::Append),
        ValueKind::Text => value(arg, "TEXT").allow_negative_numbers(true),
    }
}

fn value(arg: Arg, name: &'static str) -> Arg {
    // If an option is given several times, the last value counts, as with the classic tools.
    let id = arg.get_id().clone();
    arg.value_name(name).action(ArgAction::Set).overrides_with(id)
}

/// Collects the values given on the command line for the options of `specs`.
pub(crate) fn settings(specs: &[OptionSpec], matches: &ArgMatches) -> Settings {
    let given = specs.iter().flat_map(|spec| {
        let values: Vec<String> = match spec.value {
            ValueKind::Flag => {
                matches.get_flag(spec.name).then(|| "true".to_owned()).into_iter().collect()
            }
            _ => matches.get_many::<String>(spec.name).unwrap_or_default().cloned().collect(),
        };
        values.into_iter().map(|value| (spec.name.to_owned(), value))
    });
    around(given.collect())
}

/// Settings of fio from its words, whichever of them are known here.
pub(crate) fn fio_settings(words: Vec<String>) -> Settings {
    around(treering_fio::options_of_words(words))
}

/// Settings with what surrounds the command: its environment, time, machine and files.
fn around(options: Vec<(String, String)>) -> Settings {
    let mut settings = Settings::new(options);
    settings.data_dirs = crate::places::dataset_dirs();
    settings.environment = crate::places::environment();
    settings.files = SettingFiles::inside_program(shipped_files());
    settings.started_unix_ms = crate::clock::unix_ms();
    settings.machine = crate::places::machine();
    settings
}

/// Parses the words after `--` as settings of the workload.
pub(crate) fn settings_of_words(
    specs: &'static [OptionSpec],
    words: &[String],
) -> Result<Settings, crate::failure::Failure> {
    let command = Command::new("options")
        .no_binary_name(true)
        .disable_help_flag(true)
        .args(specs.iter().map(argument));
    let matches = command.try_get_matches_from(words).map_err(|error| {
        let text = error.to_string();
        let first =
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
        let unknown = match error.get(ContextKind::InvalidArg) {
            Some(ContextValue::String(word)) => word.as_str(),
            _ => "",
        };
        let name = unknown.trim_start_matches('-');
        let hint = if is_of_compare(unknown) {
            format!("`{unknown}` is an option of treering: put it before the `--`")
        } else if is_of_run(unknown) {
            format!("`{unknown}` is an option of `treering run`, not of a comparison")
        } else if let Some(meant) = nearest(name, specs.iter().map(|spec| spec.name)) {
            format!("did you mean `--{meant}`?")
        } else if is_workload(unknown) {
            format!("the workload goes before the `--`: --workload {unknown} -- OPTIONS")
        } else {
            "workload options follow `--`, as for `treering run`".to_owned()
        };
        crate::failure::Failure::new(crate::failure::Kind::Usage, first).hint(hint)
    })?;
    Ok(settings(specs, &matches))
}

/// True if the word is the name of a workload.
fn is_workload(word: &str) -> bool {
    treering_registry::workloads().iter().any(|workload| workload.manifest().name == word)
}

/// True if the word is an option of `treering run`, and no option of workloads.
fn is_of_run(word: &str) -> bool {
    let own = NativeRunArgs::augment_args(AnyRunArgs::augment_args(Command::new("run")));
    let name = word.trim_start_matches('-');
    own.get_arguments().any(|argument| argument.get_long() == Some(name))
}

/// True if the word is an option of `treering compare` itself.
fn is_of_compare(word: &str) -> bool {
    let own = CompareArgs::augment_args(Command::new("compare"));
    let name = word.trim_start_matches('-');
    own.get_arguments().any(|argument| argument.get_long() == Some(name))
}
