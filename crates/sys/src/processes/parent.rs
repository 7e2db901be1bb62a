//! Child programs that end together with this process.
#![expect(unsafe_code, reason = "something is done between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::{Child, Command};

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, getpid, getppid, kill_process, kill_process_group, set_parent_process_death_signal,
};

/// Has the kernel send SIGKILL to the program when the thread that starts it ends.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    signal_with_parent(command, Signal::KILL)
}

/// Has the kernel send SIGTERM instead, for a program that ends its own children. The program gets
/// a process group of its own, out of reach of terminal signals.
pub fn leave_with_parent(command: &mut Command) -> &mut Command {
    signal_with_parent(command.process_group(0), Signal::TERM)
}

/// Sends SIGINT to a program.
pub fn interrupt(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ended_already = pid.map(|pid| kill_process(pid, Signal::INT));
}

/// Sends SIGTERM to a program; a stopped one is continued, as it could not handle the signal
/// otherwise.
pub fn terminate(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    for signal in [Signal::TERM, Signal::CONT] {
        let _ended_already = pid.map(|pid| kill_process(pid, signal));
    }
}

/// Sends SIGTERM to a program started with [`leave_with_parent`] and its process group.
pub fn terminate_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ended_already = pid.map(|pid| kill_process_group(pid, Signal::TERM));
}

/// Kills a program started with [`leave_with_parent`] and its process group.
pub fn kill_group(child: &Child) {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ended_already = pid.map(|pid| kill_process_group(pid, Signal::KILL));
}

fn signal_with_parent(command: &mut Command, signal: Signal) -> &mut Command {
    let parent = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(signal))?;
        // The parent may have ended before the signal was set.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only two system calls are made; no allocation, no locks.
    unsafe { command.pre_exec(before_exec) }
}

/// Gives the program mounts of its own, all of them read-only: what it serves to others cannot be
/// written, whatever they ask for. Needs root, and Linux 5.12.
pub fn with_read_only_mounts(command: &mut Command) -> &mut Command {
    let before_exec = || {
        let is_done = |result: libc::c_long| match result {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        };
        // SAFETY: the calls get valid pointers to constants, and change this process alone.
        unsafe {
            is_done(libc::unshare(libc::CLONE_NEWNS).into())?;
            let (top, none) = (c"/".as_ptr(), std::ptr::null());
            let private = libc::MS_REC | libc::MS_PRIVATE;
            is_done(libc::mount(none, top, none, private, none.cast()).into())?;
            let read_only = libc::mount_attr {
                attr_set: libc::MOUNT_ATTR_RDONLY,
                attr_clr: 0,
                propagation: 0,
                userns_fd: 0,
            };
            is_done(libc::syscall(
                libc::SYS_mount_setattr,
                libc::AT_FDCWD,
                top,
                libc::AT_RECURSIVE,
                &raw const read_only,
                size_of::<libc::mount_attr>(),
            ))
        }
    };
    // SAFETY: between fork and exec only system calls are made; no allocation, no locks.
    unsafe { command.pre_exec(before_exec) }
}

#[cfg(test)]
#[expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
mod tests {
    use super::{end_with_parent, interrupt, leave_with_parent, terminate, with_read_only_mounts};
    use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let start = || {
            let mut command = Command::new("sleep");
            end_with_parent(command.arg("60").stdin(Stdio::null())).spawn().unwrap()
        };
        let mut child = std::thread::spawn(start).join().unwrap();
        let began = Instant::now();
        assert!(!child.wait().unwrap().success());
        assert!(began.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn interrupted_programs_can_handle_the_signal() {
        let script = "trap 'echo reported; exit 7' INT; echo there; while :; do sleep 0.01; done";
        // A shell cannot trap what was ignored when it started.
        let mut command = Command::new("env");
        let command = command.args(["--default-signal", "sh", "-c", script]).stdout(Stdio::piped());
        let mut child = leave_with_parent(command).spawn().unwrap();
        let mut output = std::io::BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "there\n");
        interrupt(&child);
        assert_eq!(child.wait().unwrap().code(), Some(7));
        std::io::BufRead::read_line(&mut output, &mut line).unwrap();
        assert_eq!(line, "there\nreported\n");
    }

    #[test]
    fn mounts_of_a_program_can_be_read_only() {
        if !crate::is_root() {
            println!("skipped: only root has mounts of its own");
            return;
        }
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("file");
        let mut command = Command::new("touch");
        let written = with_read_only_mounts(command.arg(&file).stderr(Stdio::null())).status();
        assert!(!written.unwrap().success() && !file.exists());
        std::fs::write(&file, "").unwrap();
    }

    #[test]
    fn a_stopped_program_that_is_asked_to_end_ends() {
        let mut command = Command::new("sleep");
        let mut child = leave_with_parent(command.arg("60").stdin(Stdio::null())).spawn().unwrap();
        let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let (_, status) = waitpid(Some(pid), WaitOptions::UNTRACED).unwrap().unwrap();
        assert!(status.stopped());
        terminate(&child);
        assert!(!child.wait().unwrap().success());
    }
}
