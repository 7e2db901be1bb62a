//! `treering links`: creates links with the names of the imitated tools to the running treering.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::arguments::LinksArgs;
use crate::classic_output::print_line;
use crate::failure::{Failure, Kind};

/// Link target that always counts as treering, whatever the running executable is called.
const USUAL_NAME: &str = "treering";

/// State of the path of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LinkState {
    Nothing,
    /// The link exists already.
    TheLink,
    /// A link to this treering by another path, to another treering, or a dangling link to one.
    AnotherLink,
    /// A file or link that does not belong to treering.
    Foreign,
}

/// Makes the links, or with --dry-run prints them.
pub(crate) fn run(args: &LinksArgs) -> Result<ExitCode, Failure> {
    let dir = &args.dir;
    dir.read_dir().map_err(|error| {
        Failure::of_path(dir, &error).hint("name an existing directory for the links")
    })?;
    let failed = |path: &Path, error| Failure::of(Kind::Environment, &at(path, error));
    let running =
        std::env::current_exe().and_then(|path| path.canonicalize()).map_err(|error| {
            Failure::environment(format!("cannot find the running executable: {error}"))
        })?;
    let target = target(&running, dir).map_err(|error| failed(dir, error))?;
    let mut foreign = Vec::new();
    for workload in
        treering_registry::workloads().iter().filter(|workload| workload.manifest().has_classic())
    {
        let path = dir.join(workload.manifest().name);
        let state = examine(&path, &target, &running).map_err(|error| failed(&path, error))?;
        let link = format!("{} -> {}", path.display(), target.display());
        if !args.dry_run {
            make(&path, &target, state).map_err(|error| failed(&path, error))?;
        }
        match (state, args.dry_run) {
            (LinkState::Foreign, _) => foreign.push(path.display().to_string()),
            (LinkState::TheLink, _) => print_line(&format!("{link} (exists)")),
            (LinkState::Nothing, true) => print_line(&format!("would make {link}")),
            (LinkState::AnotherLink, true) => print_line(&format!("would replace {link}")),
            (LinkState::Nothing, false) => print_line(&link),
            (LinkState::AnotherLink, false) => print_line(&format!("{link} (replaced)")),
        }
    }
    if foreign.is_empty() {
        print_line("man pages under these names: `treering man --links DIR`");
        return Ok(ExitCode::SUCCESS);
    }
    let what =
        format!("left as it is, because it is not a link to treering: {}", foreign.join(", "));
    Err(Failure::environment(what).hint("name another directory, or remove it first"))
}

/// Target of a link in `dir`: the executable's name if both are in one directory, else its path.
fn target(running: &Path, dir: &Path) -> io::Result<PathBuf> {
    let is_beside = running.parent() == Some(&*dir.canonicalize()?);
    let name = running.file_name().filter(|_| is_beside);
    Ok(name.map_or_else(|| running.to_owned(), PathBuf::from))
}

fn examine(path: &Path, target: &Path, running: &Path) -> io::Result<LinkState> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(LinkState::Nothing),
        Ok(metadata) if !metadata.is_symlink() => return Ok(LinkState::Foreign),
        other => other?,
    };
    let present = fs::read_link(path)?;
    if present == target {
        return Ok(LinkState::TheLink);
    }
    let is_named_so = present
        .file_name()
        .is_some_and(|name| name == USUAL_NAME || Some(name) == running.file_name());
    let leads_here = path.canonicalize().is_ok_and(|end| end == running);
    Ok(if is_named_so || leads_here { LinkState::AnotherLink } else { LinkState::Foreign })
}

/// Creates a link if the path is free, or replaces another link to treering.
fn make(path: &Path, target: &Path, state: LinkState) -> io::Result<()> {
    match state {
        LinkState::Nothing => symlink(target, path),
        LinkState::AnotherLink => {
            // The link is replaced atomically, so that the name never vanishes.
            let mut name = path.file_name().unwrap_or_default().to_owned();
            name.push(format!(".{}", std::process::id()));
            let new = path.with_file_name(name);
            symlink(target, &new)?;
            fs::rename(&new, path).inspect_err(|_| {
                let _already_failed = fs::remove_file(&new);
            })
        }
        LinkState::TheLink | LinkState::Foreign => Ok(()),
    }
}

/// Adds the path to the error.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
