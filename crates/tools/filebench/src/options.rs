//! Options of filebench's command line, and those added by treering.

use treering_script::{ClassicPayload, QueueKind, WorkloadManifest, options};

use super::plan::{FileSizes, SECONDS_MAX};

/// Manifest of the workload: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "filebench",
    aliases: &[],
    about: "Run a filebench workload: threads of flowops over filesets, such as webproxy or \
            varmail",
    imitates: "filebench 1.5-alpha3",
    classic: ClassicOptions::SPECS,
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// Name of the operand.
pub(super) const WORKLOAD: &str = "workload";

options! {
    /// Interpretation of sizes and requests.
    pub(super) struct SizeInterpretation {
        /// Whether a fixed fileset size is exact, as in filebench 1.5, or the mean of a gamma
        /// distribution, as in 1.4.
        sizes: &'static str = Choice(&["exact", "gamma"]), "exact";
        /// How the requests of aiowrite are carried out.
        queue: Option<&'static str> = Choice(&["io_uring", "libaio"]), "io_uring";
    }
}

impl SizeInterpretation {
    /// Meaning of fixed sizes.
    pub(super) fn sizes(&self) -> FileSizes {
        if self.sizes == "gamma" { FileSizes::Gamma } else { FileSizes::Exact }
    }

    /// Asynchronous I/O interface.
    pub(super) fn queue(&self) -> QueueKind {
        if self.queue == Some("libaio") { QueueKind::Libaio } else { QueueKind::IoUring }
    }
}

options! {
    /// The classic command line.
    pub(super) struct ClassicOptions {
        /// The workload file.
        #[recorded = false]
        file('f'): Option<String> = Path;
        /// Say which custom variables there are, or the parameters of this one.
        #[recorded = false]
        cvars('c'): Option<String> = Optional("all");
        /// The random seed; the original has none.
        seed: Option<u64> = Number;
        /// How sizes and requests are meant.
        interpretation: SizeInterpretation;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// The name of a personality, or the path of a workload file; its filesets become
        /// directories below the target.
        #[recorded = false]
        workload: Option<String> = Operand;
        /// NAME=VALUE: set the variable $NAME of the file; may be given several times.
        #[recorded = false]
        set: Vec<String> = Paths;
        /// The number of files, as --set nfiles=N.
        #[recorded = false]
        files: Option<u64> = Number;
        /// The number of threads, as --set nthreads=N.
        #[recorded = false]
        threads: Option<u64> = Number;
        /// Run time in seconds, instead of that of the file.
        seconds: Option<u64> = Number[1..=SECONDS_MAX];
        /// How sizes and requests are meant.
        interpretation: SizeInterpretation;
        /// The random seed.
        seed: u64 = Number, "1";
    }
}
