//! Tests of tree removal: everything that the run created is removed, and nothing else.

use std::fs;
use std::ops::ControlFlow;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use treering_engine::{Confinement, FileIdentity, RemovalCounts, RemoveError, Target};
use treering_sys::identity_of;

use crate::stage::TinyMount;

const BOTH: [Confinement; 2] = [Confinement::Kernel, Confinement::Walk];

fn target(confinement: Confinement) -> (tempfile::TempDir, Target) {
    let place = tempfile::tempdir().unwrap();
    let target = Target::open(place.path()).unwrap().confined_by(confinement);
    (place, target)
}

fn remove(target: &Target, name: &str) -> Result<RemovalCounts, RemoveError> {
    target.remove_tree(name, &identity_at(target, name), &mut |_| ControlFlow::Continue(()))
}

/// Identity of the entry with this name, or of the target if there is none.
fn identity_at(target: &Target, name: &str) -> FileIdentity {
    target.identity(name).unwrap_or_else(|_| identity_of(target.dir()).unwrap())
}

#[test]
fn removal_deletes_links_but_not_their_targets() {
    for confinement in BOTH {
        let (place, target) = target(confinement);
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("victim"), "dear").unwrap();
        let tree = place.path().join("tree");
        for dir in 0..30 {
            let dir = tree.join(format!("dir-{dir}/deeper"));
            fs::create_dir_all(&dir).unwrap();
            for file in 0..40 {
                fs::write(dir.join(format!("file-{file}")), "x").unwrap();
            }
            symlink(outside.path(), dir.join("dirlink")).unwrap();
            symlink(outside.path().join("victim"), dir.join("filelink")).unwrap();
        }
        fs::create_dir(place.path().join("tree-2")).unwrap();
        let removed = remove(&target, "tree").unwrap();
        assert_eq!(removed, RemovalCounts { files: 30 * 42, dirs: 61 });
        assert_eq!(fs::read(outside.path().join("victim")).unwrap(), b"dear");
        assert_eq!(target.facts().unwrap().existing, ["tree-2"]);
    }
}

#[test]
fn only_a_plain_name_of_a_directory_is_removed() {
    for confinement in BOTH {
        let (place, target) = target(confinement);
        let outside = tempfile::tempdir().unwrap();
        fs::create_dir(place.path().join("tree")).unwrap();
        fs::write(place.path().join("file"), "x").unwrap();
        symlink(outside.path(), place.path().join("link")).unwrap();
        for odd in ["", ".", "..", "tree/", "/", "a/b", "../tree", "tr\0ee"] {
            let refused = remove(&target, odd);
            assert!(matches!(refused, Err(RemoveError::NotPlain { .. })), "{odd:?}: {refused:?}");
        }
        for other in ["file", "link", "missing"] {
            let refused = remove(&target, other);
            assert!(
                matches!(refused, Err(RemoveError::Call { operation: "open", .. })),
                "{refused:?}"
            );
        }
        assert_eq!(target.facts().unwrap().existing, ["file", "link", "tree"]);
        assert!(outside.path().exists());
    }
}

#[test]
fn a_directory_with_the_reused_name_of_a_tree_stays() {
    for confinement in BOTH {
        let (place, target) = target(confinement);
        let tree = place.path().join("tree");
        fs::create_dir(&tree).unwrap();
        let made = target.identity("tree").unwrap();
        fs::rename(&tree, place.path().join("kept")).unwrap();
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("thesis.txt"), "mine").unwrap();
        let refused = target.remove_tree("tree", &made, &mut |_| ControlFlow::Continue(()));
        assert!(matches!(refused, Err(RemoveError::NotTheSame { .. })), "{refused:?}");
        assert_eq!(fs::read(tree.join("thesis.txt")).unwrap(), b"mine");
    }
}

#[test]
fn deep_trees_are_removed() {
    let (place, target) = target(Confinement::Kernel);
    let mut path = PathBuf::from(place.path());
    for _ in 0..250 {
        path.push("d");
    }
    fs::create_dir_all(&path).unwrap();
    fs::create_dir(place.path().join("tree")).unwrap();
    fs::rename(place.path().join("d"), place.path().join("tree/d")).unwrap();
    assert_eq!(remove(&target, "tree").unwrap().dirs, 251);
}

#[test]
fn a_removal_can_be_stopped() {
    let (place, target) = target(Confinement::Kernel);
    let tree = place.path().join("tree");
    for dir in 0..10 {
        fs::create_dir_all(tree.join(dir.to_string())).unwrap();
        fs::write(tree.join(format!("{dir}/file")), "x").unwrap();
    }
    let stopped = target.remove_tree("tree", &identity_at(&target, "tree"), &mut |removed| {
        if removed.files < 3 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    assert!(
        matches!(stopped, Err(RemoveError::Stopped(RemovalCounts { files: 3, .. }))),
        "{stopped:?}"
    );
    assert!(tree.exists());
    remove(&target, "tree").unwrap();
}

#[test]
fn a_mount_inside_is_not_entered() {
    for confinement in BOTH {
        let (place, target) = target(confinement);
        let inside = place.path().join("tree/sub/mounted");
        fs::create_dir_all(&inside).unwrap();
        let Some(mount) = TinyMount::new(&inside, "size=1m") else { return };
        fs::write(inside.join("victim"), "dear").unwrap();
        let refused = remove(&target, "tree");
        assert!(
            matches!(&refused, Err(RemoveError::OtherMount { path }) if path.ends_with("mounted")),
            "{refused:?}"
        );
        assert_eq!(fs::read(inside.join("victim")).unwrap(), b"dear");
        drop(mount);
        remove(&target, "tree").unwrap();
    }
}
