//! Tests of a command line: a single one, or those of a script. A directive of a script maps to an
//! option; the option's declaration defines valid values.

use std::path::PathBuf;

use crate::language::{BYTES_MAX, Directive, TestDefinition, read};
use treering_kit::faults::{Fault, Faults, shown};
use treering_script::{ConfigError, OptionSpec, Settings};

use super::config::ClassicConfig;
use super::directives::DirectiveMeaning::{self, Flag, Level, Never, Twice, Unless0};
use super::directives::{directive, near, with_options};
use super::options::ClassicOptions;
use super::shape::IoInterface;

const STATUS: &str = "each line of ior that reads what another one wrote names it by -O";
const PER_TEST: &str = "the tests of a script have one file for all: name it by -O";

/// The name of the options' script.
const SCRIPT: &str = "script";

/// Path of the named script.
pub(super) fn path(settings: &Settings) -> Option<PathBuf> {
    settings.text(SCRIPT).map(|named| settings.file(named))
}

/// Requested tests, at least one.
pub(super) fn tests(settings: &Settings) -> Result<Vec<ClassicConfig>, ConfigError> {
    let (Some(path), Some(named)) = (path(settings), settings.text(SCRIPT)) else {
        return Ok(vec![ClassicConfig::read(settings)?]);
    };
    let text = settings.files.read(&path, BYTES_MAX as u64 + 1).map_err(|error| {
        ConfigError::new(format!("-f {named}: {error}")).hint("give the path of a script")
    })?;
    of_text(settings, named, &text)
}

/// Tests of a script; `file` is its name in messages.
pub(super) fn of_text(
    settings: &Settings,
    file: &str,
    text: &[u8],
) -> Result<Vec<ClassicConfig>, ConfigError> {
    let settings = &with_options(settings)?;
    let mut faults = Faults::new(file, text);
    let tests = read(text, &mut faults).map_err(|fault| faults.refuse(fault))?;
    // A faulty line may hold a setting that would seem missing below.
    faults.check()?;
    let mut options_so_far = given_before(settings);
    let mut configs: Vec<ClassicConfig> = Vec::new();
    for test in &tests {
        for directive in &test.directives {
            let taken = take(directive, &mut options_so_far, &faults);
            faults.ok_or_record(taken);
        }
        if !faults.is_full() {
            let config =
                configured(&settings.with_options(options_so_far.clone()), test, &configs, &faults);
            configs.extend(faults.ok_or_record(config));
        }
    }
    faults.check()?;
    if configs.len() > 1 {
        for (id, config) in configs.iter_mut().enumerate() {
            config.shape.prefix = format!("test{id}-");
        }
    }
    Ok(configs)
}

/// Settings from the command line that precede the script's directives; those of `-O` are split.
fn given_before(settings: &Settings) -> Vec<(String, String)> {
    let mut options_so_far = Vec::new();
    for (name, value) in settings.options().iter().filter(|(name, _)| name != SCRIPT) {
        let several = name == "directives";
        let parts = value.split(',').filter(|part| several && !part.is_empty());
        options_so_far.extend(parts.map(|part| (name.clone(), part.to_owned())));
        if !several {
            options_so_far.push((name.clone(), value.clone()));
        }
    }
    options_so_far
}

/// Configuration of a test from its accumulated settings.
fn configured(
    settings: &Settings,
    test: &TestDefinition<'_>,
    before: &[ClassicConfig],
    faults: &Faults,
) -> Result<ClassicConfig, Fault> {
    let fault =
        |message: String, right: &str| faults.error(test.place, shown_whole(&message)).hint(right);
    let config = ClassicConfig::read(settings).map_err(|error| {
        let default_hint =
            "it counts what the command line, the tests before and this one say together";
        fault(error.message, error.hint.as_deref().unwrap_or(default_hint))
    })?;
    if let Some(first) = before.first().filter(|first| first.directories != config.directories) {
        let (own_directory, first_directory) = (config.directory(), first.directory());
        let message =
            format!("the file is in {own_directory}, that of the first test in {first_directory}");
        return Err(fault(message, "all tests of a script have their files in one directory"));
    }
    if config.directives.status_file.is_some() {
        return Err(fault("-O stoneWallingStatusFile goes with no script".to_owned(), STATUS));
    }
    Ok(config)
}

/// Escapes a message so that a terminal shows it in one line.
fn shown_whole(message: &str) -> String {
    message.escape_debug().to_string().replace("\\'", "'").replace("\\\"", "\"")
}

/// Adds a directive to the settings; it replaces an earlier value of the same option.
fn take(
    directive: &Directive<'_>,
    options: &mut Vec<(String, String)>,
    faults: &Faults,
) -> Result<(), Fault> {
    let &Directive { name, value, .. } = directive;
    let wrong = |message: &str, right: &str| {
        Err(faults
            .error(directive.value_place, format!("{name}={}: {message}", shown(value)))
            .hint(right))
    };
    let (known, means) = key(directive, faults)?;
    let (option, value) = match means {
        DirectiveMeaning::Option(option) => (option, Some(value)),
        Unless0(option) => (option, Some(value).filter(|&value| value != "0")),
        Flag(option) | Level(option) | Twice(option, _) => match value.parse::<u32>() {
            Ok(0) => (option, None),
            Ok(1) => (option, Some("true")),
            Ok(_) if matches!(means, Level(_)) => (option, Some("true")),
            _ => return wrong("this is neither 0 nor 1", "give 1 for yes, or 0 for no"),
        },
        DirectiveMeaning::Directive => {
            let is_this = |text: &str| {
                text.split_once('=').is_some_and(|(of, _)| of.eq_ignore_ascii_case(known))
            };
            options.retain(|(option, text)| option != "directives" || !is_this(text));
            options.push(("directives".to_owned(), format!("{known}={value}")));
            return Ok(());
        }
        Never(_) if value == "0" => return Ok(()),
        Never(why) => return wrong(why, &format!("leave {known} out, or give 0")),
    };
    if let Some(value) = value {
        check_value(option, directive, faults, value)?;
    }
    options.retain(|(name, _)| name != option);
    options.extend(value.map(|value| (option.to_owned(), value.to_owned())));
    Ok(())
}

/// Meaning of a directive, and the original's spelling of its name.
fn key(given: &Directive<'_>, faults: &Faults) -> Result<(&'static str, DirectiveMeaning), Fault> {
    match directive(given.name) {
        Some(("stoneWallingStatusFile", _)) => {
            return Ok(("stoneWallingStatusFile", Never(STATUS)));
        }
        Some((known @ ("saveRankPerformanceDetailsCSV" | "savePerOpDataCSV"), _)) => {
            return Ok((known, Never(PER_TEST)));
        }
        Some(entry) => return Ok(entry),
        None => {}
    }
    let name = given.name;
    let fault = faults.error(given.place, format!("there is no directive '{}'", shown(name)));
    Err(match near(name) {
        Some(known) => fault.hint(format!("did you mean {known}?")),
        None => fault.hint("directives are those of ior, as blockSize, transferSize and testFile"),
    })
}

/// Checks the value of a single option, independent of the others.
fn check_value(
    option: &str,
    directive: &Directive<'_>,
    faults: &Faults,
    value: &str,
) -> Result<(), Fault> {
    let settings = Settings::new(vec![(option.to_owned(), value.to_owned())]);
    let read = ClassicOptions::read(&settings)
        .and_then(|read| IoInterface::from_name(&read.others.api).map(drop));
    read.map_err(|error| {
        let message = error.message.replacen(&format!("--{option}"), directive.name, 1);
        let spec = ClassicOptions::SPECS.iter().find(|spec| spec.name == option);
        let right = error.hint.unwrap_or_else(|| spec.map_or_else(String::new, in_words));
        faults.error(directive.value_place, shown_whole(&message)).hint(right)
    })
}

/// Description of an option as on the command line.
fn in_words(spec: &OptionSpec) -> String {
    let short = spec.short.map_or_else(|| format!("--{}", spec.name), |short| format!("-{short}"));
    format!("it is {short} of the command line: {}", spec.doc)
}

#[cfg(test)]
mod tests {
    use super::of_text;
    use treering_script::Settings;

    fn settings() -> Settings {
        let pairs = [("ranks", "4"), ("block", "2M"), ("script", "f"), ("write", "true")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Settings::new(pairs.to_vec())
    }

    fn refused(lines: &str) -> (String, String) {
        let text = format!("IOR START\n{lines}\nRUN\n");
        let error = of_text(&settings(), "f", text.as_bytes()).unwrap_err();
        (error.message, error.hint.unwrap())
    }

    #[test]
    fn directives_apply_to_later_tests() {
        let text = "IOR START\nBLOCKSIZE=4k, transfersize=1k\nfilePerProc=1\nRUN\nnumTasks=2\n\
                    filePerProc=0\nkeepfile=1\nstoneWallingWearOut=1\ndeadlineForStonewalling=9\n\
                    RUN\nRUN\nstoneWallingWearOut=0\nwriteFile=0\nreadFile=1";
        let tests = of_text(&settings(), "f", text.as_bytes()).unwrap();
        let shapes = tests.iter().map(|test| &test.shape);
        let told: Vec<_> = shapes
            .map(|shape| {
                let flags = [shape.own_files, shape.keeps, shape.wears_out, shape.reads];
                (shape.prefix.as_str(), shape.ranks, shape.block_bytes, flags.map(u8::from))
            })
            .collect();
        assert_eq!(
            told,
            [
                ("test0-", 4, 4096, [1, 0, 0, 0]),
                ("test1-", 2, 4096, [0, 1, 1, 0]),
                ("test2-", 2, 4096, [0, 1, 1, 0]),
                ("test3-", 2, 4096, [0, 1, 0, 1]),
            ]
        );
    }

    #[test]
    fn a_script_of_one_test_is_a_command_line() {
        let tests = of_text(&settings(), "f", b"IOR START\nsetTimeStampSignature=0\nRUN").unwrap();
        assert_eq!((tests.len(), tests[0].shape.prefix.as_str()), (1, ""));
        assert_eq!(tests[0].shape.block_bytes, 2 << 20);
    }

    #[test]
    fn errors_show_position_and_hint() {
        for (lines, message, right) in [
            ("blokSize=4k", "f:2:1: there is no directive 'blokSize'", "did you mean blockSize?"),
            ("keepFile=yes", "f:2:10: keepFile=yes: this is neither 0 nor 1", "give 1 for yes"),
            ("randomOffset=2", "f:2:14: randomOffset=2: this is neither", "give 1 for yes"),
            ("blockSize=4x", "f:2:11: blockSize: '4x' is not a size", "a size is a number"),
            ("repetitions=0", "f:2:13: repetitions: '0' is not a whole number", "it is -i of"),
            ("api=DFS", "f:2:5: -a DFS: there is no such interface here", "give POSIX"),
            ("numNodes=2", "f:2:10: numNodes=2: the ranks that are there", "leave numNodes out"),
            ("blockSize=3k", "f:3:1: block size must be a multiple of transfer", "it counts what"),
            ("RUN\ntestFile=/no/f", "f:4:1: the file is in /no, that of", "all tests of a script"),
            ("summaryFormat=X", "f:3:1: Unknown summaryFormat: X", "it counts what"),
        ] {
            let (message_of, right_of) = refused(lines);
            assert!(message_of.starts_with(message), "{lines}: {message_of}");
            assert!(right_of.starts_with(right), "{lines}: {right_of}");
        }
    }
}
