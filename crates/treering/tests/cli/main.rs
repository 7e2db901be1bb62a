//! The tests of the program from outside: what is typed, what is said, what stands on the disk and
//! in the store afterwards.
#![expect(clippy::unwrap_used, reason = "tests")]

/// Aging on purpose.
mod aging;

/// What is said of stored trials afterwards, and what that does to comparisons.
mod annotating;

/// Kernels of revisions, for `git bisect run`.
mod bisecting;

/// blogbench: what it prints, leaves and stores.
mod blogbench;

/// bonnie++, beside the original where it is installed.
mod bonnie;

/// Runs whose filesystem, store or limits give way in the middle.
mod broken;

/// The HTML in a real browser.
mod browser;

/// Plans, and what is left when they are stopped.
mod campaigns;

/// The original as a small model of its own.
mod classic_model;

/// The lines, the summary and the options of the original.
mod classic_lines;

/// mdtest, beside the original where it is in the path.
mod mdtest;

/// ior, beside the original where it is in the path.
mod io500;
mod ior;

/// Links with the names of the imitated tools.
mod links;
mod loading;

/// What classic runs print, taken back as logs.
mod own_logs;

/// What classic runs print, formed again from the store.
mod show_classic;

/// What a classic run leaves on the disk.
mod classic_trees;

/// Any program as a workload.
mod command;

/// Stored trials against each other.
mod comparing;

/// Data sets that are wrong.
mod data_sets;

/// dbench, beside the original where it is installed.
mod dbench;

/// Cautions whose causes are planted, and the doctor.
mod cautions;

/// Every call of a run, printed without one.
mod drop_ins;
mod dry_calls;

/// Faults that are planted on the machine.
mod faults;

/// FFSB: what its profiles print, leave and store.
mod ffsb;

/// Where FFSB's files are, and what becomes of those of an earlier run.
mod ffsb_places;

/// filebench: what its files print, leave and store.
mod filebench;

/// fio, beside the original where it is installed.
mod fio;
mod fio_beside;

/// fio under its own name, where the original does the work.
mod nfs_guests;
mod original_fio;
mod originals;

/// fio done by the installed fio.
mod with_fio;

/// fs_mark, beside the original where it is installed.
mod fresh_copy;
mod fs_mark;
mod heat;
mod history;

/// Filesystems that are too small or fill up.
mod full;

/// Logs of other tools.
mod images;
mod importing;

/// Runs that are stopped or killed, and what is left of them.
mod interrupted;

/// Kernels that take turns, each booted in a guest.
mod keeping;
mod kernels;

/// Guests in which something goes wrong.
mod kernels_failing;

/// A machine that reboots by kexec between two kernels.
mod kexec;

/// Where files lie, beside the tools that know.
mod layout;

/// Many clients, by MPI.
mod mpi;

/// Plans that start ranks.
mod rank_plans;

/// Ranks that each do the whole job.
mod ranks_apart;

/// Many clients of one GlusterFS.
mod gluster;

/// Native runs on real filesystems.
mod native_trees;

/// Directories that cannot be worked in.
mod places;

/// A whole store in one file.
mod overview;

/// What is removed with a run, and what stays.
mod ownership;

/// Disks that are played.
mod played;

/// Cautions about a trial whose causes are planted.
mod planted;

/// The command line as it is told to users.
mod reference;

/// Packs that are run again.
mod repeating;

/// Plans that reboot the machine for each trial, on a machine that is a directory.
mod reboots;

/// Completion, manual pages, colors, names of devices.
mod sharing;
mod shells;

/// Lists, single trials and exports.
mod results;

/// Where results are while their place is under test.
mod staging;

/// Curves over values.
mod sweeping;

/// Block traces.
mod trace;

/// What was kept of a trial.
mod trial;

/// Series of points beside an anchor.
mod watching;

/// Comparisons that are made unfair on purpose.
mod unfair;

use std::sync::{Mutex, MutexGuard, PoisonError};

use treering_testkit::Program;

/// `lab release` frees what any killed run left: tests that leave something for it take turns.
static RELEASES: Mutex<()> = Mutex::new(());

fn only_release() -> MutexGuard<'static, ()> {
    RELEASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The program with a home of its own.
fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_treering"))
}
