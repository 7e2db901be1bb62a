//! Tests on a full filesystem, a tiny tmpfs.

use treering_engine::{Caller, EngineError, Payload, PayloadKind, StopFlag, SyncCaller, Target};
use treering_model::Op;
use treering_model::filesystems::by_magic;
use treering_script::{CallError, CreateHow, Errno, ExpectedErrors, Stop};

use crate::operations::{OwnedCall, make_tree, name};
use crate::stage::{ScriptedSession, TinyMount, group, perform, task};

#[test]
fn a_write_beyond_free_space_fails_after_a_partial_write() {
    let place = tempfile::tempdir().unwrap();
    let Some(_mount) = TinyMount::new(place.path(), "size=1m") else { return };
    let target = Target::open(place.path()).unwrap();
    let operations = vec![
        OwnedCall::Create(0, name("big"), CreateHow::Exclusive, 0),
        OwnedCall::Write(0, 4 << 20, 0),
    ];
    let mut play = ScriptedSession::new(vec![("fill", vec![group(vec![task("big", operations)])])]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    let error = result.unwrap_err();
    let text = format!(
        "write {}: No space left on device (os error 28)",
        target.path().join("big").display()
    );
    assert_eq!(error.to_string(), text);
    let EngineError::Call { failure, .. } = error else { panic!("a call failed") };
    assert_eq!(failure.calls, 2);
    assert!((900 << 10..=1 << 20).contains(&failure.bytes), "{}", failure.bytes);
    let phase = events.phases()[0];
    assert_eq!(phase.bytes, failure.bytes);
    let writes = phase.ops.iter().find(|op| op.op == Op::Write).unwrap();
    assert_eq!((writes.calls, writes.errors), (2, 1));
    let seconds: u64 = phase.intervals.iter().map(|second| second.bytes).sum();
    assert_eq!(seconds, failure.bytes);
}

#[test]
fn running_out_of_inodes_names_the_first_failed_file() {
    let place = tempfile::tempdir().unwrap();
    let Some(_mount) = TinyMount::new(place.path(), "size=1m,nr_inodes=20") else { return };
    let target = Target::open(place.path()).unwrap();
    assert!(target.facts().unwrap().free_inodes.unwrap() < 20);
    assert!(by_magic(target.filesystem().unwrap().type_magic).unwrap().is_in_memory);
    let mut play = ScriptedSession::new(vec![(
        "fill",
        vec![group(vec![task("many", make_tree("many", 100, 1))])],
    )]);
    let (result, events) = perform(&mut play, &target, &StopFlag::new());
    let text = result.unwrap_err().to_string();
    let tree = target.path().join("many");
    assert!(text.starts_with(&format!("create {}/file-1", tree.display())), "{text}");
    assert!(text.ends_with(": No space left on device (os error 28)"), "{text}");
    assert!((10..20).contains(&events.phases()[0].files));
}

#[test]
fn scripts_can_handle_enospc_and_see_the_bytes_written() {
    let place = tempfile::tempdir().unwrap();
    let Some(_mount) = TinyMount::new(place.path(), "size=1m,nr_inodes=5") else { return };
    let target = Target::open(place.path()).unwrap();
    let payload = Payload::new(PayloadKind::Zeros, 0);
    let mut caller = SyncCaller::new(target.dir(), target.confinement(), payload).unwrap();
    let mut tell = |operation: &OwnedCall| match caller.call(&operation.call()) {
        Ok(_) | Err(CallError { errno: Errno::EXIST, .. }) => None,
        Err(error) => {
            let full = Err::<(), _>(Stop::Failed(error)).unless_full();
            Some(full.expect("nothing else fails").unwrap_err())
        }
    };
    let create = |file: &str| OwnedCall::Create(0, name(file), CreateHow::TruncateToRead, 0);
    assert_eq!(tell(&create("big")), None);
    let fitted = tell(&OwnedCall::Write(0, 4 << 20, 0)).unwrap();
    assert!((900 << 10..=1 << 20).contains(&fitted), "{fitted}");
    assert_eq!(std::fs::metadata(place.path().join("big")).unwrap().len(), fitted);
    assert!(std::fs::read(place.path().join("big")).unwrap().iter().all(|&byte| byte == 0));
    assert_eq!(tell(&OwnedCall::MakeDir(0, name("a"))), None);
    let full = (0..9).filter_map(|n| tell(&create(&format!("f{n}")))).count();
    assert!((5..9).contains(&full), "{full}");
    assert_eq!(tell(&OwnedCall::MakeDir(0, name("b"))), Some(0));
    assert_eq!(tell(&OwnedCall::MakeDir(0, name("a"))), None);
}
