//! Metrics of a layout: placement of files on disk at the end of a phase, and free space. Defined
//! in docs/layout.md.

use super::spec::metrics;

metrics! {
    /// Extents of a file, in the mean of all files with blocks.
    EXTENTS_PER_FILE = "layout_extents_per_file", Count, Lower;
    /// The share of the blocks of files that follow the block before in the same file.
    SCORE_PERCENT = "layout_score_percent", Percent, Higher;
    /// The share of all blocks that follow the block before when the whole tree is read in the
    /// order of a walk.
    TRAVERSAL_SCORE_PERCENT = "layout_traversal_score_percent", Percent, Higher;
    /// Of the files that follow another in their directory, the share that begin where that one
    /// ends.
    ADJACENT_SIBLINGS_PERCENT = "layout_adjacent_siblings_percent", Percent, Higher;
    /// The distance between neighbours in a directory that 90 % do not exceed.
    GAP_BYTES_P90 = "layout_gap_bytes_p90", Bytes, Lower;
    /// The stretch of disk over which the files of a directory lie, by their bytes; the median
    /// over the directories.
    SPAN_MEDIAN = "layout_span_median", Count, Lower;
    /// What reading all files in the order of a walk would take on the modelled disk hdd-7200, from
    /// their extents alone.
    MODELLED_READ_SECONDS = "layout_modelled_read_seconds", Seconds, Lower;
    /// The share of directory blocks that directly follow the block before in their directory; on
    /// btrfs of the leaves of the file trees, in the order of their keys.
    DIRECTORY_ORDER_PERCENT = "layout_directory_order_percent", Percent, Higher;
    /// Stretches of adjacent directory blocks; on btrfs of leaves of the file trees.
    DIRECTORY_STRETCHES = "layout_directory_stretches", Count, Lower;
    /// The distance between the inode numbers of neighbours in a directory, the median.
    INODE_DISTANCE_MEDIAN = "layout_inode_distance_median", Count, Lower;
    /// The share of files with the inode number behind that of the file before in their directory.
    NEXT_INODES_PERCENT = "layout_next_inodes_percent", Percent, Higher;
    /// Groups of the filesystem in which files begin.
    GROUPS_IN_USE = "layout_groups_in_use", Count, Lower;
    /// Groups in which the files of a directory begin, in the mean.
    GROUPS_PER_DIRECTORY = "layout_groups_per_directory", Count, Lower;
    /// Extents of free space.
    FREE_EXTENTS = "layout_free_extents", Count, Lower;
    /// The mean size of an extent of free space.
    FREE_MEAN_BYTES = "layout_free_mean_bytes", Bytes, Higher;
    /// The share of free space in extents of 1 MiB and more.
    FREE_IN_LARGE_PERCENT = "layout_free_in_large_percent", Percent, Higher;
    /// The share of free space in extents below 64 KiB.
    FREE_IN_SMALL_PERCENT = "layout_free_in_small_percent", Percent, Lower;
}
