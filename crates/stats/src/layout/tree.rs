//! Layout measures of a tree whose files are reported in the order of a sequential reader.

use super::ratio::ClusterRatio;
use super::{CountRatio, Extent, ExtentPlacement, Quantiles, ValueHistogram};

/// Number of extents and their bytes in the files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtentTotals {
    /// Number of extents as reported by the kernel.
    pub extents: u64,
    /// File bytes in these extents.
    pub bytes: u64,
}

impl ExtentTotals {
    fn add(&mut self, extent: &Extent) {
        self.extents += 1;
        self.bytes = self.bytes.saturating_add(extent.length);
    }
}

/// Accumulator over the files of a tree. Directories are reported one after the other, each with
/// its own files in directory order.
#[derive(Clone, Debug)]
pub struct TreeMeasures {
    block_bytes: u64,
    files: u64,
    directories: u64,
    placed_files: u64,
    inline_files: u64,
    delayed_files: u64,
    empty_files: u64,
    fragmented_files: u64,
    most_extents: u64,
    blocks: u64,
    placed: ExtentTotals,
    inline: ExtentTotals,
    delayed: ExtentTotals,
    unwritten: ExtentTotals,
    shared: ExtentTotals,
    encoded: ExtentTotals,
    extents_per_file: ClusterRatio,
    layout_score: ClusterRatio,
    traversal_score: ClusterRatio,
    adjacent_siblings: ClusterRatio,
    gap_bytes: ValueHistogram,
    span_permille: ValueHistogram,
    /// Previous extent of any file.
    previous: Option<Extent>,
    /// Last extent of the previous sibling.
    sibling: Option<Extent>,
    directory: AddressRange,
    file: OpenFile,
}

/// Address range of a directory's files.
#[derive(Clone, Copy, Debug, Default)]
struct AddressRange {
    bytes: u64,
    low: u64,
    high: u64,
}

/// File whose extents are being reported.
#[derive(Clone, Copy, Debug, Default)]
struct OpenFile {
    has_inline: bool,
    has_delayed: bool,
    pieces: u64,
    blocks: u64,
    following: u64,
    last: Option<Extent>,
}

/// Measures of a tree.
#[derive(Clone, Debug, PartialEq)]
pub struct TreeLayout {
    /// Block size in bytes.
    pub block_bytes: u64,
    /// Number of measured files.
    pub files: u64,
    /// Number of directories.
    pub directories: u64,
    /// Files with blocks at a known address.
    pub placed_files: u64,
    /// Files with data inline in the metadata.
    pub inline_files: u64,
    /// Files with delayed allocation.
    pub delayed_files: u64,
    /// Files without any extent: empty files and files that consist of holes.
    pub empty_files: u64,
    /// Files in more than one fragment.
    pub fragmented_files: u64,
    /// Fragments of the most fragmented file.
    pub most_extents: u64,
    /// Placed extents, as reported by the kernel.
    pub placed: ExtentTotals,
    /// Inline extents.
    pub inline: ExtentTotals,
    /// Extents with delayed allocation.
    pub delayed: ExtentTotals,
    /// Placed extents that were never written.
    pub unwritten: ExtentTotals,
    /// Placed extents that are shared.
    pub shared: ExtentTotals,
    /// Placed extents that are compressed or encrypted.
    pub encoded: ExtentTotals,
    /// Fragments per file with blocks at a known address. Contiguous extents count as one fragment.
    pub extents_per_file: Option<CountRatio>,
    /// Share of blocks, except the first of each file, that directly follow the previous block of
    /// the file.
    pub layout_score: Option<CountRatio>,
    /// Share of blocks, except the first, that directly follow the previous block of the whole
    /// tree.
    pub traversal_score: Option<CountRatio>,
    /// Share of siblings whose first block directly follows the last block of the previous file.
    pub adjacent_siblings: Option<CountRatio>,
    /// Distance between neighbouring siblings, in bytes.
    pub gap_bytes: Option<Quantiles>,
    /// Distance spanned by a directory's files, per byte of these files, times 1000.
    pub span_permille: Option<Quantiles>,
}

/// Reports whether `after` directly follows `before` on the device. An encoded extent has an
/// unknown length on the device, at most its length in the file.
fn follows(before: &Extent, after: &Extent) -> bool {
    if before.encoded {
        return before.physical < after.physical && after.physical <= before.end();
    }
    before.end() == after.physical
}

/// Reports whether filefrag counts `after` as one fragment with `before` of the same file: `after`
/// begins directly behind `before`, or both have the same distance on the device as in the file.
fn is_one_piece(before: &Extent, after: &Extent) -> bool {
    let moved = after.logical.wrapping_sub(before.logical).wrapping_add(before.physical);
    after.physical == before.end() || after.physical == moved
}

impl TreeMeasures {
    /// Creates an empty accumulator for a filesystem with this block size.
    pub fn new(block_bytes: u64) -> Self {
        Self {
            block_bytes: block_bytes.max(1),
            files: 0,
            directories: 0,
            placed_files: 0,
            inline_files: 0,
            delayed_files: 0,
            empty_files: 0,
            fragmented_files: 0,
            most_extents: 0,
            blocks: 0,
            placed: ExtentTotals::default(),
            inline: ExtentTotals::default(),
            delayed: ExtentTotals::default(),
            unwritten: ExtentTotals::default(),
            shared: ExtentTotals::default(),
            encoded: ExtentTotals::default(),
            extents_per_file: ClusterRatio::default(),
            layout_score: ClusterRatio::default(),
            traversal_score: ClusterRatio::default(),
            adjacent_siblings: ClusterRatio::default(),
            gap_bytes: ValueHistogram::default(),
            span_permille: ValueHistogram::default(),
            previous: None,
            sibling: None,
            directory: AddressRange::default(),
            file: OpenFile::default(),
        }
    }

    /// Starts a directory.
    pub fn begin_directory(&mut self) {
        self.directories += 1;
        self.sibling = None;
        self.directory = AddressRange::default();
    }

    /// Ends a directory. Its span is counted only if the sample includes all of its files.
    pub fn end_directory(&mut self, is_whole: bool) {
        let AddressRange { bytes, low, high } = self.directory;
        if is_whole && bytes > 0 {
            let permille = u128::from(high - low) * 1000 / u128::from(bytes);
            self.span_permille.add(u64::try_from(permille).unwrap_or(u64::MAX));
        }
        self.directory = AddressRange::default();
        self.sibling = None;
    }

    /// Ends a run of consecutive files in a sample. Later files are not adjacent to earlier ones
    /// and form a new cluster.
    pub fn break_off(&mut self) {
        self.previous = None;
        self.sibling = None;
        self.extents_per_file.end_cluster();
        self.layout_score.end_cluster();
        self.traversal_score.end_cluster();
        self.adjacent_siblings.end_cluster();
    }

    /// Starts a file.
    pub fn begin_file(&mut self) {
        self.file = OpenFile::default();
    }

    /// Adds an extent of the file, in file order.
    pub fn extent(&mut self, extent: &Extent) {
        match extent.placement {
            ExtentPlacement::Inline => {
                self.inline.add(extent);
                self.file.has_inline = true;
            }
            ExtentPlacement::Delayed => {
                self.delayed.add(extent);
                self.file.has_delayed = true;
            }
            ExtentPlacement::Placed if extent.length > 0 => self.placed_extent(extent),
            ExtentPlacement::Placed => {}
        }
    }

    fn placed_extent(&mut self, extent: &Extent) {
        self.placed.add(extent);
        for (totals, is_so) in [
            (&mut self.unwritten, extent.unwritten),
            (&mut self.shared, extent.shared),
            (&mut self.encoded, extent.encoded),
        ] {
            if is_so {
                totals.add(extent);
            }
        }
        let blocks = extent.length.div_ceil(self.block_bytes);
        self.blocks = self.blocks.saturating_add(blocks);
        let file = &mut self.file;
        if let Some(last) = &file.last {
            file.pieces += u64::from(!is_one_piece(last, extent));
            file.following += u64::from(follows(last, extent));
        } else {
            file.pieces = 1;
            self.compare_with_sibling(extent);
        }
        let file = &mut self.file;
        file.blocks = file.blocks.saturating_add(blocks);
        file.following = file.following.saturating_add(blocks - 1);
        file.last = Some(*extent);
        if let Some(previous) = &self.previous {
            self.traversal_score.add(u64::from(follows(previous, extent)), 1);
        }
        self.traversal_score.add(blocks - 1, blocks - 1);
        self.previous = Some(*extent);
        let range = &mut self.directory;
        let is_first = range.bytes == 0;
        range.low = if is_first { extent.physical } else { range.low.min(extent.physical) };
        range.high = range.high.max(extent.end());
        range.bytes = range.bytes.saturating_add(extent.length);
    }

    /// Compares the first extent of a file with the last one of its previous sibling.
    fn compare_with_sibling(&mut self, first: &Extent) {
        if let Some(sibling) = &self.sibling {
            let is_next = follows(sibling, first);
            self.adjacent_siblings.add(u64::from(is_next), 1);
            let gap = if is_next { 0 } else { first.physical.abs_diff(sibling.end()) };
            self.gap_bytes.add(gap);
        }
    }

    /// Ends a file.
    pub fn end_file(&mut self) {
        self.files += 1;
        let file = self.file;
        self.inline_files += u64::from(file.has_inline);
        self.delayed_files += u64::from(file.has_delayed);
        if file.last.is_some() {
            self.placed_files += 1;
            self.fragmented_files += u64::from(file.pieces > 1);
            self.most_extents = self.most_extents.max(file.pieces);
            self.extents_per_file.add(file.pieces, 1);
            // In a file of one block, no block can follow another.
            self.layout_score.add(file.following, file.blocks - 1);
            self.sibling = file.last;
        } else if !file.has_inline && !file.has_delayed {
            self.empty_files += 1;
        }
    }

    /// Returns the measures. `sampled` is the measured share of the files; below 1, shares have
    /// intervals.
    pub fn layout(&self, sampled: f64) -> TreeLayout {
        TreeLayout {
            block_bytes: self.block_bytes,
            files: self.files,
            directories: self.directories,
            placed_files: self.placed_files,
            inline_files: self.inline_files,
            delayed_files: self.delayed_files,
            empty_files: self.empty_files,
            fragmented_files: self.fragmented_files,
            most_extents: self.most_extents,
            placed: self.placed,
            inline: self.inline,
            delayed: self.delayed,
            unwritten: self.unwritten,
            shared: self.shared,
            encoded: self.encoded,
            extents_per_file: self.extents_per_file.share(sampled),
            layout_score: self.layout_score.share(sampled),
            traversal_score: self.traversal_score.share(sampled),
            adjacent_siblings: self.adjacent_siblings.share(sampled),
            gap_bytes: self.gap_bytes.quantiles(),
            span_permille: self.span_permille.quantiles(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{TreeLayout, TreeMeasures};
    use crate::layout::{Extent, ExtentPlacement};
    use proptest::prelude::{Strategy, prop, prop_assert, prop_assert_eq, proptest};

    const BLOCK: u64 = 4096;

    /// Extent in blocks: offset in the file, address on the device, length.
    fn blocks(logical: u64, physical: u64, count: u64) -> Extent {
        Extent::placed(logical * BLOCK, physical * BLOCK, count * BLOCK)
    }

    fn measure(directories: &[Vec<Vec<Extent>>]) -> TreeLayout {
        let mut tree = TreeMeasures::new(BLOCK);
        for files in directories {
            tree.begin_directory();
            for extents in files {
                tree.begin_file();
                extents.iter().for_each(|extent| tree.extent(extent));
                tree.end_file();
            }
            tree.end_directory(true);
        }
        tree.layout(1.0)
    }

    fn share(share: Option<super::CountRatio>) -> (u64, u64) {
        share.map_or((0, 0), |share| (share.part, share.of))
    }

    #[test]
    fn tree_scores_match_the_hand_calculation() {
        // Files with blocks 10-13 and 20-21, with 22, and with 5; in another directory a file with
        // 6-7.
        let single = vec![
            vec![blocks(0, 10, 4), blocks(4, 20, 2)],
            vec![blocks(0, 22, 1)],
            vec![],
            vec![blocks(0, 5, 1)],
        ];
        let other = vec![vec![blocks(0, 6, 2)]];
        let reported = measure(&[single, other]);
        assert_eq!((reported.files, reported.directories, reported.empty_files), (5, 2, 1));
        assert_eq!(
            (reported.placed_files, reported.fragmented_files, reported.most_extents),
            (4, 1, 2)
        );
        assert_eq!(share(reported.extents_per_file), (5, 4));
        // Within the files, 3 + 1 of 5, 0 of 0, 0 of 0, and 1 of 1 blocks follow.
        assert_eq!(share(reported.layout_score), (5, 6));
        // In the order 10 11 12 13 | 20 21 22 | 5 6 7, seven of nine blocks follow.
        assert_eq!(share(reported.traversal_score), (7, 9));
        // 22 follows 21, but 5 does not follow 22; the empty file between them is no sibling.
        assert_eq!(share(reported.adjacent_siblings), (1, 2));
        let gaps = reported.gap_bytes.unwrap();
        assert_eq!((gaps.count, gaps.p50), (2, 0));
        assert!(gaps.max.abs_diff(18 * BLOCK) <= 18 * BLOCK / 1000);
        // The first directory spans blocks 5 to 22 with 8 blocks, 18/8; the second 6 to 7 with two,
        // 1.
        let spans = reported.span_permille.unwrap();
        assert_eq!((spans.count, spans.p50), (2, 1000));
        assert!(spans.max.abs_diff(2250) <= 3);
    }

    #[test]
    fn holes_and_unwritten_blocks_match_filefrag() {
        let mut unwritten = blocks(2, 12, 2);
        unwritten.unwritten = true;
        // Adjacent written and unwritten extents form one fragment, which continues after a hole of
        // the same size on the device, but not after a jump.
        let file = vec![blocks(0, 10, 2), unwritten, blocks(6, 16, 1), blocks(7, 40, 1)];
        let reported = measure(&[vec![file]]);
        assert_eq!(share(reported.extents_per_file), (2, 1));
        assert_eq!(reported.placed.extents, 4);
        assert_eq!((reported.unwritten.extents, reported.unwritten.bytes), (1, 2 * BLOCK));
        // Blocks 10 11 12 13 follow each other; 16 and 40 do not.
        assert_eq!(share(reported.layout_score), (3, 5));
    }

    #[test]
    fn unplaced_extents_are_only_counted() {
        let inline = Extent { placement: ExtentPlacement::Inline, ..Extent::placed(0, 0, 100) };
        let delayed = Extent { placement: ExtentPlacement::Delayed, ..Extent::placed(0, 0, BLOCK) };
        let reported = measure(&[vec![
            vec![blocks(0, 1, 1)],
            vec![inline],
            vec![delayed],
            vec![blocks(0, 2, 1)],
        ]]);
        assert_eq!(
            (reported.inline_files, reported.delayed_files, reported.empty_files),
            (1, 1, 0)
        );
        assert_eq!((reported.inline.bytes, reported.delayed.bytes), (100, BLOCK));
        assert_eq!(share(reported.extents_per_file), (2, 2));
        assert_eq!(share(reported.adjacent_siblings), (1, 1), "what has no block is no sibling");
        assert_eq!(reported.layout_score, None);
    }

    #[test]
    fn compressed_extents_follow_within_their_length() {
        let packed = |logical, physical| Extent { encoded: true, ..blocks(logical, physical, 32) };
        let reported = measure(&[vec![vec![packed(0, 100), packed(32, 105), packed(64, 104)]]]);
        // Within the extents 31 + 31 + 31 blocks follow, then 105 follows 100, but 104 does not
        // follow 105.
        assert_eq!(share(reported.layout_score), (94, 95));
        assert_eq!(
            share(reported.extents_per_file),
            (3, 1),
            "filefrag takes their length as it is"
        );
    }

    #[test]
    fn samples_break_adjacency_between_runs() {
        let mut tree = TreeMeasures::new(BLOCK);
        tree.begin_directory();
        for at in [1, 2, 10, 11] {
            if at == 10 {
                tree.break_off();
            }
            tree.begin_file();
            tree.extent(&blocks(0, at, 1));
            tree.end_file();
        }
        tree.break_off();
        tree.end_directory(false);
        let reported = tree.layout(0.5);
        assert_eq!(share(reported.adjacent_siblings), (2, 2));
        assert_eq!(share(reported.traversal_score), (2, 2));
        assert_eq!(reported.span_permille, None);
    }

    fn any_tree() -> impl Strategy<Value = Vec<Vec<Vec<Extent>>>> {
        let extent = (0..1u64 << 40, 0..1u64 << 62, 0..1u64 << 30, 0..3u8, 0..8u8);
        let extent = extent.prop_map(|(logical, physical, length, placement, flags)| Extent {
            placement: match placement {
                0 => ExtentPlacement::Inline,
                1 => ExtentPlacement::Delayed,
                _ => ExtentPlacement::Placed,
            },
            unwritten: flags & 1 > 0,
            shared: flags & 2 > 0,
            encoded: flags & 4 > 0,
            ..Extent::placed(logical, physical, length)
        });
        let file = prop::collection::vec(extent, 0..6);
        prop::collection::vec(prop::collection::vec(file, 0..6), 0..6)
    }

    proptest! {
        #[test]
        fn scores_of_arbitrary_extents_stay_within_0_and_1(tree in any_tree()) {
            let reported = measure(&tree);
            let files: usize = tree.iter().map(Vec::len).sum();
            prop_assert_eq!(reported.files, files as u64);
            prop_assert_eq!(reported.directories, tree.len() as u64);
            let shares =
                [reported.layout_score, reported.traversal_score, reported.adjacent_siblings];
            for share in shares {
                prop_assert!(share.is_none_or(|share| share.part <= share.of && share.of > 0));
            }
            prop_assert!(reported.extents_per_file.is_none_or(|share| share.part >= share.of));
            prop_assert!(reported.placed_files + reported.empty_files <= reported.files);
        }

        #[test]
        fn files_in_traversal_order_score_1(
            sizes in prop::collection::vec(1..50u64, 2..40)
        ) {
            let mut next = 0;
            let files = sizes.iter().map(|&count| {
                let at = next;
                next += count;
                vec![blocks(0, at, count)]
            });
            let reported = measure(&[files.collect()]);
            let shares =
                [reported.traversal_score, reported.adjacent_siblings, reported.extents_per_file];
            for share in shares {
                prop_assert_eq!(share.unwrap().value(), 1.0);
            }
            prop_assert_eq!(reported.gap_bytes.unwrap().max, 0);
            prop_assert!(reported.span_permille.unwrap().max.abs_diff(1000) <= 1);
        }

        #[test]
        fn scores_agree_with_a_block_list(tree in any_tree()) {
            // Reference model that handles every block by itself.
            let small = |extent: &Extent| Extent {
                physical: extent.physical % 64 * BLOCK,
                length: (extent.length % 5 + 1) * BLOCK,
                encoded: false,
                placement: ExtentPlacement::Placed,
                ..*extent
            };
            let tree: Vec<Vec<Vec<Extent>>> = tree
                .iter()
                .map(|files| files.iter().map(|file| file.iter().map(small).collect()).collect())
                .collect();
            let list = |file: &Vec<Extent>| -> Vec<u64> {
                let each = |extent: &Extent| (0..extent.length / BLOCK)
                    .map(|block| extent.physical / BLOCK + block).collect::<Vec<_>>();
                file.iter().flat_map(each).collect()
            };
            let follow = |blocks: &[u64]| blocks.windows(2).filter(|p| p[0] + 1 == p[1]).count();
            let files: Vec<Vec<u64>> = tree.iter().flatten().map(list).collect();
            let addresses: Vec<u64> = files.iter().flatten().copied().collect();
            let reported = measure(&tree);
            let traversal = (follow(&addresses) as u64, addresses.len().saturating_sub(1) as u64);
            prop_assert_eq!(share(reported.traversal_score), traversal);
            let within: usize = files.iter().map(|file| follow(file)).sum();
            let possible: usize = files.iter().map(|file| file.len().saturating_sub(1)).sum();
            prop_assert_eq!(share(reported.layout_score), (within as u64, possible as u64));
        }
    }
}
