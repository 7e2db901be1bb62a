//! CSV line of bonnie++ 1.03, which names neither its format nor its version: recognised by its 27
//! fields, alone in its line.

use super::run::{ColumnContent, FILES, ParsedRun, TESTS, VERSION_UNMARKED};

/// Number of fields in CSV of bonnie++ 1.0x, which has no version field.
const FIELDS: usize = 27;
/// Longest name, in bytes.
const NAME_MOST: usize = 64;
/// Minimum number of figures: with fewer it could be any line with commas.
const FIGURES_FEWEST: usize = 4;

/// Offset of the CSV line in a line of the log that has no other text.
pub(super) fn start(text: &str) -> Option<usize> {
    let at = text.len() - text.trim_start().len();
    read(&text[at..]).map(|_run| at)
}

/// Parses the CSV line, and returns its length in bytes.
pub(super) fn read(text: &str) -> Option<(ParsedRun, usize)> {
    let line = text.trim_end();
    if line.len() > super::LINE_MOST || line.split(',').take(FIELDS + 1).count() != FIELDS {
        return None;
    }
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let (name, size) = (fields[0], fields[1].split(':').collect::<Vec<_>>());
    let is_name = !name.is_empty()
        && name.len() <= NAME_MOST
        && !name.chars().any(|letter| letter.is_control() || letter.is_whitespace());
    if !is_name || !size.iter().all(|part| is_quantity(part)) {
        return None;
    }
    let mut run = ParsedRun {
        format: VERSION_UNMARKED.to_owned(),
        version: VERSION_UNMARKED.to_owned(),
        name: name.to_owned(),
        ..ParsedRun::default()
    };
    run.parameter("size", size[0]);
    run.parameter("chunk", size.get(1).copied().unwrap_or(""));
    files_field(fields[14], &mut run);
    for test in 0..TESTS {
        let place = 2 + 2 * test + usize::from(test >= FILES);
        run.rates[test] = ColumnContent::rate(fields[place]);
        run.cpus[test] = ColumnContent::percent(fields[place + 1]);
    }
    let known = run.rates.iter().filter(|rate| matches!(rate, ColumnContent::Value { .. })).count();
    (known >= FIGURES_FEWEST && run.odd() == 0).then_some((run, line.len()))
}

/// True for a quantity: `2G`, `300M`, `8k`, `0`, or empty.
fn is_quantity(word: &str) -> bool {
    let digits = word.trim_end_matches(['k', 'K', 'm', 'M', 'g', 'G']);
    word.len() <= digits.len() + 1 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Stores the parameters of the files from `16:1024:0/10`: number, largest and least size,
/// directories.
fn files_field(word: &str, run: &mut ParsedRun) {
    let (sizes, dirs) = word.split_once('/').unwrap_or((word, ""));
    let mut sizes = sizes.split(':');
    run.files(sizes.next().unwrap_or(""));
    run.parameter("max-size", sizes.next().unwrap_or(""));
    run.parameter("min-size", sizes.next().unwrap_or(""));
    run.parameter("dirs", dirs);
}

#[cfg(test)]
mod tests {
    use super::{ColumnContent, read, start};

    const LINE: &str = "oak,2G:8k,101,1,102,2,103,3,104,4,105,5,106.5,6,16:2000:1000/8,\
                        201,11,202,12,203,13,204,14,205,15,206,16";

    #[test]
    fn every_field_is_read() {
        let (run, bytes) = read(&format!("{LINE}  ")).unwrap();
        assert_eq!(bytes, LINE.len());
        assert_eq!((&*run.version, &*run.name), ("1.03", "oak"));
        let parameters: Vec<String> =
            run.parameters.iter().map(|(name, value)| format!("{name}={value}")).collect();
        let wanted = "size=2G chunk=8k files=16384 max-size=2000 min-size=1000 dirs=8";
        assert_eq!(parameters.join(" "), wanted);
        let values = |row: &[ColumnContent]| -> Vec<f64> {
            let value = |figure: &ColumnContent| match figure {
                ColumnContent::Value { value, .. } => *value,
                other => panic!("{other:?}"),
            };
            row.iter().map(value).collect()
        };
        let rates =
            [101.0, 102.0, 103.0, 104.0, 105.0, 106.5, 201.0, 202.0, 203.0, 204.0, 205.0, 206.0];
        assert_eq!(values(&run.rates), rates);
        let cpus = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0];
        assert_eq!(values(&run.cpus), cpus);
        assert!(
            run.remarks.is_empty()
                && run.latencies.iter().all(|latency| *latency == ColumnContent::Absent)
        );
        assert_eq!(start(&format!("  {LINE}")), Some(2));
    }

    #[test]
    fn tests_that_were_too_short_or_left_out_have_no_figure() {
        let line = "a,300M,1,59,34570,11,18138,3,12573,63,56862,4,381.3,0,16,\
                    +++++,+++,+++++,+++,,,+++++,+++,+++++,+++,+++++,+++";
        let (run, _) = read(line).unwrap();
        assert_eq!(
            (&run.rates[6], &run.rates[8]),
            (&ColumnContent::TooShort, &ColumnContent::Absent)
        );
    }

    #[test]
    fn unrelated_comma_separated_lines_are_rejected() {
        let header = "name,file_size,putc,putc_cpu,put_block,put_block_cpu,rewrite,rewrite_cpu,\
                      getc,getc_cpu,get_block,get_block_cpu,seeks,seeks_cpu,num_files,a,b,c,d,e,f,\
                      g,h,i,j,k,l";
        for odd in [
            header,
            "",
            ",,,,,,,,,,,,,,,,,,,,,,,,,,",
            &format!("{LINE},7"),
            &LINE.replace("oak", "two words"),
            &LINE.replace("2G:8k", "2X"),
            &LINE.replace("103,3", "x,3"),
        ] {
            assert_eq!(start(odd), None, "{odd}");
        }
    }
}
