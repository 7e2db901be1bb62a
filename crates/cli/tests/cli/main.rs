//! Tests of the program as users run it: command lines, output, and the files on disk and in the
//! store afterwards. The header of each file names its subject.
#![expect(clippy::unwrap_used, reason = "tests")]

mod aging;
mod annotating;
mod arm64;
mod bisecting;
mod blogbench;
mod bonnie;
mod broken;
mod browser;
mod campaigns;
mod cautions;
mod classic_lines;
mod classic_model;
mod classic_trees;
mod command;
mod comparing;
mod data_sets;
mod dbench;
mod drop_ins;
mod dry_calls;
mod exits;
mod faults;
mod ffsb;
mod ffsb_places;
mod filebench;
mod fio;
mod fio_beside;
mod fio_devices;
mod fio_verify;
mod fresh_copy;
mod fs_mark;
mod full;
mod gluster;
mod grub;
mod heat;
mod history;
mod images;
mod importing;
mod interrupted;
mod io500;
mod ior;
mod jobs_against;
mod keeping;
mod kernel_check;
mod kernels;
mod kernels_failing;
mod kexec;
mod layout;
mod left_behind;
mod links;
mod loading;
mod mdtest;
mod mpi;
mod native_trees;
mod nfs_guests;
mod original_fio;
mod originals;
mod overview;
mod own_logs;
mod ownership;
mod places;
mod planted;
mod played;
mod printed_commands;
mod rank_plans;
mod ranks_apart;
mod reboots;
mod reference;
mod repeating;
mod results;
mod settings;
mod sharing;
mod shells;
mod show_classic;
mod staging;
mod sweeping;
mod trace;
mod trial;
mod unfair;
mod watching;
mod with_fio;

use std::sync::{Mutex, MutexGuard, PoisonError};

use treering_testkit::Program;

/// Lock of the tests that leave leftovers for `lab release`, which frees those of any killed run.
static RELEASES: Mutex<()> = Mutex::new(());

fn only_release() -> MutexGuard<'static, ()> {
    RELEASES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Program with its own home directory.
fn program() -> Program {
    Program::new(env!("CARGO_BIN_EXE_treering"))
}
