//! Panics of this process and of its forked children. They are counted in shared memory, so that
//! the exit code of the parent can reflect a panic in a child.

use std::panic::{PanicHookInfo, set_hook, take_hook};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Once, OnceLock};

use super::shared::SharedValue;

/// Number of panics, once counting has begun.
static PANICS: OnceLock<SharedValue<AtomicI32>> = OnceLock::new();

/// True in a forked child.
static IS_CHILD: AtomicBool = AtomicBool::new(false);

/// Counts each panic from now on; those of this process are also passed to `report`.
pub fn report_panics(report: fn(&PanicHookInfo<'_>)) {
    PANICS.get_or_init(SharedValue::number);
    set_hook(Box::new(move |panic| {
        count();
        if !IS_CHILD.load(Ordering::Relaxed) {
            report(panic);
        }
    }));
}

/// Returns true if this process or a forked child has panicked since counting began.
pub fn has_panicked() -> bool {
    PANICS.get().is_some_and(|panics| panics.load(Ordering::Relaxed) > 0)
}

fn count() {
    if let Some(panics) = PANICS.get() {
        panics.fetch_add(1, Ordering::Relaxed);
    }
}

/// Silences panics of children: printing would need a lock that another thread of the parent may
/// have held at the fork. Setting the hook in the child would need one as well, so it is set here,
/// once.
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

/// Marks this process as a child, whose panics are silent.
pub(super) fn silence_child() {
    IS_CHILD.store(true, Ordering::Relaxed);
}
