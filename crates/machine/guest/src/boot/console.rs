//! The console of a guest: the text that the kernel wrote, and the lines of it that explain how
//! the boot ended.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

/// Bytes at the end that explanations are taken from.
const TAIL_BYTES: u64 = 16 << 10;
/// Bytes of a console that are kept from its beginning and from its end.
const KEPT_BYTES: u64 = 1 << 20;
/// Number of console lines quoted in messages.
const LINES: usize = 8;
/// Number of functions of a call trace that are quoted.
const FRAMES: usize = 12;

/// Text of the whole console, without control characters; the middle of a very long one is left
/// out.
pub(super) fn whole(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    if length <= 2 * KEPT_BYTES {
        return text_of(file, 0, length);
    }
    let left_out = length - 2 * KEPT_BYTES;
    let begin = text_of(file, 0, KEPT_BYTES);
    let end = text_of(file, length - KEPT_BYTES, KEPT_BYTES);
    format!("{begin}\n[{left_out} bytes are left out here]\n{end}")
}

/// End of the console or of the emulator's messages.
pub(super) fn tail(file: &mut File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    text_of(file, length.saturating_sub(TAIL_BYTES), TAIL_BYTES)
}

fn text_of(file: &mut File, begin: u64, length: u64) -> String {
    let mut bytes = Vec::new();
    let sought = file.seek(SeekFrom::Start(begin));
    if sought.and_then(|_| file.take(length).read_to_end(&mut bytes)).is_err() {
        return String::new();
    }
    let text = String::from_utf8_lossy(&bytes).replace('\r', "");
    text.chars().filter(|c| *c == '\n' || *c == '\t' || !c.is_control()).collect()
}

/// Explanation of an end: the kernel's own message first, then its call trace, or the last lines.
pub(super) fn explained(seen: &str, console: &str, errors: &str, memory_mib: u64) -> String {
    let line_with = |words: &str| {
        let line = console.lines().find(|line| line.contains(words))?;
        Some(line[line.find(words)?..].trim().to_owned())
    };
    let killed = line_with("Out of memory").or_else(|| line_with("out of memory"));
    let (reason, trace) = match (killed, line_with("Kernel panic")) {
        (Some(line), _) => {
            (format!("the guest ran out of its {memory_mib} MiB of memory: {line}"), Vec::new())
        }
        (None, Some(line)) => {
            let lines = [faults(console), vec![line]].concat().join(" | ");
            (format!("the kernel panicked: {lines}"), call_trace(console))
        }
        (None, None) => (seen.to_owned(), Vec::new()),
    };
    let reason = match errors.trim() {
        "" => reason,
        errors => format!("{reason}; QEMU said: {}", errors.replace('\n', " | ")),
    };
    if trace.is_empty() {
        return with_last_lines(&reason, console);
    }
    format!("{reason}; called by: {}", trace.join(" < "))
}

/// Kernel faults before a panic, with their location. Lines after the panic belong to its trigger,
/// such as a write to `/proc/sysrq-trigger`.
fn faults(console: &str) -> Vec<String> {
    let before = console.lines().take_while(|line| !line.contains("Kernel panic"));
    let first = |words: &str| {
        let line = before.clone().find(|line| line.contains(words))?;
        Some(line[line.find(words)?..].trim().to_owned())
    };
    let known = ["BUG: ", "Oops: ", "general protection fault", "RIP: "];
    known.into_iter().filter_map(first).collect()
}

/// Functions of the first call trace, innermost first, without those that only print it and those
/// that the kernel itself marks as uncertain (`?`).
fn call_trace(console: &str) -> Vec<&str> {
    let lines = console.lines().map(after_the_time);
    let trace = lines.skip_while(|line| !line.eq_ignore_ascii_case("call trace:")).skip(1);
    let frames = trace.map_while(|line| match line {
        "<TASK>" | "<IRQ>" | "</IRQ>" | "<NMI>" | "</NMI>" => Some(None),
        line if line.starts_with("? ") => Some(None),
        line => {
            let word = line.split_whitespace().next().unwrap_or_default();
            let (name, place) = word.split_once('+')?;
            place.starts_with("0x").then_some(Some(name))
        }
    });
    let prints =
        ["dump_stack", "dump_stack_lvl", "show_stack", "dump_backtrace", "panic", "vpanic"];
    frames.flatten().filter(|name| !prints.contains(name)).take(FRAMES).collect()
}

/// Line of the console without the time and the caller in brackets.
fn after_the_time(line: &str) -> &str {
    let mut rest = line.trim();
    while let Some((_, after)) = rest.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        rest = after.trim_start();
    }
    rest
}

/// Reason with the last lines of the console.
pub(super) fn with_last_lines(reason: &str, console: &str) -> String {
    let lines: Vec<&str> = console.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LINES)..];
    if last.is_empty() {
        return reason.to_owned();
    }
    format!("{reason}; the console said last: {}", last.join(" | "))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::{KEPT_BYTES, call_trace, explained, whole};

    #[test]
    fn failures_quote_the_first_kernel_fault() {
        let panic = "[1.0] Kernel panic - not syncing: VFS: no root\n[1.1] Call Trace:\n";
        let why = explained("QEMU ended", panic, "", 512);
        assert!(why.starts_with("the kernel panicked: Kernel panic - not syncing: VFS"), "{why}");
        assert!(why.ends_with("| [1.1] Call Trace:"), "{why}");
        // The registers of a program that asked for the panic follow it.
        let triggered = "[1.0] Kernel panic - not syncing: sysrq\n[1.0] RIP: 0033:0x4308f0\n";
        let why = explained("QEMU ended", triggered, "", 512);
        assert!(
            why.starts_with("the kernel panicked: Kernel panic - not syncing: sysrq;"),
            "{why}"
        );
        let fault = format!("[0.9] BUG: fault\n[0.9] RIP: 0010:sched_clock_cpu\n{triggered}");
        let why = explained("QEMU ended", &fault, "", 512);
        let begin = "the kernel panicked: BUG: fault | RIP: 0010:sched_clock_cpu | Kernel panic";
        assert!(why.starts_with(begin), "{why}");
        let memory = format!("[1.0] Out of memory: Killed process 1 (init)\n{panic}");
        let why = explained("QEMU ended", &memory, "", 512);
        assert!(why.starts_with("the guest ran out of its 512 MiB of memory: Out of"), "{why}");
        let why = explained("QEMU ended (signal: 9)", "", "qemu: no such drive\n", 512);
        assert_eq!(why, "QEMU ended (signal: 9); QEMU said: qemu: no such drive");
    }

    #[test]
    fn a_panic_is_told_with_its_call_trace_instead_of_the_registers() {
        let console = "\
[    2.100000] BUG: kernel NULL pointer dereference, address: 0000000000000008\n\
[    2.100100] RIP: 0010:ext4_mb_init+0x1b/0x40 [ext4]\n\
[    2.100200] RSP: 0018:ffffb2 EFLAGS: 00010246\n\
[    2.100300] Call Trace:\n\
[    2.100400]  <TASK>\n\
[    2.100500]  ? __die+0x23/0x70\n\
[    2.100600]  __ext4_fill_super+0x2c/0x3000 [ext4]\n\
[    2.100700][  T1]  get_tree_bdev+0x1b/0x2a0\n\
[    2.100800]  </TASK>\n\
[    2.100900] R13: 0000000000000000 R14: 0\n\
[    2.101000] Kernel panic - not syncing: Fatal exception\n";
        assert_eq!(call_trace(console), ["__ext4_fill_super", "get_tree_bdev"]);
        let why = explained("QEMU ended", console, "", 512);
        assert!(why.ends_with("; called by: __ext4_fill_super < get_tree_bdev"), "{why}");
        assert!(!why.contains("R13"), "{why}");
        let lower_case = "[ 1.0] Kernel panic - not syncing: no\n[ 1.0] Call trace:\n\
                   [ 1.0]  dump_backtrace+0x98/0xf0\n[ 1.0]  panic+0x1/0x2\n\
                   [ 1.0]  mount_root+0x10/0x20\n";
        assert_eq!(call_trace(lower_case), ["mount_root"]);
    }

    #[test]
    fn a_long_console_keeps_its_beginning_and_its_end() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"first line\r\n").unwrap();
        file.write_all(&vec![b'x'; 3 * usize::try_from(KEPT_BYTES).unwrap()]).unwrap();
        file.write_all(b"\nlast line\n").unwrap();
        let text = whole(&mut file);
        assert!(text.starts_with("first line\nxxx") && text.ends_with("\nlast line\n"));
        assert!(text.contains("bytes are left out here"), "{}", text.len());
    }
}
