//! The `format` file of a tracepoint, which defines the layout of its events. Layouts differ
//! between kernels.

/// Field of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceField {
    /// Field name.
    pub name: String,
    /// Offset in bytes.
    pub offset: usize,
    /// Size in bytes.
    pub bytes: usize,
}

/// Event layout of a tracepoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceFormat {
    /// Tracepoint ID, the first field of its events.
    pub id: u32,
    /// Fields, including those common to all tracepoints.
    pub fields: Vec<TraceField>,
}

/// Limit of field offsets and sizes: an event is smaller than this.
const EVENT_BYTES_MAX: usize = 1 << 16;

impl TraceFormat {
    /// Parses a `format` file; `None` without an ID.
    pub fn parse(text: &str) -> Option<Self> {
        let id = text.lines().find_map(|line| line.strip_prefix("ID:"))?.trim().parse().ok()?;
        let fields = text.lines().filter_map(|line| field(line.trim())).collect();
        Some(Self { id, fields })
    }

    /// Looks up a field by name.
    pub fn field(&self, name: &str) -> Option<&TraceField> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// Parses `field:char rwbs[10]; offset:34; size:10; signed:0;`, with tabs for blanks.
fn field(line: &str) -> Option<TraceField> {
    let mut parts = line.split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let name = declared.rsplit(|c: char| c.is_whitespace() || c == '*').next()?;
    let name = name.split('[').next()?;
    let mut number = |key: &str| -> Option<usize> {
        let value = parts.next()?.strip_prefix(key)?.parse().ok()?;
        (value <= EVENT_BYTES_MAX).then_some(value)
    };
    let (offset, bytes) = (number("offset:")?, number("size:")?);
    (!name.is_empty()).then(|| TraceField { name: name.to_owned(), offset, bytes })
}

impl TraceField {
    /// Value as an unsigned number; `None` if the event is too short or the field is not 1, 2, 4 or
    /// 8 bytes long.
    pub fn number(&self, event: &[u8]) -> Option<u64> {
        let bytes = self.slice(event)?;
        match self.bytes {
            1 => Some(u64::from(bytes[0])),
            2 => bytes.try_into().ok().map(u16::from_ne_bytes).map(u64::from),
            4 => bytes.try_into().ok().map(u32::from_ne_bytes).map(u64::from),
            8 => bytes.try_into().ok().map(u64::from_ne_bytes),
            _ => None,
        }
    }

    /// Bytes of the field; `None` if the event is too short.
    pub fn slice<'a>(&self, event: &'a [u8]) -> Option<&'a [u8]> {
        event.get(self.offset..self.offset + self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::TraceFormat;

    const TEXT: &str = "name: block_rq_issue\nID: 1204\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:dev_t dev;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;\n\
        \tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;\n\
        \tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;\n\
        \nprint fmt: \"%d\", REC->dev\n";

    #[test]
    fn fields_are_parsed_with_their_offsets() {
        let format = TraceFormat::parse(TEXT).unwrap();
        assert_eq!(format.id, 1204);
        let names: Vec<&str> = format.fields.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["common_type", "common_pid", "dev", "sector", "rwbs", "cmd"]);
        let mut event = vec![0u8; 64];
        event[16..24].copy_from_slice(&(1u64 << 40).to_ne_bytes());
        event[34..37].copy_from_slice(b"WFS");
        assert_eq!(format.field("sector").unwrap().number(&event), Some(1 << 40));
        assert_eq!(format.field("rwbs").unwrap().slice(&event).unwrap(), b"WFS\0\0\0\0\0\0\0");
        assert_eq!(format.field("rwbs").unwrap().number(&event), None);
        assert_eq!(format.field("cmd").unwrap().slice(&event[..63]), None);
        assert_eq!(format.field("nr_sector"), None);
    }

    #[test]
    fn other_texts_have_no_fields() {
        assert_eq!(TraceFormat::parse("name: x\n"), None);
        let odd = "ID: 7\nfield:;\nfield:int a;offset:-1;size:4;\n\
            field:int b;\toffset:99999999999;\tsize:4;\nfield:int c;size:4;offset:8;\n";
        assert_eq!(TraceFormat::parse(odd).unwrap().fields, []);
    }
}
