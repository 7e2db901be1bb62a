//! cpio archives in `newc` format: written for initramfs images, read from RPM packages.

use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"070701";
const MAGIC_WITH_SUMS: &[u8] = b"070702";
const TRAILER: &str = "TRAILER!!!";
const HEADER_BYTES: usize = 110;
const NAME_BYTES_MAX: u64 = 4096;

const FILE: u32 = 0o100_000;
const DIRECTORY: u32 = 0o040_000;
const CHARACTER_DEVICE: u32 = 0o020_000;

/// Archive writer.
pub(crate) struct ArchiveWriter<W> {
    to: W,
    entries: u32,
}

impl<W: Write> ArchiveWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to, entries: 0 }
    }

    /// Adds a directory with mode 0755.
    pub(crate) fn directory(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, DIRECTORY | 0o755, (0, 0), &[])
    }

    /// Adds a regular file.
    pub(crate) fn file(&mut self, name: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.entry(name, FILE | mode, (0, 0), bytes)
    }

    /// Adds a character device.
    pub(crate) fn device(&mut self, name: &str, mode: u32, number: (u32, u32)) -> io::Result<()> {
        self.entry(name, CHARACTER_DEVICE | mode, number, &[])
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.entry(TRAILER, 0, (0, 0), &[])?;
        Ok(self.to)
    }

    fn entry(
        &mut self,
        name: &str,
        mode: u32,
        (major, minor): (u32, u32),
        bytes: &[u8],
    ) -> io::Result<()> {
        let too_long = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let size = u32::try_from(bytes.len()).map_err(too_long)?;
        let name_size = u32::try_from(name.len() + 1).map_err(too_long)?;
        self.entries += 1;
        // Header fields: inode, mode, owner, group, links, time, size, device, device number, name
        // size, checksum.
        let fields = [self.entries, mode, 0, 0, 1, 0, size, 0, 0, major, minor, name_size, 0];
        let mut header = MAGIC.to_vec();
        for field in fields {
            write!(header, "{field:08x}")?;
        }
        header.extend_from_slice(name.as_bytes());
        header.push(0);
        header.resize(header.len().next_multiple_of(4), 0);
        self.to.write_all(&header)?;
        self.to.write_all(bytes)?;
        self.to.write_all(&[0; 3][..padding(bytes.len() as u64)])
    }
}

fn padding(length: u64) -> usize {
    usize::try_from(length.next_multiple_of(4) - length).unwrap_or(0)
}

/// Callback for archive entries: name, mode and content, which need not be read completely.
pub(crate) type EntryVisitor<'v> = dyn FnMut(&str, u32, &mut dyn Read) -> io::Result<()> + 'v;

/// Reads an archive entry by entry.
pub(crate) fn read(mut from: impl Read, visit: &mut EntryVisitor<'_>) -> io::Result<()> {
    loop {
        let mut header = [0; HEADER_BYTES];
        from.read_exact(&mut header)?;
        if !header.starts_with(MAGIC) && !header.starts_with(MAGIC_WITH_SUMS) {
            return Err(damaged("an entry of its cpio archive does not begin as one"));
        }
        let field = |number: usize| -> io::Result<u64> {
            let digits = &header[6 + number * 8..14 + number * 8];
            let text = std::str::from_utf8(digits).ok().filter(|text| !text.starts_with('+'));
            text.and_then(|text| u32::from_str_radix(text, 16).ok())
                .map(u64::from)
                .ok_or_else(|| damaged("an entry of its cpio archive has no numbers"))
        };
        let (mode, size, name_size) = (field(1)?, field(6)?, field(11)?);
        if name_size == 0 || name_size > NAME_BYTES_MAX {
            return Err(damaged("an entry of its cpio archive has a name of impossible length"));
        }
        let padded = (HEADER_BYTES as u64 + name_size).next_multiple_of(4) - HEADER_BYTES as u64;
        let mut name = Vec::new();
        from.by_ref().take(padded).read_to_end(&mut name)?;
        let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
        let name = String::from_utf8_lossy(&name[..end]).into_owned();
        if name == TRAILER {
            return Ok(());
        }
        let mut content = from.by_ref().take(size);
        visit(&name, u32::try_from(mode).unwrap_or(0), &mut content)?;
        io::copy(&mut content, &mut io::sink())?;
        if content.limit() > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        io::copy(&mut from.by_ref().take(padding(size) as u64), &mut io::sink())?;
    }
}

/// Reports whether a mode is that of a regular file.
pub(crate) fn is_file(mode: u32) -> bool {
    mode & 0o170_000 == FILE
}

fn damaged(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}

#[cfg(test)]
mod tests {
    use super::{ArchiveWriter, is_file, read};
    use proptest::prelude::*;

    #[test]
    fn written_archives_are_read_back() {
        let mut writer = ArchiveWriter::new(Vec::new());
        writer.directory("dev").unwrap();
        writer.device("dev/console", 0o600, (5, 1)).unwrap();
        writer.file("init", 0o755, b"hello").unwrap();
        writer.file("empty", 0o644, b"").unwrap();
        let archive = writer.finish().unwrap();
        assert_eq!(archive.len() % 4, 0);
        let mut seen = Vec::new();
        read(archive.as_slice(), &mut |name, mode, content| {
            let mut text = String::new();
            content.read_to_string(&mut text)?;
            seen.push((name.to_owned(), is_file(mode), text));
            Ok(())
        })
        .unwrap();
        let entry = |name: &str, file, text: &str| (name.to_owned(), file, text.to_owned());
        let expected = [
            entry("dev", false, ""),
            entry("dev/console", false, ""),
            entry("init", true, "hello"),
            entry("empty", true, ""),
        ];
        assert_eq!(seen, expected);
    }

    #[test]
    fn archives_are_readable_by_cpio() {
        let mut writer = ArchiveWriter::new(Vec::new());
        writer.directory("a").unwrap();
        writer.file("a/b", 0o600, b"content").unwrap();
        let archive = writer.finish().unwrap();
        let Ok(mut child) = std::process::Command::new("cpio")
            .args(["-t", "--quiet"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
        else {
            treering_testkit::skip("cpio is not installed");
            return;
        };
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &archive).unwrap();
        let listed = child.wait_with_output().unwrap();
        assert_eq!(String::from_utf8_lossy(&listed.stdout), "a\na/b\n");
    }

    #[test]
    fn truncated_archives_are_rejected() {
        let mut writer = ArchiveWriter::new(Vec::new());
        writer.file("init", 0o755, &[7; 1000]).unwrap();
        let archive = writer.finish().unwrap();
        for length in [0, 5, 109, 115, 600] {
            assert!(read(&archive[..length], &mut |_, _, _| Ok(())).is_err(), "{length}");
        }
    }

    proptest! {
        #[test]
        fn arbitrary_headers_do_not_panic(digits in "[0-9a-f+ ]{104}", rest in "[a-z]{0,64}") {
            let bytes = format!("070701{digits}{rest}");
            let _ = read(bytes.as_bytes(), &mut |_, _, _| Ok(()));
        }
    }
}
