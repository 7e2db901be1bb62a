//! Pages, JSON and maps of layouts with any directory names.

use serde_json::Value;
use treering_model::{
    FileLayout, LayoutFree, LayoutFreeBin, LayoutIntervals, LayoutMap, LayoutMapCell,
    LayoutMapGroup,
};
use treering_report::formats::ALL;
use treering_report::pages::layout::{LayoutView, map_page, page, write_json};
use treering_report::{DrawingPreset, drawings};

const ODD: &str = "</svg><script>\u{9b}31m\u{202e}\n&\"";

fn layout() -> FileLayout {
    let bin = LayoutFreeBin { from_bytes: 4096, below_bytes: Some(8192), extents: 2, bytes: 8192 };
    FileLayout {
        filesystem: Some(ODD.to_owned()),
        block_bytes: 4096,
        files: 3,
        extents_per_file: Some(1.5),
        traversal_score: Some(0.75),
        adjacent_siblings: Some(0.5),
        intervals: Some(LayoutIntervals {
            adjacent_siblings: Some((0.25, 0.75)),
            ..LayoutIntervals::default()
        }),
        sampled_files: Some(2),
        free_space: Some(LayoutFree {
            extents: 2,
            bytes: 8192,
            histogram: vec![bin],
            ..LayoutFree::default()
        }),
        ..FileLayout::default()
    }
}

fn map() -> LayoutMap {
    let group = |name: &str, bytes| LayoutMapGroup { name: name.to_owned(), bytes };
    let cell =
        |free, groups: &[(u16, u64)]| LayoutMapCell { space: 4096, free, groups: groups.to_vec() };
    LayoutMap {
        cell_bytes: 4096,
        groups: vec![group("", 4096), group(ODD, 6000), group("b", 10)],
        // The cell refers to groups that do not exist and has more bytes than space.
        cells: vec![
            cell(4096, &[]),
            cell(0, &[(0, 4096)]),
            cell(0, &[(1, u64::MAX), (77, u64::MAX)]),
            LayoutMapCell::default(),
            cell(96, &[(1, 2000), (2, 10)]),
        ],
    }
}

#[test]
fn the_json_has_the_names_that_are_documented() {
    let mut bytes = Vec::new();
    write_json(&layout(), &LayoutView { path: ODD, through: "" }, &mut bytes).unwrap();
    assert!(!bytes.contains(&0x9b) && bytes.ends_with(b"}\n"));
    let reported: Value = serde_json::from_slice(&bytes).unwrap();
    assert_eq!(reported["treering_layout"]["version"], 1);
    assert_eq!(reported["path"], ODD);
    assert_eq!(reported["files"], 3);
    assert_eq!(reported["extents_per_file"], 1.5);
    assert_eq!(reported["traversal_score"], 0.75);
    assert_eq!(reported["adjacent_siblings"], 0.5);
    assert_eq!(reported["free_space"]["extents"], 2);
    assert_eq!(reported["free_space"]["bytes"], 8192);
    assert_eq!(reported["free_space"]["histogram"][0]["below_bytes"], 8192);
    assert_eq!(reported["intervals"]["adjacent_siblings"][1], 0.75);
    assert!(reported["layout_score"].is_null() && reported["gap_bytes"].is_null());
    let documented = include_str!("../../../../../docs/json.md");
    for (name, _) in
        reported.as_object().unwrap().iter().filter(|(name, _)| *name != "treering_layout")
    {
        assert!(documented.contains(&format!("`{name}`")), "{name} is not in docs/json.md");
    }
}

#[test]
fn every_format_takes_any_name() {
    let page = page(&layout(), Some(map()), &LayoutView { path: ODD, through: ODD });
    for format in ALL {
        let mut bytes = Vec::new();
        format.render(&page, &mut bytes).unwrap();
        let text = String::from_utf8(bytes).unwrap();
        assert!(!text.contains('\u{9b}') && !text.contains('\u{202e}'), "{}", format.name());
        assert!(!text.contains(ODD), "{}", format.name());
    }
}

#[test]
fn a_map_is_a_drawing_of_its_own() {
    let drawings = drawings(&map_page(ODD, map()), DrawingPreset::Screen);
    assert_eq!(drawings.len(), 1);
    let svg = roxmltree::Document::parse(&drawings[0].svg).unwrap();
    let classes: Vec<&str> = svg
        .descendants()
        .filter(|node| node.has_tag_name("g"))
        .filter_map(|node| node.attribute("class"))
        .collect();
    for class in ["map-1", "map-files", "map-free"] {
        assert!(classes.contains(&class), "{class}: {classes:?}");
    }
    let empty = LayoutMap { cell_bytes: 4096, ..LayoutMap::default() };
    let drawings = treering_report::drawings(&map_page("x", empty), DrawingPreset::Screen);
    assert!(roxmltree::Document::parse(&drawings[0].svg).is_ok());
}
