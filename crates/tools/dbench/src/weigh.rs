//! Footprint of a load on a filesystem, computed by tracking its files without any I/O.

use std::collections::HashMap;

use crate::language::{CreateDisposition, Load, NameId, Operation};

/// Files and bytes of one client in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LoadFootprint {
    /// Maximum number of files that exist at the same time.
    pub(super) files: u64,
    pub(super) dirs: u64,
    pub(super) bytes: u64,
    /// Number of files created in total.
    pub(super) made: u64,
    pub(super) read: u64,
    pub(super) written: u64,
}

/// Maximum number of names examined for tree removals; beyond it the footprint is overestimated.
const LOOKS_MAX: usize = 20_000_000;

#[derive(Default)]
struct FootprintCounter {
    looks: usize,
    weight: LoadFootprint,
    sizes: HashMap<NameId, u64>,
    open: HashMap<u32, NameId>,
    standing: u64,
}

/// Footprint of one client. Loops are counted once; drawn operations are not counted.
pub(super) fn load_footprint(load: &Load) -> LoadFootprint {
    let mut account = FootprintCounter::default();
    for op in &load.ops {
        account.take(op.operation, load);
    }
    account.weight
}

impl FootprintCounter {
    fn take(&mut self, operation: Operation, load: &Load) {
        match operation {
            Operation::Create { name, directory: true, .. } | Operation::Mkdir { name } => {
                let made = self.sizes.insert(name, 0).is_none();
                self.weight.dirs += u64::from(made);
            }
            Operation::Create { name, handle, how, .. } => {
                self.open.insert(handle, name);
                if how != CreateDisposition::Open && self.sizes.insert(name, 0).is_none() {
                    self.weight.made += 1;
                    self.weight.files = self.weight.files.max(self.sizes.len() as u64);
                }
            }
            Operation::Write { handle, offset, bytes, .. } => {
                self.weight.written = self.weight.written.saturating_add(bytes.into());
                let end = offset.saturating_add(bytes.into());
                let Some(size) = self.open.get(&handle).map(|name| self.sizes.entry(*name)) else {
                    return;
                };
                let size = size.or_insert(0);
                if end > *size {
                    self.standing = self.standing.saturating_add(end - *size);
                    *size = end;
                    self.weight.bytes = self.weight.bytes.max(self.standing);
                }
            }
            Operation::Read { bytes, .. } => {
                self.weight.read = self.weight.read.saturating_add(bytes.into());
            }
            Operation::Unlink { name } => self.forget(name),
            Operation::Rename { from, to } => {
                self.forget(to);
                if let Some(bytes) = self.sizes.remove(&from) {
                    self.sizes.insert(to, bytes);
                }
            }
            Operation::Deltree { name } => self.forget_below(name, load),
            _ => {}
        }
    }

    fn forget(&mut self, name: NameId) {
        let bytes = self.sizes.remove(&name).unwrap_or_default();
        self.standing = self.standing.saturating_sub(bytes);
    }

    fn forget_below(&mut self, name: NameId, load: &Load) {
        self.looks = self.looks.saturating_add(self.sizes.len());
        if self.looks > LOOKS_MAX {
            return;
        }
        let path = |name: NameId| load.names[name as usize].of_client(1);
        let mut top = path(name);
        top.push(b'/');
        let below: Vec<NameId> =
            self.sizes.keys().copied().filter(|name| path(*name).starts_with(&top)).collect();
        below.into_iter().for_each(|name| self.forget(name));
    }
}

#[cfg(test)]
mod tests {
    use super::{LoadFootprint, load_footprint};
    use crate::language::parse;

    #[test]
    fn footprint_counts_files_that_exist_at_the_same_time() {
        let load = br#"Mkdir "\d" 0x0
NTCreateX "\d\a" 0x40 0x2 1 0x0
WriteX 1 99 1 1 0x0
WriteX 1 0 100 100 0x0
ReadX 1 0 50 50 0x0
NTCreateX "\d\b" 0x40 0x2 2 0x0
WriteX 2 0 30 30 0x0
Unlink "\d\a" 0x0
Rename "\d\b" "\d\c" 0x0
WriteX 2 0 30 30 0x0
Deltree "\d" 0x0"#;
        let weight = load_footprint(&parse("f", load, None).unwrap());
        let expected =
            LoadFootprint { files: 3, dirs: 1, bytes: 130, made: 2, read: 50, written: 161 };
        assert_eq!(weight, expected);
    }

    proptest::proptest! {
        #[test]
        fn footprint_accepts_any_parsed_load(
            lines in proptest::collection::vec((0..LINES.len(), 0u64..1 << 63), 0..60),
        ) {
            let line = |(line, number): (usize, u64)| LINES[line].replace('#', &number.to_string());
            let text: Vec<String> = lines.into_iter().map(line).collect();
            if let Ok(load) = parse("f", text.join("\n").as_bytes(), None) {
                load_footprint(&load);
            }
        }
    }

    const LINES: [&str; 7] = [
        r#"NTCreateX "\d\a" 0x40 0x2 1 0x0"#,
        "WriteX 1 # 1073741824 9 0x0",
        "ReadX 1 # 1073741824 9 0x0",
        r#"Unlink "\d\a" 0x0"#,
        r#"Rename "\d\a" "\d\b" 0x0"#,
        r#"Deltree "\d" 0x0"#,
        r#"Mkdir "\d" 0x0"#,
    ];
}
