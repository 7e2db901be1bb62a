//! Integration tests of the importers: complete files in, trials and remarks out.
#![expect(clippy::unwrap_used, reason = "tests say what is wrong by where they stop")]

mod blogbench;
mod bonnie;
mod corpus;
mod dbench;
mod ffsb;
mod filebench;
mod fio;
mod fsperf;
mod general;
mod hostile;
mod io500;
mod ior;
mod lkp;
mod logs;
mod mail;
mod mdtest;
