//! Tests of calls by whole paths: permitted names, and paths that begin at the target.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use tempfile::tempdir;
use treering_engine::{Caller as _, Payload, PayloadKind, SyncCaller, Target};
use treering_script::{Call, CallSubject, CreateHow, DirSlot, Errno, FileSlot, OpenHow};

fn caller(target: &Target) -> SyncCaller {
    let payload = Payload::new(PayloadKind::Classic, 0);
    let caller = SyncCaller::new(target.dir(), target.confinement(), payload).unwrap();
    caller.named(target.user_path())
}

const ITEMS: DirSlot = DirSlot(1);

#[test]
fn whole_paths_start_with_the_path_as_typed() {
    let place = tempdir().unwrap();
    fs::create_dir_all(place.path().join("real/test")).unwrap();
    symlink("real", place.path().join("called")).unwrap();
    let user_path = place.path().join("called");
    let mut caller = caller(&Target::open(&user_path).unwrap());
    caller.by_whole_paths(true).unwrap();
    let opened = caller.call(&Call::OpenDir { at: DirSlot::TARGET, path: c"test", into: ITEMS });
    assert_eq!(opened.unwrap().calls, 0, "nothing is asked of the kernel");
    let (how, file) = (CreateHow::OrOpen, FileSlot(0));
    caller.call(&Call::MakeDir { at: ITEMS, name: c"dir" }).unwrap();
    caller.call(&Call::MakePrivateDir { at: ITEMS, name: c"own" }).unwrap();
    let own = fs::metadata(place.path().join("real/test/own")).unwrap();
    assert_eq!(own.permissions().mode() & 0o777, 0o700);
    caller.call(&Call::Create { at: ITEMS, path: c"file", how, into: file }).unwrap();
    caller.call(&Call::Close { file }).unwrap();
    caller.call(&Call::Stat { at: ITEMS, name: c"file" }).unwrap();
    let rename = Call::Rename { at: ITEMS, from: c"file", to_at: DirSlot::TARGET, to: c"other" };
    caller.call(&rename).unwrap();
    assert!(place.path().join("real/other").is_file());
    let missing = Call::Open { at: ITEMS, path: c"file", how: OpenHow::Read, into: file };
    assert_eq!(caller.call(&missing).unwrap_err().errno, Errno::NOENT);
    assert_eq!(caller.path_of(CallSubject::Below(ITEMS, c"file")), user_path.join("test/file"));
    caller.call(&Call::Unlink { at: DirSlot::TARGET, path: c"other" }).unwrap();
    for name in [c"dir", c"own"] {
        caller.call(&Call::RemoveDir { at: ITEMS, name }).unwrap();
    }
    assert_eq!(fs::read_dir(place.path().join("real/test")).unwrap().count(), 0);
}

#[test]
fn whole_paths_do_not_escape_or_follow_links() {
    let (place, outside) = (tempdir().unwrap(), tempdir().unwrap());
    let victim = outside.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    symlink(&victim, place.path().join("link")).unwrap();
    let mut caller = caller(&Target::open(place.path()).unwrap());
    caller.by_whole_paths(true).unwrap();
    let (how, into) = (CreateHow::Truncate, FileSlot(0));
    let at = DirSlot::TARGET;
    let create = caller.call(&Call::Create { at, path: c"link", how, into });
    assert_eq!(create.unwrap_err().errno, Errno::LOOP);
    for path in [c"..", c"../new", c"/new", c""] {
        for call in [
            Call::Create { at, path, how, into },
            Call::MakeDir { at, name: path },
            Call::Unlink { at, path },
            Call::OpenDir { at, path, into: ITEMS },
        ] {
            assert_eq!(caller.call(&call).unwrap_err().errno, Errno::XDEV, "{call:?}");
        }
    }
    assert_eq!(fs::read(victim).unwrap(), b"precious");
}

#[test]
fn whole_paths_are_refused_when_the_typed_path_was_replaced() {
    let place = tempdir().unwrap();
    let user_path = place.path().join("target");
    fs::create_dir(&user_path).unwrap();
    let mut caller = caller(&Target::open(&user_path).unwrap());
    caller.by_whole_paths(true).unwrap();
    fs::rename(&user_path, place.path().join("moved")).unwrap();
    fs::create_dir(&user_path).unwrap();
    let error = caller.by_whole_paths(true).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::STALE.raw_os_error()));
    // Without whole paths the target is the directory, whatever it is called.
    caller.by_whole_paths(false).unwrap();
    caller.call(&Call::MakeDir { at: DirSlot::TARGET, name: c"sub" }).unwrap();
    assert!(place.path().join("moved/sub").is_dir());
}
