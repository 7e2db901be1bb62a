//! Jobs on the command line: `fio --name=x --rw=read --size=1m`, with or without a job file.
//!
//! What is typed before the first `--name` holds for all jobs, those of the file too; what follows
//! a name is that job's.

use treering_languages::fio::{is_key, is_switch_key};

/// The option behind which each setting stands on the way to the parser.
pub(super) const OPTION: &str = "job-option";

/// The words of a command line, with `--KEY=VALUE` of jobs as values of one option, in their order.
pub(super) fn collected(words: Vec<String>) -> Vec<String> {
    let mut all = Vec::new();
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        if word == "--" {
            all.push(word);
            all.extend(words);
            break;
        }
        // As getopt_long_only: one dash will do.
        let body = word.strip_prefix("--").or_else(|| word.strip_prefix('-'));
        let (key, value) = match body.map(|body| body.split_once('=').unwrap_or((body, ""))) {
            Some((key, value)) if key.len() > 1 && is_key(key) => (key, value),
            _ => {
                all.push(word);
                continue;
            }
        };
        let has_value = word.contains('=');
        all.push(if has_value {
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
    all
}

#[cfg(test)]
mod tests {
    use super::collected;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn settings_of_jobs_are_collected_in_their_order() {
        let typed =
            "--directory=/d --minimal --name a --rw=read --thread -size 1m j.fio --eta=never";
        let found = "--job-option=directory=/d --minimal --job-option=name=a --job-option=rw=read \
                     --job-option=thread --job-option=size=1m j.fio --eta=never";
        assert_eq!(collected(words(typed)), words(found));
        assert_eq!(collected(words("-- --rw=read")), words("-- --rw=read"));
        assert_eq!(collected(words("--rw")), words("--job-option=rw"));
    }
}
