//! Raw pages of a tracefs ring (`trace_pipe_raw`): events with their times.

/// Page header: time of the first record, and length of the records.
const HEAD_BYTES: usize = 16;

/// Bits of the second header word: the length, and a flag for lost events before the page.
const LENGTH_MASK: u64 = (1 << 20) - 1;
const MISSED: u64 = 1 << 31;
/// The number of lost events follows the records.
const MISSED_COUNTED: u64 = 1 << 30;

/// Record types that are not lengths.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;

/// Bits of a time in an absolute time stamp, which omits the highest five.
const STAMP_BITS: u32 = 59;

/// Information of a page besides its events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TracePage {
    /// Events lost before this page; 1 if the kernel does not report the number.
    pub lost: u64,
    /// Size of the records in bytes. A page that is far from full was still being written.
    pub bytes: usize,
}

/// Calls `each` with the events of a page: time in nanoseconds of the ring's clock, and fields in
/// the layout of the tracepoint's `format`. Invalid data ends the page.
pub fn trace_page(page: &[u8], mut each: impl FnMut(u64, &[u8])) -> TracePage {
    let (Some(first_time), Some(commit)) = (wide(page, 0), wide(page, 8)) else {
        return TracePage::default();
    };
    let length = usize::try_from(commit & LENGTH_MASK).unwrap_or(0);
    let lost = match commit & MISSED {
        0 => 0,
        _ if commit & MISSED_COUNTED != 0 => {
            wide(page, HEAD_BYTES + length).filter(|lost| *lost > 0).unwrap_or(1)
        }
        _ => 1,
    };
    let reported = TracePage { lost, bytes: length };
    let Some(mut unread) = page.get(HEAD_BYTES..HEAD_BYTES + length) else { return reported };
    let mut time = first_time;
    while let Some(word) = narrow(unread, 0) {
        let (kind, delta) = (word & 31, word >> 5);
        let Some(second) = narrow(unread, 4).or((1..PADDING).contains(&kind).then_some(0)) else {
            break;
        };
        let used = match kind {
            PADDING if delta == 0 => break,
            PADDING => 4 + aligned(second),
            TIME_EXTEND => {
                time = time.saturating_add(u64::from(second) << 27 | u64::from(delta));
                8
            }
            TIME_STAMP => {
                let low = u64::from(second) << 27 | u64::from(delta);
                time = time >> STAMP_BITS << STAMP_BITS | low;
                8
            }
            _ => {
                time = time.saturating_add(u64::from(delta));
                let (head, bytes) = if kind == 0 {
                    (8, aligned(second).saturating_sub(4))
                } else {
                    (4, aligned(kind * 4))
                };
                let Some(fields) = unread.get(head..head + bytes) else { break };
                each(time, fields);
                head + bytes
            }
        };
        let Some(after) = unread.get(used..).filter(|_| used > 0) else { break };
        unread = after;
    }
    reported
}

/// Rounds up to the record alignment of four bytes.
fn aligned(bytes: u32) -> usize {
    usize::try_from(bytes.min(1 << 20)).unwrap_or(0).next_multiple_of(4)
}

fn wide(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8)?.try_into().ok().map(u64::from_ne_bytes)
}

fn narrow(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at + 4)?.try_into().ok().map(u32::from_ne_bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{any, proptest};

    use super::trace_page;

    fn page(time: u64, flags: u64, words: &[u32]) -> Vec<u8> {
        let records: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        let mut page = time.to_ne_bytes().to_vec();
        page.extend((records.len() as u64 | flags).to_ne_bytes());
        page.extend(records);
        page
    }

    fn events(page: &[u8]) -> (Vec<(u64, usize)>, u64) {
        let mut seen = Vec::new();
        let reported = trace_page(page, |time, fields| seen.push((time, fields.len())));
        (seen, reported.lost)
    }

    #[test]
    fn records_of_all_kinds_are_read() {
        let words = [
            2 | 10 << 5,
            1,
            2, // two words, 10 ns later
            0x1e | 5 << 5,
            1, // extended: 2^27 + 5 ns
            12 << 5,
            12,
            3,
            4, // its length in a word of its own: eight bytes
            31 | 7 << 5,
            4, // an absolute time
            1,
            9, // one word at that time
        ];
        let page = page(1000, 0, &words);
        let (seen, lost) = events(&page);
        assert_eq!((lost, trace_page(&page, |_, _| {}).bytes), (0, words.len() * 4));
        let late = 1010 + (1 << 27) + 5 + 12;
        assert_eq!(seen, [(1010, 8), (late, 8), ((4 << 27) + 7, 4)]);
    }

    #[test]
    fn losses_are_reported() {
        assert_eq!(events(&page(0, 1 << 31, &[1, 9])).1, 1);
        let mut counted = page(0, 1 << 31 | 1 << 30, &[1, 9]);
        counted.extend(77u64.to_ne_bytes());
        assert_eq!(events(&counted), (vec![(0, 4)], 77));
        assert_eq!(events(&counted[..20]), (Vec::new(), 1));
    }

    proptest! {
        #[test]
        fn arbitrary_pages_end(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let mut events = 0;
            trace_page(&bytes, |_, _| events += 1);
            assert!(events <= bytes.len());
        }
    }
}
