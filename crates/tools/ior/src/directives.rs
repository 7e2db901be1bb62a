//! Directives of ior, as scripts and `-O` have them: each stands for an option, or for a setting
//! that has none.

use treering_model::nearest::nearest;
use treering_script::{ConfigError, Settings};

/// Meaning of a directive.
#[derive(Clone, Copy, Debug)]
pub(super) enum DirectiveMeaning {
    /// Option of this name, with the directive's value.
    Option(&'static str),
    /// Option of this name; absent if the value is 0.
    Unless0(&'static str),
    /// A flag: 0 or 1.
    Flag(&'static str),
    /// A flag that the original counts.
    Level(&'static str),
    /// A flag, and the option that stands for 2 and more.
    Twice(&'static str, &'static str),
    /// Directive that no option stands for.
    Directive,
    /// Directive that must be 0, for this reason.
    Never(&'static str),
}

use DirectiveMeaning::{Flag, Level, Never, Twice, Unless0};

const NOT_TAKEN: &str = "it is not supported";
const BY_RANKS: &str = "the ranks that are there decide it";
const NO_GPU: &str = "all memory is that of the CPU";

/// Directives of the original.
pub(super) const KEYS: &[(&str, DirectiveMeaning)] = &[
    ("api", DirectiveMeaning::Option("api")),
    ("summaryFile", DirectiveMeaning::Directive),
    ("summaryFormat", DirectiveMeaning::Directive),
    ("saveRankPerformanceDetailsCSV", DirectiveMeaning::Directive),
    ("savePerOpDataCSV", DirectiveMeaning::Directive),
    ("refNum", DirectiveMeaning::Option("reference")),
    ("debug", Never(NOT_TAKEN)),
    ("platform", Never(NOT_TAKEN)),
    ("testFile", DirectiveMeaning::Option("file")),
    ("dualMount", Never("all files are in one directory")),
    ("allocateBufferOnGPU", Never(NO_GPU)),
    ("GPUid", Never(NO_GPU)),
    ("GPUDirect", Never(NO_GPU)),
    ("deadlineForStonewalling", DirectiveMeaning::Option("deadline")),
    ("stoneWallingWearOut", DirectiveMeaning::Directive),
    ("stoneWallingWearOutIterations", DirectiveMeaning::Directive),
    ("stoneWallingStatusFile", DirectiveMeaning::Directive),
    ("maxTimeDuration", DirectiveMeaning::Option("minutes")),
    ("minTimeDuration", DirectiveMeaning::Directive),
    ("outlierThreshold", DirectiveMeaning::Option("outliers")),
    ("numNodes", Never(BY_RANKS)),
    ("numTasks", DirectiveMeaning::Option("tasks")),
    ("numTasksOnNode0", Never(BY_RANKS)),
    ("repetitions", DirectiveMeaning::Option("repetitions")),
    ("interTestDelay", DirectiveMeaning::Option("delay")),
    ("interIODelay", Never(NOT_TAKEN)),
    ("readFile", Flag("read")),
    ("writeFile", Flag("write")),
    ("filePerProc", Flag("file-per-process")),
    ("taskPerNodeOffset", DirectiveMeaning::Option("task-offset")),
    ("reorderTasks", Flag("reorder")),
    ("reorderTasksConstant", Flag("reorder")),
    ("reorderTasksRandom", Twice("reorder-random", "reorder-shuffled")),
    ("reorderTasksRandomSeed", DirectiveMeaning::Option("reorder-seed")),
    ("checkWrite", Flag("check-write")),
    ("checkRead", Flag("check-read")),
    ("keepFile", Flag("keep")),
    ("keepFileWithError", Flag("keep-with-error")),
    ("multiFile", Flag("multi-file")),
    ("warningAsErrors", Never("warnings stay warnings")),
    ("segmentCount", DirectiveMeaning::Option("segments")),
    ("blockSize", DirectiveMeaning::Option("block")),
    ("transferSize", DirectiveMeaning::Option("transfer")),
    ("singleXferAttempt", Flag("single-attempt")),
    ("intraTestBarriers", Flag("barriers")),
    ("verbose", Level("verbose")),
    ("collective", Flag("collective")),
    ("setTimeStampSignature", Unless0("data-seed")),
    ("dataPacketType", DirectiveMeaning::Option("packet-type")),
    ("uniqueDir", Flag("unique-dir")),
    ("useExistingTestFile", Flag("use-existing")),
    ("fsyncPerWrite", Flag("fsync-each")),
    ("fsync", Flag("fsync")),
    ("randomOffset", Twice("random", "random-blocks")),
    ("memoryPerTask", Never("memoryPerNode says it of all that are on a machine")),
    ("memoryPerNode", Unless0("memory")),
    ("summaryAlways", Never("all tests are summed up at the end")),
    ("useO_DIRECT", Flag("direct")),
    ("--posix.odirect", Flag("direct")),
];

/// Option that holds the directives of `-O`.
const DIRECTIVES: &str = "directives";

/// Directive of this name, without regard to case: the original's spelling, and its meaning.
pub(super) fn directive(name: &str) -> Option<(&'static str, DirectiveMeaning)> {
    KEYS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).copied()
}

/// The directive whose name is nearest to this one.
pub(super) fn near(name: &str) -> Option<&'static str> {
    let small: Vec<String> = KEYS.iter().map(|(known, _)| known.to_ascii_lowercase()).collect();
    let near = nearest(&name.to_ascii_lowercase(), small.iter().map(String::as_str))?;
    KEYS.iter().map(|(known, _)| *known).find(|known| known.eq_ignore_ascii_case(near))
}

/// Replaces the directives of `-O` that options stand for by these options; a directive replaces
/// the option of the command line.
///
/// # Errors
/// When one of them is unknown or not supported, or its value is no number.
pub(super) fn with_options(settings: &Settings) -> Result<Settings, ConfigError> {
    let mut options: Vec<(String, String)> = Vec::new();
    for (name, value) in settings.options().iter().filter(|(name, _)| name != DIRECTIVES) {
        options.push((name.clone(), value.clone()));
    }
    for text in settings.values(DIRECTIVES).flat_map(|text| text.split(',')) {
        // The original takes what follows a # for a comment.
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            take(text, &mut options)?;
        }
    }
    Ok(settings.with_options(options))
}

fn take(text: &str, options: &mut Vec<(String, String)>) -> Result<(), ConfigError> {
    let Some((name, value)) = text.split_once('=') else {
        return Err(ConfigError::new(format!("Syntax error in configuration options: {text}"))
            .hint("a directive is NAME=VALUE"));
    };
    let (name, value) = (name.trim(), value.trim());
    let Some((known, means)) = directive(name) else {
        let message = format!("Unrecognized parameter \"{name}\"");
        let right = near(name).map_or_else(
            || "directives are those of ior, as checkRead and stoneWallingWearOut".to_owned(),
            |near| format!("did you mean {near}?"),
        );
        return Err(ConfigError::new(message).hint(right));
    };
    let number = || {
        value.parse::<u32>().map_err(|_| {
            ConfigError::new(format!("-O {known}: '{value}' is not a whole number"))
                .hint("give 1 for yes, or 0 for no")
        })
    };
    let (option, value) = match means {
        DirectiveMeaning::Directive => (DIRECTIVES, Some(format!("{known}={value}"))),
        DirectiveMeaning::Option(option) => (option, Some(value.to_owned())),
        Unless0(option) => (option, Some(value.to_owned()).filter(|value| value != "0")),
        Flag(option) | Level(option) => (option, (number()? > 0).then(|| "true".to_owned())),
        Twice(option, second) => {
            let times = number()?;
            options.retain(|(given, _)| given != second);
            options.extend((times > 1).then(|| (second.to_owned(), "true".to_owned())));
            (option, (times > 0).then(|| "true".to_owned()))
        }
        Never(_) if value == "0" => return Ok(()),
        Never(why) => {
            return Err(ConfigError::new(format!("-O {known}: {why}"))
                .hint(format!("leave {known} out, or give 0")));
        }
    };
    if option != DIRECTIVES {
        options.retain(|(given, _)| given != option);
    }
    options.extend(value.map(|value| (option.to_owned(), value)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::with_options;
    use treering_script::Settings;

    fn settings(directives: &[&str]) -> Settings {
        let directives =
            directives.iter().map(|text| ("directives".to_owned(), (*text).to_owned()));
        let before = [("task-offset", "1"), ("fsync", "true"), ("block", "1M")];
        let before = before.map(|(name, value)| (name.to_owned(), value.to_owned()));
        Settings::new(before.into_iter().chain(directives).collect())
    }

    #[test]
    fn directives_replace_the_options_that_they_stand_for() {
        let given = ["taskPerNodeOffset=3,FSYNC=0", "checkread=2", "minTimeDuration=4 # s"];
        let settings = with_options(&settings(&given)).unwrap();
        assert_eq!(settings.text("task-offset"), Some("3"));
        assert!(settings.flag("check-read") && !settings.flag("fsync"));
        assert_eq!(settings.text("block"), Some("1M"));
        assert_eq!(settings.values("directives").collect::<Vec<_>>(), ["minTimeDuration=4"]);
    }

    #[test]
    fn unknown_directives_are_refused_with_the_nearest_name() {
        let error = with_options(&settings(&["taskPerNodOffset=3"])).unwrap_err();
        assert_eq!(error.message, "Unrecognized parameter \"taskPerNodOffset\"");
        assert_eq!(error.hint.unwrap(), "did you mean taskPerNodeOffset?");
        let error = with_options(&settings(&["numNodes=2"])).unwrap_err();
        assert_eq!(error.message, "-O numNodes: the ranks that are there decide it");
        assert!(with_options(&settings(&["keepFile=yes"])).is_err());
    }
}
