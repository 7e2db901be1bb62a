//! The CSV line, and its header.

use super::name::{chunk, size};
use super::{CsvVersion, RunReport, TestRate};
use crate::classic::asked::FileKind;
use crate::classic::test::{RateUnit, Test};

/// Names of the fields before the figures.
const FIRST: &str = "format_version,bonnie_version,name,concurrency,seed,file_size,io_chunk_size,";
/// Names of the fields that only 1.98 has.
const SEEKING: &str = "seeks_count,seek_procs,";
const IO: &str = "putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,getc,getc_cpu,\
                  get_block,get_block_cpu,seeks,seeks_cpu,";
const FILES: &str = "num_files,max_size,min_size,num_dirs,file_chunk_size,seq_create,\
                     seq_create_cpu,seq_stat,seq_stat_cpu,seq_del,seq_del_cpu,ran_create,\
                     ran_create_cpu,ran_stat,ran_stat_cpu,ran_del,ran_del_cpu,";
const LATENCIES: &str = "putc_latency,put_block_latency,rewrite_latency,getc_latency,\
                         get_block_latency,seeks_latency,seq_create_latency,seq_stat_latency,\
                         seq_del_latency,ran_create_latency,ran_stat_latency,ran_del_latency";

/// Header line. The original leaves two fields of 1.98 out.
pub(crate) fn header(version: CsvVersion, as_original: bool) -> String {
    let seeking = if version == CsvVersion::Long && !as_original { SEEKING } else { "" };
    format!("{FIRST}{seeking}{IO}{FILES}{LATENCIES}\n")
}

/// CSV line of a run, with its newline.
pub(crate) fn line(report: &RunReport<'_>) -> String {
    let (parameters, label) = (report.asked, report.label);
    let format = match label.csv {
        CsvVersion::Short(format) => format,
        CsvVersion::Long => "1.98",
    };
    let mut fields = vec![
        format.to_owned(),
        "2.00a".to_owned(),
        label.name.clone(),
        parameters.copies.to_string(),
        label.seed.to_string(),
    ];
    let empty = String::new;
    match &parameters.io {
        Some(io) => {
            let chunk = if label.csv_as_original { empty() } else { chunk(io.chunk) };
            fields.extend([size(label.mib), chunk]);
            if label.csv == CsvVersion::Long {
                fields.extend([io.seeks.to_string(), io.seekers.to_string()]);
            }
        }
        None => {
            let count = if label.csv == CsvVersion::Long { 4 } else { 2 };
            fields.extend((0..count).map(|_| empty()));
        }
    }
    let (io, files) = Test::ALL.split_at(Test::SequentialCreate.place());
    io.iter().for_each(|test| fields.extend(figures(report, *test)));
    fields.extend(files_asked(report));
    files.iter().for_each(|test| fields.extend(figures(report, *test)));
    fields.extend(Test::ALL.map(|test| report.latency(test)));
    fields.join(",") + "\n"
}

/// Parameter fields of the small files: number, sizes, directories, chunk.
fn files_asked(report: &RunReport<'_>) -> [String; 5] {
    let Some(files) = &report.asked.files else { return Default::default() };
    let unless_zero = |bytes: u64| if bytes == 0 { String::new() } else { bytes.to_string() };
    let (max, min) = match files.kind {
        FileKind::HardLinks => ("link".to_owned(), String::new()),
        FileKind::SymbolicLinks => ("symlink".to_owned(), String::new()),
        FileKind::Regular => (unless_zero(files.max_bytes), unless_zero(files.min_bytes)),
    };
    let chunk = chunk(files.chunk);
    // The number of directories is always printed beside a chunk size, so that readers who expect
    // it in the original's column do not take the one for the other.
    let shows_dirs = files.dirs > 1 || (!chunk.is_empty() && !report.label.csv_as_original);
    let dirs = if shows_dirs { files.dirs.to_string() } else { String::new() };
    let k = report.label.k.to_string();
    if report.label.csv_as_original {
        [k, max, min, String::new(), dirs]
    } else {
        [k, max, min, dirs, chunk]
    }
}

/// Rate and CPU percentage of a test.
fn figures(report: &RunReport<'_>, test: Test) -> [String; 2] {
    match report.rate(test) {
        TestRate::Absent => Default::default(),
        TestRate::TooShort => ["+++++".to_owned(), "+++".to_owned()],
        TestRate::Known(rate, percent) => {
            let rate = match test.counted() {
                RateUnit::Seeks if rate < 1000.0 => format!("{rate:.1}"),
                RateUnit::Seeks => format!("{rate:.0}"),
                RateUnit::Bytes | RateUnit::Files => format!("{:.0}", rate.floor()),
            };
            [rate, percent.to_string()]
        }
    }
}
