//! Paths of any kind in a tree of names: refused, or found again under their own path.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treering_script::{NamesBuilder, NodeKind};

fuzz_target!(|data: &[u8]| {
    let mut builder = NamesBuilder::default();
    let mut kept = Vec::new();
    for line in data.split(|&byte| byte == b'\n') {
        let kind = if line.last() == Some(&b'!') { NodeKind::Directory } else { NodeKind::File };
        if let Ok(id) = builder.add(line, kind) {
            kept.push((id, line));
        }
    }
    let names = builder.build();
    for (id, line) in kept {
        let mut path = Vec::new();
        names.write_path(id, &mut path);
        assert_eq!(path, line);
        let parent = names.parent(id);
        assert_eq!(names.find(parent, names.name(id).to_bytes()), Some(id));
    }
    assert_eq!(names.sorted_walk().len() + 1, names.len());
});
