//! The options of filebench's command line, and our own.

use treering_script::{ClassicPayload, Manifest, QueueKind, options};

use super::plan::{FileSizes, SECONDS_MAX};

/// Filebench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "filebench",
    aliases: &[],
    about: "Runs a workload of filebench: threads of flowops over filesets, as webproxy or varmail",
    imitates: "filebench 1.5-alpha3",
    classic: Classic::SPECS,
    native: Native::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// The operand's name.
pub(super) const WORKLOAD: &str = "workload";

options! {
    /// How sizes and requests are meant.
    pub(super) struct Meaning {
        /// How a fixed size of a fileset is meant: exactly, as in filebench 1.5, or as the mean of
        /// a gamma distribution, as in 1.4.
        sizes: &'static str = Choice(&["exact", "gamma"]), "exact";
        /// What carries out the requests of aiowrite.
        queue: Option<&'static str> = Choice(&["io_uring", "libaio"]), "io_uring";
    }
}

impl Meaning {
    /// How fixed sizes are understood.
    pub(super) fn sizes(&self) -> FileSizes {
        if self.sizes == "gamma" { FileSizes::Gamma } else { FileSizes::Exact }
    }

    /// What carries out the requests.
    pub(super) fn queue(&self) -> QueueKind {
        if self.queue == Some("libaio") { QueueKind::Libaio } else { QueueKind::IoUring }
    }
}

options! {
    /// The classic command line.
    pub(super) struct Classic {
        /// The workload file.
        #[recorded = false]
        file('f'): Option<String> = Path;
        /// Say which custom variables there are, or the parameters of this one.
        #[recorded = false]
        cvars('c'): Option<String> = Optional("all");
        /// The seed of all draws; the original has none.
        seed: Option<u64> = Number;
        /// How sizes and requests are meant.
        meaning: Meaning;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct Native {
        /// The name of a personality, or the path of a workload file; its filesets become
        /// directories below the target.
        #[recorded = false]
        workload: Option<String> = Operand;
        /// NAME=VALUE: what the variable $NAME of the file is instead; may be given several times.
        #[recorded = false]
        set: Vec<String> = Paths;
        /// As --set nfiles=N: how many files there are.
        #[recorded = false]
        files: Option<u64> = Number;
        /// As --set nthreads=N: how many threads work.
        #[recorded = false]
        threads: Option<u64> = Number;
        /// Seconds that it runs, instead of the file's.
        seconds: Option<u64> = Number[1..=SECONDS_MAX];
        /// How sizes and requests are meant.
        meaning: Meaning;
        /// The seed of all draws.
        seed: u64 = Number, "1";
    }
}
