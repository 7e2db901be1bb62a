//! Anonymous files in memory, for inputs and outputs of programs.

use std::fs::File;
use std::io;

use rustix::fs::{MemfdFlags, memfd_create};

/// Creates an empty file in memory. It ends with its last descriptor and is not inherited by
/// programs unless passed explicitly. `name` is only visible in `/proc`.
///
/// # Errors
/// As `memfd_create`.
pub fn memory_file(name: &str) -> io::Result<File> {
    Ok(File::from(memfd_create(name, MemfdFlags::CLOEXEC)?))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, SeekFrom, Write};

    use super::memory_file;

    #[test]
    fn written_bytes_are_read_back() {
        let mut file = memory_file("test").unwrap();
        file.write_all(b"some").unwrap();
        file.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "some");
    }
}
