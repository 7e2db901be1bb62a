//! The options of dbench, each declared once: those of 4.00 and 5.0, and the native ones.

use treering_script::{ClassicPayload, ConfigError, Manifest, Settings, Support, options};

use super::generate::BLOCKS_MAX;
use super::player::CLIENTS_MAX;

/// dbench's name tag.
pub(super) static MANIFEST: Manifest = Manifest {
    name: "dbench",
    aliases: &[],
    about: "Replays a load of SMB operations by many clients: lookups, small files, many fsyncs",
    imitates: "dbench 4.00",
    classic: Classic::SPECS,
    native: Native::SPECS,
    classic_payload: ClassicPayload::Zeros,
    classic_usage_exit: 1,
};

/// Most processes, and clients of a native run.
const PROCESSES_MAX: u64 = 4096;
/// The longest run in seconds.
const SECONDS_MAX: u64 = 1_000_000_000;

/// An option of a backend other than files.
const OTHER_BACKEND: Support =
    Support::Rejected("only load files for files are played, not those of other backends");

options! {
    /// How files are opened and synced.
    pub(super) struct Style {
        /// Megabytes per second that each client reads and writes at most.
        target_rate('R'): Option<String> = Text;
        /// Open files with O_SYNC.
        sync('s'): bool = Flag;
        /// Sync the directory after each unlink, rmdir and rename.
        sync_dir('S'): bool = Flag;
        /// Fsync after each write.
        fsync('F'): bool = Flag;
        /// Read and write an extended attribute with each open and each change of attributes.
        xattr('x'): bool = Flag;
        /// Do not read a directory for a name that is not there.
        no_resolve: bool = Flag;
    }
}

options! {
    /// The classic command line.
    pub(super) struct Classic {
        /// How many processes play the load.
        nprocs: Option<String> = Operand;
        /// Seconds that are measured, after the warm-up.
        timelimit('t'): u64 = Number[0..=SECONDS_MAX], "600";
        /// Seconds of warm-up; without it, a fifth of the time.
        warmup: Option<u64> = Number[0..=SECONDS_MAX];
        /// The load file, or several with commas between, one for each process.
        loadfile('c'): String = Path, "/usr/share/dbench/client.txt";
        /// Where the clients work, below its directory clients.
        #[recorded = false]
        directory('D'): String = Path, ".";
        /// What is done otherwise than in the load.
        style: Style;
        /// Clients of each process: it plays each line for all of them in turn.
        clients_per_process: u32 = Number[1..=CLIENTS_MAX as u64], "1";
        /// Make a file longer by a byte without writing it; leave a byte that is there.
        one_byte_write_fix: bool = Flag;
        /// Leave out calls that would change nothing.
        stat_check: bool = Flag;
        /// Count the bytes of reads and writes only.
        fake_io: bool = Flag;
        /// Leave the clients' files at the end.
        skip_cleanup: bool = Flag;
        /// Also a table for each client.
        per_client_results: bool = Flag;
        /// End when each client has played it once.
        run_once: bool = Flag;
        /// Lines for other programs, as 5.0.
        machine_readable: bool = Flag;
        /// At the end, how long each pass of the load file took.
        show_execute_time: bool = Flag;
        /// Play only these lines of the load file, as 601-4173.
        lines: Option<String> = Text;
        /// What a client is.
        clients_as: &'static str = Choice(&["processes", "threads"]), "processes";
        /// The seed of random numbers and strings.
        seed: Option<u64> = Number;
        /// What the load is played against.
        #[support = Support::Approximate("fileio is all there is")]
        #[recorded = false]
        backend('B'): &'static str = Choice(&["fileio"]), "fileio";
        /// Move at most so many bytes.
        #[support = Support::Ignored("it speaks of other backends")]
        trunc_io: () = Number;
        /// Options of sockets.
        #[support = Support::Rejected("there is no tbench here, nothing goes over a network")]
        tcp_options('T'): () = Text;
        /// The server of tbench, and of SMB.
        #[support = OTHER_BACKEND]
        server: () = Text;
        /// The NFS server.
        #[support = OTHER_BACKEND]
        nfs: () = Text;
        /// The block device.
        #[support = OTHER_BACKEND]
        block: () = Text;
        /// The SCSI device.
        #[support = OTHER_BACKEND]
        scsi: () = Text;
        /// The iSCSI target.
        #[support = OTHER_BACKEND]
        iscsi: () = Text;
        /// The SMB share.
        #[support = OTHER_BACKEND]
        smb: () = Text;
    }
}

options! {
    /// The native command line, and plans.
    pub(super) struct Native {
        /// The load file; without it, one that is made by --load-seed and --blocks.
        loadfile: Option<String> = Operand;
        /// Clients that play side by side.
        clients('n'): u32 = Number[1..=PROCESSES_MAX], "4";
        /// Seconds that are measured.
        time('t'): Option<u64> = Number[1..=SECONDS_MAX], "60";
        /// Seconds before them; without it, a fifth of the time.
        warmup: Option<u64> = Number[0..=SECONDS_MAX];
        /// End when each client has played the load so often, instead of after a time.
        passes: Option<u64> = Number[1..=1_000_000_000];
        /// Play only these lines of the load file, as 601-4173.
        lines: Option<String> = Text;
        /// Lines that each client plays once before, which make its files, as 1-600.
        fill_lines: Option<String> = Text;
        /// The seed of the load that is made where none is named.
        load_seed: Option<u64> = Number, "1";
        /// How many blocks of about 3550 operations that load has.
        blocks: Option<u32> = Number[1..=BLOCKS_MAX as u64], "4";
        /// What is done otherwise than in the load.
        style: Style;
        /// What a client is.
        clients_as: &'static str = Choice(&["threads", "processes"]), "threads";
        /// The seed of random numbers and strings.
        seed: u64 = Number, "1";
    }
}

impl Classic {
    /// Reads it, with what depends on other options.
    pub(super) fn resolved(settings: &Settings) -> Result<Self, ConfigError> {
        let mut options = Self::read(settings)?;
        options.warmup.get_or_insert(options.timelimit / 5);
        options.seed.get_or_insert(settings.started_unix_ms);
        Ok(options)
    }

    /// How many processes there are.
    pub(super) fn processes(&self) -> Result<u32, ConfigError> {
        let Some(text) = &self.nprocs else {
            return Err(ConfigError::new("You need to specify NPROCS")
                .hint("dbench [OPTIONS] NPROCS, as `dbench -D /mnt/test -t 60 4`"));
        };
        let number = text.parse::<u32>().ok();
        let right = number.filter(|number| (1..=PROCESSES_MAX).contains(&u64::from(*number)));
        right.ok_or_else(|| {
            ConfigError::new(format!("create {text} procs?  you must be kidding."))
                .hint("NPROCS is a whole number from 1 to 4096")
        })
    }
}

impl Style {
    /// Bytes per second of each client.
    pub(super) fn rate(&self) -> Result<Option<f64>, ConfigError> {
        let Some(text) = &self.target_rate else { return Ok(None) };
        let number = text.parse::<f64>().ok().filter(|rate| (0.0..=1e6).contains(rate));
        let number = number.ok_or_else(|| {
            ConfigError::new(format!("--target-rate: '{text}' is not a number of megabytes"))
                .hint("give megabytes per second, as 5 or 0.5; 0 sets no rate")
        })?;
        Ok((number > 0.0).then_some(number * 1e6))
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::Classic;

    #[test]
    fn every_letter_of_the_original_is_there() {
        let letters: HashSet<char> = Classic::SPECS.iter().filter_map(|spec| spec.short).collect();
        assert_eq!(letters, "tcDTRsSFxB".chars().collect());
    }
}
