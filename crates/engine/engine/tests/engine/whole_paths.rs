//! Tests of calls by whole paths: what they may do, and that the paths begin at the target.

use std::fs;
use std::os::unix::fs::symlink;

use tempfile::tempdir;
use treering_engine::{Caller as _, Payload, PayloadKind, SyncCaller, Target};
use treering_script::{Call, CallSubject, CreateHow, DirSlot, Errno, FileSlot, OpenHow};

fn caller(target: &Target) -> SyncCaller {
    let payload = Payload::new(PayloadKind::Classic, 0);
    let caller = SyncCaller::new(target.dir(), target.confinement(), payload).unwrap();
    caller.named(target.given())
}

const ITEMS: DirSlot = DirSlot(1);

#[test]
fn items_are_made_and_named_where_the_words_of_the_user_lead() {
    let place = tempdir().unwrap();
    fs::create_dir_all(place.path().join("real/test")).unwrap();
    symlink("real", place.path().join("called")).unwrap();
    let given = place.path().join("called");
    let mut caller = caller(&Target::open(&given).unwrap());
    caller.by_whole_paths(true).unwrap();
    let opened = caller.call(&Call::OpenDir { at: DirSlot::TARGET, path: c"test", into: ITEMS });
    assert_eq!(opened.unwrap().calls, 0, "nothing is asked of the kernel");
    let (how, file) = (CreateHow::OrOpen, FileSlot(0));
    caller.call(&Call::MakeDir { at: ITEMS, name: c"dir" }).unwrap();
    caller.call(&Call::Create { at: ITEMS, path: c"file", how, into: file }).unwrap();
    caller.call(&Call::Close { file }).unwrap();
    caller.call(&Call::Stat { at: ITEMS, name: c"file" }).unwrap();
    let rename = Call::Rename { at: ITEMS, from: c"file", to_at: DirSlot::TARGET, to: c"other" };
    caller.call(&rename).unwrap();
    assert!(place.path().join("real/other").is_file());
    let missing = Call::Open { at: ITEMS, path: c"file", how: OpenHow::Read, into: file };
    assert_eq!(caller.call(&missing).unwrap_err().errno, Errno::NOENT);
    assert_eq!(caller.path_of(CallSubject::Below(ITEMS, c"file")), given.join("test/file"));
    caller.call(&Call::Unlink { at: DirSlot::TARGET, path: c"other" }).unwrap();
    caller.call(&Call::RemoveDir { at: ITEMS, name: c"dir" }).unwrap();
    assert_eq!(fs::read_dir(place.path().join("real/test")).unwrap().count(), 0);
}

#[test]
fn names_lead_nowhere_else_and_a_link_is_not_followed() {
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
fn nothing_is_done_where_the_words_of_the_user_lead_elsewhere_now() {
    let place = tempdir().unwrap();
    let given = place.path().join("target");
    fs::create_dir(&given).unwrap();
    let mut caller = caller(&Target::open(&given).unwrap());
    caller.by_whole_paths(true).unwrap();
    fs::rename(&given, place.path().join("moved")).unwrap();
    fs::create_dir(&given).unwrap();
    let error = caller.by_whole_paths(true).unwrap_err();
    assert_eq!(error.raw_os_error(), Some(Errno::STALE.raw_os_error()));
    // Without whole paths the target is the directory, whatever it is called.
    caller.by_whole_paths(false).unwrap();
    caller.call(&Call::MakeDir { at: DirSlot::TARGET, name: c"sub" }).unwrap();
    assert!(place.path().join("moved/sub").is_dir());
}
