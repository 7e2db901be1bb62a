//! Programs of the host with the libraries that they need, for a guest that has none.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::elf::{interpreter, is_elf};
use crate::unpack::read_all;
use crate::{ExtraFile, GuestError};

/// Limit of the size of a program or library in bytes.
const BYTES_MAX: u64 = 64 << 20;
/// List of the libraries of the host, from which the loader learns their folders.
const CACHE: &str = "/etc/ld.so.cache";

/// Reads a program with its loader and libraries, as files with the paths that they have here.
///
/// # Errors
/// If one cannot be read, or the loader cannot list them.
pub fn with_libraries(program: &Path) -> Result<Vec<ExtraFile>, GuestError> {
    let own = file(program, program)?;
    let refused = |why: String| GuestError::Program { path: program.to_owned(), why };
    if !is_elf(&own.bytes) {
        return Err(refused("it is not a program for this kind of machine".to_owned()));
    }
    let Some(loader) = interpreter(&own.bytes).map(PathBuf::from) else { return Ok(vec![own]) };
    let listed = Command::new(&loader).arg("--list").arg(program).output();
    let listed = listed.map_err(GuestError::io("cannot run", &loader))?;
    if !listed.status.success() {
        let why = String::from_utf8_lossy(&listed.stderr).trim().to_owned();
        return Err(refused(format!("its libraries cannot be listed: {why}")));
    }
    let mut files = vec![file(&loader, &loader)?];
    for library in libraries(&String::from_utf8_lossy(&listed.stdout)) {
        files.push(file(&library, &library)?);
    }
    files.extend(
        Path::new(CACHE).exists().then(|| file(CACHE.as_ref(), CACHE.as_ref())).transpose()?,
    );
    files.push(own);
    Ok(files)
}

/// Reads a file that has this path in the guest.
fn file(path: &Path, inside: &Path) -> Result<ExtraFile, GuestError> {
    let opened = std::fs::File::open(path).map_err(GuestError::io("cannot open", path))?;
    let bytes = read_all(opened, BYTES_MAX).map_err(GuestError::io("cannot read", path))?;
    let path = inside.to_string_lossy().into_owned();
    Ok(ExtraFile { path, bytes, is_program: true })
}

/// Paths in the list of a loader: `libc.so.6 => /lib/libc.so.6 (0x0000)`.
fn libraries(listed: &str) -> Vec<PathBuf> {
    let path = |line: &str| {
        let target = line.split_once("=>").map_or(line, |(_, target)| target);
        let target = target.trim().split(" (").next().unwrap_or_default();
        target.starts_with('/').then(|| PathBuf::from(target))
    };
    listed.lines().filter_map(path).collect()
}

#[cfg(test)]
mod tests {
    use super::{libraries, with_libraries};
    use std::path::{Path, PathBuf};

    #[test]
    fn libraries_are_read_from_the_list_of_a_loader() {
        let listed = "\tlinux-vdso.so.1 (0x00007ffc)\n\tlibext2fs.so.2 => /lib/x86/libext2fs.so.2 \
                      (0x00007f)\n\tlibc.so.6 => not found\n\t/lib64/ld-linux.so.2 (0x00007f)\n";
        let expected = ["/lib/x86/libext2fs.so.2", "/lib64/ld-linux.so.2"].map(PathBuf::from);
        assert_eq!(libraries(listed), expected);
    }

    #[test]
    fn a_program_comes_with_its_loader_and_libraries() {
        let shell = Path::new("/bin/sh");
        let files = with_libraries(shell).unwrap();
        assert!(files.iter().any(|file| file.path == "/bin/sh" && file.is_program));
        assert!(files.len() == 1 || files.iter().any(|file| file.path.contains("libc")));
        assert!(with_libraries(Path::new("/etc/passwd")).is_err());
    }
}
