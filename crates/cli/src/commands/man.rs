//! `treering man`: the manual pages, from the same declarations as the help.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use treering_sys::write_whole_file;

use crate::arguments::{self, ManArgs};
use crate::failure::Failure;

const MANUAL: &str = "treering manual";

/// Environment variables that every command of treering's own reads, with descriptions.
const ENVIRONMENT: [(&str, &str); 7] = [
    ("TREERING_DATA", "The directory for results and data sets."),
    (
        "XDG_DATA_HOME",
        "Where that directory, treering, is if TREERING_DATA is not set; else ~/.local/share.",
    ),
    (
        "XDG_RUNTIME_DIR",
        "Where results are held while their filesystem is under test [default: /dev/shm].",
    ),
    (
        "TREERING_LAB",
        "The directory for the records of what is made, mounted and unmounted [default: \
         /run/treering of root, else one for each user in TMPDIR].",
    ),
    ("TMPDIR", "The directory for temporary files [default: /tmp]."),
    ("NO_COLOR", "If not empty: no colors, unless --color always is given."),
    ("TERM", "dumb: no colors and no progress bar."),
];

/// Writes the manual pages.
pub(crate) fn run(args: &ManArgs) -> Result<ExitCode, Failure> {
    let failed = |error: &io::Error| Failure::of_path(&args.dir, error);
    args.dir.read_dir().map_err(|error| failed(&error))?;
    let mut command =
        arguments::command(treering_registry::workloads()).disable_help_subcommand(true);
    command.build();
    let names: Vec<String> = pages(&command).map(|(name, _)| name).collect();
    for (name, command) in pages(&command) {
        write(&args.dir, &name, page(&name, command, &names)).map_err(|error| failed(&error))?;
    }
    for workload in treering_registry::workloads().iter().filter(|_| args.links) {
        let name = workload.manifest().name;
        if !workload.manifest().has_classic() {
            continue;
        }
        let command = arguments::as_link(*workload);
        write(&args.dir, name, page(name, &command, &[])).map_err(|error| failed(&error))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn write(dir: &Path, name: &str, page: Vec<u8>) -> io::Result<PathBuf> {
    let path = dir.join(format!("{name}.1"));
    write_whole_file(&path, |mut file| file.write_all(&page)).map(|()| path)
}

/// Pages of the command and its subcommands, with their names.
fn pages(command: &Command) -> Box<dyn Iterator<Item = (String, &Command)> + '_> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
    let below = command.get_subcommands().filter(|one| !one.is_hide_set()).flat_map(pages);
    Box::new(std::iter::once((name, command)).chain(below))
}

fn page(name: &str, command: &Command, all: &[String]) -> Vec<u8> {
    let version = concat!("treering ", env!("CARGO_PKG_VERSION"));
    let man = Man::new(command.clone()).title(name.to_uppercase()).source(version).manual(MANUAL);
    let mut page = Vec::new();
    let written = man
        .render_title(&mut page)
        .and_then(|()| man.render_name_section(&mut page))
        .and_then(|()| man.render_synopsis_section(&mut page))
        .and_then(|()| man.render_description_section(&mut page))
        .and_then(|()| man.render_options_section(&mut page));
    let written = match command.get_subcommands().next() {
        Some(_) => written.and_then(|()| man.render_subcommands_section(&mut page)),
        None => written,
    };
    let written = written.and_then(|()| more(name, command, all).to_writer(&mut page));
    written.expect("writes to memory succeed");
    page
}

/// Sections of a manual page that clap does not generate.
fn more(name: &str, command: &Command, all: &[String]) -> Roff {
    let mut roff = Roff::new();
    if let Some(notes) = command.get_after_long_help().or_else(|| command.get_after_help()) {
        roff.control("SH", ["NOTES"]);
        // The text is preformatted: commands are indented, and the exit codes are a table.
        roff.control("nf", []);
        for line in notes.to_string().lines() {
            roff.text([roman(line)]);
        }
        roff.control("fi", []);
    }
    roff.control("SH", ["ENVIRONMENT"]);
    for (variable, meaning) in ENVIRONMENT {
        roff.control("TP", []);
        roff.text([bold(variable)]);
        roff.text([roman(meaning)]);
    }
    roff.control("SH", ["SEE ALSO"]);
    let above = name.rsplit_once('-').map(|(above, _)| above);
    let is_near = |other: &&String| {
        Some(other.as_str()) == above || other.rsplit_once('-').is_some_and(|(it, _)| it == name)
    };
    let near: Vec<&str> = all.iter().filter(is_near).map(String::as_str).collect();
    let near = if near.is_empty() { vec!["treering"] } else { near };
    let mut line = Vec::new();
    for (at, other) in near.iter().enumerate() {
        line.push(bold(*other));
        line.push(roman(if at + 1 == near.len() { "(1)" } else { "(1), " }));
    }
    roff.text(line);
    roff
}

#[cfg(test)]
mod tests {
    use super::{page, pages};
    use crate::arguments;

    #[test]
    fn every_command_and_every_imitated_tool_has_a_page_of_its_own() {
        let mut command =
            arguments::command(treering_registry::workloads()).disable_help_subcommand(true);
        command.build();
        let names: Vec<String> = pages(&command).map(|(name, _)| name).collect();
        for name in ["treering", "treering-list", "treering-run-fio", "treering-dataset-record"] {
            assert!(names.contains(&name.to_owned()), "{name} in {names:?}");
        }
        for workload in treering_registry::workloads()
            .iter()
            .filter(|workload| workload.manifest().has_classic())
        {
            let name = workload.manifest().name;
            assert!(names.contains(&format!("treering-{name}")), "{name}");
            let link = page(name, &arguments::as_link(*workload), &[]);
            let link = String::from_utf8(link).unwrap();
            assert!(link.contains("SH SYNOPSIS") && link.contains("treering\\fR(1)"), "{link}");
        }
        let mut unique = names.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), names.len(), "{names:?}");
    }
}
