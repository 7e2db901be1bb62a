//! Errors of workers that cannot be started, with the limit that was met and how to raise it.

use std::io;

use treering_sys::{Errno, ThreadLimits, thread_limits};

use crate::EngineError;

/// Error for worker `worker`, counted from 0, of `of` workers, whose thread or process the kernel
/// refused.
pub(crate) fn cannot_start(worker: usize, of: usize, source: io::Error) -> EngineError {
    let is_at_limit = source.raw_os_error() == Some(Errno::AGAIN.raw_os_error());
    let source = if is_at_limit {
        io::Error::new(source.kind(), at_limit(of, &source, thread_limits()))
    } else {
        source
    };
    EngineError::Start { worker, source }
}

fn at_limit(of: usize, source: &io::Error, limits: ThreadLimits) -> String {
    let ThreadLimits { user, group, machine } = limits;
    let known: Vec<String> = [
        user.map(|most| format!("{most} of this user (`ulimit -u`)")),
        group.map(|most| format!("{most} of its control group (`pids.max`, systemd's `TasksMax`)")),
        machine.map(|most| format!("{most} of the machine (`sysctl kernel.threads-max`)")),
    ]
    .into_iter()
    .flatten()
    .collect();
    let limits = if known.is_empty() { "unknown".to_owned() } else { known.join(", ") };
    format!(
        "{source}; the run needs {of} threads or processes at once, and the limits are: {limits}; \
         raise the one that is met, or use fewer workers"
    )
}

#[cfg(test)]
mod tests {
    use std::io;

    use treering_sys::{Errno, ThreadLimits};

    use super::{at_limit, cannot_start};

    #[test]
    fn a_process_limit_is_named_with_advice() {
        let refused = || io::Error::from(Errno::AGAIN);
        let limits = ThreadLimits { user: Some(50), group: Some(7), machine: None };
        let text = at_limit(400, &refused(), limits);
        for part in ["needs 400 threads", "50 of this user (`ulimit -u`)", "7 of its control group"]
        {
            assert!(text.contains(part), "{text}");
        }
        let text = cannot_start(49, 400, refused()).to_string();
        assert!(text.starts_with("worker 49 cannot be started: Resource"), "{text}");
        let other = cannot_start(0, 1, io::Error::other("why")).to_string();
        assert_eq!(other, "worker 0 cannot be started: why");
    }
}
