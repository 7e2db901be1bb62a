//! Recording datasets from trees on disk.

use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;

use treering_datasets::record::{RecordError, RecordingInput, RecordingResult, record};
use treering_datasets::{Dataset, OmittedEntries, PathSelection, TreeState, format};

fn recording(clean: &Path) -> RecordingInput<'_> {
    RecordingInput {
        name: "test",
        about: "",
        clean,
        patched: None,
        compiled: None,
        patched_compiled: None,
        build: None,
        only: PathSelection::default(),
    }
}

fn recorded(recording: &RecordingInput<'_>) -> RecordingResult {
    record(recording, &mut |_| {}).unwrap()
}

/// Creates a tree of files with contents; a path with a trailing slash is an empty directory.
fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fill(dir.path(), files);
    dir
}

fn fill(dir: &Path, files: &[(&str, &str)]) {
    for (path, content) in files {
        let place = dir.join(path);
        if path.ends_with('/') {
            fs::create_dir_all(place).unwrap();
        } else {
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, content).unwrap();
        }
    }
}

fn files(dataset: &Dataset, state: TreeState) -> Vec<(String, u64)> {
    let list = dataset.list(state).iter();
    list.map(|(id, size)| (dataset.names.display_path(id), size)).collect()
}

fn expect(dataset: &Dataset, state: TreeState, expected: &[(&str, u64)]) {
    let expected: Vec<_> =
        expected.iter().map(|(path, size)| ((*path).to_owned(), *size)).collect();
    assert_eq!(files(dataset, state), expected, "{}", state.label());
}

#[test]
fn one_tree_gives_all_four_states() {
    let clean = tree(&[("b/c", "123"), ("b.c", ""), ("a", "1"), ("b/empty/", "")]);
    symlink("a", clean.path().join("link")).unwrap();
    symlink("/", clean.path().join("b/up")).unwrap();
    let RecordingResult { dataset, counters } = recorded(&recording(clean.path()));
    for state in TreeState::ALL {
        expect(&dataset, state, &[("a", 1), ("b/c", 3), ("b.c", 0)]);
    }
    let named = |id| dataset.names.display_path(id);
    let links: Vec<_> = dataset.links.iter().map(|link| named(link.0)).collect();
    assert_eq!(links, ["b/up", "link"]);
    assert_eq!(named(dataset.empty_directories[0].0), "b/empty");
    assert!(TreeState::ALL.iter().all(|state| dataset.links[0].1.contains(*state)));
    assert_eq!(counters, []);
    let again = recorded(&recording(clean.path())).dataset;
    let file = |dataset| format::write(dataset, Vec::new()).unwrap();
    assert_eq!(file(&dataset), file(&again));
    let back = format::read(file(&dataset).as_slice()).unwrap();
    assert_eq!(files(&back, TreeState::Patched), files(&dataset, TreeState::Patched));
}

#[test]
fn four_trees_are_recorded_unchanged() {
    let clean = tree(&[("a", "1"), ("b", "22")]);
    let patched = tree(&[("a", "11"), ("c", "333")]);
    let compiled = tree(&[("a", "1"), ("b", "22"), ("a.o", "")]);
    let patched_compiled = tree(&[("c", "4444")]);
    let recording = RecordingInput {
        patched: Some(patched.path()),
        compiled: Some(compiled.path()),
        patched_compiled: Some(patched_compiled.path()),
        ..recording(clean.path())
    };
    let dataset = recorded(&recording).dataset;
    expect(&dataset, TreeState::Unpatched, &[("a", 1), ("b", 2)]);
    expect(&dataset, TreeState::Patched, &[("a", 2), ("c", 3)]);
    expect(&dataset, TreeState::UnpatchedCompiled, &[("a", 1), ("a.o", 0), ("b", 2)]);
    expect(&dataset, TreeState::PatchedCompiled, &[("c", 4)]);
}

#[test]
fn missing_states_are_derived() {
    let clean = tree(&[("a", "1"), ("b", "22"), ("generated.c", "1")]);
    let patched = tree(&[("a", "11"), ("c", "333"), ("generated.c", "1"), ("x.o", "")]);
    let compiled = tree(&[("a", "1"), ("b", "22"), ("a.o", "55555"), ("x.o", "1"), ("e/", "")]);
    let with_patch = RecordingInput { patched: Some(patched.path()), ..recording(clean.path()) };
    let dataset = recorded(&with_patch).dataset;
    assert_eq!(files(&dataset, TreeState::PatchedCompiled), files(&dataset, TreeState::Patched));
    assert_eq!(
        files(&dataset, TreeState::UnpatchedCompiled),
        files(&dataset, TreeState::Unpatched)
    );
    let with_build = RecordingInput { compiled: Some(compiled.path()), ..recording(clean.path()) };
    let dataset = recorded(&with_build).dataset;
    assert_eq!(files(&dataset, TreeState::Patched), files(&dataset, TreeState::Unpatched));
    let built = files(&dataset, TreeState::UnpatchedCompiled);
    assert_eq!(files(&dataset, TreeState::PatchedCompiled), built);
    let both = RecordingInput { compiled: Some(compiled.path()), ..with_patch };
    let dataset = recorded(&both).dataset;
    let derived = [("a", 2), ("a.o", 5), ("c", 3), ("x.o", 0)];
    expect(&dataset, TreeState::PatchedCompiled, &derived);
    let empty = dataset.empty_directories[0].1;
    let states = TreeState::ALL.map(|state| empty.contains(state));
    assert_eq!(states, [false, false, true, true]);
}

#[test]
fn a_build_command_runs_between_two_scans_of_each_tree() {
    let clean = tree(&[("a.c", "1")]);
    let patched = tree(&[("a.c", "22"), ("b.c", "")]);
    let recording = RecordingInput {
        patched: Some(patched.path()),
        build: Some("for f in *.c; do echo cc $f; echo warning >&2; cp $f ${f%.c}.o; done"),
        ..recording(clean.path())
    };
    let mut output = Vec::new();
    let dataset = record(&recording, &mut |piece| output.extend_from_slice(piece)).unwrap().dataset;
    let expected = "cc a.c\nwarning\ncc a.c\nwarning\ncc b.c\nwarning\n";
    assert_eq!(String::from_utf8(output).unwrap(), expected);
    expect(&dataset, TreeState::Unpatched, &[("a.c", 1)]);
    expect(&dataset, TreeState::UnpatchedCompiled, &[("a.c", 1), ("a.o", 1)]);
    expect(&dataset, TreeState::Patched, &[("a.c", 2), ("b.c", 0)]);
    expect(&dataset, TreeState::PatchedCompiled, &[("a.c", 2), ("a.o", 2), ("b.c", 0), ("b.o", 0)]);
}

#[test]
fn a_build_that_fails_is_an_error_with_its_status() {
    let clean = tree(&[("a.c", "1")]);
    let failing = RecordingInput { build: Some("exit 7"), ..recording(clean.path()) };
    let error = record(&failing, &mut |_| {}).unwrap_err();
    assert!(error.to_string().ends_with("exit status: 7"), "{error}");
    let killed = RecordingInput { build: Some("kill -9 $$"), ..recording(clean.path()) };
    let error = record(&killed, &mut |_| {}).unwrap_err();
    assert!(error.to_string().contains("signal: 9"), "{error}");
    let both = RecordingInput { compiled: Some(clean.path()), ..failing };
    assert!(matches!(record(&both, &mut |_| {}), Err(RecordError::BuildAndCompiled)));
}

#[test]
fn a_part_of_the_trees_is_recorded_by_prefixes() {
    let files: [(&str, &str); 7] = [
        ("Makefile", "1"),
        ("fs/inode.c", "1"),
        ("fs/ext4/inode.c", "1"),
        ("fs/ext4/tests/empty/", ""),
        ("fs/xfs/inode.c", "1"),
        ("mm/slab.c", "1"),
        ("mm/kasan/", ""),
    ];
    let clean = tree(&files);
    let some = |prefixes: &[&str]| RecordingInput {
        only: PathSelection::from_prefixes(prefixes).unwrap(),
        ..recording(clean.path())
    };
    let dataset = recorded(&some(&["fs/ext4", "."])).dataset;
    expect(&dataset, TreeState::Unpatched, &[("Makefile", 1), ("fs/ext4/inode.c", 1)]);
    assert_eq!(dataset.empty_directories.len(), 1);
    let dataset = recorded(&some(&["fs/.", "mm/."])).dataset;
    expect(&dataset, TreeState::Unpatched, &[("fs/inode.c", 1), ("mm/slab.c", 1)]);
    assert_eq!(dataset.empty_directories.len(), 0);
    let error = record(&some(&["fs/ext4", "fs/btrfs"]), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "none of the trees has a file 'fs/btrfs' or below it");
}

#[test]
fn special_files_are_counted_and_left_out() {
    let clean = tree(&[("a", "1"), ("only-special/", "")]);
    let _socket = UnixListener::bind(clean.path().join("only-special/socket")).unwrap();
    let RecordingResult { dataset, counters } = recorded(&recording(clean.path()));
    expect(&dataset, TreeState::Unpatched, &[("a", 1)]);
    assert_eq!(dataset.names.display_path(dataset.empty_directories[0].0), "only-special");
    let root = clean.path().to_owned();
    assert_eq!(counters, [OmittedEntries::SpecialFiles { root, count: 1 }]);
}

#[test]
fn odd_names_are_kept() {
    let clean = tree(&[]);
    let name = std::ffi::OsStr::from_bytes(b"\xff new\nline\\ ");
    fs::write(clean.path().join(name), "1").unwrap();
    let dataset = recorded(&recording(clean.path())).dataset;
    let file = format::write(&dataset, Vec::new()).unwrap();
    let back = format::read(file.as_slice()).unwrap();
    let (id, _) = back.unpatched.get(0).unwrap();
    assert_eq!(back.names.name(id).to_bytes(), name.as_bytes());
}

#[test]
fn unrecordable_trees_are_refused_with_their_path() {
    let nowhere = Path::new("/nowhere/at/all");
    let error = record(&recording(nowhere), &mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "cannot scan /nowhere/at/all");
    let empty = tree(&[("only/directories/", "")]);
    let error = record(&recording(empty.path()), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RecordError::NoFiles { .. }));
    let file = tree(&[("a", "1")]);
    let directory = tree(&[("a/b", "1")]);
    let conflict = RecordingInput { patched: Some(directory.path()), ..recording(file.path()) };
    let error = record(&conflict, &mut |_| {}).unwrap_err();
    assert!(error.to_string().ends_with("a/b"), "{error}");
    let deep = tree(&[("a", "1")]);
    fill(deep.path(), &[(&format!("{}f", "d/".repeat(250)), "1")]);
    let error = record(&recording(deep.path()), &mut |_| {}).unwrap_err();
    assert!(matches!(error, RecordError::Name { .. }), "{error:?}");
}

#[test]
fn an_unreadable_directory_is_an_error_with_its_path() {
    let clean = tree(&[("a", "1"), ("shut/b", "1")]);
    let shut = clean.path().join("shut");
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o0)).unwrap();
    let result = record(&recording(clean.path()), &mut |_| {});
    let is_superuser = shut.read_dir().is_ok();
    fs::set_permissions(&shut, fs::Permissions::from_mode(0o700)).unwrap();
    if is_superuser {
        let mut out = std::io::stdout();
        let line = b"skipped: the superuser can read every directory\n";
        std::io::Write::write_all(&mut out, line).unwrap();
        return;
    }
    let error = result.unwrap_err();
    assert_eq!(error.to_string(), format!("cannot scan {}", shut.display()));
}
