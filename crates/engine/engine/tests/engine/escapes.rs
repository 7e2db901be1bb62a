//! Tests that no step leads outside the target, whatever is planted in it.

use std::fs;
use std::os::fd::AsFd;
use std::os::unix::fs::symlink;

use treering_engine::oracle::TreeSnapshot;
use treering_engine::{Caller, Confinement, Payload, PayloadKind, SyncCaller, Target};
use treering_script::{CallError, CreateHow, Errno};

use crate::operations::{OwnedCall, name};

const HOWS: [CreateHow; 4] =
    [CreateHow::Append, CreateHow::Truncate, CreateHow::TruncateToRead, CreateHow::Exclusive];

struct EscapeFixture {
    inside: tempfile::TempDir,
    outside: tempfile::TempDir,
    caller: SyncCaller,
}

impl EscapeFixture {
    /// Target with links to a directory, to a file, and to a missing file, all outside.
    fn new(confinement: Confinement) -> Self {
        let (inside, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(outside.path().join("victim"), "precious").unwrap();
        fs::create_dir(outside.path().join("dir")).unwrap();
        fs::create_dir(inside.path().join("sub")).unwrap();
        for at in [inside.path(), &inside.path().join("sub")] {
            symlink(outside.path(), at.join("dirlink")).unwrap();
            symlink(outside.path().join("victim"), at.join("filelink")).unwrap();
            symlink(outside.path().join("unborn"), at.join("dangling")).unwrap();
        }
        let target = Target::open(inside.path()).unwrap();
        let payload = Payload::new(PayloadKind::Classic, 0);
        let caller = SyncCaller::new(target.dir().as_fd(), confinement, payload).unwrap();
        Self { inside, outside, caller }
    }

    fn fail(&mut self, operation: &OwnedCall) -> CallError {
        match self.caller.call(&operation.call()) {
            Ok(reply) => panic!("{operation:?} was done: {reply:?}"),
            Err(error) => error,
        }
    }

    fn done(&mut self, operation: &OwnedCall) {
        self.caller.call(&operation.call()).unwrap();
    }

    fn assert_untouched(&self) {
        let victim = fs::read(self.outside.path().join("victim")).unwrap();
        assert_eq!(victim, b"precious");
        let outside = TreeSnapshot::from_directory(self.outside.path()).unwrap();
        assert_eq!(outside.entries.len(), 2, "{outside:?}");
    }
}

fn both(test: impl Fn(EscapeFixture)) {
    for confinement in [Confinement::Kernel, Confinement::Walk] {
        test(EscapeFixture::new(confinement));
    }
}

#[test]
fn directories_are_not_opened_through_links() {
    both(|mut scene| {
        for path in ["dirlink", "dirlink/dir", "sub/dirlink", "sub/dirlink/dir", "filelink"] {
            let failure = scene.fail(&OwnedCall::OpenDir(0, name(path), 1));
            assert!([Errno::LOOP, Errno::NOTDIR].contains(&failure.errno), "{failure:?}");
        }
        scene.assert_untouched();
    });
}

#[test]
fn files_are_neither_created_nor_opened_through_links() {
    both(|mut scene| {
        let links = ["filelink", "dangling", "sub/filelink", "sub/dangling", "dirlink/new"];
        for path in links.into_iter().chain(["sub/dirlink/new", "dirlink/victim"]) {
            for how in HOWS {
                scene.fail(&OwnedCall::Create(0, name(path), how, 0));
            }
            scene.fail(&OwnedCall::Open(0, name(path), 0));
        }
        scene.assert_untouched();
    });
}

#[test]
fn files_are_not_removed_through_links_but_links_are() {
    both(|mut scene| {
        scene.fail(&OwnedCall::Unlink(0, name("dirlink/victim")));
        scene.fail(&OwnedCall::Unlink(0, name("sub/dirlink/victim")));
        for link in ["filelink", "dangling", "dirlink", "sub/filelink", "sub/dirlink"] {
            scene.done(&OwnedCall::Unlink(0, name(link)));
            assert!(scene.inside.path().join(link).symlink_metadata().is_err());
        }
        scene.assert_untouched();
    });
}

#[test]
fn directories_are_neither_made_nor_removed_through_links() {
    both(|mut scene| {
        for path in ["dirlink", "dangling", "dirlink/new", "sub/new", "/new", ".."] {
            scene.fail(&OwnedCall::MakeDir(0, name(path)));
        }
        for path in ["dirlink", "dirlink/dir", "filelink", "sub/.."] {
            scene.fail(&OwnedCall::RemoveDir(0, name(path)));
        }
        scene.assert_untouched();
    });
}

#[test]
fn parent_directory_names_are_refused_everywhere() {
    both(|mut scene| {
        let victim = scene.outside.path().join("victim");
        for path in ["..", "../x", "sub/../../x", victim.to_str().unwrap()] {
            for how in HOWS {
                scene.fail(&OwnedCall::Create(0, name(path), how, 0));
            }
            scene.fail(&OwnedCall::Open(0, name(path), 0));
            scene.fail(&OwnedCall::OpenDir(0, name(path), 1));
            scene.fail(&OwnedCall::Unlink(0, name(path)));
            scene.fail(&OwnedCall::Stat(0, name(path)));
        }
        scene.assert_untouched();
    });
}

#[test]
fn the_target_itself_can_be_neither_closed_nor_replaced() {
    both(|mut scene| {
        assert_eq!(scene.fail(&OwnedCall::CloseDir(0)).errno, Errno::BADF);
        assert_eq!(scene.fail(&OwnedCall::OpenDir(0, name("sub"), 0)).errno, Errno::BADF);
        assert_eq!(scene.fail(&OwnedCall::OpenDir(0, name("sub"), 1024)).errno, Errno::BADF);
        scene.done(&OwnedCall::MakeDir(0, name("deep")));
        scene.done(&OwnedCall::OpenDir(0, name("deep"), 1023));
        scene.done(&OwnedCall::MakeDir(1023, name("deeper")));
        // The slot that a path begins at may be the one it is opened into.
        scene.done(&OwnedCall::OpenDir(1023, name("deeper"), 1023));
        let missing = OwnedCall::Stat(1023, name("x"));
        scene.fail(&missing);
        let path = scene.caller.path_of(missing.call().subject());
        assert!(path.ends_with("deep/deeper/x"), "{}", path.display());
    });
}
