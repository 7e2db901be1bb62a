//! The lab on real devices: loop images made by these tests, and nothing else of the machine.
//!
//! `signatures`: what real tools write is known, `wiped`: also when its beginning is lost.
//! `guarding`: what is in use or carries something is refused, what is named is erased. `rounds`:
//! acquire, format, mount, remount, release. `killed`: what SIGKILL leaves is listed and freed.
//! `unmounted`: filesystems of the user's that a kill leaves unmounted. `making`: each mkfs as the
//! lab calls it.
//! Without root each says that it is skipped.
#![expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod guarding;
mod killed;
mod making;
mod rounds;
mod signatures;
mod unmounted;
mod wiped;
mod workbench;
