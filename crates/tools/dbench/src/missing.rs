//! Output of clients whose directory does not exist: each operation of the load fails, up to the
//! first that the original does not survive. No system call is made.

use crate::language::{ExpectedOutcome, HandleId, Load, Operation};

/// Output of one client of the original; `why` is the system message.
pub(super) fn lines(load: &Load, directory: &str, client: u32, why: &str) -> String {
    let name = |number| {
        let path = load.names.get(number as usize).map(|name| name.of_client(client));
        let path = path.unwrap_or_default();
        format!("{directory}/{}", String::from_utf8_lossy(&path).escape_debug())
    };
    let mut text = String::new();
    for op in &load.ops {
        let (line, status) = (op.line, load.status(op));
        let must_succeed = status.expected == ExpectedOutcome::Success;
        let message = match op.operation {
            Operation::Create { name: file, handle, .. } if must_succeed => {
                let (file, number) = (name(file), number(load, handle));
                text += &format!("[{line}] open {file} failed for handle {number} ({why})\n");
                continue;
            }
            Operation::Unlink { name: file } if must_succeed => format!("unlink {}", name(file)),
            Operation::Rmdir { name: file } if must_succeed => format!("rmdir {}", name(file)),
            Operation::Rename { from, to } if must_succeed => {
                format!("rename {} {}", name(from), name(to))
            }
            operation => match handle(operation) {
                Some(handle) => {
                    let number = number(load, handle);
                    return text + &format!("({line}) ERROR: handle {number} was not found\n");
                }
                None => continue,
            },
        };
        return text
            + &format!("[{line}] {message} failed ({why}) - expected {}\n", status.text)
            + &format!("ERROR: child {client} failed at line {line}\n");
    }
    text
}

fn number(load: &Load, handle: HandleId) -> u64 {
    load.handles.get(handle as usize).copied().unwrap_or_default()
}

/// The open file that an operation needs.
const fn handle(operation: Operation) -> Option<HandleId> {
    match operation {
        Operation::Close { handle }
        | Operation::QueryFile { handle }
        | Operation::SetFile { handle }
        | Operation::Write { handle, .. }
        | Operation::Read { handle, .. }
        | Operation::Lock { handle, .. }
        | Operation::Flush { handle } => Some(handle),
        _ => None,
    }
}
