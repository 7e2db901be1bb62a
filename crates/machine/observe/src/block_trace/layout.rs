//! Tracepoints of the block layer and the layout of their events.

use treering_sys::{TraceField, TraceFormat};
use treering_trace::{Action, DeviceNumber, Operation, RequestFlags};

/// Tracepoints with their actions; the flag marks required ones.
pub(super) const POINTS: [(&str, Action, bool); 7] = [
    ("block_rq_issue", Action::Issue, true),
    ("block_rq_complete", Action::Complete, true),
    ("block_bio_queue", Action::Queue, false),
    // Only for bios that never became a request: zram, md, device mapper and others.
    ("block_bio_complete", Action::Complete, false),
    ("block_bio_backmerge", Action::BackMerge, false),
    ("block_bio_frontmerge", Action::FrontMerge, false),
    ("block_rq_requeue", Action::Requeue, false),
];

/// Positions of the fields in a tracepoint's events.
#[derive(Clone, Debug)]
pub(super) struct EventLayout {
    pub(super) id: u32,
    action: Action,
    device: TraceField,
    sector: TraceField,
    sectors: TraceField,
    letters: TraceField,
    process: Option<TraceField>,
    name: Option<TraceField>,
    error: Option<TraceField>,
}

/// Decoded kernel event.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelEvent<'a> {
    pub(super) action: Action,
    pub(super) device: DeviceNumber,
    pub(super) sector: u64,
    pub(super) sectors: u64,
    pub(super) operation: Operation,
    pub(super) flags: RequestFlags,
    pub(super) process: u32,
    /// Process name padded with zeros; empty if not reported.
    pub(super) name: &'a [u8],
    pub(super) error: u16,
}

impl EventLayout {
    /// Parses the tracepoint's `format`; `None` if a required field is missing.
    pub(super) fn parse(text: &str, action: Action) -> Option<Self> {
        let format = TraceFormat::parse(text)?;
        let field = |name: &str| format.field(name).cloned();
        Some(Self {
            id: format.id,
            action,
            device: field("dev")?,
            sector: field("sector")?,
            sectors: field("nr_sector")?,
            letters: field("rwbs")?,
            process: field("common_pid"),
            name: field("comm"),
            // Early kernels name the field `errors`.
            error: field("error").or_else(|| field("errors")),
        })
    }

    /// Decodes an event; `None` if it is too short.
    pub(super) fn read<'a>(&self, event: &'a [u8]) -> Option<KernelEvent<'a>> {
        let number = |field: &Option<TraceField>| field.as_ref()?.number(event);
        let low = |number: u64| u32::try_from(number & 0xffff_ffff).unwrap_or(0);
        let sectors = self.sectors.number(event)?;
        let (operation, flags) = match RequestFlags::from_letters(self.letters.slice(event)?) {
            // Kernels without a letter for writes of zeroes. Drive commands have no sectors.
            (Operation::Other, flags) if sectors > 0 => (Operation::WriteZeroes, flags),
            known => known,
        };
        let error = low(number(&self.error).unwrap_or(0)).cast_signed().unsigned_abs();
        Some(KernelEvent {
            action: self.action,
            device: DeviceNumber(low(self.device.number(event)?)),
            sector: self.sector.number(event)?,
            sectors,
            operation,
            flags,
            process: low(number(&self.process).unwrap_or(0)),
            name: self.name.as_ref().and_then(|field| field.slice(event)).unwrap_or_default(),
            error: u16::try_from(error).unwrap_or(u16::MAX),
        })
    }
}

#[cfg(test)]
mod tests {
    use treering_trace::{Action, Operation};

    use super::EventLayout;

    #[test]
    fn events_are_decoded_by_their_format() {
        let text = "ID: 7\n\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\
            \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
            \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
            \tfield:unsigned int nr_sector;\toffset:24;\tsize:4;\tsigned:0;\n\
            \tfield:int error;\toffset:28;\tsize:4;\tsigned:1;\n\
            \tfield:char rwbs[8];\toffset:32;\tsize:8;\tsigned:0;\n";
        let layout = EventLayout::parse(text, Action::Complete).unwrap();
        let mut event = [0u8; 40];
        event[4..8].copy_from_slice(&99u32.to_ne_bytes());
        event[8..12].copy_from_slice(&(7u32 << 20 | 1).to_ne_bytes());
        event[16..24].copy_from_slice(&(1u64 << 40).to_ne_bytes());
        event[24..28].copy_from_slice(&8u32.to_ne_bytes());
        event[28..32].copy_from_slice(&(-5i32).to_ne_bytes());
        event[32..34].copy_from_slice(b"RA");
        let reported = layout.read(&event).unwrap();
        assert_eq!(
            (reported.sector, reported.sectors, reported.error, reported.process),
            (1 << 40, 8, 5, 99)
        );
        assert_eq!((reported.operation, reported.flags.ahead), (Operation::Read, true));
        assert_eq!(reported.device.to_string(), "7:1");
        for (letters, expected) in
            [(b"N\0\0", Operation::WriteZeroes), (b"WZS", Operation::WriteZeroes)]
        {
            event[32..35].copy_from_slice(letters);
            assert_eq!(layout.read(&event).unwrap().operation, expected);
        }
        event[24..28].fill(0);
        event[32..35].copy_from_slice(b"N\0\0");
        assert_eq!(layout.read(&event).unwrap().operation, Operation::Other);
        assert!(layout.read(&event[..39]).is_none());
        assert!(EventLayout::parse("ID: 7\n", Action::Issue).is_none());
    }
}
