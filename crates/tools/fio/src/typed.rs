//! Jobs given on the command line: `fio --name=x --rw=read --size=1m`, with or without a job file.
//!
//! Settings before the first `--name` apply to all jobs, those of files too; settings after a name
//! apply to that job.

use crate::language::{is_key, is_switch_key};

/// Option that carries each job setting of the command line to the parser.
pub(super) const OPTION: &str = "job-option";

/// Purpose of the options of clients and servers, with the ways to reach it without them.
const OTHER_MACHINES: &str = "jobs on other machines: start it on each of them, or measure many \
                              clients of one filesystem with treering-mpi and ior or mdtest";

/// Options of the original's program without native support, with their topics; those of the second
/// list take no value.
const FOREIGN: [(&str, &str); 14] = [
    ("debug", "the original's messages about its own code"),
    ("bandwidth-log", "logs of the bandwidth of all jobs"),
    ("latency-log", "logs of the latency of all jobs"),
    ("inflate-log", "compressed logs"),
    ("client", OTHER_MACHINES),
    ("server", OTHER_MACHINES),
    ("daemonize", OTHER_MACHINES),
    ("remote-config", OTHER_MACHINES),
    ("trigger-remote", OTHER_MACHINES),
    ("trigger", "commands in the midst of a run"),
    ("trigger-file", "commands in the midst of a run"),
    ("trigger-timeout", "commands in the midst of a run"),
    ("idle-prof", "measuring how idle the processors are"),
    ("aux-path", "another place for the files of a state"),
];
const FOREIGN_SWITCHES: [(&str, &str); 3] = [
    ("merge-blktrace-only", "merging traces of blktrace"),
    ("cpuclock-test", "a test of the processor's clock"),
    ("crctest", "a test of checksums"),
];

/// Name of an option, without its dashes, and true if a value follows after `=`.
fn option(word: &str) -> Option<(&str, bool)> {
    let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'))?;
    let (name, has_value) = body.split_once('=').map_or((body, false), |(name, _)| (name, true));
    (name.len() > 1).then_some((name, has_value))
}

/// Unsupported parts of a command line, one line for each option, and the words without them.
/// `known` are the names of all options that are understood.
pub fn not_native(words: &[String], known: &[&str]) -> (Vec<String>, Vec<String>) {
    let (mut faults, mut rest) = (Vec::new(), Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--" {
            rest.push(word.clone());
            rest.extend(words.by_ref().cloned());
            break;
        }
        let Some((name, has_value)) = option(word) else {
            rest.push(word.clone());
            continue;
        };
        let of = |list: &'static [(&str, &str)]| list.iter().find(|(foreign, _)| *foreign == name);
        if let Some((_, about)) = of(&FOREIGN_SWITCHES) {
            faults.push(format!("--{name}: treering does not do this: {about}"));
        } else if let Some((_, about)) = of(&FOREIGN) {
            faults.push(format!("--{name}: treering does not do this: {about}"));
            if !has_value && name != "bandwidth-log" {
                words.next();
            }
        } else if is_key(name) || known.iter().any(|known| known.starts_with(name)) {
            rest.push(word.clone());
        } else {
            faults.push(format!("--{name}: no option of fio 3.33 is called this"));
        }
    }
    (faults, rest)
}

/// Words of a command line, with job settings `--KEY=VALUE` turned into values of one option, in
/// their order.
pub(super) fn collected(words: Vec<String>) -> Vec<String> {
    let mut collected = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            collected.push(word);
            collected.extend(words);
            break;
        }
        // As by `getopt_long_only`, one dash suffices.
        let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let (key, value) = match body.map(|body| body.split_once('=').unwrap_or((body, ""))) {
            Some((key, value)) if key.len() > 1 && is_key(key) => (key, value),
            _ => {
                collected.push(word);
                continue;
            }
        };
        let has_value = word.contains('=');
        collected.push(if has_value {
            format!("--{OPTION}={key}={value}")
        } else if is_switch_key(key) {
            format!("--{OPTION}={key}")
        } else {
            match words.next() {
                Some(value) => format!("--{OPTION}={key}={value}"),
                None => format!("--{OPTION}={key}"),
            }
        });
    }
    collected
}

#[cfg(test)]
mod tests {
    use super::{collected, not_native};

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn unsupported_options_are_reported_by_name() {
        let line = "--client h --rw=read j.fio --min --bogus=1 --idle-prof=system --debug=io -";
        let (faults, rest) = not_native(&words(line), &["minimal", "output"]);
        assert_eq!(rest, words("--rw=read j.fio --min -"));
        let named = ["--client:", "--bogus: no option", "--idle-prof:", "--debug: treering does"];
        assert_eq!(faults.len(), named.len());
        for (fault, begins) in faults.iter().zip(named) {
            assert!(fault.starts_with(begins), "{fault}");
        }
    }

    #[test]
    fn job_settings_of_the_command_line_keep_their_order() {
        let typed =
            "--directory=/d --minimal --name a --rw=read --thread -size 1m j.fio --eta=never";
        let by_option = "--job-option=directory=/d --minimal --job-option=name=a \
                     --job-option=rw=read --job-option=thread --job-option=size=1m j.fio \
                     --eta=never";
        assert_eq!(collected(words(typed)), words(by_option));
        assert_eq!(collected(words("-- --rw=read")), words("-- --rw=read"));
        assert_eq!(collected(words("--rw")), words("--job-option=rw"));
        let switches = "--ioengine=pvsync2 --hipri --exitall_on_error --rw=read";
        let switches_by_option = "--job-option=ioengine=pvsync2 --job-option=hipri \
                                  --job-option=exitall_on_error --job-option=rw=read";
        assert_eq!(collected(words(switches)), words(switches_by_option));
    }
}
