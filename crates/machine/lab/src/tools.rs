//! Programs of the machine: search path, and runs with captured output.
//!
//! No shell is involved: each option is a separate argument.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use treering_sys::end_with_parent;

/// System folders of programs, searched also when the user's `PATH` lacks them.
const SYSTEM_FOLDERS: [&str; 6] =
    ["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];
/// Maximum captured output of a program, in bytes; the rest is dropped.
const OUTPUT_BYTES_MAX: usize = 64 << 10;

/// Folders in which programs are searched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolPath {
    folders: Vec<PathBuf>,
}

impl ToolPath {
    /// Folders of a `PATH`, then the system folders. Relative folders are left out.
    pub(crate) fn new(path: &OsStr) -> Self {
        let pieces = path.as_bytes().split(|&byte| byte == b':');
        let user_folders = pieces.map(|piece| PathBuf::from(OsString::from_vec(piece.to_vec())));
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in user_folders.chain(SYSTEM_FOLDERS.iter().map(PathBuf::from)) {
            if folder.is_absolute() && !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        Self { folders }
    }

    /// Path of the first executable file with this name.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        let places = self.folders.iter().map(|folder| folder.join(program));
        let mut programs = places.filter(|path| {
            path.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
        });
        programs.next()
    }
}

/// Command with which treering starts itself to play a disk; the disk description is appended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SelfExec {
    pub(crate) program: PathBuf,
    pub(crate) arguments: Vec<OsString>,
}

impl Default for SelfExec {
    fn default() -> Self {
        // This path works even if the executable file has been replaced.
        let program = PathBuf::from("/proc/self/exe");
        Self { program, arguments: ["lab", "play"].map(OsString::from).to_vec() }
    }
}

/// Result of running a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ToolRun {
    /// Command line, one element per argument.
    pub(crate) command: Vec<String>,
    /// Standard output, then standard error, as a terminal would show them.
    pub(crate) output: String,
    /// Exit status in words; `None` for success.
    pub(crate) failure: Option<String>,
}

/// Runs a program in `folder` to its end, without input and in the C locale. The program is killed
/// if this process ends first.
///
/// # Errors
/// When the program cannot be started.
pub(crate) fn run(program: &Path, arguments: &[OsString], folder: &Path) -> io::Result<ToolRun> {
    run_with(program, arguments, folder, &[])
}

/// Runs a program as [`run`] does, with more environment variables, given as (name, value).
///
/// # Errors
/// When the program cannot be started.
pub(crate) fn run_with(
    program: &Path,
    arguments: &[OsString],
    folder: &Path,
    environment: &[(String, String)],
) -> io::Result<ToolRun> {
    let mut command = Command::new(program);
    end_with_parent(&mut command)
        .args(arguments)
        .current_dir(folder)
        .env("LC_ALL", "C")
        // mkfs.btrfs and others would use colours or a pager on a terminal.
        .env("TERM", "dumb")
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null());
    let finished = command.output()?;
    let mut output = finished.stdout;
    if !output.is_empty() && !output.ends_with(b"\n") && !finished.stderr.is_empty() {
        output.push(b'\n');
    }
    output.extend(finished.stderr);
    output.truncate(OUTPUT_BYTES_MAX);
    let words =
        std::iter::once(program.as_os_str()).chain(arguments.iter().map(OsString::as_os_str));
    Ok(ToolRun {
        command: words.map(|word| word.to_string_lossy().into_owned()).collect(),
        output: terminal_text(&String::from_utf8_lossy(&output)),
        failure: (!finished.status.success()).then(|| finished.status.to_string()),
    })
}

/// Text as left on a terminal: without progress that backspaces or carriage returns have
/// overwritten, and without trailing blanks.
fn terminal_text(written: &str) -> String {
    let mut text = String::with_capacity(written.len());
    for line in written.split_inclusive('\n') {
        let mut shown: Vec<char> = Vec::new();
        let mut place: usize = 0;
        for letter in line.trim_end_matches(['\n', '\r']).chars() {
            match letter {
                '\u{8}' => place = place.saturating_sub(1),
                '\r' => place = 0,
                letter => {
                    match shown.get_mut(place) {
                        Some(under) => *under = letter,
                        None => shown.push(letter),
                    }
                    place += 1;
                }
            }
        }
        text.push_str(shown.into_iter().collect::<String>().trim_end());
        if line.ends_with('\n') {
            text.push('\n');
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{ToolPath, run, terminal_text};
    use std::ffi::{OsStr, OsString};
    use std::os::unix::fs::PermissionsExt;
    use std::path::Path;

    #[test]
    fn programs_are_found_in_order_and_must_be_executable() {
        let top = tempfile::tempdir().unwrap();
        let path = format!("relative::{}:.", top.path().display());
        let tools = ToolPath::new(OsStr::new(&path));
        let file = top.path().join("sh");
        std::fs::write(&file, "").unwrap();
        assert!(tools.find("sh").is_some_and(|tool| tool != file));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(tools.find("sh"), Some(file));
        assert_eq!(tools.find("no-such-program-at-all"), None);
    }

    #[test]
    fn a_program_gets_its_arguments_unchanged_and_its_output_is_kept() {
        let shell = ToolPath::new(OsStr::new("")).find("sh").unwrap();
        let script = "printf '%s|' \"$@\"; pwd >&2; exit 3";
        let arguments = ["-c", script, "sh", "a b;", "$(c)"].map(OsString::from);
        let done = run(&shell, &arguments, Path::new("/")).unwrap();
        assert_eq!(done.output, "a b;|$(c)|\n/\n");
        assert!(done.failure.unwrap().contains('3'));
        assert_eq!(done.command.len(), 6);
        assert!(run(Path::new("/no/such/program"), &[], Path::new("/")).is_err());
    }

    #[test]
    fn overwritten_progress_lines_are_dropped_from_output() {
        let written = "Allocating: 0/8\u{8}\u{8}\u{8}   \u{8}\u{8}\u{8}done    \n\u{8}1%\r99%\nend";
        assert_eq!(terminal_text(written), "Allocating: done\n99%\nend");
        assert_eq!(terminal_text("\u{8}\u{8}a\u{8}\r\n\n"), "a\n\n");
    }

    #[test]
    fn long_output_of_a_program_is_truncated() {
        let shell = ToolPath::new(OsStr::new("")).find("sh").unwrap();
        let script = "while printf '%01000d' 0; do i=$((i+1)); test $i -lt 100 || exit 0; done";
        let done = run(&shell, &["-c", script].map(OsString::from), Path::new("/")).unwrap();
        assert_eq!((done.output.len(), done.failure), (64 << 10, None));
    }
}
