//! The options of PostMark, each declared once. The defaults are those of the original.

use treering_script::{
    ClassicPayload, ConfigError, RunRequest, Settings, WorkloadManifest, options,
};

/// Manifest of the workload: name, summary, options.
pub(super) static MANIFEST: WorkloadManifest = WorkloadManifest {
    name: "postmark",
    aliases: &[],
    about: "Read, append to, create and delete small files by chance, as a mail server does",
    imitates: "",
    classic: &[],
    native: NativeOptions::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 2,
};

/// Largest size of a file. A seed is advanced by twice as many draws.
const SIZE_MAX: u64 = 1 << 28;
/// Largest size of the initial pool, in files.
const NUMBER_MAX: u64 = 50_000_000;
const TRANSACTIONS_MAX: u64 = 1_000_000_000;
const SUBDIRS_MAX: u64 = 1_000_000;
/// Largest size of a read or write.
const BLOCK_MAX: u64 = 4 << 20;

options! {
    /// The native command line, and plans.
    pub(super) struct NativeOptions {
        /// The smallest size of a new file.
        size_low: u32 = Size[1..=SIZE_MAX], "500";
        /// The size that no file exceeds.
        size_high: u32 = Size[1..=SIZE_MAX], "10000";
        /// Files of the initial pool. At most twice as many stand at a time.
        number('n'): u32 = Number[1..=NUMBER_MAX], "500";
        /// Number of transactions.
        transactions('t'): u32 = Number[1..=TRANSACTIONS_MAX], "500";
        /// Subdirectories over which the files are distributed; with 0 and 1 there is none.
        subdirs: u32 = Number[0..=SUBDIRS_MAX], "0";
        /// Bytes of a read.
        read_size: u32 = Size[1..=BLOCK_MAX], "512";
        /// Bytes of a write.
        write_size: u32 = Size[1..=BLOCK_MAX], "512";
        /// Of ten transactions, how many read a file in the mean; the others append to one.
        bias_read: u32 = Number[0..=10], "5";
        /// Of ten transactions, how many create a file in the mean; the others delete one.
        bias_create: u32 = Number[0..=10], "5";
        /// Whether a C library collects reads and writes into calls of at least 4096 bytes.
        buffering: &'static str = Choice(&["yes", "no"]), "yes";
        /// The random seed.
        seed: u32 = Number, "42";
    }
}

/// Validated settings of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct RunShape {
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) number: u32,
    pub(super) transactions: u32,
    /// Number of subdirectories; 0 or at least 2.
    pub(super) subdirs: u32,
    pub(super) read_size: u32,
    pub(super) write_size: u32,
    pub(super) bias_read: u32,
    pub(super) bias_create: u32,
    pub(super) buffered: bool,
    pub(super) seed: u32,
}

/// Reads native settings into a shape and the request to record.
pub(super) fn native(settings: &Settings) -> Result<(RunShape, RunRequest), ConfigError> {
    let mut options = NativeOptions::read(settings)?;
    if options.size_low > options.size_high {
        // A low bound above the default high one is the size of all files.
        if settings.text("size-high").is_some() {
            let message = format!(
                "--size-low: {} is more than --size-high, which is {}",
                options.size_low, options.size_high
            );
            return Err(ConfigError::new(message).hint("give a smaller --size-low"));
        }
        options.size_high = options.size_low;
    }
    let shape = RunShape {
        low: options.size_low,
        high: options.size_high,
        number: options.number,
        transactions: options.transactions,
        subdirs: if options.subdirs > 1 { options.subdirs } else { 0 },
        read_size: options.read_size,
        write_size: options.write_size,
        bias_read: options.bias_read,
        bias_create: options.bias_create,
        buffered: options.buffering == "yes",
        seed: options.seed,
    };
    Ok((shape, RunRequest::native(options.parameters())))
}
