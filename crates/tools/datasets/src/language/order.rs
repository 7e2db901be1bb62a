//! Order of treering's dataset file: a walk that takes the entries of a directory by name and
//! descends into a directory at once. As bytes: paths compared with the slash below every other
//! byte.

use std::cmp::Ordering;

use treering_script::{NameId, NameTree, NodeKind};

use super::FileList;

/// Names in walk order, without the root.
pub(crate) fn walk_order(names: &NameTree) -> Vec<NameId> {
    let mut order = Vec::with_capacity(names.len());
    let mut open = vec![names.children(NameId::ROOT)];
    while let Some(entries) = open.last_mut() {
        let Some(id) = entries.next() else {
            open.pop();
            continue;
        };
        order.push(id);
        if names.kind(id) == NodeKind::Directory {
            open.push(names.children(id));
        }
    }
    order
}

/// Index of every name in an order, by its id.
pub(crate) fn ranks(order: &[NameId]) -> Vec<u32> {
    let mut ranks = vec![0; order.len() + 1];
    for (rank, id) in (0..).zip(order) {
        ranks[id.index()] = rank;
    }
    ranks
}

/// Compares two paths in walk order.
pub(crate) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { *byte };
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    a[same..].first().map(key).cmp(&b[same..].first().map(key))
}

/// Indices of a list's files in walk order.
pub(crate) fn sorted_places(list: &FileList, ranks: &[u32]) -> Vec<u32> {
    let rank = |place: &u32| ranks[list.names[*place as usize].index()];
    let end = u32::try_from(list.len()).expect("a list has no name twice, and names are 32 bits");
    let mut places: Vec<u32> = (0..end).collect();
    if !places.is_sorted_by_key(rank) {
        places.sort_by_key(rank);
    }
    places
}

/// List with its files in walk order.
pub(crate) fn sorted_list(list: FileList, ranks: &[u32]) -> FileList {
    let places = sorted_places(&list, ranks);
    if places.is_sorted() {
        return list;
    }
    let names = places.iter().map(|&place| list.names[place as usize]).collect();
    let sizes = places.iter().map(|&place| list.sizes[place as usize]).collect();
    FileList { names, sizes, bytes: list.bytes }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use treering_script::{NamesBuilder, NodeKind};

    use super::{compare, walk_order};

    #[test]
    fn walk_order_matches_the_comparison() {
        let mut builder = NamesBuilder::default();
        for path in ["b/y", "b.c", "b/a/z", "b-", "a", "c", "b/a.x"] {
            builder.add(path.as_bytes(), NodeKind::File).unwrap();
        }
        let names = builder.build();
        let walk: Vec<_> = walk_order(&names).iter().map(|&id| names.display_path(id)).collect();
        assert_eq!(walk, ["a", "b", "b/a", "b/a/z", "b/a.x", "b/y", "b-", "b.c", "c"]);
        for pair in walk.windows(2) {
            assert_eq!(compare(pair[0].as_bytes(), pair[1].as_bytes()), Ordering::Less, "{pair:?}");
        }
        assert_eq!(compare(b"a/b", b"a/b"), Ordering::Equal);
    }
}
