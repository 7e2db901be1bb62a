//! Lines outside every output that look like those of a known program: either nothing reads its
//! outputs, or something stands before them or between their lines.

use std::fmt;

/// Program by which a line seems to have been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NearMiss {
    /// No importer reads outputs of this program.
    Unread(&'static str),
    /// The line looks like this of a tool, but does not begin an output of it.
    Resembles(&'static str),
}

/// Texts of programs whose outputs are not read.
const UNREAD: [(&str, &str); 7] = [
    ("Iozone: Performance Test of File I/O", "iozone"),
    ("iozone test complete", "iozone"),
    ("kB  reclen    write  rewrite", "iozone"),
    ("Vdbench distribution:", "vdbench"),
    ("Tiotest results for ", "tiobench"),
    ("multi-threaded system evaluation benchmark", "sysbench"),
    ("Command line used: elbencho", "elbencho"),
];

/// Texts that stand on a line of an output, all of them, and what such a line is.
const RESEMBLING: [(&[&str], &str); 13] = [
    (&["FSUse%", "Files/sec"], "the heading of fs_mark's rows"),
    (&["Throughput ", " MB/sec", " procs"], "the result of dbench"),
    (&["Final score for writes:"], "the scores of blogbench"),
    (&["intial create total runs"], "the summary of compilebench"),
    (&["IO Summary:", "ops/s"], "the summary of filebench"),
    (&["access ", "bw(MiB/s)"], "the heading of ior's rows"),
    (&["SUMMARY", "(of ", " iterations)"], "a table of mdtest"),
    (&["Sequential Output", "Sequential Input"], "the table of bonnie++"),
    (&[",+++++,+++,"], "a line of bonnie++"),
    (&["Run status group ", "(all jobs)"], "the last part of fio's text"),
    (&["%stddev", "change", "%stddev"], "a table of the kernel test robot"),
    (&["[RESULT]", "time ", "seconds"], "a phase of io500"),
    (&["Transactions per Second", "Op Name"], "the table of FFSB"),
];

/// Program that a line outside every output seems to be of.
pub(crate) fn near_miss(text: &str) -> Option<NearMiss> {
    let unread = UNREAD.iter().find(|(mark, _)| text.contains(mark));
    if let Some((_, program)) = unread {
        return Some(NearMiss::Unread(program));
    }
    let resembling = RESEMBLING.iter().find(|(marks, _)| marks.iter().all(|m| text.contains(m)));
    resembling.map(|(_, what)| NearMiss::Resembles(what))
}

impl fmt::Display for NearMiss {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unread(program) => write!(out, "an output of {program}, which no importer reads"),
            Self::Resembles(what) => {
                write!(out, "looks like {what}, but is not in its form: not imported")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::near_miss;

    #[test]
    fn lines_of_programs_are_recognized_wherever_they_stand() {
        let told = |text: &str| near_miss(text).map(|near| near.to_string());
        let iozone = told("\tIozone: Performance Test of File I/O").unwrap();
        assert_eq!(iozone, "an output of iozone, which no importer reads");
        let dbench = told("Before: Throughput 26.4 MB/sec  1 clients  1 procs").unwrap();
        assert!(dbench.starts_with("looks like the result of dbench, but"), "{dbench}");
        assert_eq!(told("the throughput in MB/sec"), None);
    }
}
