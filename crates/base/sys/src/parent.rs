//! Programs that end with us: whatever ends this process, they do not go on alone.
#![expect(unsafe_code, reason = "something is done between fork and exec")]

use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::Errno;
use rustix::process::{Signal, getpid, getppid, set_parent_process_death_signal};

/// Lets the kernel kill the program when the thread that starts it ends, by SIGKILL too.
pub fn end_with_parent(command: &mut Command) -> &mut Command {
    let parent = getpid();
    let before_exec = move || {
        set_parent_process_death_signal(Some(Signal::KILL))?;
        // The parent may have ended just before.
        if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: between fork and exec only two system calls are made; nothing allocates or locks.
    unsafe { command.pre_exec(before_exec) }
}

#[cfg(test)]
mod tests {
    use super::end_with_parent;
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
}
