//! Finding and saving datasets, the shipped ones, and the original's files where they are
//! available.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use treering_datasets::classic::{read_directory, read_lists};
use treering_datasets::format::{self, ListCount};
use treering_datasets::library::{
    DatasetOrigin, LibraryError, OverwritePolicy, builtin_names, find, list, load, open, save,
};
use treering_datasets::report::dataset_report;
use treering_datasets::{Dataset, PathSelection, TreeState};
use treering_model::ListDifference;

fn small(name: &str) -> Dataset {
    let lists: [&[u8]; 4] = [b"a/b 1\nc 0\n", b"a/b 2\n", b"a/b 1\nc 0\no 9\n", b"a/b 2\no 9\n"];
    read_lists(name, lists.map(|list| (PathBuf::new(), list))).unwrap()
}

fn count(files: u64, bytes: u64) -> ListCount {
    ListCount { files, bytes }
}

/// Paths and the four sizes of every file.
fn entries(dataset: &Dataset) -> Vec<(Vec<u8>, [Option<u64>; 4])> {
    let mut sizes = vec![[None; 4]; dataset.names.len()];
    for state in TreeState::ALL {
        for (id, size) in dataset.list(state).iter() {
            sizes[id.index()][state.index()] = Some(size);
        }
    }
    let ids = dataset.names.sorted_walk().into_iter();
    let listed = ids.filter(|id| sizes[id.index()] != [None; 4]);
    let path = |id| {
        let mut path = Vec::new();
        dataset.names.write_path(id, &mut path);
        path
    };
    listed.map(|id| (path(id), sizes[id.index()])).collect()
}

#[test]
fn saved_datasets_are_found_listed_and_loaded() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data/datasets");
    let file = save(&small("mine"), &data, OverwritePolicy::Keep).unwrap();
    assert_eq!(file, data.join("mine.treering-dataset"));
    let kept: Vec<_> = data.read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["mine.treering-dataset"]);
    let directories = [dir.path().join("absent"), data.clone()];
    assert_eq!(find("mine", &directories).unwrap(), DatasetOrigin::File(file.clone()));
    assert_eq!(entries(&load("mine", &directories).unwrap()), entries(&small("mine")));
    let listed = list(&directories).unwrap();
    let names: Vec<_> = listed.iter().map(|info| info.name.as_str()).collect();
    assert_eq!(names, ["linux-6.1", "linux-6.1-small", "mine"]);
    let header = listed[2].header.as_ref().unwrap();
    assert_eq!(header.list(TreeState::UnpatchedCompiled), count(3, 10));
    fs::rename(file, data.join("yours.treering-dataset")).unwrap();
    assert_eq!(load("yours", &directories).unwrap().name, "yours");
}

#[test]
fn existing_datasets_are_kept_without_replace() {
    let dir = tempfile::tempdir().unwrap();
    let file = save(&small("mine"), dir.path(), OverwritePolicy::Keep).unwrap();
    fs::write(&file, "precious").unwrap();
    let error = save(&small("mine"), dir.path(), OverwritePolicy::Keep).unwrap_err();
    assert!(matches!(error, LibraryError::Exists { .. }));
    assert_eq!(fs::read(&file).unwrap(), b"precious");
    save(&small("mine"), dir.path(), OverwritePolicy::Replace).unwrap();
    assert!(load("mine", &[dir.path().to_owned()]).is_ok());
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

#[test]
fn shipped_and_unsafe_names_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    let error = save(&small("linux-6.1"), dir.path(), OverwritePolicy::Replace).unwrap_err();
    assert!(matches!(error, LibraryError::BuiltinName { .. }));
    let error = save(&small("../mine"), dir.path(), OverwritePolicy::Keep).unwrap_err();
    assert!(matches!(error, LibraryError::Title(_)));
    assert!(matches!(load("../mine", &[dir.path().to_owned()]), Err(LibraryError::Unknown { .. })));
}

#[test]
fn unknown_names_are_refused_with_a_list_and_a_suggestion() {
    let error = load("linux6.1", &[]).unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no dataset 'linux6.1' (did you mean 'linux-6.1'?); there are: linux-6.1, \
         linux-6.1-small"
    );
    let error = load("mail", &[]).unwrap_err().to_string();
    assert_eq!(error, "there is no dataset 'mail'; there are: linux-6.1, linux-6.1-small");
}

#[test]
fn a_broken_file_is_listed_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("broken.treering-dataset"), "x").unwrap();
    fs::write(dir.path().join("note.txt"), "x").unwrap();
    fs::write(dir.path().join("linux-6.1.treering-dataset"), "x").unwrap();
    let listed = list(&[dir.path().to_owned()]).unwrap();
    assert_eq!(listed.len(), 3);
    assert!(matches!(listed[2].header, Err(LibraryError::Content { .. })));
    assert_eq!(listed[0].origin, DatasetOrigin::Builtin);
}

#[test]
fn the_originals_files_in_a_data_directory_are_a_dataset() {
    let dir = tempfile::tempdir().unwrap();
    let old = dir.path().join("old");
    fs::create_dir(&old).unwrap();
    for state in TreeState::ALL {
        fs::write(old.join(state.classic_file()), "a/b 1\nc 2\n").unwrap();
    }
    let directories = [dir.path().to_owned()];
    assert_eq!(find("old", &directories).unwrap(), DatasetOrigin::ClassicFiles(old.clone()));
    assert_eq!(load("old", &directories).unwrap().patched.bytes(), 3);
    let info = list(&directories).unwrap().pop().unwrap();
    assert_eq!(info.header.unwrap().list(TreeState::Patched), count(2, 3));
    fs::remove_file(old.join("dataset-patched")).unwrap();
    let error = open("old", &DatasetOrigin::ClassicFiles(old)).unwrap_err().to_string();
    assert!(error.contains("dataset-patched is missing"), "{error}");
}

#[test]
fn a_report_counts_files_directories_and_sizes() {
    let report = dataset_report(&small("mine"));
    let [clean, _, compiled, _] = &report.states;
    assert_eq!((clean.count, clean.directories, clean.depth), (count(2, 1), 1, 2));
    assert_eq!((clean.empty_files, clean.top_files, clean.longest_path_bytes), (1, 1, 3));
    let buckets: Vec<_> =
        compiled.histogram.iter().map(|b| (b.from_bytes, b.count.files, b.count.bytes)).collect();
    assert_eq!(buckets, [(0, 1, 0), (1, 1, 1), (2, 0, 0), (4, 0, 0), (8, 1, 9)]);
    let largest: Vec<_> = compiled.largest.iter().map(|f| (f.path.as_str(), f.bytes)).collect();
    assert_eq!(largest, [("o", 9), ("a/b", 1), ("c", 0)]);
    let sizes = compiled.sizes.unwrap();
    assert_eq!((sizes.min_bytes, sizes.p50_bytes, sizes.p75_bytes), (0, 1, 9));
    let patch =
        ListDifference { changed: count(1, 2), removed: count(1, 0), ..ListDifference::default() };
    assert_eq!(report.patch, patch);
    assert_eq!(report.recompile, ListDifference { same: count(1, 9), ..ListDifference::default() });
    assert_eq!((report.products, report.patched_products), (count(1, 9), count(1, 9)));
    let empty = read_lists("empty", [b"".as_slice(); 4].map(|list| (PathBuf::new(), list)));
    assert_eq!(dataset_report(&empty.unwrap()).states[0].sizes, None);
}

#[test]
fn shipped_datasets_have_the_documented_numbers() {
    let expected = [
        (
            "linux-6.1",
            [
                count(78_611, 1_298_119_859),
                count(78_579, 1_298_681_992),
                count(88_758, 1_958_376_336),
                count(88_733, 1_960_809_759),
            ],
        ),
        (
            "linux-6.1-small",
            [
                count(6_289, 56_819_924),
                count(6_293, 56_978_405),
                count(9_697, 122_702_341),
                count(9_704, 123_193_495),
            ],
        ),
    ];
    assert!(builtin_names().eq(expected.iter().map(|(name, _)| *name)));
    for (name, counts) in expected {
        let dataset = load(name, &[]).unwrap();
        assert_eq!(dataset.name, name);
        assert!(!dataset.about.is_empty());
        let report = dataset_report(&dataset);
        assert_eq!(report.states.each_ref().map(|state| state.count), counts, "{name}");
    }
}

#[test]
fn small_dataset_is_the_documented_subset_of_the_large_one() {
    let only = include_str!("../../shipped/linux-6.1-small.only");
    let selection = PathSelection::from_prefixes(only.lines()).unwrap();
    let large = load("linux-6.1", &[]).unwrap();
    let small = load("linux-6.1-small", &[]).unwrap();
    let mut part = entries(&large);
    part.retain(|(path, _)| selection.covers(path));
    assert_eq!(entries(&small), part);
    assert_eq!(small.links.len(), 16);
}

/// Directory of the original's files, which are not part of the project.
fn originals() -> Option<PathBuf> {
    let places = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    let mut places = places.map(|place| place.join("shared/data/compilebench-0.6"));
    let original = places.find(|place| place.join("dataset-unpatched").is_file());
    if original.is_none() {
        let line = b"skipped: no shared/data/compilebench-0.6 above the workspace\n";
        std::io::stdout().write_all(line).unwrap();
    }
    original
}

#[test]
fn original_lists_have_the_published_counts() {
    let Some(place) = originals() else { return };
    let dataset = read_directory("compilebench-0.6", &place).unwrap();
    let report = dataset_report(&dataset);
    let clean = &report.states[0];
    assert_eq!(clean.count, count(21_280, 233_176_153));
    assert_eq!((clean.directories, clean.top_files, clean.empty_files), (1_263, 8, 0));
    let ListDifference { changed, new, removed, .. } = report.patch;
    assert_eq!((changed.files, new.files, removed.files), (5_526, 610, 266));
    assert_eq!(changed.bytes + new.bytes, 114_997_799);
    assert_eq!(report.products, count(3_263, 713_696_760));
    assert_eq!(report.patched_products.files, 3_340);
    let recompile = report.recompile;
    assert_eq!((recompile.changed.files, recompile.new.files), (2_481, 92));
    assert_eq!((recompile.same.files, recompile.removed.files), (767, 15));
    assert_eq!(recompile.changed.bytes + recompile.new.bytes, 725_190_942);
    let file = format::write(&dataset, Vec::new()).unwrap();
    assert_eq!(entries(&format::read(file.as_slice()).unwrap()), entries(&dataset));
}
