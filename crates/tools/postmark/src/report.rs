//! The parts of a report of PostMark, which native runs and imported reports have in common: the
//! kinds of tasks in the names of metrics, and the phases.

use treering_model::Scope;

/// The creation of the initial pool: the kind of its task, and its phase.
pub(crate) const CREATE: &str = "create";
/// The kind of the task that does the transactions.
pub(crate) const TRANSACTION: &str = "transaction";
/// The phase of the transactions.
pub(crate) const TRANSACTIONS: &str = "transactions";
/// The deletion of the files that are left: the kind of its task, and its phase.
pub(crate) const DELETE: &str = "delete";

/// The scope of one kind of file operation within the transactions.
pub(crate) fn within_transactions(operation: &str) -> Scope {
    Scope::Kind(format!("{TRANSACTION} {operation}"))
}
