//! Dataset files of treering: a written dataset reads back equal, and foreign, truncated or corrupt
//! files are refused with a message.

use std::collections::BTreeMap;
use std::io::{Cursor, Write as _};
use std::path::PathBuf;

use proptest::collection::{btree_map, vec};
use proptest::prelude::{Just, Strategy, any, prop_assert, prop_assert_eq, prop_oneof, proptest};
use treering_datasets::classic::read_lists;
use treering_datasets::format::{
    EntryFault, FormatError, HeaderFault, ListCount, ReaderLimits, WriteError, read, read_header,
    read_within, write,
};
use treering_datasets::{Dataset, StateSet, TreeState};
use treering_script::{NameId, NodeKind};
use zstd::stream::{decode_all, encode_all};

const HEADER: &str = "treering-dataset 1\nname test\nabout \nentries 2\nclean 2 3\npatched 2 3\n\
                      compiled 1 1\npatched-compiled 1 1\nlinks 0\nempty-directories 0\n\n";
const BODY: &str = "0 1 a\n0 2:2:-:- b\nend 2\n";

fn dataset(lists: [&[u8]; 4]) -> Dataset {
    read_lists("test", lists.map(|list| (PathBuf::new(), list))).unwrap()
}

fn written(dataset: &Dataset) -> Vec<u8> {
    write(dataset, Vec::new()).unwrap()
}

fn from_text(text: &str) -> Result<Dataset, FormatError> {
    read(encode_all(text.as_bytes(), 1).unwrap().as_slice())
}

/// Paths and sizes of all files of a state, sorted.
fn files(dataset: &Dataset, state: TreeState) -> BTreeMap<Vec<u8>, u64> {
    let path = |id| {
        let mut path = Vec::new();
        dataset.names.write_path(id, &mut path);
        path
    };
    dataset.list(state).iter().map(|(id, size)| (path(id), size)).collect()
}

#[test]
fn written_text_equals_the_documented_example() {
    let lists: [&[u8]; 4] = [
        b"fs/inode.c 10\nfs/a b\\ 7\nMakefile 5\nold 1\n",
        b"fs/inode.c 11\nfs/a b\\ 7\nMakefile 5\nnew\xff 2\n",
        b"fs/inode.c 10\nfs/a b\\ 7\nMakefile 5\nold 1\nfs/inode.o 100\n",
        b"fs/inode.c 11\nfs/a b\\ 7\nMakefile 5\nnew\xff 2\nfs/inode.o 100\n",
    ];
    let mut dataset = dataset(lists);
    "an example\nin two lines".clone_into(&mut dataset.about);
    let text = decode_all(written(&dataset).as_slice()).unwrap();
    let expected = "treering-dataset 1\nname test\nabout an example\\x0ain two lines\nentries 6\n\
                    clean 4 23\npatched 4 25\ncompiled 5 123\npatched-compiled 5 125\nlinks 0\n\
                    empty-directories 0\n\n0 5 Makefile\n0 7 fs/a b\\x5c\n3 10:11 inode.c\n\
                    9 -:-:100:100 o\n0 -:2 new\\xff\n0 1:- old\nend 6\n";
    assert_eq!(String::from_utf8(text).unwrap(), expected);
    let header = read_header(written(&dataset).as_slice()).unwrap();
    assert_eq!(header.list(TreeState::PatchedCompiled), ListCount { files: 5, bytes: 125 });
    assert_eq!((header.name.as_str(), header.entries), ("test", 6));
    assert_eq!(header.about, "an example\nin two lines");
}

#[test]
fn links_and_empty_directories_are_kept_by_state() {
    let text = "treering-dataset 1\nname test\nabout \nentries 4\nclean 1 3\npatched 2 6\n\
                compiled 1 3\npatched-compiled 1 4\nlinks 2\nempty-directories 1\n\n\
                0 3 a\n0 d:- empty\n0 l link\n0 l:3:l:l turned\nend 4\n";
    let counts = text.replace("patched-compiled 1 4", "patched-compiled 1 3");
    assert!(matches!(from_text(text), Err(FormatError::Count { said: 4, found: 3, .. })));
    let dataset = from_text(&counts).unwrap();
    let marks = |marks: &[(NameId, StateSet)]| {
        let named = |mark: &(NameId, StateSet)| {
            let states = TreeState::ALL.map(|state| mark.1.contains(state));
            (dataset.names.display_path(mark.0), states)
        };
        marks.iter().map(named).collect::<Vec<_>>()
    };
    let turned = ("turned".to_owned(), [true, false, true, true]);
    assert_eq!(marks(&dataset.links), [("link".to_owned(), [true; 4]), turned]);
    let empty = ("empty".to_owned(), [true, false, true, false]);
    assert_eq!(marks(&dataset.empty_directories), [empty]);
    assert_eq!(dataset.names.kind(dataset.empty_directories[0].0), NodeKind::Directory);
    assert_eq!(decode_all(written(&dataset).as_slice()).unwrap(), counts.as_bytes());
}

#[test]
fn the_shortest_dataset_is_read() {
    let dataset = from_text(&format!("{HEADER}{BODY}")).unwrap();
    assert_eq!(files(&dataset, TreeState::Patched), [(b"a".into(), 1), (b"b".into(), 2)].into());
    assert_eq!(files(&dataset, TreeState::UnpatchedCompiled), [(b"a".into(), 1)].into());
}

#[test]
fn other_files_and_newer_versions_are_refused() {
    for other in [b"".as_slice(), b"(\xb5", b"dataset-unpatched 12\n", &[0; 100]] {
        assert!(matches!(read(other), Err(FormatError::NotADataset)));
    }
    for text in ["", "x", "treering-dataset\n", "treering-dataset 0\n", "treering-dataset x\n"] {
        let error = from_text(text).unwrap_err();
        assert!(matches!(error, FormatError::NotADataset | FormatError::Damaged(_)), "{error}");
    }
    let newer = HEADER.replace("dataset 1", "dataset 2");
    let error = from_text(&newer).unwrap_err();
    assert_eq!(error.to_string(), "the dataset has format version 2, this treering reads up to 1");
}

#[test]
fn invalid_header_lines_are_refused_with_position() {
    for (from, to, line, wanted) in [
        ("name test", "name ../test", 2, "name NAME"),
        ("name test", "title test", 2, "name NAME"),
        ("about ", "about \\", 3, "about TEXT"),
        ("about ", "about \\xff", 3, "about TEXT"),
        ("entries 2", "entries two", 4, "entries NUMBER"),
        ("entries 2", "entries 9223372036854775808", 4, "entries NUMBER"),
        ("clean 2 3", "clean 2", 5, "clean|patched|compiled|patched-compiled FILES BYTES"),
        ("clean 2 3", "clean 2 3 4", 5, "clean|patched|compiled|patched-compiled FILES BYTES"),
        ("links 0", "links -1", 9, "links NUMBER"),
        ("directories 0\n\n", "directories 0\nmore 1\n\n", 11, ""),
    ] {
        match from_text(&format!("{}{BODY}", HEADER.replace(from, to))) {
            Err(FormatError::Header { line: actual_line, fault, .. }) => {
                assert_eq!((actual_line, fault), (line, HeaderFault::Expected(wanted)), "{to}");
            }
            other => panic!("{to}: {other:?}"),
        }
    }
}

#[test]
fn invalid_entries_are_refused_with_position() {
    use treering_script::NameError::{Absolute, Dots, KindConflict, Nul};
    let long = format!("0 1 {}", "\\x41".repeat(6000));
    for (entry, column, fault) in [
        ("0", 1, EntryFault::Fields),
        ("0 1", 1, EntryFault::Fields),
        ("x 1 b", 1, EntryFault::Fields),
        ("2 1 b", 1, EntryFault::Shared),
        ("0 1:2:3 b", 3, EntryFault::Sizes),
        ("0 1:2:3:4:5 b", 11, EntryFault::Sizes),
        ("0 1:k b", 5, EntryFault::Sizes),
        ("0 -:- b", 3, EntryFault::Sizes),
        ("0  b", 3, EntryFault::Sizes),
        ("0 9223372036854775808 b", 3, EntryFault::TooManyBytes),
        ("0 9223372036854775807 b", 23, EntryFault::TooManyBytes),
        ("0 1 b\\", 6, EntryFault::Escape),
        ("0 1 ä", 5, EntryFault::Escape),
        ("0 1 a", 5, EntryFault::Order),
        ("0 1 ", 5, EntryFault::Order),
        ("1 1 ", 5, EntryFault::Order),
        ("0 1 A", 5, EntryFault::Order),
        ("0 1 b/../c", 7, EntryFault::Path(Dots)),
        ("0 1 b\\x41\\x00", 10, EntryFault::Path(Nul)),
        ("1 1 /b", 5, EntryFault::Path(KindConflict)),
        ("0 d:1 b", 7, EntryFault::Path(KindConflict)),
        (&long, 1, EntryFault::TooLong),
    ] {
        match from_text(&format!("{HEADER}0 1 a\n{entry}\nend 2\n")) {
            Err(FormatError::Entry { line, column: actual_column, fault: why, .. }) => {
                assert_eq!((line, actual_column, why), (13, column, fault), "{entry}");
            }
            other => panic!("{entry}: {other:?}"),
        }
    }
    let first = from_text(&format!("{HEADER}0 1 /a\nend 2\n")).unwrap_err();
    assert_eq!(
        first.to_string(),
        format!(
            "line 12, column 5 of the decompressed dataset: {Absolute}\n  12 | 0 1 /a\n     |     ^"
        )
    );
}

#[test]
fn truncated_corrupt_and_continued_files_are_refused() {
    let whole = written(&dataset([b"a/b 1\nc 2\nd/e 3\n", b"", b"", b""]));
    assert!(read(whole.as_slice()).is_ok());
    for length in 0..whole.len() {
        let error = read(&whole[..length]).unwrap_err();
        assert!(matches!(error, FormatError::NotADataset | FormatError::Damaged(_)), "{error:?}");
    }
    let twice = [whole.as_slice(), &whole].concat();
    assert!(matches!(read(twice.as_slice()), Err(FormatError::AfterEnd)));
    let trailing = [whole.as_slice(), b"x"].concat();
    assert!(matches!(read(trailing.as_slice()), Err(FormatError::Damaged(_))));
    for place in 0..whole.len() {
        let mut spoilt = whole.clone();
        spoilt[place] ^= 0x10;
        // Some bits of a frame's header mean nothing; but what is read is never something else.
        if let Ok(dataset) = read(spoilt.as_slice()) {
            assert_eq!(files(&dataset, TreeState::Unpatched).len(), 3);
        }
    }
}

#[test]
fn wrong_counts_are_refused() {
    let body = |body: &str| from_text(&format!("{HEADER}{body}"));
    assert!(matches!(body("0 1 a\nend 1\n"), Err(FormatError::Count { said: 2, found: 1, .. })));
    assert!(matches!(body("0 1 a\nend 2\n"), Err(FormatError::Count { said: 2, found: 1, .. })));
    let more = body("0 1 a\n0 2:2:-:- b\n0 3 c\nend 3\n");
    assert!(matches!(more, Err(FormatError::Count { said: 2, found: 3, .. })));
    assert!(matches!(body("0 1 a\n0 2:2:-:- b\n"), Err(FormatError::Damaged(_))));
    let bytes = body("0 1 a\n0 3:3:-:- b\nend 2\n").unwrap_err().to_string();
    assert_eq!(bytes, "the dataset says it has 3 clean bytes, but it has 4");
    let links = body("0 1 a\n0 2:2:l:l b\nend 2\n").unwrap_err().to_string();
    assert_eq!(links, "the dataset says it has 0 links, but it has 1");
}

#[test]
fn decompression_bombs_stop_at_the_limits() {
    // 256 MiB of one line, 1000 times smaller when compressed.
    let mut bomb = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    bomb.write_all(HEADER.as_bytes()).unwrap();
    for _ in 0..256 {
        bomb.write_all(&vec![b'a'; 1 << 20]).unwrap();
    }
    let bomb = bomb.finish().unwrap();
    assert!(matches!(read(bomb.as_slice()), Err(FormatError::Entry { line: 12, .. })));
    // Few entries with very many directories.
    let many = HEADER.replace("entries 2", "entries 60000000");
    let line = |n| format!("0 1 {n}/{}f\n", "d/".repeat(200));
    let entries = (10..99).map(line).collect::<Vec<_>>().concat();
    let text = encode_all(format!("{many}{entries}").as_bytes(), 1).unwrap();
    let limits = ReaderLimits { names: 1000, text_bytes: u64::MAX };
    assert!(matches!(read_within(text.as_slice(), &limits), Err(FormatError::TooLarge(_))));
    let limits = ReaderLimits { names: 60_000_000, text_bytes: 2000 };
    assert!(matches!(read_within(text.as_slice(), &limits), Err(FormatError::TooLarge(_))));
    // A promise of more entries than any reader takes.
    let promise = HEADER.replace("entries 2", "entries 9000000000000000000");
    assert!(matches!(from_text(&promise), Err(FormatError::TooLarge(_))));
    // A window of 2 GiB.
    let mut wide = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    wide.window_log(27).unwrap();
    wide.write_all(format!("{HEADER}{BODY}").as_bytes()).unwrap();
    wide.flush().unwrap();
    assert!(matches!(read(wide.finish().unwrap().as_slice()), Err(FormatError::Damaged(_))));
}

#[test]
fn inconsistent_datasets_are_not_written() {
    let mut twice = dataset([b"a 1\nb 2\n", b"", b"", b""]);
    let (name, size) = twice.unpatched.get(0).unwrap();
    twice.unpatched.push(name, size);
    assert!(matches!(write(&twice, Vec::new()), Err(WriteError::Inconsistent)));
    let mut directory = dataset([b"a/b 1\n", b"", b"", b""]);
    let (file, _) = directory.unpatched.get(0).unwrap();
    directory.patched.push(directory.names.parent(file), 1);
    assert!(matches!(write(&directory, Vec::new()), Err(WriteError::Inconsistent)));
    let mut unnamed = dataset([b"a 1\n", b"", b"", b""]);
    "a/b".clone_into(&mut unnamed.name);
    assert!(matches!(write(&unnamed, Vec::new()), Err(WriteError::Title(_))));
    let mut chatty = dataset([b"a 1\n", b"", b"", b""]);
    chatty.about = "x".repeat(1001);
    assert!(matches!(write(&chatty, Vec::new()), Err(WriteError::LongAbout)));
    let full = dataset([b"a 1\n", b"", b"", b""]);
    let mut narrow = [0; 10];
    assert!(matches!(write(&full, Cursor::new(narrow.as_mut_slice())), Err(WriteError::Write(_))));
}

/// Generates paths of a tree in which no file is a directory: directories begin with `d`, files do
/// not.
fn tree() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(b'a'), Just(b'-'), Just(b' '), 1..=255_u8]
        .prop_map(|byte| if byte == b'/' { b'_' } else { byte });
    let part = |first: u8| {
        vec(byte.clone(), 0..4).prop_map(move |tail| [&[first], tail.as_slice()].concat())
    };
    (vec(part(b'd'), 0..4), part(b'f')).prop_map(|(mut parts, file)| {
        parts.push(file);
        parts.join(&b'/')
    })
}

type StateSizes = [Option<u32>; 4];

proptest! {
    #[test]
    fn datasets_round_trip(
        tree in btree_map(tree(), any::<StateSizes>(), 0..40),
        huge in any::<bool>(),
    ) {
        let scale = if huge { 1 << 20 } else { 1 };
        let mut lists = [const { Vec::new() }; 4];
        for (path, sizes) in tree.iter().rev() {
            for (list, size) in lists.iter_mut().zip(sizes) {
                // A line feed ends a line of the original's files; ours keeps it.
                if let Some(size) = size.filter(|_| !path.contains(&b'\n')) {
                    let size = u64::from(size) * scale;
                    list.extend_from_slice(path);
                    list.extend_from_slice(format!(" {size}\n").as_bytes());
                }
            }
        }
        let first = dataset([&lists[0], &lists[1], &lists[2], &lists[3]]);
        let file = written(&first);
        let second = read(file.as_slice()).unwrap();
        for state in TreeState::ALL {
            prop_assert_eq!(files(&first, state), files(&second, state));
            prop_assert_eq!(first.list(state).bytes(), second.list(state).bytes());
        }
        prop_assert_eq!(written(&second), file);
    }

    #[test]
    fn any_bytes_give_a_dataset_or_an_error(bytes in vec(any::<u8>(), 0..300)) {
        prop_assert!(read(bytes.as_slice()).is_err());
    }

    #[test]
    fn any_text_gives_a_dataset_or_an_error(text in "([0-9a-z :/\\\\\\-\n]|0 1 |end |\\\\x0)*") {
        prop_assert!(from_text(&text).is_err());
        let _ = from_text(&format!("{HEADER}{text}"));
    }
}
