//! Panics of this process and of the processes that it forks. They are counted in shared memory, so
//! that the exit code of the parent can tell of a panic in a child.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Once, OnceLock};

use super::shared::SharedValue;

/// The number of panics, where they are counted.
static PANICS: OnceLock<SharedValue<AtomicI32>> = OnceLock::new();

/// Set in a process that this one forked.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Counts each panic from now on, and has those of this process reported.
pub fn report_panics(report: fn(&PanicHookInfo<'_>)) {
    PANICS.get_or_init(SharedValue::number);
    set_hook(Box::new(move |panic| {
        count();
        if !IS_CHILD.load(Ordering::Relaxed) {
            report(panic);
        }
    }));
}

/// Returns true if this process or one that it forked has panicked since panics are counted.
pub fn has_panicked() -> bool {
    PANICS.get().is_some_and(|panics| panics.load(Ordering::Relaxed) > 0)
}

fn count() {
    if let Some(panics) = PANICS.get() {
        panics.fetch_add(1, Ordering::Relaxed);
    }
}

/// Lets a panic of a child say nothing: its words would need a lock that another thread of the
/// parent may have held at the fork. So would setting the hook in the child: it is set here, once.
pub(super) fn silence_children() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // The hook of `report_panics` is silent in children already.
        if PANICS.get().is_some() {
            return;
        }
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_CHILD.load(Ordering::Relaxed) {
                before(panic);
            }
        }));
    });
}

/// Marks this process as a child, whose panics say nothing.
pub(super) fn silence_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}
