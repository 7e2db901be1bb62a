//! Regenerates the tables of native options in docs/workloads from the declarations.

use std::io;
use std::path::Path;

use treering_script::with_option_table;

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/workloads");
    for workload in treering_registry::workloads() {
        let manifest = workload.manifest();
        let path = docs.join(format!("{}.md", manifest.name.trim_end_matches('+')));
        let document = std::fs::read_to_string(&path)?;
        std::fs::write(&path, with_option_table(&document, manifest.native))?;
    }
    Ok(())
}
