//! Tests of the lab on real devices: loop images made by these tests, and no other devices of the
//! machine.
//!
//! `signatures`: formats made by real tools are recognised; `wiped`: even without their beginning.
//! `guarding`: devices in use or with content are refused, named ones are erased. `rounds`:
//! acquire, format, mount, remount, release. `layers`: layers between a device and its filesystem.
//! `killed`: leftovers of SIGKILL are listed and released. `unmounted`: user filesystems that a
//! kill leaves unmounted. `making`: each mkfs as the lab calls it. `rehearsing`: options are tried
//! before anything is measured. Without root each test prints that it is skipped.
#![expect(clippy::disallowed_macros, reason = "a test that must be skipped says so")]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod guarding;
mod killed;
mod layers;
mod making;
mod rehearsing;
mod rounds;
mod second_device;
mod signatures;
mod unmounted;
mod wiped;
mod workbench;
